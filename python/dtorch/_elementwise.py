"""Elementwise ops: broadcasting and type promotion as in PyTorch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dtorch import _dtorch, dtypes
from dtorch._base import Number, TensorBase, as_number, as_tensor, record, same, scalar
from dtorch._hot import hot
from dtorch.dtypes import dtype, result_dtype
from dtorch.errors import fail
from dtorch.placement import Replicate

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

_LOGICAL = {"logical_and", "logical_or", "logical_xor"}
_BITWISE = {"bitwise_and", "bitwise_or", "bitwise_xor"}
_ON_BOOLS = {
    "add": "logical_or",
    "mul": "logical_and",
    "maximum": "logical_or",
    "minimum": "logical_and",
}
_NOT_ON_BOOLS = {"sub", "pow", "floor_divide", "remainder", "fmod"}
_ROUNDING = {"floor", "ceil", "round", "trunc"}
_TESTS = {"isnan", "isinf", "logical_not"}
_ANY_DTYPE_UNARY = {"neg", "abs", "square", "relu", "sign", *_ROUNDING, *_TESTS}
LIMITS = {"int32": 2**31, "int64": 2**63}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028235e38}


def is_operand(value: Any) -> bool:
    """Whether an operator takes the value; Python tries the other side if not."""
    return (
        isinstance(value, TensorBase)
        or as_number(value) is not None
        or hasattr(value, "__dlpack__")
    )


def unary(kind: str, x: Any) -> Tensor:
    """f(x) per element; integers become float32 where f is not on integers."""
    x = as_tensor(x, kind)
    d = x.dtype
    if d.is_floating_point:
        return record("unary", [x], kind=kind)
    if kind not in _ANY_DTYPE_UNARY:
        x = cast(x, dtypes.float32)
    elif kind in _ROUNDING and d is not dtypes.bool_:
        return x
    elif kind not in _TESTS and kind != "sign" and d is dtypes.bool_:
        if kind != "square":
            raise fail(
                TypeError, f"{kind}: not defined for bool", "use logical_not() or .to(dtype)"
            )
        x = cast(x, dtypes.int64)
    return record("unary", [x], kind=kind)


@hot("cast")
def cast(x: TensorBase, to: dtype) -> Tensor:
    """x in another dtype; a pending sum is reduced first unless `to` is wider."""
    if x.dtype is to:
        return same(x)
    return record("cast", [x], dtype=to.name)


def binary(kind: str, a: Any, b: Any) -> Tensor:
    """f(a, b) per element of the broadcast shape. One of them may be a number,
    which then is weak: it decides the dtype only by a higher category."""
    x, y = as_number(a), as_number(b)
    left = as_tensor(a, kind) if x is None else None
    right = as_tensor(b, kind) if y is None else None
    tensors = [(t.dtype, t.ndim) for t in (left, right) if t is not None]
    compute = result_dtype(tensors, [n for n in (x, y) if n is not None])
    if kind == "div" and not compute.is_floating_point:
        compute = dtypes.float32
    _check_dtypes(kind, [d for d, _ in tensors], (x, y), compute)
    if kind in _LOGICAL:
        compute = dtypes.bool_
    if compute is dtypes.bool_:
        kind = _ON_BOOLS.get(kind, kind)
    if kind == "pow" and compute.category == 1 and y is not None and y < 0:
        raise fail(ValueError, f"pow: integers to negative powers are not allowed, got {y}")
    if left is not None and y is not None:
        left = _reduced_before(kind, left, y, compute, divisor=True)
    if right is not None and x is not None:
        right = _reduced_before(kind, right, x, compute, divisor=False)
    return record("binary", [_operand(left, x, compute), _operand(right, y, compute)], kind=kind)


def _check_dtypes(
    kind: str, given: list[dtype], numbers: tuple[Number | None, ...], compute: dtype
) -> None:
    if kind == "sub" and (dtypes.bool_ in given or any(isinstance(n, bool) for n in numbers)):
        raise fail(TypeError, "sub: not defined for bool", "use ^, ~ or .to(dtype)")
    if compute is dtypes.bool_ and kind in _NOT_ON_BOOLS:
        raise fail(TypeError, f"{kind}: not defined for bool", "convert one operand first")
    if compute.is_floating_point and kind in _BITWISE:
        raise fail(TypeError, f"{kind}: needs integers or bools, got {compute.name}")


def _operand(tensor: Tensor | None, number: Number | None, d: dtype) -> TensorBase | _dtorch.Node:
    if tensor is None:
        assert number is not None
        return checked_scalar(number, d)
    return cast(tensor, d) if tensor.dtype is not d else tensor


def checked_scalar(number: Number, d: dtype) -> _dtorch.Node:
    """A number as an operand; an error if it does not fit the dtype."""
    limit = LIMITS.get(d.name, 2**1023)
    if isinstance(number, float) and d.is_floating_point:
        return scalar(number, d)
    if not -limit <= number < limit:  # NaN, too
        raise fail(ValueError, f"number: must fit {d.name}, got {number!r:.40}")
    return scalar(number, d)


def _reduced_before(kind: str, t: Tensor, number: Number, d: dtype, divisor: bool) -> Tensor:
    """t with pending axes reduced where the number is not a finite factor: the
    zeros that other devices hold would become NaN."""
    factor = kind == "mul" or (kind == "div" and divisor)
    if not factor:
        return t
    finite = math.isfinite(number) and abs(number) <= _LARGEST.get(d.name, math.inf)
    if finite and (kind == "mul" or number != 0):
        return t
    return reduced(t)


def reduced(t: Tensor) -> Tensor:
    """t with pending axes reduced."""
    if not any(p.is_partial() for p in t.placements):
        return t
    return t.redistribute(placements=[Replicate() if p.is_partial() else p for p in t.placements])


def bitwise_not(input: Any) -> Tensor:
    """All bits flipped: of a bool its negation, of an integer n -n - 1."""
    x = as_tensor(input, "bitwise_not")
    if x.dtype.is_floating_point:
        raise fail(TypeError, f"bitwise_not: needs integers or bools, got {x.dtype.name}")
    if x.dtype is dtypes.bool_:
        return unary("logical_not", x)
    return binary("bitwise_xor", x, -1)


class Elementwise(TensorBase):
    """Operators of `Tensor`."""

    __slots__ = ()

    @hot("add")
    def __add__(self, other: Any) -> Tensor:
        return binary("add", self, other) if is_operand(other) else NotImplemented

    @hot("radd")
    def __radd__(self, other: Any) -> Tensor:
        return binary("add", other, self) if is_operand(other) else NotImplemented

    @hot("sub")
    def __sub__(self, other: Any) -> Tensor:
        return binary("sub", self, other) if is_operand(other) else NotImplemented

    @hot("rsub")
    def __rsub__(self, other: Any) -> Tensor:
        return binary("sub", other, self) if is_operand(other) else NotImplemented

    @hot("mul")
    def __mul__(self, other: Any) -> Tensor:
        return binary("mul", self, other) if is_operand(other) else NotImplemented

    @hot("rmul")
    def __rmul__(self, other: Any) -> Tensor:
        return binary("mul", other, self) if is_operand(other) else NotImplemented

    @hot("div")
    def __truediv__(self, other: Any) -> Tensor:
        return binary("div", self, other) if is_operand(other) else NotImplemented

    @hot("rdiv")
    def __rtruediv__(self, other: Any) -> Tensor:
        return binary("div", other, self) if is_operand(other) else NotImplemented

    @hot("pow")
    def __pow__(self, other: Any) -> Tensor:
        return binary("pow", self, other) if is_operand(other) else NotImplemented

    @hot("rpow")
    def __rpow__(self, other: Any) -> Tensor:
        return binary("pow", other, self) if is_operand(other) else NotImplemented

    def __floordiv__(self, other: Any) -> Tensor:
        return binary("floor_divide", self, other) if is_operand(other) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Tensor:
        return binary("floor_divide", other, self) if is_operand(other) else NotImplemented

    def __mod__(self, other: Any) -> Tensor:
        return binary("remainder", self, other) if is_operand(other) else NotImplemented

    def __rmod__(self, other: Any) -> Tensor:
        return binary("remainder", other, self) if is_operand(other) else NotImplemented

    def __and__(self, other: Any) -> Tensor:
        return binary("bitwise_and", self, other) if is_operand(other) else NotImplemented

    def __rand__(self, other: Any) -> Tensor:
        return binary("bitwise_and", other, self) if is_operand(other) else NotImplemented

    def __or__(self, other: Any) -> Tensor:
        return binary("bitwise_or", self, other) if is_operand(other) else NotImplemented

    def __ror__(self, other: Any) -> Tensor:
        return binary("bitwise_or", other, self) if is_operand(other) else NotImplemented

    def __xor__(self, other: Any) -> Tensor:
        return binary("bitwise_xor", self, other) if is_operand(other) else NotImplemented

    def __rxor__(self, other: Any) -> Tensor:
        return binary("bitwise_xor", other, self) if is_operand(other) else NotImplemented

    def __invert__(self) -> Tensor:
        return bitwise_not(self)

    @hot("eq")
    def __eq__(self, other: object) -> Any:
        return binary("eq", self, other) if is_operand(other) else NotImplemented

    @hot("ne")
    def __ne__(self, other: object) -> Any:
        return binary("ne", self, other) if is_operand(other) else NotImplemented

    @hot("lt")
    def __lt__(self, other: Any) -> Tensor:
        return binary("lt", self, other) if is_operand(other) else NotImplemented

    @hot("le")
    def __le__(self, other: Any) -> Tensor:
        return binary("le", self, other) if is_operand(other) else NotImplemented

    @hot("gt")
    def __gt__(self, other: Any) -> Tensor:
        return binary("gt", self, other) if is_operand(other) else NotImplemented

    @hot("ge")
    def __ge__(self, other: Any) -> Tensor:
        return binary("ge", self, other) if is_operand(other) else NotImplemented

    def __hash__(self) -> int:
        return id(self)

    @hot("neg")
    def __neg__(self) -> Tensor:
        return unary("neg", self)

    def __pos__(self) -> Tensor:
        if self.dtype is dtypes.bool_:
            raise fail(TypeError, "+: not defined for bool")
        return same(self)

    @hot("abs")
    def __abs__(self) -> Tensor:
        return unary("abs", self)
