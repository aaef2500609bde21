"""Ops that read and write elements at positions that tensors hold.

Positions are global. One outside its dim is an IndexError when the op runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dtorch import dtypes
from dtorch._base import TensorBase, as_number, as_tensor, record, resolve_dim, wrap
from dtorch._base import host_input as _host_input
from dtorch._elementwise import binary, cast, checked_scalar
from dtorch._pointwise import where
from dtorch._shaping import broadcast_shape, slice_dims, slice_of, view_as_shape
from dtorch.arrays import HostArray
from dtorch.errors import as_int, fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

__all__ = [
    "diagonal",
    "gather",
    "index_add",
    "index_copy",
    "index_fill",
    "index_select",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "scatter",
    "scatter_add",
    "take",
    "take_along_dim",
    "tril",
    "triu",
]


def index_tensor(subject: str, value: Any) -> Tensor:
    """A tensor of positions: of integers."""
    index = as_tensor(value, subject)
    if index.dtype.category != 1:
        raise fail(TypeError, f"{subject}: index must be of integers, got {index.dtype.name}")
    return index


def select_rows(x: TensorBase, dim: int, index: TensorBase) -> Tensor:
    """Slices of a dim at the positions of a 1-D tensor; negative ones count from
    the end."""
    return record("index_select", [x, index], dim=dim)


def index_select(input: Any, dim: int, index: Any) -> Tensor:
    """Slices of a dim at the positions of a 1-D tensor."""
    x, at = as_tensor(input, "index_select"), index_tensor("index_select", index)
    d = resolve_dim(dim, x.ndim, "index_select")
    if at.ndim > 1:
        raise fail(ValueError, f"index_select: index must have 1 dim, got shape {at.shape}")
    at = view_as_shape(at, [at.numel()])
    if x.ndim:
        return select_rows(x, d, at)
    if at.numel() != 1:
        raise fail(ValueError, f"index_select: a 0-dim tensor has one place, got {at.numel()}")
    return view_as_shape(select_rows(view_as_shape(x, [1]), 0, at), [])


def _lined_up(subject: str, x: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the same number of dims, at least 1."""
    x = x if x.ndim else view_as_shape(x, [1])
    index = index if index.ndim else view_as_shape(index, [1])
    if x.ndim != index.ndim:
        raise fail(
            ValueError,
            f"{subject}: index must have the dims of input, got shapes {index.shape} and {x.shape}",
        )
    return x, index


def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Tensor:
    """input at positions along a dim: result[i, j] = input[index[i, j], j] for
    dim 0. The result has the index's shape."""
    x, at = as_tensor(input, "gather"), index_tensor("gather", index)
    d = resolve_dim(dim, x.ndim, "gather")
    shape = at.shape
    if 0 in shape and at.ndim != x.ndim:
        return view_as_shape(slice_of(view_as_shape(x, [x.numel()]), 0, 0, 0), shape)
    x, at = _lined_up("gather", x, at)
    return view_as_shape(record("gather", [x, at], dim=d), shape)


def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Tensor:
    """`gather`, where input and indices broadcast in other dims; without a dim
    both are flattened."""
    x, at = as_tensor(input, "take_along_dim"), index_tensor("take_along_dim", indices)
    if dim is None:
        return gather(x.flatten(), 0, at.flatten())
    if x.ndim != at.ndim:
        raise fail(
            ValueError,
            f"take_along_dim: indices must have the dims of input, "
            f"got shapes {at.shape} and {x.shape}",
        )
    d = resolve_dim(dim, x.ndim, "take_along_dim")
    shapes = [[1 if i == d else n for i, n in enumerate(t.shape)] for t in (x, at)]
    common = list(broadcast_shape("take_along_dim", *shapes))
    wide = [common[:d] + [t.shape[d]] + common[d + 1 :] if x.ndim else [] for t in (x, at)]
    return gather(x.expand(wide[0]), d, at.expand(wide[1]))


def take(input: Any, index: Any) -> Tensor:
    """input, flattened, at the index's positions."""
    x, at = as_tensor(input, "take"), index_tensor("take", index)
    rows = select_rows(view_as_shape(x, [x.numel()]), 0, view_as_shape(at, [at.numel()]))
    return view_as_shape(rows, at.shape)


def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """input with src (a tensor or number) put at positions along a dim:
    result[index[i, j], j] = src[i, j] for dim 0; or added ("add") or multiplied
    ("multiply") to what is there."""
    if reduce not in (None, "add", "multiply"):
        raise fail(ValueError, f'scatter: reduce must be None, "add" or "multiply", got {reduce!r}')
    given = value if src is None else src
    if given is None:
        raise fail(TypeError, "scatter: needs src or value")
    return _scatter("scatter", input, dim, index, given, reduce or "none")


