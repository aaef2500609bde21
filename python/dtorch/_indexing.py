"""Indexing: a slice, then a view, then positions from tensors.

An index is taken apart once, by `parse`; reading (here) and writing (`_setting`)
both work on the parts. As in PyTorch, ints and slices go first; index tensors
then meet what is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from dtorch import arrays, dtypes
from dtorch._base import TensorBase, as_tensor, same
from dtorch._elementwise import binary
from dtorch._gathering import from_places, select_rows
from dtorch._pointwise import where
from dtorch._shaping import broadcast_shape, slice_dims, view_as_shape
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor


@dataclass
class Picked:
    """What an index takes: bounds per dim, the shape of that slice without the
    dims of ints and with those of None, and index tensors by dim of that shape."""

    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
    tensors: dict[int, TensorBase] = field(default_factory=dict)
    mask: tuple[int, TensorBase] | None = None
    """The first dim and the mask, if there is a bool tensor."""

    def slice(self, x: TensorBase) -> Tensor:
        """The slice, under its shape."""
        return view_as_shape(slice_dims(x, self.starts, self.stops, self.steps), self.shape)


def getitem(x: TensorBase, index: Any) -> Tensor:
    """x[index], positions being global. A bool tensor in the index is looked at:
    the result's shape depends on it."""
    picked = parse(x.shape, looked_at(index))
    part = picked.slice(x)
    return take(part, picked.tensors) if picked.tensors else part


def looked_at(index: Any) -> Any:
    """The index with the values of bool tensors."""
    if isinstance(index, tuple):
        return tuple(looked_at(item) for item in index)
    if isinstance(index, TensorBase) and index.dtype is dtypes.bool_:
        mask = same(index)
        return mask.numpy() if mask.ndim else bool(mask)
    return index


def parse(shape: tuple[int, ...], index: Any) -> Picked:
    """The parts of an index into a tensor of this shape."""
    picked = Picked()
    items = index if isinstance(index, tuple) else (index,)
    for item in _without_ellipsis(shape, [_known(item) for item in items]):
        if item is None or isinstance(item, bool):
            picked.shape.append(int(item is not False))
            if item is False:  # a dim without elements: no place is taken
                picked.tensors[len(picked.shape) - 1] = from_places(np.zeros(0))
                picked.shape[-1] = 1
            continue
        dim = len(picked.starts)
        if isinstance(item, TensorBase):
            _pick_tensor(picked, shape, dim, item)
        elif isinstance(item, np.ndarray):
            _pick_mask(picked, shape, dim, item)
        else:
            _pick_bounds(picked, shape[dim], dim, item)
    return picked


def _known(item: Any) -> Any:
    """An item as int, slice, None, `...`, bool, tensor of ours, or array of bools
    (whose true places are known now)."""
    if item is None or isinstance(item, (bool, slice, EllipsisType, TensorBase)):
        return item
    if isinstance(item, np.bool_):
        return bool(item)
    if not isinstance(item, (list, tuple, np.ndarray)) and not arrays.is_torch(item):
        if hasattr(item, "__index__"):
            return item.__index__()
        raise fail(
            IndexError,
            "index: only ints, slices, None, '...' and tensors or lists of integers or bools "
            f"are indices, got {type(item).__name__}",
        )
    try:
        array = arrays.to_numpy(arrays.from_any(item), "index")
    except (ValueError, TypeError):
        raise fail(
            IndexError, f"index: lists must hold integers or bools, got {item!r:.80}"
        ) from None
    if array.dtype.kind == "b":
        return array if array.ndim else bool(array)
    return as_tensor(from_places(array) if array.size == 0 else array, "index")


def _without_ellipsis(shape: tuple[int, ...], items: list[Any]) -> list[Any]:
    """The items with `...` replaced by full slices, one for each dim left."""
    dots = [i for i, item in enumerate(items) if isinstance(item, EllipsisType)]
    if len(dots) > 1:
        raise fail(IndexError, "index: an index can only have a single ellipsis ('...')")
    left = len(shape) - sum(map(_taken_dims, items))
    if left < 0:
        raise fail(IndexError, f"index: too many indices for tensor of dimension {len(shape)}")
    at = dots[0] if dots else len(items)
    return [*items[:at], *[slice(None)] * left, *items[at + 1 :]]


def _taken_dims(item: Any) -> int:
    if item is None or isinstance(item, (bool, EllipsisType)):
        return 0
    if isinstance(item, np.ndarray):
        return item.ndim
    if isinstance(item, TensorBase) and item.dtype is dtypes.bool_:
        return item.ndim
    return 1


def _pick_bounds(picked: Picked, size: int, dim: int, item: Any) -> None:
    if isinstance(item, slice):
        start, stop, step = _resolve_slice(item, size)
        picked.shape.append(len(range(start, stop, step)))
    else:
        start = _resolve_int(item, size, dim)
        stop, step = start + 1, 1
    picked.starts.append(start)
    picked.stops.append(stop)
    picked.steps.append(step)


