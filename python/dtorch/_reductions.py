"""Reductions over dims, the whole tensor by default."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dtorch import dtypes
from dtorch._base import TensorBase, as_number, as_tensor, record, resolve_dim
from dtorch._elementwise import binary, cast, unary
from dtorch._hot import hot
from dtorch._pointwise import where
from dtorch._shaping import view_as_shape
from dtorch.dtypes import to_dtype
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

__all__ = [
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "std",
    "std_mean",
    "sum",
    "var",
    "var_mean",
]

Dims = int | Sequence[int] | None


class ValuesAndIndices(NamedTuple):
    """What `max`, `min`, `sort` and `topk` along a dim give."""

    values: Tensor
    indices: Tensor


class MinAndMax(NamedTuple):
    """What `aminmax` gives."""

    min: Tensor
    max: Tensor


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
    return record("reduce", [x], kind=kind, dims=dims, keepdim=builtins.bool(keepdim))


def _wide(d: dtypes.dtype) -> dtypes.dtype:
    """The dtype that sums of sums are kept in: at least fp32."""
    return d if d.itemsize >= 4 else dtypes.float32


def _floating(subject: str, x: TensorBase, dtype: Any = None) -> dtypes.dtype:
    """The floating dtype of a result; an error for others."""
    d = x.dtype if dtype is None else to_dtype(dtype)
    if not d.is_floating_point:
        raise fail(TypeError, f"{subject}: needs a floating dtype, got {d.name}", "use .float()")
    return d


@hot("sum")
def sum(input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over dims (all by default); integers and bools add up as int64."""
    x = as_tensor(input, "sum")
    to = x.dtype if x.dtype.is_floating_point else dtypes.int64
    to = to if dtype is None else to_dtype(dtype)
    return reduce("sum", cast(x, to), resolve_dims(dim, x.ndim, "sum"), keepdim)


