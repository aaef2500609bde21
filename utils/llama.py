#!/usr/bin/env python3
"""Runs SmolLM2-135M-Instruct on meshes of virtual CPU devices, one row a mesh.

    utils/llama.py [--dp N --tp N] [--prompt TEXT] [--max-new-tokens N] [--no-reference]

Each row: the mesh, the greedy answer to the prompt through the model's chat
template, the largest difference of the prompt's logits from Hugging Face's on
PyTorch, the number and bytes of each kind of collective (of the prompt's
forward), and seconds from the weights' file to the answer.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

MESHES = [(1, 1), (2, 1), (1, 2), (2, 2), (1, 4), (1, 8)]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dp", type=int, help="data-parallel degree; one mesh instead of six")
    parser.add_argument("--tp", type=int, help="tensor-parallel degree; one mesh instead of six")
    parser.add_argument("--prompt", default="What is the capital of France?")
    parser.add_argument("--max-new-tokens", type=int, default=16)
    parser.add_argument(
        "--no-reference", action="store_true", help="do not compare with Hugging Face"
    )
    arguments = parser.parse_args()
    for name in ("dp", "tp", "max_new_tokens"):
        if getattr(arguments, name) is not None and getattr(arguments, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return arguments


def run_mesh(dp: int, tp: int, folder, chat, ids: list[int], max_new_tokens: int) -> dict:
    """Loads the model on one mesh and answers; returns the row."""
    import dtorch
    from dtorch.models.llama import LlamaForCausalLM
    from dtorch.testing import smollm2

    started = time.perf_counter()
    mesh = dtorch.init_device_mesh("cpu", (dp, tp), mesh_dim_names=["dp", "tp"])
    model = LlamaForCausalLM.from_pretrained(folder, device_mesh=mesh)
    dtorch.reset_counters()
    tokens, counters, prompt_logits = [], {}, None
    for token, logits in smollm2.generate(model, ids, max_new_tokens, chat.stop_ids):
        if prompt_logits is None:
            prompt_logits, counters = logits, dtorch.counters()
        tokens.append(token)
    return {
        "answer": chat.decode(tokens),
        "logits": prompt_logits,
        "counters": counters,
        "seconds": time.perf_counter() - started,
    }


def collectives_text(counters: dict) -> str:
    """'all_reduce 60x 5.1 MB, to_host 1x 7.3 MB'."""
    parts = [
        f"{kind} {count}x {size / 1e6:.2f} MB"
        for kind, (count, size) in sorted(counters.items())
        if count
    ]
    return ", ".join(parts) or "none"


def main() -> int:
    arguments = parse_arguments()
    meshes = MESHES
    if arguments.dp or arguments.tp:
        meshes = [(arguments.dp or 1, arguments.tp or 1)]
    devices = max(dp * tp for dp, tp in meshes)
    variable = "DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE"
    if int(os.environ.get(variable, "8")) < devices:
        os.environ[variable] = str(devices)

    from dtorch.testing import smollm2

    folder = smollm2.model_folder()
    chat = smollm2.Chat(folder)
    ids = chat.encode(arguments.prompt)
    reference = None
    if not arguments.no_reference:
        reference = smollm2.reference(arguments.prompt)
        if ids != reference.ids.tolist():
            print("warning: token ids differ from Hugging Face's", file=sys.stderr)
    print(f"prompt: {arguments.prompt} ({len(ids)} tokens)")
    print("dp x tp | answer | max |logit difference| | collectives of one forward | seconds")
    for dp, tp in meshes:
        row = run_mesh(dp, tp, folder, chat, ids, arguments.max_new_tokens)
        difference = "-"
        if reference is not None:
            difference = f"{abs(row['logits'] - reference.logits).max():.2e}"
        cells = [
            f"{dp} x {tp}",
            row["answer"],
            difference,
            collectives_text(row["counters"]),
            f"{row['seconds']:.1f}",
        ]
        print(" | ".join(cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
