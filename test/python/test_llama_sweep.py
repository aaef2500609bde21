"""The sweep over Llama's shapes and meshes, in a process of its own with jitter on."""

import os
import re
import subprocess
import sys

from dtorch.testing.llama_reference import LlamaCase
from dtorch.testing.sweep_llama import FACTORS, all_cases, draw_cases, pairs

NAMES = ("dp", "tp", *FACTORS)


def values(case: LlamaCase) -> dict:
    return {name: getattr(case, name) for name in NAMES}


def test_sixty_cases_cover_all_pairs():
    everything = set().union(*(pairs(values(case)) for case in all_cases(8, ["dp", "tp"])))
    drawn = set().union(*(pairs(values(case)) for case in draw_cases(60, 8, ["dp", "tp"])))
    assert drawn == everything


def test_all_meshes_up_to_eight_devices():
    cases = all_cases(8, ["dp", "tp"])
    meshes = {(case.dp, case.tp) for case in cases}
    assert meshes == {(d, t) for d in range(1, 9) for t in range(1, 9) if d * t <= 8}
    assert len(cases) == len(set(cases)) == 20 * 4 * 2 * 3 * 3


def test_sixty_drawn_cases_agree_with_hugging_face():
    environment = {**os.environ, "DTORCH_TEST_JITTER": "1"}
    command = [sys.executable, "-m", "dtorch.testing.sweep_llama", "--draw", "60"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert re.search(r"^60 of 60 Llama cases agree", result.stdout, re.MULTILINE)
