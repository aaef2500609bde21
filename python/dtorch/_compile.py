"""`compile`: a function recorded once, and replayed without running it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dtorch import _dtorch, random
from dtorch._base import TensorBase
from dtorch._tracing import reads
from dtorch.errors import fail, shown
from dtorch.graph import Graph
from dtorch.nn.modules.module import Module
from dtorch.nn.parameter import CellTensor
from dtorch.tensor import Tensor

__all__ = ["compile"]

_MAX_RECORDINGS = 64
"""Of one function; the one not used for longest leaves first."""


def compile(function: Callable[..., Any]) -> Compiled:
    """Records a function or module once per signature and replays it from then on.

    A call with tensors of the same shapes, dtypes and places, equal other
    arguments and the same mode records the ops of the first such call again,
    without running Python code in between. As ever they are computed when a value
    is looked at. Parameters are read anew in every call; random numbers are drawn
    anew. Whatever else the function reads (attributes, tensors that are not
    arguments) is taken as it was when recorded.

    Arguments and results may be tuples, lists and dicts of tensors. Looking at a
    value inside of the function is an error.

    >>> import dtorch
    >>> @dtorch.compile
    ... def scaled(x, factor):
    ...     return {"sum": (x * factor).sum(), "twice": x + x}
    >>> scaled(dtorch.Tensor([1.0, 2.0]), 3)["sum"].item()
    9.0
    >>> scaled(dtorch.Tensor([4.0, 5.0]), 3)["twice"].tolist()
    [8.0, 10.0]
    >>> scaled.recordings
    1
    """
    if not callable(function):
        raise fail(TypeError, f"compile: needs a function or module, got {shown(function)}")
    return Compiled(function)


# -- nested arguments and results -------------------------------------------------


class _Leaf:
    """Stands for a tensor in the structure of arguments or results."""


_LEAF = _Leaf()


def _flatten(value: Any, leaves: list[Any]) -> Any:
    """A hashable description of the structure; tensors go to `leaves`."""
    if isinstance(value, TensorBase):
        leaves.append(value)
        return _LEAF
    if isinstance(value, (tuple, list)):
        return type(value), tuple([_flatten(item, leaves) for item in value])
    if isinstance(value, dict):
        items = tuple([(key, _flatten(item, leaves)) for key, item in value.items()])
        return type(value), items
    if hasattr(value, "__dlpack__"):
        raise fail(
            TypeError,
            f"compile: arrays must be dtorch tensors, got {type(value).__name__}",
            "pass dtorch.Tensor(array)",
        )
    return type(value), value  # 1, 1.0 and True differ


def _rebuild(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is _LEAF:
        return next(leaves)
    kind, content = structure
    if issubclass(kind, (tuple, list)):
        items = [_rebuild(item, leaves) for item in content]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    if issubclass(kind, dict):
        return kind((key, _rebuild(item, leaves)) for key, item in content)
    return content


# -- recording --------------------------------------------------------------------


@dataclass
class _Recording:
    """A function as recorded for one signature."""

    replay: _dtorch.Replay
    sources: list[Any]
    """Where each input of the replay comes from: the number of an argument, a
    parameter, or a Node that stays as it is."""
    keys: list[tuple[int, int, int]]
    """Seed input, offset input, offset from the first of the call."""
    draws: int
    changed: list[tuple[Any, int]]
    """Arguments (by number) and buffers that get a new value, and which output."""
    outputs: list[Any]
    """Per tensor of the result: the number of an output, or an object itself."""
    structure: Any

    def run(self, leaves: list[Any]) -> Any:
        """The result of the function for the tensors of a call."""
        inputs = [leaves[s] if isinstance(s, int) else s for s in self.sources]
        if self.keys or self.draws:
            self._draw(inputs)
        values = self.replay.record(inputs)
        for target, number in self.changed:
            (leaves[target] if isinstance(target, int) else target)._rebind(values[number])
        results = (_result(source, leaves, values) for source in self.outputs)
        return _rebuild(self.structure, results)

    def _draw(self, inputs: list[Any]) -> None:
        """Gives random ops the keys that the function would have drawn."""
        seed, first = random.take_keys(self.draws)
        for seed_input, offset_input, distance in self.keys:
            inputs[seed_input] = _dtorch.scalar(seed, "int64")
            inputs[offset_input] = _dtorch.scalar(first + distance, "int64")

    def fits(self) -> bool:
        """Whether parameters and buffers still have the types recorded."""
        nodes = self.replay.inputs
        return all(
            _dtorch.type_id(source) == _dtorch.type_id(node)
            for source, node in zip(self.sources, nodes, strict=True)
            if isinstance(source, TensorBase)
        )


@dataclass(frozen=True)
class _Argument:
    number: int


def _result(source: Any, leaves: list[Any], values: list[Tensor]) -> Any:
    if isinstance(source, _Argument):
        return leaves[source.number]
    return values[source] if isinstance(source, int) else source


class Compiled:
    """What `compile` gives: called like the function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._recordings: dict[Any, _Recording] = {}
        self._lock = threading.RLock()
        functools.update_wrapper(self, function, updated=())

    @property
    def recordings(self) -> int:
        """Signatures recorded so far."""
        return len(self._recordings)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves: list[Any] = []
        structure = _flatten((args, kwargs), leaves)
        graph = Graph.default_graph()
        signature = (
            structure,
            tuple([_dtorch.type_id(leaf) for leaf in leaves]),
            tuple([leaf.requires_grad for leaf in leaves]),
            graph.mode,
            tuple(graph._guards.meshes),
            self._state(),
        )
        with self._lock:
            recording = self._find(signature)
            if recording is None or not recording.fits():
                recording = _Recorder(self._function, graph, leaves).record(structure)
            self._keep(signature, recording)
        return recording.run(leaves)

    def _find(self, signature: Any) -> _Recording | None:
        try:
            hash(signature)
        except TypeError as error:
            raise fail(
                TypeError,
                "compile: arguments must be tensors, hashable values, or tuples, lists and "
                f"dicts of these, got {error}",
            ) from None
        return self._recordings.pop(signature, None)

    def _keep(self, signature: Any, recording: _Recording) -> None:
        self._recordings[signature] = recording  # the last one
        if len(self._recordings) > _MAX_RECORDINGS:
            del self._recordings[next(iter(self._recordings))]

    def __getattr__(self, name: str) -> Any:
        if name == "_function":
            raise AttributeError(name)
        return getattr(self._function, name)

    def _state(self) -> Any:
        """What else tells recordings of a module apart: its mode, and which
        parameters and buffers it has. Recordings keep those that they read, so
        an `id` means the same object."""
        if not isinstance(self._function, Module):
            return None
        modules = tuple([module.training for module in self._function.modules()])
        parameters = tuple([id(p) for p in self._function.parameters()])
        return modules, parameters, tuple([id(b) for b in self._function.buffers()])


