"""Our ops on PyTorch's own sample inputs: a fixed slice.

The whole table is `python3 -m dtorch.testing.op_db`.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("expecttest")

from dtorch.testing import op_db, op_db_table

SLICE = "5/24"


def test_a_slice_of_the_table() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "dtorch.testing.op_db", "--slice", SLICE],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
    assert "% of all samples are equal" in result.stdout


def test_every_op_of_the_list_has_an_entry() -> None:
    assert {entry.name for entry in op_db.entries()} >= op_db_table.REQUIRED


def test_slices_are_the_table() -> None:
    parts = [op_db.tasks(part=(k, 5)) for k in range(1, 6)]
    assert sorted(task for part in parts for task in part) == sorted(op_db.tasks())


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge itself: results that differ, refusals, and other exceptions."""
    from dtorch.testing import op_db_run

    entry = next(e for e in op_db.entries() if e.name == "neg")
    for function, outcome in (
        (lambda x: -x, "equal"),
        (lambda x: -x + 1, "wrong"),
        (lambda x: -x.double(), "wrong"),
        (lambda x: x.view(-2), "refused"),
        (lambda x: x.no_such_method(), "crashed"),
    ):
        monkeypatch.setattr(op_db_run, "find", lambda name, f=function: f)
        report = op_db_run.run_entry(entry, "float32")
        assert set(report.outcomes) == {outcome}
        assert (report.outcomes.total() > 0) and (outcome == "equal") == (not report.reasons)
