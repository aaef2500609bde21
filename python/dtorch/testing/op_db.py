"""Our ops on PyTorch's own sample inputs.

    python3 -m dtorch.testing.op_db [--ops a,b] [--slice K/N] [--why]

Every entry of `torch.testing._internal.common_methods_invocations.op_db` that has
an op here runs in float32, bfloat16 and int64: on one device, and on meshes (2)
and (2, 2) under every placement of one operand with the others replicated and
three drawn mixes. Two worker processes; one that dies or hangs is a crash of the
entry that it was at. Needs PyPI's expecttest.

Prints a line per op: samples, how many are equal, refused with a clear error,
wrong, crashed. Exits with 1 if one is wrong or crashed, or if less than 95 % of
the samples of an op in `REQUIRED` are equal.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from typing import IO

from dtorch.testing.op_db_run import OUTCOMES, Report, entries, run_entry
from dtorch.testing.op_db_table import DTYPES, REQUIRED

__all__ = ["main", "run", "tasks"]

Task = tuple[int, str]
"""An entry's index and a dtype."""

TIMEOUT = 300.0
"""Seconds after which a worker that says nothing is ended."""


def tasks(ops: Iterable[str] | None = None, part: tuple[int, int] = (1, 1)) -> list[Task]:
    """Entries in the dtypes that they take; every `part[1]`-th from `part[0]` on."""
    wanted = None if ops is None else set(ops)
    result = [
        (index, dtype)
        for index, entry in enumerate(entries())
        if wanted is None or entry.name in wanted
        for dtype, torch_dtype in DTYPES.items()
        if torch_dtype in entry.dtypes
    ]
    return result[part[0] - 1 :: part[1]]


class _Worker:
    """A process that runs tasks, started when needed and again when it died."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def run(self, task: Task) -> Report:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dtorch.testing.op_db", "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        process = self.process
        assert process.stdin and process.stdout
        watch = threading.Timer(TIMEOUT, process.kill)
        watch.start()
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if line:
            outcomes, placed, reasons = json.loads(line)
            return Report(Counter(outcomes), placed, Counter(reasons))
        status = process.wait()
        self.process = None
        how = f"a signal {-status}" if status < 0 else f"status {status}"
        return Report(Counter(crashed=1), 0, Counter({f"crashed: the process ended by {how}": 1}))

    def close(self) -> None:
        if self.process is not None and self.process.stdin:
            self.process.stdin.close()
            self.process.wait()


def _work(stdin: IO[str], stdout: IO[str]) -> None:
    """The worker's side: a task a line in, a report a line out."""
    import torch

    torch.set_num_threads(1)
    known = entries()
    for line in stdin:
        index, dtype = json.loads(line)
        report = run_entry(known[index], dtype)
        stdout.write(json.dumps([report.outcomes, report.placed, report.reasons]) + "\n")
        stdout.flush()


def run(todo: list[Task], workers: int = 2) -> dict[str, Report]:
    """Reports by op name."""
    names = [entry.name for entry in entries()]
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in todo:
        waiting.put(task)
    reports: dict[str, Report] = {names[index]: Report() for index, _ in todo}
    lock = threading.Lock()

    def serve() -> None:
        worker = _Worker()
        try:
            while True:
                task = waiting.get_nowait()
                result = worker.run(task)
                with lock:
                    total = reports[names[task[0]]]
                    total.outcomes += result.outcomes
                    total.placed += result.placed
                    for reason, count in result.reasons.items():
                        total.reasons[f"{task[1]}: {reason}"] += count
        except queue.Empty:
            pass
        finally:
            worker.close()

    threads = [threading.Thread(target=serve) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return reports


def _share(outcomes: Counter[str]) -> float:
    return 100.0 * outcomes["equal"] / max(outcomes.total(), 1)


def failures(reports: dict[str, Report]) -> list[str]:
    """What is not as it must be, a line each."""
    lines = []
    for name, report in sorted(reports.items()):
        if report.outcomes["wrong"] or report.outcomes["crashed"]:
            lines.append(f"{name}: wrong or crashed")
        elif name in REQUIRED and report.outcomes.total() and _share(report.outcomes) < 95.0:
            lines.append(f"{name}: {_share(report.outcomes):.1f} % equal, must be 95 %")
    return lines


def show(reports: dict[str, Report], why: bool, out: IO[str]) -> None:
    """The table; `why` adds the messages of what was refused."""
    width = max((len(name) for name in reports), default=10)
    columns = "".join(f"{name:>9}" for name in ("samples", *OUTCOMES, "calls"))
    print(f"{'op':{width}}{columns}", file=out)
    totals, calls = Counter[str](), 0
    for name, report in sorted(reports.items()):
        counts = report.outcomes
        numbers = [counts.total(), *(counts[o] for o in OUTCOMES), report.placed]
        mark = "" if name in REQUIRED else "  (beyond the list)"
        print(f"{name:{width}}{''.join(f'{n:9}' for n in numbers)}{mark}", file=out)
        for reason, count in report.reasons.most_common():
            if why or ": refused: " not in reason:
                print(f"    {count} x {reason}", file=out)
        totals += counts
        calls += report.placed
    numbers = [totals.total(), *(totals[o] for o in OUTCOMES), calls]
    print(f"{'total':{width}}{''.join(f'{n:9}' for n in numbers)}", file=out)
    listed = Counter[str]()
    for name, report in reports.items():
        listed += report.outcomes if name in REQUIRED else Counter()
    print(
        f"{_share(totals):.1f} % of all samples are equal, "
        f"{_share(listed):.1f} % of those of the {len(set(reports) & REQUIRED)} ops listed",
        file=out,
    )


def _part(text: str) -> tuple[int, int]:
    k, n = (int(part) for part in text.split("/"))
    if not 1 <= k <= n:
        raise argparse.ArgumentTypeError(f"needs K/N with 1 <= K <= N, got {text}")
    return k, n


def main(arguments: list[str] | None = None) -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog="op_db", description=__doc__)
    parser.add_argument("--ops", help="names of entries, separated by commas")
    parser.add_argument("--slice", type=_part, default=(1, 1), help="K/N: one of N parts")
    parser.add_argument("--why", action="store_true", help="show why samples were refused")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        _work(sys.stdin, sys.stdout)
        return 0
    todo = tasks(options.ops.split(",") if options.ops else None, options.slice)
    reports = run(todo, options.workers)
    show(reports, options.why, sys.stdout)
    problems = failures(reports)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
