"""Loading state dicts."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dtorch import _dtorch, arrays
from dtorch.arrays import HostArray
from dtorch.errors import fail
from dtorch.nn.parameter import CellTensor, Parameter
from dtorch.tensor import Tensor

if TYPE_CHECKING:
    from dtorch.nn.modules.module import Module


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict(strict=False)` found."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class _Slot(NamedTuple):
    """A place for a value: a parameter, or a buffer of a module."""

    key: str
    parameter: Parameter | None
    module: Module
    name: str


class _Loaded(NamedTuple):
    """A value read and placed, not yet put in."""

    slot: _Slot
    node: _dtorch.Node | None
    buffer: Tensor | None


def _slots(root: Module) -> Iterator[_Slot]:
    for path, module in root.named_modules(remove_duplicate=False):
        start = f"{path}." if path else ""
        for name, parameter in module._tables.parameters.items():
            if parameter is not None:
                yield _Slot(start + name, parameter, module, name)
        for name, buffer in module._tables.buffers.items():
            if buffer is not None and name not in module._tables.non_persistent:
                yield _Slot(start + name, None, module, name)


def load(root: Module, state_dict: Mapping[str, Any], strict: bool) -> IncompatibleKeys:
    """Reads each value once, places it, and puts all in when nothing is wrong."""
    if not isinstance(state_dict, Mapping):
        raise fail(TypeError, f"load_state_dict: needs a mapping, got {state_dict!r:.80}")
    slots = list(_slots(root))
    given = [s for s in slots if s.key in state_dict]
    tied = {id(s.parameter) for s in given if s.parameter is not None}
    missing = [
        s.key
        for s in slots
        if s.key not in state_dict and (s.parameter is None or id(s.parameter) not in tied)
    ]
    expected = {s.key for s in slots}
    unexpected = [key for key in state_dict if key not in expected]
    problems = []
    if strict:
        problems += [f"missing key {key!r}" for key in missing]
        problems += [f"unexpected key {key!r}" for key in unexpected]
    loaded = _read_all(given, state_dict, problems)
    if problems:
        raise fail(
            RuntimeError,
            f"load_state_dict: {type(root).__name__} needs the keys and shapes of its "
            "state_dict(), got\n  " + "\n  ".join(problems),
        )
    for entry in loaded:
        _put(entry)
    return IncompatibleKeys(missing, unexpected)


def _read_all(
    slots: list[_Slot], state_dict: Mapping[str, Any], problems: list[str]
) -> list[_Loaded]:
    """Values as nodes that nobody uses yet; wrong shapes go to `problems`."""
    loaded: list[_Loaded] = []
    sources: _Sources = {}
    first_of_tie: dict[int, tuple[str, Any, HostArray]] = {}
    for slot in slots:
        source = state_dict[slot.key]
        value = arrays.from_any(source)
        held = slot.parameter if slot.parameter is not None else getattr(slot.module, slot.name)
        if value.array.shape != held.shape:
            problems.append(
                f"shape {tuple(value.array.shape)} of {slot.key!r}, expected {held.shape}"
            )
            continue
        identity = _identity(source, value)
        if slot.parameter is None:
            buffer = Tensor(arrays.cast(value, held.dtype))
            loaded.append(_Loaded(slot, None, buffer._place(held.device_mesh, held.placements)))
            continue
        before = first_of_tie.get(id(slot.parameter))
        if before is not None:
            if before[1] != identity and not _equal(before[2], value):
                problems.append(f"two unequal values for a tie, {before[0]!r} and {slot.key!r}")
            continue
        if _is_tied(slot, slots):
            first_of_tie[id(slot.parameter)] = slot.key, identity, value
        if problems:
            continue  # only looking for more of them
        cell = slot.parameter._cell
        node = cell.place(value)
        _share(sources, (identity, cell.layout), source, value, node)
        loaded.append(_Loaded(slot, node, None))
    return loaded


_Sources = dict[Any, tuple[Any, _dtorch.Node]]
"""Nodes by memory and layout, with a weak reference to what holds the memory: a
file read piece by piece must not be kept, and freed memory says nothing."""


def _share(sources: _Sources, key: Any, source: Any, value: HostArray, node: _dtorch.Node) -> None:
    """Lets the node use the memory of an earlier equal one."""
    known = sources.get(key)
    if known is not None and known[0]() is not None:
        _dtorch.assign(node, known[1])
        return
    anchor = value.array if isinstance(source, HostArray) else source
    try:
        sources[key] = weakref.ref(anchor), node
    except TypeError:
        return  # a list or a number: nothing to share


def _identity(source: Any, value: HostArray) -> Any:
    """Equal for values that lie in the same memory while `source` lives."""
    if isinstance(source, CellTensor):
        return id(source._cell)
    return value.identity


def _is_tied(slot: _Slot, slots: list[_Slot]) -> bool:
    return sum(s.parameter is slot.parameter for s in slots) > 1


def _equal(a: HostArray, b: HostArray) -> bool:
    if a.dtype is not b.dtype:
        return False
    floating = a.array.dtype.kind == "f"
    return bool(np.array_equal(a.array, b.array, equal_nan=floating))


def _put(entry: _Loaded) -> None:
    slot = entry.slot
    if slot.parameter is not None:
        assert entry.node is not None
        slot.parameter._cell.name = slot.parameter._cell.name or slot.key
        slot.parameter._cell.put(entry.node)
    else:
        slot.module._tables.buffers[slot.name] = entry.buffer
