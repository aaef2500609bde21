"""Random programs: chains of ops and redistributes against PyTorch.

    python3 -m dtorch.testing.random_programs --minutes 20 --workers 2

Hypothesis draws a mesh (1 to 3 axes, any order of device numbers, axes of size
1), inputs of small integers under drawn placements (uneven, empty, units,
pending) and a chain of steps (`random_steps`). Results of integers must agree
bit for bit, others within their dtype's rounding. A failure prints the shortest
script found, which runs on its own.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import torch
from hypothesis import strategies as st

import dtorch
from dtorch import DeviceMesh, Partial, Placement, PlacementError, Replicate, Shard
from dtorch.testing.random_steps import STEPS, Choices, Pool, Step, Value, literal

__all__ = ["Program", "WrongProgramError", "check", "main"]

MESHES: list[tuple[int, ...]] = [
    *[(2,), (3,), (2, 2), (1,), (4,), (5,), (8,)],
    *[(2, 3), (3, 2), (1, 4), (4, 1), (2, 4), (2, 2, 2), (1, 2, 2), (2, 1, 3), (2, 2, 1)],
]
LIMITS = {"float64": 2.0**20, "float32": 512.0, "float16": 32.0, "bfloat16": 16.0}
"""Largest magnitudes whose products are exact; longer results are dropped."""
MANTISSA = {"float64": 2.0**53, "float32": 2.0**24, "float16": 2.0**11, "bfloat16": 2.0**8}
TOLERANCE = {"float64": 1e-7, "float32": 2e-3, "float16": 3e-2, "bfloat16": 1e-1}
MAX_ELEMENTS = 200
ABSENT = ["never changes", "kind must be one of", "there is no op"]

PRELUDE = """\
import numpy as np
import torch

import dtorch
from dtorch import DeviceMesh, Partial, Replicate, Shard

mesh = {mesh}
ix = np.s_


def named(api, kind):
    return getattr(api, kind, None) or getattr(api.nn.functional, kind)


def assigned(t, change):
    t = t.clone()
    change(t)
    return t


def program(api, place):
{body}


expected = program(torch, lambda t, placements: t)
with dtorch.mode({mode!r}):
    actual = program(dtorch, lambda t, placements: t.redistribute(mesh, placements))
for a, b in zip(actual, expected):
    print(repr(a))
    assert a.dtype == dtorch.dtypes.to_dtype(b.dtype), (a.dtype, b.dtype)
    tolerance = {tolerance}
    torch.testing.assert_close(
        a.to_torch(), b.contiguous(), rtol=tolerance, atol=tolerance, equal_nan=True)
print("all equal")
"""

statistics: Counter[str] = Counter()
"""Steps per maker, and what was refused, of this process."""


class WrongProgramError(AssertionError):
    """A program with another result than PyTorch's; its text is a script."""


class TooLargeError(Exception):
    """An operand would be too large."""


class Placer:
    """Draws placements for tensors of a mesh."""

    def __init__(self, choices: Choices) -> None:
        self.choices = c = choices
        shape = c.one_of(MESHES)
        count, order = math.prod(shape), c.integer(0, 3)
        ids: list[int] = list(range(count))
        if order == 1 and len(shape) > 1:
            ids = np.arange(count).reshape(shape[::-1]).T.reshape(-1).tolist()
        elif order == 2:
            ids = c.order(8)[:count]
        names = [["a"], ["a", "b"], ["a", "b", "c"]][len(shape) - 1]
        nested = np.array(ids).reshape(shape).tolist()
        self.text = f'DeviceMesh("cpu", {nested}, {names})'
        self.mesh = DeviceMesh("cpu", nested, names)

    def placements(self, shape: Sequence[int]) -> list[Placement]:
        """One a mesh axis; axes that shard a dim have one unit."""
        c, units = self.choices, dict[int, int]()
        result: list[Placement] = []
        for _ in self.mesh.shape:
            sort = c.integer(0, 3 if shape else 1)
            if sort == 0:
                result.append(Replicate())
            elif sort == 1:
                result.append(Partial())
            else:
                dim = c.integer(0, len(shape) - 1)
                if dim not in units:
                    n = shape[dim]
                    fits = [u for u in range(1, n + 1) if n % u == 0] or [1]
                    units[dim] = c.one_of(fits) if c.integer(0, 3) == 3 else 1
                result.append(Shard(dim, unit=units[dim]))
        return result


