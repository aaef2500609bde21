"""Every code block of README and docs runs.

Python blocks of a page run in order in one process; bash blocks run from the root.
A block with `skip=reason` in its fence is not run, and must be a command that some
other test or CI itself runs.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [
        body
        for name, info, body in FENCE.findall(page.read_text())
        if name == language and "skip=" not in info
    ]


def pages_with(language: str) -> list:
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in PAGES
        if blocks(page, language)
    ]


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_blocks_run(page):
    script = "\n\n".join(blocks(page, "python"))
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", pages_with("bash"))
def test_bash_blocks_run(page):
    path = f"{ROOT / 'build' / 'bin'}:{os.environ['PATH']}"
    script = "set -e\n" + "\n".join(blocks(page, "bash"))
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_there_are_blocks_to_run():
    assert sum(len(blocks(page, "python")) for page in PAGES) >= 8


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