def _pick_whole(picked: Picked, size: int) -> int:
    """Takes a dim in full; its place in the slice."""
    picked.starts.append(0)
    picked.stops.append(size)
    picked.steps.append(1)
    picked.shape.append(size)
    return len(picked.shape) - 1


def _pick_tensor(picked: Picked, shape: tuple[int, ...], dim: int, item: TensorBase) -> None:
    if item.dtype is dtypes.bool_:
        _check_mask(shape, dim, item.shape)
        if picked.mask is not None or picked.tensors:
            raise fail(NotImplementedError, "index: a bool tensor goes with no other index tensor")
        places = [_pick_whole(picked, shape[dim + i]) for i in range(item.ndim)]
        picked.mask = places[0] if places else len(picked.shape), item
        return
    if item.dtype.category != 1:
        raise fail(
            IndexError,
            f"index: tensors used as indices must be of integers or bools, got {item.dtype.name}",
        )
    if picked.mask is not None:
        raise fail(NotImplementedError, "index: a bool tensor goes with no other index tensor")
    picked.tensors[_pick_whole(picked, shape[dim])] = item


def _pick_mask(picked: Picked, shape: tuple[int, ...], dim: int, item: Any) -> None:
    """Bools known now: the places of the true ones, an index per dim."""
    _check_mask(shape, dim, item.shape)
    for i, places in enumerate(np.nonzero(item)):
        picked.tensors[_pick_whole(picked, shape[dim + i])] = from_places(places)


def _check_mask(shape: tuple[int, ...], dim: int, mask: tuple[int, ...]) -> None:
    if shape[dim : dim + len(mask)] != tuple(mask):
        raise fail(
            IndexError,
            f"index: the shape of the mask {tuple(mask)} does not match the shape of the "
            f"indexed tensor {shape} at dim {dim}",
        )


def _resolve_slice(item: slice, size: int) -> tuple[int, int, int]:
    try:
        start, stop, step = item.indices(size)
    except (TypeError, ValueError) as error:
        raise fail(type(error), f"index: {error}") from None
    if step < 1:
        raise fail(ValueError, f"index: slice step must be positive, got {step}")
    return start, max(start, stop), step


def _resolve_int(index: int, size: int, dim: int) -> int:
    if not -size <= index < size:
        raise fail(
            IndexError,
            f"index: index {index} is out of bounds for dimension {dim} with size {size}",
        )
    return index % size


# -- index tensors ------------------------------------------------------------


@dataclass
class Placed:
    """Index tensors as one: the indexed dims first and joined."""

    order: list[int]
    """Dims of the slice, the indexed ones first."""
    sizes: list[int]
    rest: list[int]
    """Sizes of the indexed dims, and of the others."""
    places: Tensor
    """Positions in the joined dim, in the shape that the index tensors have in common."""
    front: int
    """Where the dims of that shape stand in the result."""


def place(shape: tuple[int, ...], tensors: dict[int, TensorBase]) -> Placed:
    """Where index tensors lead: if they stand side by side their dims take their
    place, else they come first."""
    dims = sorted(tensors)
    sizes = [shape[d] for d in dims]
    common = broadcast_shape("index", *(tensors[d].shape for d in dims))
    others = [d for d in range(len(shape)) if d not in tensors]
    adjacent = dims == list(range(dims[0], dims[-1] + 1))
    if len(dims) == 1:
        places = as_tensor(tensors[dims[0]], "index")
    else:
        places = _joined([tensors[d] for d in dims], sizes)
    return Placed(
        [*dims, *others],
        sizes,
        [shape[d] for d in others],
        places.expand(common),
        dims[0] if adjacent else 0,
    )


def _joined(tensors: list[TensorBase], sizes: list[int]) -> Tensor:
    """Row-major positions over several dims. One outside its dim goes outside of
    all, where the op that uses it finds it."""
    total: Any = 0
    wrong: Any = None
    for tensor, size in zip(tensors, sizes, strict=True):
        outside = binary("logical_or", binary("lt", tensor, -size), binary("ge", tensor, size))
        wrong = outside if wrong is None else binary("logical_or", wrong, outside)
        positive = where(binary("lt", tensor, 0), binary("add", tensor, size), tensor)
        total = binary("add", binary("mul", total, size), positive)
    return where(wrong, math.prod(sizes), total)


def take(x: Tensor, tensors: dict[int, TensorBase]) -> Tensor:
    """x at the positions of index tensors."""
    placed = place(x.shape, tensors)
    rows = view_as_shape(x.permute(placed.order), [math.prod(placed.sizes), *placed.rest])
    index = placed.places
    taken = select_rows(rows, 0, view_as_shape(index, [index.numel()]))
    wide = view_as_shape(taken, [*index.shape, *placed.rest])
    return wide.permute(moved_back(index.ndim, len(placed.rest), placed.front))


def moved_back(ndim: int, rest: int, front: int) -> list[int]:
    """The order that puts the first `ndim` dims after `front` of the rest."""
    others = list(range(ndim, ndim + rest))
    return [*others[:front], *range(ndim), *others[front:]]
