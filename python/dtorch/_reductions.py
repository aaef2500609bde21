"""Reductions and matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dtorch import dtypes
from dtorch._base import TensorBase, as_tensor, record, resolve_dim
from dtorch._elementwise import binary, cast
from dtorch._shaping import view_as_shape
from dtorch.dtypes import to_dtype
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

Dims = int | Sequence[int] | None


def resolve_dims(dim: Dims, ndim: int, subject: str) -> list[int]:
    """Dims from the front, ascending; None and () mean all."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(ndim))
    given = dim if isinstance(dim, (list, tuple)) else [dim]
    dims = [resolve_dim(d, ndim, subject) for d in given]
    if len(set(dims)) != len(dims):
        raise fail(ValueError, f"{subject}: a dim appears more than once in {list(given)}")
    return sorted(dims) if ndim else []


def reduce(kind: str, x: TensorBase, dims: list[int], keepdim: bool) -> Tensor:
    """One result per remaining position; over no dims the value itself."""
    return record("reduce", [x], kind=kind, dims=dims, keepdim=keepdim)


def matmul(a: Any, b: Any) -> Tensor:
    """a @ b as in PyTorch: [..., m, k] @ [..., k, n], batch dims broadcast; a
    1-dim operand is a row on the left, a column on the right."""
    x, y = as_tensor(a, "matmul"), as_tensor(b, "matmul")
    if x.dtype is not y.dtype:
        raise fail(
            TypeError,
            f"matmul: operands must have one dtype, got {x.dtype.name} and {y.dtype.name}",
            "convert one with .to(dtype)",
        )
    if not x.ndim or not y.ndim:
        raise fail(ValueError, "matmul: operands must have at least 1 dim, got 0")
    result = record(
        "matmul",
        [x.unsqueeze(0) if x.ndim == 1 else x, y.unsqueeze(1) if y.ndim == 1 else y],
    )
    shape = list(result.shape)
    if y.ndim == 1:
        shape.pop()
    if x.ndim == 1:
        del shape[-1 if y.ndim == 1 else -2]
    return view_as_shape(result, shape)


class Reductions(TensorBase):
    """Methods of `Tensor` that reduce, and `@`."""

    __slots__ = ()

    def sum(self, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        """Sum over dims (all by default); integers and bools add up as int64."""
        floating = self.dtype.is_floating_point
        to = to_dtype(dtype) if dtype is not None else self.dtype if floating else dtypes.int64
        return reduce("sum", cast(self, to), resolve_dims(dim, self.ndim, "sum"), keepdim)

    def mean(self, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        """Mean over dims: one sum over all devices, then one division."""
        to = to_dtype(dtype) if dtype is not None else self.dtype
        if not to.is_floating_point:
            raise fail(TypeError, f"mean: needs a floating dtype, got {to.name}", "use .float()")
        dims = resolve_dims(dim, self.ndim, "mean")
        wide = to if to.itemsize >= 4 else dtypes.float32
        total = reduce("sum", cast(self, wide), dims, keepdim)
        return cast(binary("div", total, math.prod(self.shape[d] for d in dims)), to)

    def amax(self, dim: Dims = (), keepdim: bool = False) -> Tensor:
        """Largest element over dims; NaN if there is one."""
        return self._extremum("amax", dim, keepdim)

    def amin(self, dim: Dims = (), keepdim: bool = False) -> Tensor:
        """Smallest element over dims; NaN if there is one."""
        return self._extremum("amin", dim, keepdim)

    def max(self, other: Any = None) -> Tensor:
        """Largest element, or the elementwise maximum with a tensor."""
        return self._extremum_or_pairs("max", other)

    def min(self, other: Any = None) -> Tensor:
        """Smallest element, or the elementwise minimum with a tensor."""
        return self._extremum_or_pairs("min", other)

    def _extremum_or_pairs(self, name: str, other: Any) -> Tensor:
        if other is None:
            return self._extremum(f"a{name}", (), False)
        if isinstance(other, TensorBase):
            return binary(f"{name}imum", self, other)
        raise fail(
            NotImplementedError,
            f"{name}: values with their indices along a dim are not available yet",
            f"use a{name}(dim) for the values alone",
        )

    def _extremum(self, kind: str, dim: Dims, keepdim: bool) -> Tensor:
        dims = resolve_dims(dim, self.ndim, kind)
        empty = [d for d in dims if self.shape[d] == 0]
        if empty:
            raise fail(
                IndexError, f"{kind}: expected reduction dim {empty[0]} to have non-zero size"
            )
        return reduce(kind, self, dims, keepdim)

    def matmul(self, other: Any) -> Tensor:
        return matmul(self, other)

    def __matmul__(self, other: Any) -> Tensor:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return matmul(other, self)
