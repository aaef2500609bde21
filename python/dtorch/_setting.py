"""`x[index] = value`: the tensor's next value, with a part replaced."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dtorch._base import TensorBase, as_number, as_tensor, record
from dtorch._elementwise import cast
from dtorch._gathering import filled
from dtorch._indexing import Picked, looked_at, parse, place
from dtorch._pointwise import where
from dtorch._shaping import view_as_shape
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor


def setitem(x: TensorBase, index: Any, value: Any, accumulate: bool = False) -> Tensor:
    """x with x[index] replaced by `value` (or added to), which broadcasts there.

    With a bool tensor the value usually has one element, or the dims after the
    mask; one with an element for each true place makes the mask be looked at.
    """
    picked = parse(x.shape, index)
    number = as_number(value)
    if number is None:
        source = cast(as_tensor(value, "setitem"), x.dtype)
    else:
        source = filled(x, int(number) if x.dtype.category == 1 else number, ())
    if picked.mask is not None and not _fits_mask(picked, source):
        picked = parse(x.shape, looked_at(index))
    if picked.mask is not None:
        part = _masked(picked.slice(x), picked.mask, source, accumulate)
    elif picked.tensors:
        part = _put(picked.slice(x), picked.tensors, source, accumulate)
    else:
        part = _broadcast(source, picked.shape)
        if accumulate:
            part = picked.slice(x) + part
    return _update(x, picked, part)


def _broadcast(value: Tensor, shape: list[int]) -> Tensor:
    """value in a shape; leading dims of size 1 may be too many, as in PyTorch."""
    extra = value.ndim - len(shape)
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        value = view_as_shape(value, value.shape[extra:])
    fits = value.ndim <= len(shape) and all(
        n in (1, m) for n, m in zip(value.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise fail(
            ValueError,
            f"setitem: value must broadcast to {tuple(shape)}, got shape {value.shape}",
        )
    return value.expand(shape)


def _update(x: TensorBase, picked: Picked, part: Tensor) -> Tensor:
    """x with its slice replaced."""
    whole = zip(picked.starts, picked.stops, picked.steps, x.shape, strict=True)
    if all((a, b, s) == (0, n, 1) for a, b, s, n in whole):
        return view_as_shape(part, x.shape)
    bounds = zip(picked.starts, picked.stops, picked.steps, strict=True)
    value = view_as_shape(part, [len(range(*b)) for b in bounds])
    return record(
        "slice_update",
        [x, value],
        starts=picked.starts,
        stops=picked.stops,
        steps=picked.steps,
    )


def _fits_mask(picked: Picked, value: Tensor) -> bool:
    """Whether a value can be written without knowing the true places."""
    assert picked.mask is not None
    first, mask = picked.mask
    after = len(picked.shape) - first - mask.ndim
    leading = value.shape[: max(0, value.ndim - after)]
    return value.numel() == 1 or (first == 0 and all(n == 1 for n in leading))


def _masked(part: Tensor, mask: tuple[int, TensorBase], value: Tensor, accumulate: bool) -> Tensor:
    first, chosen = mask
    rest = part.shape[first + chosen.ndim :]
    value = view_as_shape(value, []) if value.numel() == 1 else _broadcast(value, list(rest))
    flags = view_as_shape(chosen, [*chosen.shape, *[1] * len(rest)])
    return where(flags, part + value if accumulate else value, part)


def _put(part: Tensor, tensors: dict[int, TensorBase], value: Tensor, accumulate: bool) -> Tensor:
    """The slice with values at the positions of index tensors; of several writes
    to one place the last counts, or all add up."""
    placed = place(part.shape, tensors)
    index, rest, front = placed.places, placed.rest, placed.front
    shape = [*rest[:front], *index.shape, *rest[front:]]
    value = _broadcast(value, shape)
    dims = list(range(front, front + index.ndim))
    value = value.permute([*dims, *(d for d in range(value.ndim) if d not in dims)])
    count = index.numel()
    if 0 in shape:
        return part
    rows = view_as_shape(part.permute(placed.order), [math.prod(placed.sizes), *rest])
    spread = view_as_shape(index, [count, *[1] * len(rest)]).expand([count, *rest])
    written = record(
        "scatter",
        [rows, spread, view_as_shape(value, [count, *rest])],
        dim=0,
        reduce="add" if accumulate else "none",
    )
    inverse = [placed.order.index(d) for d in range(part.ndim)]
    return view_as_shape(written, [*placed.sizes, *rest]).permute(inverse)
