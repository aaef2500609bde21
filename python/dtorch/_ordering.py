"""Running sums, and sorting along a dim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dtorch import dtypes
from dtorch._base import as_tensor, record, resolve_dim
from dtorch._elementwise import cast
from dtorch._reductions import ValuesAndIndices
from dtorch._shaping import slice_of, view_as_shape
from dtorch.dtypes import to_dtype
from dtorch.errors import as_int, fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

__all__ = ["argsort", "cumsum", "msort", "sort", "topk"]


def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums along a dim; integers and bools add up as int64."""
    x = as_tensor(input, "cumsum")
    to = x.dtype if x.dtype.is_floating_point else dtypes.int64
    d = resolve_dim(dim, x.ndim, "cumsum")
    x = cast(x, to if dtype is None else to_dtype(dtype))
    return record("cumsum", [x], dim=d) if x.ndim else x


def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Indices that sort each line of a dim. Equal elements keep their order, and
    NaN is larger than all else."""
    x = as_tensor(input, "argsort")
    return _sort_indices(x, resolve_dim(dim, x.ndim, "argsort"), descending)


def _sort_indices(x: Tensor, dim: int, descending: bool) -> Tensor:
    if not x.ndim:
        return view_as_shape(_sort_indices(view_as_shape(x, [1]), 0, descending), [])
    return record("sort_indices", [x], dim=dim, descending=bool(descending))


def _taken(x: Tensor, indices: Tensor, dim: int) -> Tensor:
    return record("gather", [x, indices], dim=dim) if x.ndim else x


def sort(
    input: Any, dim: int = -1, descending: bool = False, stable: bool = False
) -> ValuesAndIndices:
    """Each line of a dim in order, and where its elements were; see `argsort`.

    >>> sort(dtorch.Tensor([3, 1, 2])).values.tolist()
    [1, 2, 3]
    """
    x = as_tensor(input, "sort")
    d = resolve_dim(dim, x.ndim, "sort")
    indices = _sort_indices(x, d, descending)
    return ValuesAndIndices(_taken(x, indices, d), indices)


def msort(input: Any) -> Tensor:
    """Sorted along dim 0."""
    return sort(input, 0).values


def topk(
    input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> ValuesAndIndices:
    """The k largest (or smallest) elements of each line of a dim, sorted, and where
    they were."""
    x = as_tensor(input, "topk")
    d = resolve_dim(dim, x.ndim, "topk")
    size = x.shape[d] if x.ndim else 1
    count = as_int(k, "topk: k")
    if not 0 <= count <= size:
        raise fail(IndexError, f"topk: k must be in [0, {size}], got {count}")
    indices = _sort_indices(x, d, largest)
    if x.ndim:
        indices = slice_of(indices, d, 0, count)
    return ValuesAndIndices(_taken(x, indices, d), indices)
