"""Runs one of PyTorch's op entries: its samples on one device and on meshes."""

from __future__ import annotations

import itertools
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from dtorch import Partial, Placement, Replicate, Shard, _dtorch, init_device_mesh
from dtorch.arrays import from_bytes
from dtorch.dtypes import to_dtype
from dtorch.graph import Graph
from dtorch.mesh import HOST, DeviceMesh
from dtorch.tensor import Tensor
from dtorch.testing.op_db_compare import Mismatch, compare
from dtorch.testing.op_db_table import DTYPES, FACTORIES, find

__all__ = ["OUTCOMES", "Report", "entries", "run_entry"]

OUTCOMES = ("equal", "refused", "wrong", "crashed")
MESHES = ((2,), (2, 2))
MIXES = 3
NODES_PER_RUN = 400
_OUR_FORM = re.compile(r"^\S[^\n]*:\d+: error: [^\n:]+: ", re.DOTALL)


@dataclass
class Report:
    """What became of an entry's samples; the worst of its placements counts."""

    outcomes: Counter[str] = field(default_factory=Counter)
    placed: int = 0
    """Calls, one per choice of placements."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Messages of all that is not equal."""


def entries() -> list[Any]:
    """PyTorch's entries that have an op here."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [entry for entry in op_db if find(entry.name)]


def run_entry(entry: Any, dtype: str) -> Report:
    """All samples of an entry in one dtype."""
    torch.manual_seed(zlib.crc32(f"{entry.name} {dtype}".encode()))
    report = Report()
    function = find(entry.name)
    assert function is not None
    waiting: list[_Sample] = []
    for number, sample in enumerate(_samples(entry, DTYPES[dtype])):
        expected = _reference(entry, sample)
        if expected is None:  # not a call that PyTorch takes
            continue
        ours = _Sample(entry.name, function, sample, expected, number)
        report.placed += ours.record()
        waiting.append(ours)
        if sum(len(s.calls) for s in waiting) * 4 > NODES_PER_RUN:
            _finish(waiting, report)
            waiting = []
    _finish(waiting, report)
    return report


def _samples(entry: Any, dtype: torch.dtype) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from entry.sample_inputs("cpu", dtype, requires_grad=False)


def _reference(entry: Any, sample: Any) -> Any:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            return entry(_copied(sample.input), *sample.args, **sample.kwargs)
        except Exception:
            return None


def _copied(value: Any) -> Any:
    return _map(value, torch.clone, torch.Tensor)


def _map(value: Any, function: Callable[[Any], Any], kind: type) -> Any:
    """The nested value with each leaf of a kind replaced."""
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = [_map(v, function, kind) for v in value]
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {k: _map(v, function, kind) for k, v in value.items()}
    return value


@dataclass
class _Call:
    """One recorded call: its result, tensors of which move to the host."""

    where: str
    result: Any
    nodes: list[_dtorch.Node]


class _Sample:
    """A sample input, recorded under every choice of placements."""

    def __init__(
        self, name: str, function: Callable[..., Any], sample: Any, expected: Any, number: int
    ) -> None:
        self.name, self.function, self.sample, self.expected = name, function, sample, expected
        self.arguments = (sample.input, tuple(sample.args), dict(sample.kwargs))
        self.tensors: list[Tensor] = []
        self.rng = np.random.default_rng(zlib.crc32(f"{name} {number}".encode()))
        self.calls: list[_Call] = []
        self.outcome, self.reason = "equal", ""

    def fail(self, outcome: str, reason: str) -> None:
        if OUTCOMES.index(outcome) > OUTCOMES.index(self.outcome):
            self.outcome, self.reason = outcome, reason

    def fail_by(self, error: BaseException, where: str) -> None:
        """By an exception: refused, if it is one of our own."""
        text = str(error)
        ours = isinstance(
            error, (ValueError, TypeError, IndexError, RuntimeError)
        ) and _OUR_FORM.match(text)
        if ours:
            self.fail("refused", text.partition(": error: ")[2])
        else:
            self.fail("crashed", f"{where}: {type(error).__name__}: {text}")

    def record(self) -> int:
        """Records every call; how many there are."""
        leaves: list[torch.Tensor] = []
        _map(self.arguments, leaves.append, torch.Tensor)
        try:
            self.tensors = [Tensor(_known_dtype(t)) for t in leaves]
        except Exception as error:
            self.fail_by(error, "on the host")
            return 0
        for where, tensors, options in self._placed():
            try:
                result = self._call(tensors, options)
                self.calls.append(_Call(where, result, _on_host(result)))
            except Exception as error:
                self.fail_by(error, where)
            if where == "on the host" and not self.calls:
                break
        return len(self.calls)

    def _call(self, tensors: Sequence[Tensor], options: dict[str, Any]) -> Any:
        rest = iter(tensors)
        first, args, kwargs = _map(self.arguments, lambda _: next(rest), torch.Tensor)
        for name in ("requires_grad", "pin_memory"):
            if kwargs.get(name) is False:
                kwargs.pop(name)
        return self.function(first, *args, **kwargs, **options)

    def _placed(self) -> Iterator[tuple[str, Sequence[Tensor], dict[str, Any]]]:
        """Operands under each choice of placements, and keywords."""
        yield "on the host", self.tensors, {}
        for shape in MESHES:
            mesh = init_device_mesh("cpu", shape)
            if not self.tensors:
                if self.name in FACTORIES:
                    yield from self._results(mesh)
                continue
            whole = [t.redistribute(mesh, [Replicate()] * mesh.ndim) for t in self.tensors]
            choices = [list(itertools.product(_options(t), repeat=mesh.ndim)) for t in self.tensors]
            for i, own in enumerate(choices):
                for placements in own:
                    placed = list(whole)
                    placed[i] = self.tensors[i].redistribute(mesh, placements)
                    yield f"operand {i} {list(placements)} on {shape}", placed, {}
            for _ in range(MIXES):
                drawn = [own[self.rng.integers(len(own))] for own in choices]
                placed = [t.redistribute(mesh, p) for t, p in zip(self.tensors, drawn, strict=True)]
                yield f"operands {[list(p) for p in drawn]} on {shape}", placed, {}

    def _results(self, mesh: DeviceMesh) -> Iterator[tuple[str, Sequence[Tensor], dict[str, Any]]]:
        ndim = self.expected.ndim
        options: list[Placement] = [Replicate(), *(Shard(d) for d in range(ndim))]
        for placements in itertools.product(options, repeat=mesh.ndim):
            where = {"device_mesh": mesh, "placements": list(placements)}
            yield f"result {list(placements)} on {mesh.shape}", (), where

    def check(self) -> None:
        """Compares the calls, which have been computed."""
        for call in self.calls:
            values = iter(call.nodes)
            try:
                actual = _map(call.result, lambda _, v=values: _value(next(v)), Tensor)
                compare(self.name, self.sample, self.expected, actual)
            except Mismatch as error:
                self.fail("wrong", f"{call.where}: {error}")
            except Exception as error:
                self.fail_by(error, call.where)


def _known_dtype(tensor: torch.Tensor) -> torch.Tensor:
    """Index tensors of bytes are given as int64: there is no uint8 here."""
    return tensor.long() if tensor.dtype == torch.uint8 else tensor


def _options(tensor: Tensor) -> list[Placement]:
    options: list[Placement] = [Replicate(), *(Shard(d) for d in range(tensor.ndim))]
    return options if tensor.dtype.name == "bool" else [*options, Partial()]


def _on_host(result: Any) -> list[_dtorch.Node]:
    nodes: list[_dtorch.Node] = []
    native = Graph.default_graph()._native

    def add(tensor: Tensor) -> None:
        node = tensor._node
        if not node.mesh.is_host:
            node = native.redistribute(node, HOST._native, [])
        nodes.append(node)

    _map(result, add, Tensor)
    return nodes


def _value(node: _dtorch.Node) -> torch.Tensor:
    value = from_bytes(_dtorch.host_array(node), to_dtype(node.dtype), tuple(node.shape))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the memory is read only
        tensor = torch.from_numpy(value.array)
    return tensor.view(torch.bfloat16) if node.dtype == "bfloat16" else tensor


def _finish(samples: list[_Sample], report: Report) -> None:
    """Computes and compares: all at once, or one by one if that fails."""
    try:
        _compute([node for s in samples for c in s.calls for node in c.nodes])
    except Exception:
        for sample in samples:
            _compute_one(sample)
    for sample in samples:
        sample.check()
        report.outcomes[sample.outcome] += 1
        if sample.reason:
            report.reasons[f"{sample.outcome}: {sample.reason}"] += 1


def _compute(nodes: list[_dtorch.Node]) -> None:
    wanted = [n for n in nodes if not n.computed]
    if wanted:
        _dtorch.flush(wanted)


def _compute_one(sample: _Sample) -> None:
    try:
        _compute([node for call in sample.calls for node in call.nodes])
        return
    except Exception:
        pass
    computed = []
    for call in sample.calls:
        try:
            _compute(call.nodes)
            computed.append(call)
        except Exception as error:
            sample.fail_by(error, call.where)
    sample.calls = computed
