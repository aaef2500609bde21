"""Graphs: where operations are recorded, and how they run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Literal, NamedTuple

from dtorch import _dtorch
from dtorch.errors import fail, shown
from dtorch.mesh import DeviceMesh

__all__ = ["Counter", "Graph", "compile_counters", "counters", "mode", "reset_counters"]

Mode = Literal["auto", "strict"]


class _Guards(threading.local):
    """The `device_mesh_guard` blocks that a thread is in."""

    def __init__(self) -> None:
        self.meshes: list[DeviceMesh] = []


class Graph:
    """Records operations; a value is computed when it is looked at, or by `sync`.

    `mode` says what happens where an op's operands match no row of its placement
    rule: "auto" inserts the cheapest redistribute, "strict" raises.

    >>> with Graph(mode="strict") as graph:
    ...     Graph.default_graph() is graph
    True
    """

    def __init__(self, mode: Mode = "auto") -> None:
        self._native = _dtorch.Graph(_checked_mode(mode))
        self._guards = _Guards()
        self._replays = False  # recorded by `compile`: no value exists

    @staticmethod
    def default_graph() -> Graph:
        """The graph of the innermost `with Graph():`, or the process's own."""
        stack = _stack()
        return stack[-1] if stack else _process_graph

    @property
    def mode(self) -> Mode:
        return self._native.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._native.mode = _checked_mode(mode)

    @property
    def guarded_mesh(self) -> DeviceMesh | None:
        """The mesh of this thread's innermost `device_mesh_guard`."""
        meshes = self._guards.meshes
        return meshes[-1] if meshes else None

    def device_mesh_guard(self, device_mesh: DeviceMesh) -> AbstractContextManager[None]:
        """Parameters and factories made inside lie on `device_mesh`, replicated
        unless their class shards them. `dtorch.Tensor(data)` stays on the host."""
        if not isinstance(device_mesh, DeviceMesh):
            raise fail(
                TypeError, f"device_mesh_guard: needs a DeviceMesh, got {shown(device_mesh)}"
            )
        return self._guard(device_mesh)

    @contextmanager
    def _guard(self, device_mesh: DeviceMesh) -> Iterator[None]:
        self._guards.meshes.append(device_mesh)
        try:
            yield
        finally:
            self._guards.meshes.pop()

    def satisfy(self, device_mesh: DeviceMesh) -> bool:
        """Whether this process has the devices of the mesh."""
        if not isinstance(device_mesh, DeviceMesh):
            raise fail(TypeError, f"satisfy: needs a DeviceMesh, got {shown(device_mesh)}")
        if device_mesh.device_type != "cpu":
            return False
        return device_mesh._native.required_world_size <= _dtorch.num_devices()

    def sync(self) -> None:
        """Computes every recorded value that somebody holds."""
        self._native.sync()

    @property
    def num_live_nodes(self) -> int:
        """Inputs, parameters and recorded values in memory."""
        return self._native.num_live_nodes()

    def __enter__(self) -> Graph:
        _stack().append(self)
        _dtorch.set_thread_graph(self._native, self._replays)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stack = _stack()
        stack.pop()
        if stack:
            _dtorch.set_thread_graph(stack[-1]._native, stack[-1]._replays)
        else:
            _dtorch.set_thread_graph(None)


_local = threading.local()


def _stack() -> list[Graph]:
    """The `with Graph():` blocks that this thread is in."""
    stack: list[Graph] | None = getattr(_local, "stack", None)
    if stack is None:
        stack = _local.stack = []
    return stack


def _checked_mode(mode: str) -> Mode:
    if mode == "auto" or mode == "strict":
        return mode  # type: ignore[return-value]
    raise fail(ValueError, f'mode: must be "auto" or "strict", got {mode!r}')


_process_graph = Graph()
_dtorch.set_process_graph(_process_graph._native)


def mode(name: Mode) -> AbstractContextManager[None]:
    """Sets the mode of the default graph for a `with` block.

    >>> with mode("strict"):
    ...     Graph.default_graph().mode
    'strict'
    """
    return _mode(_checked_mode(name))


@contextmanager
def _mode(name: Mode) -> Iterator[None]:
    graph = Graph.default_graph()
    before, graph.mode = graph.mode, name
    try:
        yield
    finally:
        graph.mode = before


class Counter(NamedTuple):
    """What one kind of collective did since `reset_counters`."""

    count: int  # type: ignore[assignment]  # tuple has a method of that name
    """Collectives that ran (one, however many groups took part)."""
    bytes: int
    """Bytes received, summed over the devices."""


def counters() -> dict[str, Counter]:
    """Per kind of collective ("all_reduce", …, "to_host"): how many and how much.

    >>> reset_counters()
    >>> dtorch.arange(8).redistribute(init_device_mesh("cpu", (2,)), [Shard(0)]).sum().item()
    28
    >>> counters()["all_reduce"].count
    1
    """
    return {kind: Counter(*pair) for kind, pair in _dtorch.counters().items()}


def compile_counters() -> dict[str, int]:
    """Counts so far: "programs" compiled, "cache_hits", "ops" that passes visited."""
    return _dtorch.compile_counters()


def reset_counters() -> None:
    """Sets all counters to zero."""
    _dtorch.reset_counters()