class _Recorder:
    """Records a function for the tensors of one call."""

    def __init__(self, function: Callable[..., Any], graph: Graph, leaves: list[Any]) -> None:
        self.function = function
        self.graph = Graph(graph.mode)
        self.graph._guards.meshes = list(graph._guards.meshes)
        self.graph._replays = True
        self.buffers: list[Any] = []
        if isinstance(function, Module):
            self.buffers = [b for b in function.buffers() if not isinstance(b, CellTensor)]
        self.placeholders = []
        for leaf in leaves:
            placeholder = _dtorch.placeholder(leaf)
            placeholder.requires_grad = leaf.requires_grad
            self.placeholders.append(placeholder)

    def record(self, structure: Any) -> _Recording:
        args, kwargs = _rebuild(structure, iter(self.placeholders))
        nodes = [_dtorch.node_id(p) for p in self.placeholders]
        buffer_nodes = [b._node for b in self.buffers]
        first, key = _dtorch.next_sequence(), random.state()
        try:
            with reads() as parameters, self.graph:
                result = self.function(*args, **kwargs)
            leaves: list[Any] = []
            result_structure = _flatten(result, leaves)
            changed = self._changed(nodes, buffer_nodes)
            outputs, sources = self._outputs(leaves, changed)
        finally:
            for buffer, node in zip(self.buffers, buffer_nodes, strict=True):
                buffer._node = node  # the replay gives it its new value
        replay = _dtorch.Replay(outputs, first)
        given = {node: number for number, node in enumerate(nodes)}
        held = {_dtorch.node_id(n): b for n, b in zip(buffer_nodes, self.buffers, strict=True)}
        inputs = [
            given.get(number, parameters.get(number, held.get(number, node)))
            for node in replay.inputs
            for number in [_dtorch.node_id(node)]
        ]
        return _Recording(
            replay,
            inputs,
            *_random_keys(replay, key),
            [(target, number) for number, (target, _) in enumerate(changed)],
            sources,
            result_structure,
        )

    def _changed(self, nodes: list[int], buffer_nodes: list[Any]) -> list[tuple[Any, Tensor]]:
        """Arguments and buffers that in-place forms gave another value."""
        changed: list[tuple[Any, Tensor]] = []
        for number, (tensor, node) in enumerate(zip(self.placeholders, nodes, strict=True)):
            if _dtorch.node_id(tensor) != node:
                changed.append((number, tensor))
        for buffer, node in zip(self.buffers, buffer_nodes, strict=True):
            if _dtorch.node_id(buffer) != _dtorch.node_id(node):
                changed.append((buffer, buffer.detach()))
        return changed

    def _outputs(
        self, leaves: list[Any], changed: list[tuple[Any, Tensor]]
    ) -> tuple[list[Any], list[Any]]:
        """The outputs of the replay, and where each tensor of the result is."""
        outputs: list[Any] = [tensor for _, tensor in changed]
        arguments = {id(p): _Argument(number) for number, p in enumerate(self.placeholders)}
        kept = {id(b): b for b in self.buffers}
        numbers: dict[int, int] = {}
        sources: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, CellTensor) or id(leaf) in kept:
                sources.append(leaf)
            elif id(leaf) in arguments:
                sources.append(arguments[id(leaf)])
            else:
                if id(leaf) not in numbers:
                    numbers[id(leaf)] = len(outputs)
                    outputs.append(leaf)
                sources.append(numbers[id(leaf)])
        return outputs, sources


def _random_keys(
    replay: _dtorch.Replay, before: tuple[int, int]
) -> tuple[list[tuple[int, int, int]], int]:
    """The keys drawn while recording, and how many. A function that sets the seed
    itself keeps its numbers."""
    seed, offset = before
    draws = random.state()[1] - offset
    if random.state()[0] != seed or draws < 0:
        return [], 0
    keys = []
    nodes = replay.inputs
    for seed_input, offset_input in replay.random_keys:
        drawn = nodes[offset_input].integer
        if nodes[seed_input].integer == seed and drawn is not None:
            keys.append((seed_input, offset_input, drawn - offset))
    random.restart(before)
    return keys, draws
