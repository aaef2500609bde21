#!/usr/bin/env python3
"""Peak memory of SmolLM2 on meshes of virtual devices, each in its own process.

    utils/bench/llama_rss.py

Replicas share one read-only buffer and shards add up to one model, so dp=4 and
tp=4 may need at most 1.3 times the memory of one device. PyTorch stays out of the
measured processes. Exit code 1 if a limit is passed.
"""

from __future__ import annotations

import resource
import subprocess
import sys

LIMIT = 1.3


def measure(dp: int, tp: int) -> int:
    """Peak resident bytes of one forward, by a fresh process."""
    command = [sys.executable, __file__, str(dp), str(tp)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(result.stdout.split()[-1])


def run_here(dp: int, tp: int) -> None:
    import numpy as np

    import dtorch
    from dtorch.models.llama import LlamaForCausalLM
    from dtorch.testing import smollm2

    folder = smollm2.model_folder()
    ids = smollm2.Chat(folder).encode(smollm2.QUESTION)
    mesh = dtorch.init_device_mesh("cpu", (dp, tp), mesh_dim_names=["dp", "tp"])
    model = LlamaForCausalLM.from_pretrained(folder, device_mesh=mesh)
    model(dtorch.Tensor(np.array([ids] * 4))).numpy()
    if "torch" in sys.modules:
        raise SystemExit("PyTorch was imported")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def main() -> int:
    if len(sys.argv) == 3:
        run_here(int(sys.argv[1]), int(sys.argv[2]))
        return 0
    base = measure(1, 1)
    print(f"dp=1 tp=1: {base / 1e6:.0f} MB")
    worst = 0.0
    for dp, tp in [(4, 1), (1, 4)]:
        peak = measure(dp, tp)
        worst = max(worst, peak / base)
        print(f"dp={dp} tp={tp}: {peak / 1e6:.0f} MB, {peak / base:.2f} times")
    print(f"largest ratio {worst:.2f}, limit {LIMIT}")
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