def mean(input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean over dims: one sum over all devices, then one division."""
    x = as_tensor(input, "mean")
    to = _floating("mean", x, dtype)
    dims = resolve_dims(dim, x.ndim, "mean")
    total = reduce("sum", cast(x, _wide(to)), dims, keepdim)
    return cast(binary("div", total, _count(x, dims)), to)


def _count(x: TensorBase, dims: list[int]) -> int:
    shape = x.shape
    return math.prod(shape[d] for d in dims)


def var_mean(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> tuple[Tensor, Tensor]:
    """`var` and `mean` over the same dims."""
    return _var_mean("var_mean", input, dim, unbiased, keepdim, correction)


def _var_mean(
    subject: str, input: Any, dim: Any, unbiased: bool | None, keepdim: bool, correction: Any
) -> tuple[Tensor, Tensor]:
    x = as_tensor(input, subject)
    to = _floating(subject, x)
    if isinstance(dim, builtins.bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise fail(TypeError, f"{subject}: unbiased and correction exclude each other")
    if correction is None:
        correction = 0 if unbiased is False else 1
    elif as_number(correction) is None:
        raise fail(TypeError, f"{subject}: correction must be a number, got {correction!r:.80}")
    dims = resolve_dims(dim, x.ndim, subject)
    x, count = cast(x, _wide(to)), _count(x, dims)
    average = binary("div", reduce("sum", x, dims, True), count)
    squares = reduce("sum", unary("square", binary("sub", x, average)), dims, keepdim)
    variance = binary("div", squares, builtins.max(0, count - correction))
    if not keepdim:
        average = view_as_shape(average, variance.shape)
    return cast(variance, to), cast(average, to)


def var(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Tensor:
    """Variance over dims: squared distances from the mean, summed and divided by
    their number less `correction` (1 by default; `unbiased=False` means 0)."""
    return _var_mean("var", input, dim, unbiased, keepdim, correction)[0]


def std(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Tensor:
    """Square root of `var`."""
    return unary("sqrt", _var_mean("std", input, dim, unbiased, keepdim, correction)[0])


def std_mean(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> tuple[Tensor, Tensor]:
    """`std` and `mean` over the same dims."""
    variance, average = _var_mean("std_mean", input, dim, unbiased, keepdim, correction)
    return unary("sqrt", variance), average


def prod(input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Product over a dim (all by default); integers and bools multiply as int64."""
    x = as_tensor(input, "prod")
    to = x.dtype if x.dtype.is_floating_point else dtypes.int64
    to = to if dtype is None else to_dtype(dtype)
    return reduce("prod", cast(x, to), resolve_dims(dim, x.ndim, "prod"), keepdim)


def any(input: Any, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether some element is not 0; NaN is not 0."""
    return _logical("any", input, dim, keepdim)


def all(input: Any, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether no element is 0; NaN is not 0."""
    return _logical("all", input, dim, keepdim)


def _logical(kind: str, input: Any, dim: Dims, keepdim: bool) -> Tensor:
    x = as_tensor(input, kind)
    # An empty tuple means no dims here, and all dims everywhere else.
    dims = [] if isinstance(dim, (list, tuple)) and not dim else resolve_dims(dim, x.ndim, kind)
    return reduce(kind, cast(x, dtypes.bool_), dims, keepdim)


def count_nonzero(input: Any, dim: Dims = None) -> Tensor:
    """How many elements are not 0."""
    x = as_tensor(input, "count_nonzero")
    return sum(cast(x, dtypes.bool_), dim)


def amax(input: Any, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """Largest element over dims; NaN if there is one."""
    return _extremum("amax", input, dim, keepdim)


def amin(input: Any, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """Smallest element over dims; NaN if there is one."""
    return _extremum("amin", input, dim, keepdim)


def _extremum(kind: str, input: Any, dim: Dims, keepdim: bool) -> Tensor:
    x = as_tensor(input, kind)
    dims = resolve_dims(dim, x.ndim, kind)
    _check_not_empty(kind, x, dims)
    return reduce(kind, x, dims, keepdim)


def _check_not_empty(subject: str, x: TensorBase, dims: Sequence[int]) -> None:
    for d in dims:
        if x.shape[d] == 0:
            raise fail(IndexError, f"{subject}: expected reduction dim {d} to have non-zero size")


def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> MinAndMax:
    """`amin` and `amax`."""
    dims: Dims = () if dim is None else dim
    return MinAndMax(amin(input, dims, keepdim), amax(input, dims, keepdim))


def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """Largest element; along a dim, (values, indices); with a tensor, `maximum`.

    >>> max(dtorch.Tensor([[1, 9], [4, 0]]), 1).indices.tolist()
    [1, 0]
    """
    return _extremum_or_pairs("max", input, dim, keepdim, other)


def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """Smallest element; along a dim, (values, indices); with a tensor, `minimum`."""
    return _extremum_or_pairs("min", input, dim, keepdim, other)


def _extremum_or_pairs(name: str, input: Any, dim: Any, keepdim: bool, other: Any) -> Any:
    if other is not None or (dim is not None and as_number(dim) is None):
        return binary(f"{name}imum", input, as_tensor(dim if other is None else other, name))
    x = as_tensor(input, name)
    if dim is None:
        return _extremum(f"a{name}", x, (), False)
    d = resolve_dim(dim, x.ndim, name)
    indices = _arg_reduce(f"arg{name}", x, d, keepdim)
    return ValuesAndIndices(_extremum(f"a{name}", x, d, keepdim), indices)


def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the largest element (of a dim, or of all in row-major order): the
    first among equals, and of a NaN if there is one."""
    return _arg_reduce_or_all("argmax", input, dim, keepdim)


def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the smallest element; see `argmax`."""
    return _arg_reduce_or_all("argmin", input, dim, keepdim)


def _arg_reduce_or_all(kind: str, input: Any, dim: int | None, keepdim: bool) -> Tensor:
    x = as_tensor(input, kind)
    if dim is not None:
        return _arg_reduce(kind, x, resolve_dim(dim, x.ndim, kind), keepdim)
    index = _arg_reduce(kind, view_as_shape(x, [x.numel()]), 0, False)
    return view_as_shape(index, [1] * x.ndim) if keepdim else index


def _arg_reduce(kind: str, x: TensorBase, dim: int, keepdim: bool) -> Tensor:
    if not x.ndim:
        return view_as_shape(_arg_reduce(kind, view_as_shape(x, [1]), 0, False), [])
    _check_not_empty(kind, x, [dim])
    index = record("arg_reduce", [x], kind=kind, dim=dim)
    if not keepdim:
        return index
    return view_as_shape(index, [1 if d == dim else n for d, n in enumerate(x.shape)])


def logsumexp(input: Any, dim: Dims, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over dims, without overflow."""
    x = as_tensor(input, "logsumexp")
    to = x.dtype if x.dtype.is_floating_point else dtypes.float32
    x = cast(x, _wide(to))
    dims = resolve_dims(dim, x.ndim, "logsumexp")
    if builtins.any(x.shape[d] == 0 for d in dims):
        return cast(unary("log", reduce("sum", unary("exp", x), dims, keepdim)), to)
    top = reduce("amax", x, dims, True)
    top = where(unary("isinf", top), 0.0, top)  # inf - inf would be NaN
    total = unary("log", reduce("sum", unary("exp", binary("sub", x, top)), dims, keepdim))
    return cast(binary("add", total, view_as_shape(top, total.shape)), to)


def norm(
    input: Any,
    p: Any = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    out: None = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm over dims: sum(|x|^p)^(1/p); "fro" means 2. An infinite p gives
    the largest or smallest |x|, and 0 the number of nonzero elements."""
    x = as_tensor(input, "norm")
    to = _floating("norm", x, dtype)
    order = 2 if p == "fro" or p is None else as_number(p)
    if order is None:
        raise fail(NotImplementedError, f'norm: p must be a number or "fro", got {p!r}')
    dims = resolve_dims(dim, x.ndim, "norm")
    x = unary("abs", cast(x, _wide(to)))
    if math.isinf(order):
        if order > 0 and _count(x, dims) == 0:
            return cast(reduce("sum", x, dims, keepdim), to)
        return cast(_extremum("amax" if order > 0 else "amin", x, dims, keepdim), to)
    if order == 0:
        return cast(reduce("sum", cast(binary("ne", x, 0), x.dtype), dims, keepdim), to)
    if order == 1:
        return cast(reduce("sum", x, dims, keepdim), to)
    if order == 2:
        return cast(unary("sqrt", reduce("sum", unary("square", x), dims, keepdim)), to)
    total = reduce("sum", binary("pow", x, order), dims, keepdim)
    return cast(binary("pow", total, 1.0 / order), to)
