"""Small Llamas against Hugging Face's over meshes, head counts and input shapes.

    python3 -m dtorch.testing.sweep_llama --devices 8 --axes dp,tp
    python3 -m dtorch.testing.sweep_llama --draw 60

Without --draw every combination runs; with it that many are drawn so that each
pair of values of two factors appears as early as possible. Instructions are
delayed at random (DTORCH_TEST_JITTER) to shake the order of devices.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import traceback
from collections.abc import Iterator

from tqdm import tqdm

from dtorch.testing.llama_reference import HEADS, LlamaCase, error

FACTORS = {
    "heads": HEADS,
    "explicit_head_dim": [False, True],
    "batch": [1, 2, 3],
    "length": [1, 7, 16],
    "bias": [False, True],
    "tied": [False, True],
}


def all_cases(devices: int, axes: list[str]) -> list[LlamaCase]:
    """Every mesh with every shape; bias and tie alternate along the list."""
    names = ["heads", "explicit_head_dim", "batch", "length"]
    shapes = list(itertools.product(*(FACTORS[name] for name in names)))
    cases = []
    for (m, mesh), (s, shape) in itertools.product(
        enumerate(meshes(devices, axes)), enumerate(shapes)
    ):
        switches = {"bias": (m + s) % 2 == 1, "tied": (m // 2 + s) % 2 == 1}
        cases.append(LlamaCase(**mesh, **dict(zip(names, shape, strict=True)), **switches))
    return cases


def meshes(devices: int, axes: list[str]) -> Iterator[dict[str, int]]:
    """Degrees per axis whose product is at most `devices`."""
    for degrees in itertools.product(range(1, devices + 1), repeat=len(axes)):
        product = 1
        for degree in degrees:
            product *= degree
        if product <= devices:
            yield dict(zip(axes, degrees, strict=True))


def draw_cases(count: int, devices: int, axes: list[str], seed: int = 0) -> list[LlamaCase]:
    """Cases that cover pairs of factor values greedily, reproducible by seed."""
    rng = random.Random(seed)
    every_mesh = list(meshes(devices, axes))
    seen: set[tuple] = set()
    cases = []

    def candidate() -> dict:
        values = {name: rng.choice(options) for name, options in FACTORS.items()}
        return {**rng.choice(every_mesh), **values}

    for _ in range(count):
        best = max(
            (candidate() for _ in range(200)),
            key=lambda values: len(pairs(values) - seen),
        )
        seen |= pairs(best)
        cases.append(LlamaCase(**best))
    return cases


def pairs(values: dict) -> set[tuple]:
    return set(itertools.combinations(sorted(values.items(), key=lambda item: item[0]), 2))


def sweep(cases: list[LlamaCase]) -> tuple[int, float]:
    """Runs the cases; returns the number of failures and the worst passing error."""
    failures, worst = 0, 0.0
    for case in tqdm(cases, file=sys.stderr, disable=not sys.stderr.isatty()):
        try:
            excess = error(case)
        except Exception:  # a broken case must not end the sweep
            failures += 1
            print(f"failed: {case}\n{traceback.format_exc()}", flush=True)
            continue
        if excess <= 1:
            worst = max(worst, excess)
        else:
            failures += 1
            print(f"failed: {case}: {excess:.3g} times the tolerance", flush=True)
    return failures, worst


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--axes", default="dp,tp", help="mesh axes, from dp and tp")
    parser.add_argument("--draw", type=int, help="draw this many cases pairwise")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    axes = arguments.axes.split(",")
    if not set(axes) <= {"dp", "tp"}:
        parser.error(f"--axes: known axes are dp and tp, got {arguments.axes}")

    os.environ.setdefault("DTORCH_TEST_JITTER", "1")
    variable = "DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE"
    os.environ.setdefault(variable, str(arguments.devices))
    if arguments.draw:
        cases = draw_cases(arguments.draw, arguments.devices, axes, arguments.seed)
    else:
        cases = all_cases(arguments.devices, axes)
    failures, worst = sweep(cases)
    print(
        f"{len(cases) - failures} of {len(cases)} Llama cases agree with Hugging Face; "
        f"largest difference {worst:.3g} of the tolerance"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
