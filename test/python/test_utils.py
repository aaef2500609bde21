"""The commands' helpers notice what they are there to notice."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "utils" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def count(folder: Path) -> tuple[str, int]:
    """Last line and exit code of count_tests.py."""
    command = [sys.executable, str(ROOT / "utils" / "count_tests.py"), str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.splitlines()[-1], result.returncode


CASE = '<testcase classname="c" name="n" status="run">{}</testcase>'


def write(folder: Path, name: str, *children: str) -> None:
    cases = "".join(CASE.format(child) for child in children)
    (folder / name).write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")


def test_counts_add_up(tmp_path):
    write(tmp_path, "gtest-A.xml", "", "")
    write(tmp_path, "lit.xml", "", "<skipped/>")
    assert count(tmp_path) == ("3 passed, 0 failed, 1 skipped", 0)
    write(tmp_path, "pytest.xml", "", "<failure/>", "<error/>")
    assert count(tmp_path) == ("4 passed, 2 failed, 1 skipped", 1)


def test_a_crash_counts_as_a_failure_once(tmp_path):
    write(tmp_path, "lit.xml", "")
    (tmp_path / "failed-runs").write_text("GraphTests\n")
    assert count(tmp_path) == ("1 passed, 1 failed", 1)
    write(tmp_path, "gtest-GraphTests.xml", "<failure/>", "")
    assert count(tmp_path) == ("2 passed, 1 failed", 1)


def test_nothing_run_is_a_failure(tmp_path):
    assert count(tmp_path) == ("0 passed, 0 failed", 1)


@pytest.fixture
def layout(tmp_path, monkeypatch):
    module = load("check_layout")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    return module


def test_layout_compares_folders_with_the_page(layout, tmp_path):
    (tmp_path / "docs" / "architecture.md").write_text("| `lib/` | a |\n| `gone/` | b |\n")
    problems = layout.check_folders(["lib/A.cpp", "tools/x/B.cpp"])
    assert problems == [
        "docs/architecture.md: does not name tools/x/",
        "docs/architecture.md: gone/ is not there",
    ]


def test_layout_wants_a_header_and_a_test_for_a_name(layout, tmp_path):
    (tmp_path / "lib" / "X").mkdir(parents=True)
    (tmp_path / "lib" / "X" / "Y.cpp").write_text("int y;\n")
    assert layout.check_mirrors(["lib/X/Y.cpp"])
    assert not layout.check_mirrors(["lib/X/Y.cpp", "include/dtorch/X/Y.h"])
    passes = tmp_path / layout.PASSES
    passes.parent.mkdir(parents=True)
    passes.write_text('def FormPlans : Pass<"dtorch-form-plans">;\n')
    assert len(layout.check_passes([])) == 2
    source = "lib/Dialect/Transforms/FormPlans.cpp"
    assert not layout.check_passes([source, "test/Transforms/form-plans.mlir"])


def test_layout_finds_registries_and_machines(layout, tmp_path):
    (tmp_path / "a.txt").write_text("see https://py" + "pi.org/x\nfine\ncd /ho" + "me/me\n")
    assert [problem.split(":")[1] for problem in layout.check_contents(["a.txt"])] == ["1", "3"]


def test_layout_wants_environment_variables_explained(layout, tmp_path):
    (tmp_path / "docs" / "debugging.md").write_text("| `DTORCH_A` | explained |\n")
    (tmp_path / "x.cpp").write_text('std::getenv("DTORCH_A"); std::getenv("DTORCH_B");\n')
    (problem,) = layout.check_environment(["x.cpp"])
    assert "DTORCH_B" in problem


def test_generated_pages_hold_the_rules():
    page = load("generate_docs").render("include/dtorch/Dialect/IR/ComputeOps.td", "Ops")
    (section,) = re.findall(r"## `dtorch.linear`\n.*?(?=\n## )", page, re.DOTALL)
    assert "... k, n k -> ... n ; reduce: k=sum ; partial: sum(0) sum(1)" in section
    assert "Operands: `input`, `weight`." in section