def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """input with src added at positions along a dim; see `scatter`."""
    return _scatter("scatter_add", input, dim, index, src, "add")


def _scatter(subject: str, input: Any, dim: int, index: Any, src: Any, reduce: str) -> Tensor:
    x, at = as_tensor(input, subject), index_tensor(subject, index)
    shape, d = x.shape, resolve_dim(dim, x.ndim, subject)
    if 0 in at.shape:
        return x
    x, at = _lined_up(subject, x, at)
    number = as_number(src)
    if number is not None:
        value = filled(x, int(number) if x.dtype.category == 1 else number, at.shape)
    else:
        value = as_tensor(src, subject)
        if value.dtype is not x.dtype:
            raise fail(
                TypeError,
                f"{subject}: src must have input's dtype, "
                f"got {value.dtype.name} and {x.dtype.name}",
            )
        value = value if value.ndim else view_as_shape(value, [1])
        if value.ndim != at.ndim or any(m > n for m, n in zip(at.shape, value.shape, strict=True)):
            raise fail(
                ValueError,
                f"{subject}: src must cover index, got shapes {value.shape} and {at.shape}",
            )
        value = slice_dims(value, [0] * at.ndim, list(at.shape), [1] * at.ndim)
    result = record("scatter", [x, at, value], dim=d, reduce=reduce)
    return view_as_shape(result, shape)


def filled(like: TensorBase, number: Any, shape: Any) -> Tensor:
    """A number in a shape, on the mesh and in the dtype of a tensor."""
    zero = wrap(checked_scalar(number, like.dtype))
    return zero.expand(list(shape))


def _spread(index: Tensor, dim: int, shape: tuple[int, ...]) -> Tensor:
    """A 1-D index of slices as one of elements."""
    return view_as_shape(
        index, [index.shape[0] if d == dim else 1 for d in range(len(shape))]
    ).expand([index.shape[0] if d == dim else n for d, n in enumerate(shape)])


def _write_slices(
    subject: str, input: Any, dim: int, index: Any, source: Any, reduce: str
) -> Tensor:
    x, at = as_tensor(input, subject), index_tensor(subject, index)
    d = resolve_dim(dim, x.ndim, subject)
    if at.ndim > 1:
        raise fail(ValueError, f"{subject}: index must have 1 dim, got shape {at.shape}")
    at = view_as_shape(at, [at.numel()])
    shape, x = x.shape, x if x.ndim else view_as_shape(x, [1])
    wide = [at.shape[0] if i == d else n for i, n in enumerate(x.shape)]
    if as_number(source) is not None:
        value = filled(x, source, wide)
    else:
        value = as_tensor(source, subject)
        if value.dtype is not x.dtype:
            raise fail(
                TypeError,
                f"{subject}: source must have input's dtype, "
                f"got {value.dtype.name} and {x.dtype.name}",
            )
        if value.ndim and list(value.shape) != wide and math.prod(wide) != 1:
            raise fail(ValueError, f"{subject}: source must have shape {wide}, got {value.shape}")
        value = view_as_shape(value, wide) if value.ndim else value.expand(wide)
    if 0 in wide:
        return view_as_shape(x, shape)
    spread = _spread(at, d, x.shape)
    return view_as_shape(record("scatter", [x, spread, value], dim=d, reduce=reduce), shape)


def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    """input with slices of source added at the positions of a 1-D index."""
    scaled = source if alpha == 1 else binary("mul", source, alpha)
    return _write_slices("index_add", input, dim, index, scaled, "add")


def index_copy(input: Any, dim: int, index: Any, source: Any) -> Tensor:
    """input with slices of source put at the positions of a 1-D index."""
    return _write_slices("index_copy", input, dim, index, source, "none")


def index_fill(input: Any, dim: int, index: Any, value: Any) -> Tensor:
    """input with one value in the slices at the positions of a 1-D index."""
    x = as_tensor(input, "index_fill")
    if as_number(value) is None:
        value = cast(as_tensor(value, "index_fill"), x.dtype)
        if value.ndim:
            raise fail(ValueError, f"index_fill: value must have 0 dims, got {value.ndim}")
    elif x.dtype.category == 1:
        value = int(value)
    return _write_slices("index_fill", x, dim, index, value, "none")