class Program(Pool):
    """One drawn program, recorded in both libraries line by line."""

    def __init__(self, seed: int) -> None:
        self.choices = c = Choices(seed)
        self.placer = Placer(c)
        self.strict = c.integer(0, 4) == 4
        self.values = []
        self.lines: list[str] = []
        self.count = 0
        self.worst = 0.0
        dtype = c.one_of(["float32", "float64", "int64", "bfloat16", "float16", "int32", "bool"])
        shape = [c.one_of([2, 3, 4, 1, 5, 6, 7, 8, 0]) for _ in range(c.integer(0, 4))]
        while math.prod(shape) > MAX_ELEMENTS:
            shape.pop()
        self.new(shape, dtype)

    @property
    def mode(self) -> Any:
        return "strict" if self.strict else "auto"

    # -- lines -------------------------------------------------------------

    def emit(self, text: str, slack: float = 0) -> Value | None:
        """Runs `v<n> = text` in both; nothing where PyTorch or the law of strict
        mode refuses."""
        try:
            theirs = self.evaluate(text, torch)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
            return None
        if not self.small(theirs):
            return None
        name = f"v{self.count}"
        self.lines.append(f"{name} = {text}")
        try:
            with dtorch.mode(self.mode):
                ours = self.evaluate(text, dtorch)
        except (NotImplementedError, AttributeError) as error:
            self.lines.pop()
            statistics[f"refused: {str(error).partition('error: ')[2][:60] or error}"] += 1
            return None
        except PlacementError as error:
            if not self.strict:
                raise self.wrong(error) from None
            self.lines.pop()
            statistics["strict: refused"] += 1
            return None
        except Exception as error:
            if not any(text in str(error) for text in ABSENT):
                raise self.wrong(error) from None
            self.lines.pop()
            statistics[f"refused: {str(error).partition('error: ')[2][:60]}"] += 1
            return None
        self.count += 1
        if slack:
            slack = max(slack, TOLERANCE.get(str(theirs.dtype).removeprefix("torch."), 0))
        self.worst = max(self.worst, slack)
        value = Value(name, theirs, ours, slack)
        if value.shape != ours.shape or value.dtype != ours.dtype.name:
            found = f"{ours.dtype.name}{list(ours.shape)}"
            raise self.wrong(f"expected {value.dtype}{list(value.shape)}, got {found}")
        self.values.append(value)
        return value

    def evaluate(self, text: str, api: Any) -> Any:
        names = {v.name: v.theirs if api is torch else v.ours for v in self.values}

        def place(t: Any, placements: list[Placement]) -> Any:
            return t if api is torch else t.redistribute(self.placer.mesh, placements)

        return eval(text, {**TOOLS, "api": api, "place": place, **names})

    @staticmethod
    def small(x: torch.Tensor) -> bool:
        """Whether later steps stay exact and cheap."""
        if x.numel() > MAX_ELEMENTS or x.ndim > 5:
            return False
        if not x.numel() or x.dtype == torch.bool:
            return True
        largest = x.double().abs().max().item()
        limit = LIMITS.get(str(x.dtype).removeprefix("torch."), 2.0**15)
        return math.isfinite(largest) and largest <= limit

    # -- steps -------------------------------------------------------------

    def new(self, shape: Sequence[int], dtype: str) -> str:
        c = self.choices
        low, high = (0, 1) if dtype == "bool" else (-2, 3)
        data = literal(c, shape, low, high)
        text = f"api.tensor({data}, dtype=api.{dtype})"
        if 0 in shape:
            text = f"api.zeros({list(shape)}, dtype=api.{dtype})"
        if c.integer(0, 5) < 5:
            text = f"place({text}, {self.placer.placements(shape)})"
        value = self.emit(text)
        if value is None:
            raise TooLargeError
        return value.name

    def step(self) -> None:
        c = self.choices
        if c.integer(0, 3) == 3:
            x = c.one_of(self.values)
            self.emit(f"place({x.name}, {self.placer.placements(x.shape)})", x.slack)
            return
        x = self.values[-1] if c.integer(0, 3) else c.one_of(self.values)
        if c.integer(0, 15) == 15:
            self.look(x)
            return
        maker = c.one_of(STEPS)
        try:
            step = maker(c, self, x)
        except TooLargeError:
            return
        if isinstance(step, Step) and not (step.jumps and not x.exact):
            result = self.emit(step.text, self.slack(step, x))
            statistics[maker.__name__ if result else f"not drawn: {maker.__name__}"] += 1

    def slack(self, step: Step, x: Value) -> float:
        """0 if the result is made of integers and each partial sum fits, else how
        much it may differ."""
        names = set(re.findall(r"v\d+", step.text))
        used = [v for v in self.values if v.name in names]
        slack = max(v.slack for v in used)
        sizes = [v.theirs.double().abs().max().item() for v in used if v.theirs.numel()]
        largest = max([3.0, *sizes]) ** 2 * step.sums
        if step.rounds or slack or any(largest > MANTISSA.get(v.dtype, 2.0**53) for v in used):
            return max(slack, *(TOLERANCE.get(v.dtype, 2e-3) for v in used))
        return 0

    def look(self, x: Value) -> None:
        """Looks at a value on the way."""
        self.lines.append(f"{x.name}.tolist()")
        self.compare([x])

    # -- the end -----------------------------------------------------------

    def finish(self) -> None:
        """Forgets some values and compares the others."""
        c = self.choices
        kept = [self.values[-1]]
        if c.flag():
            kept += [v for v in self.values[:-1] if c.flag()]
        self.values = []
        self.lines.append(f"return [{', '.join(v.name for v in kept)}]")
        self.compare(kept)

    def compare(self, values: list[Value]) -> None:
        _leave_trace(self)
        for value in values:
            try:
                ours = value.ours.to_torch()
            except Exception as error:
                raise self.wrong(error) from None
            if (problem := difference(ours, value.theirs, value.slack)) is not None:
                raise self.wrong(f"{value.name}: {problem}")

    def script(self, lines: Sequence[str] | None = None) -> str:
        lines = list(self.lines if lines is None else lines)
        if not lines or not lines[-1].startswith("return"):
            names = [line.partition(" ")[0] for line in lines if line.startswith("v")]
            assigned = [n for n in names if "." not in n]
            lines.append(f"return [{assigned[-1] if assigned else ''}]")
        body = "\n".join(f"    {line}" for line in lines)
        return PRELUDE.format(
            mesh=self.placer.text, body=body, mode=self.mode, tolerance=self.worst
        )

    def wrong(self, problem: Any) -> WrongProgramError:
        text = str(problem) if isinstance(problem, str) else f"{type(problem).__name__}: {problem}"
        return WrongProgramError(f"{text}\n\n{minimal(self.script())}")


