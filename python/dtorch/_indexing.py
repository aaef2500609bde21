"""Indexing with ints, slices, None and `...`: a slice op, then a view."""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Any, NamedTuple

from dtorch._base import TensorBase
from dtorch._shaping import slice_dims, view_as_shape
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor


class _Picked(NamedTuple):
    """What an index takes: bounds per dim, and the shape of the result."""

    starts: list[int]
    stops: list[int]
    steps: list[int]
    shape: list[int]


def getitem(x: TensorBase, index: Any) -> Tensor:
    """x[index], positions being global."""
    picked = _pick(x.shape, index if isinstance(index, tuple) else (index,))
    return view_as_shape(slice_dims(x, picked.starts, picked.stops, picked.steps), picked.shape)


def _pick(shape: tuple[int, ...], items: tuple[Any, ...]) -> _Picked:
    picked = _Picked([], [], [], [])
    for item in _without_ellipsis(shape, items):
        if item is None:
            picked.shape.append(1)
            continue
        dim = len(picked.starts)
        if isinstance(item, slice):
            start, stop, step = _resolve_slice(item, shape[dim])
            picked.shape.append(len(range(start, stop, step)))
        else:
            start = _resolve_int(item, shape[dim], dim)
            stop, step = start + 1, 1
        picked.starts.append(start)
        picked.stops.append(stop)
        picked.steps.append(step)
    return picked


def _without_ellipsis(shape: tuple[int, ...], items: tuple[Any, ...]) -> list[Any]:
    """The items with `...` replaced by full slices, one for each dim left."""
    dots = [i for i, item in enumerate(items) if isinstance(item, EllipsisType)]
    if len(dots) > 1:
        raise fail(IndexError, "index: an index can only have a single ellipsis ('...')")
    taken = sum(item is not None for item in items) - len(dots)
    left = len(shape) - taken
    if left < 0:
        raise fail(IndexError, f"index: too many indices for tensor of dimension {len(shape)}")
    at = dots[0] if dots else len(items)
    return [*items[:at], *[slice(None)] * left, *items[at + 1 :]]


def _resolve_slice(item: slice, size: int) -> tuple[int, int, int]:
    try:
        start, stop, step = item.indices(size)
    except (TypeError, ValueError) as error:
        raise fail(type(error), f"index: {error}") from None
    if step < 1:
        raise fail(ValueError, f"index: slice step must be positive, got {step}")
    return start, max(start, stop), step


def _resolve_int(item: Any, size: int, dim: int) -> int:
    if isinstance(item, bool) or not hasattr(item, "__index__"):
        raise fail(
            NotImplementedError,
            f"index: only ints, slices, None and '...' are available, got {type(item).__name__}",
        )
    index: int = item.__index__()
    if not -size <= index < size:
        raise fail(
            IndexError,
            f"index: index {index} is out of bounds for dimension {dim} with size {size}",
        )
    return index % size