def repeat_interleave(
    input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element (or each slice of a dim) `repeats` times in a row. A tensor of
    repeats is looked at: the result's shape depends on it."""
    x = as_tensor(input, "repeat_interleave")
    x = x.flatten() if dim is None else x
    d = resolve_dim(0 if dim is None else dim, x.ndim, "repeat_interleave")
    x = x if x.ndim else view_as_shape(x, [1])
    if not hasattr(repeats, "shape") and not isinstance(repeats, (list, tuple)):
        count, shape = as_int(repeats, "repeat_interleave: repeats"), x.shape
        if count < 0:
            raise fail(ValueError, f"repeat_interleave: repeats must be at least 0, got {count}")
        wide = [*shape[: d + 1], count, *shape[d + 1 :]]
        joined = [n * count if i == d else n for i, n in enumerate(shape)]
        return view_as_shape(x.unsqueeze(d + 1).expand(wide), joined)
    counts = np.asarray(repeats.tolist() if hasattr(repeats, "tolist") else repeats, np.int64)
    if counts.ndim > 1 or counts.size not in (1, x.shape[d]) or (counts < 0).any():
        raise fail(
            ValueError,
            f"repeat_interleave: repeats must be one count of at least 0, or one for each of "
            f"{x.shape[d]}, got {counts.tolist()!r:.80}",
        )
    places = np.repeat(np.arange(x.shape[d]), counts.reshape(-1))
    return select_rows(x, d, from_places(places))


def from_places(places: np.ndarray[Any, Any]) -> Tensor:
    """A host tensor of positions known now."""
    return wrap(_host_input(HostArray(np.ascontiguousarray(places, np.int64), dtypes.int64)))


def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where a bool mask holds, in one dim; both broadcast. The mask is
    looked at: the result's shape depends on it."""
    x, chosen = as_tensor(input, "masked_select"), as_tensor(mask, "masked_select")
    if chosen.dtype is not dtypes.bool_:
        raise fail(TypeError, f"masked_select: mask must be bool, got {chosen.dtype.name}")
    shape = broadcast_shape("masked_select", x.shape, chosen.shape)
    flat = view_as_shape(x.expand(shape), [math.prod(shape)])
    places = np.flatnonzero(np.broadcast_to(chosen.numpy(), shape))
    return select_rows(flat, 0, from_places(places))


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The places of elements that are not 0: a row each, or a tensor per dim. The
    input is looked at: the result's shape depends on it."""
    x = as_tensor(input, "nonzero")
    values = cast(x, dtypes.bool_).numpy()
    if as_tuple:
        return tuple(from_places(p) for p in np.nonzero(np.atleast_1d(values)))
    return from_places(np.argwhere(values))


def _triangle(kind: str, input: Any, diagonal: int) -> Tensor:
    x = as_tensor(input, kind)
    if x.ndim < 2:
        raise fail(ValueError, f"{kind}: input must have at least 2 dims, got {x.ndim}")
    offset = as_int(diagonal, f"{kind}: diagonal")
    return record("tril_triu", [x], kind=kind, diagonal=offset)


def tril(input: Any, diagonal: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal."""
    return _triangle("tril", input, diagonal)


def triu(input: Any, diagonal: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal."""
    return _triangle("triu", input, diagonal)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dims, as the last dim."""
    x = as_tensor(input, "diagonal")
    a, b = (resolve_dim(d, x.ndim, "diagonal") for d in (dim1, dim2))
    if a == b:
        raise fail(ValueError, f"diagonal: dims must differ, got {dim1} and {dim2}")
    rest = [d for d in range(x.ndim) if d not in (a, b)]
    x = x.permute([*rest, a, b])
    rows, columns = x.shape[-2:]
    first, second = max(0, -offset), max(0, offset)
    count = max(0, min(rows - first, columns - second))
    if not count:
        return slice_of(x.flatten(-2), len(rest), 0, 0)
    x = slice_of(
        slice_of(x, len(rest), first, first + count), len(rest) + 1, second, second + count
    )
    return slice_of(x.flatten(-2), len(rest), 0, count * count, count + 1)


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """A new last dim of `num_classes` with a 1 at each element's number. -1 looks
    at the tensor for the largest."""
    x = as_tensor(tensor, "one_hot")
    if x.dtype is not dtypes.int64:
        raise fail(TypeError, f"one_hot: needs int64, got {x.dtype.name}")
    if num_classes == -1:
        if not x.numel():
            raise fail(ValueError, "one_hot: an empty tensor needs num_classes")
        num_classes = int(x.amax().item()) + 1
    if num_classes < 1 and x.numel():
        raise fail(ValueError, f"one_hot: num_classes must be positive, got {num_classes}")
    shape = (*x.shape, num_classes)
    if not x.numel():
        return view_as_shape(x, shape)
    # Negative numbers would count from the end: they leave the range instead.
    places = where(binary("lt", x, 0), num_classes, x).unsqueeze(-1)
    zeros = filled(x, 0, shape)
    return record("scatter", [zeros, places, filled(x, 1, places.shape)], dim=x.ndim, reduce="none")