def difference(ours: torch.Tensor, theirs: torch.Tensor, slack: float) -> str | None:
    """How the values differ, in words; None if they do not."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"expected {theirs.dtype}{list(theirs.shape)}, got {ours.dtype}{list(ours.shape)}"
    if torch.allclose(ours, theirs, rtol=slack, atol=slack, equal_nan=True):
        return None
    return f"expected {theirs.tolist()}, got {ours.tolist()}"


def _named(api: Any, kind: str) -> Any:
    return getattr(api, kind, None) or getattr(api.nn.functional, kind)


def _assigned(t: Any, change: Callable[[Any], object]) -> Any:
    t = t.clone()
    change(t)
    return t


TOOLS: dict[str, Any] = {
    "named": _named,
    "assigned": _assigned,
    "ix": np.s_,
    "Shard": Shard,
    "Replicate": Replicate,
    "Partial": Partial,
}


def fails(script: str) -> bool:
    """Whether a script ends with a complaint about dtorch."""
    try:
        exec(compile(script.replace("print(", "str("), "<script>", "exec"), {"__name__": "script"})
    except (NameError, SyntaxError, UnboundLocalError):
        return False  # a line that others need is gone
    except Exception as error:
        return "PlacementError" not in type(error).__name__ or "strict" not in script
    return False


def minimal(script: str) -> str:
    """The script without lines that the failure does not need."""
    if not fails(script):
        return script + "# (alone, this script does not fail)\n"
    lines = script.splitlines()
    first = lines.index("def program(api, place):") + 1
    at = first
    while lines[at].startswith("    "):
        if not lines[at].startswith("    return") and fails(
            "\n".join(lines[:at] + lines[at + 1 :])
        ):
            del lines[at]
        else:
            at += 1
    return "\n".join(lines) + "\n"


# -- running -------------------------------------------------------------------


def check(seed: int) -> None:
    """Compares the program of that seed."""
    program = Program(seed)
    for _ in range(program.choices.integer(2, 14)):
        program.step()
    program.finish()


def _leave_trace(program: Program) -> None:
    """So that a crash of the process leaves its script, too."""
    if path := os.environ.get("DTORCH_RANDOM_TRACE"):
        Path(path).write_text(program.script())


def draw(examples: int, seed: int) -> int:
    """Checks that many programs; the number of those drawn. Raises WrongProgramError."""
    warnings.filterwarnings("ignore", message=".*degrees of freedom", category=UserWarning)
    done = 0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate],  # `minimal` shrinks the script
    )
    @hypothesis.given(st.integers(0, 2**63 - 1))
    def run(seed: int) -> None:
        nonlocal done
        check(seed)
        done += 1

    run()
    return done


def work(worker: int, minutes: float, seed: int) -> int:
    """One worker: batches until the time is over."""
    deadline, done = time.monotonic() + 60 * minutes, 0
    for batch in range(1 << 20):
        if time.monotonic() >= deadline:
            break
        # Every other batch compares replicas after each instruction.
        os.environ["DTORCH_CHECK_REPLICAS"] = str(batch % 2)
        try:
            done += draw(50, seed + 1000 * worker + batch)
        except WrongProgramError as error:
            print(f"worker {worker}, batch {batch}: {error}", flush=True)
            return 1
    print(f"worker {worker}: {done} programs agree with PyTorch", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--statistics", action="store_true", help="print steps per kind")
    arguments = parser.parse_args()
    os.environ.setdefault("DTORCH_TIMEOUT", "60")
    if arguments.worker is not None:
        code = work(arguments.worker, arguments.minutes, arguments.seed)
        if arguments.statistics:
            for name, count in statistics.most_common():
                print(f"{count:8} {name}")
        return code
    return _supervise(arguments)


def _supervise(arguments: argparse.Namespace) -> int:
    """Starts the workers; one that died shows the program it ran."""
    with tempfile.TemporaryDirectory() as folder:
        workers = []
        for i in range(arguments.workers):
            trace = Path(folder) / f"{i}.py"
            options = ["--worker", str(i), "--minutes", str(arguments.minutes)]
            options += ["--seed", str(arguments.seed)]
            options += ["--statistics"] if arguments.statistics else []
            command = [sys.executable, "-m", "dtorch.testing.random_programs", *options]
            environment = {**os.environ, "DTORCH_RANDOM_TRACE": str(trace)}
            workers.append((subprocess.Popen(command, env=environment), trace))
        failed = 0
        for process, trace in workers:
            code = process.wait()
            failed += code != 0
            if code not in (0, 1):
                text = trace.read_text() if trace.exists() else ""
                print(f"a worker ended with code {code} in\n\n{text}", flush=True)
    print(f"{arguments.workers - failed} of {arguments.workers} workers found no difference")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
