"""Elementwise ops: broadcasting and type promotion as in PyTorch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dtorch import _dtorch, dtypes
from dtorch._base import Number, TensorBase, as_number, as_tensor, record, same, scalar
from dtorch.dtypes import dtype, result_dtype
from dtorch.errors import fail
from dtorch.placement import Replicate

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
_LOGICAL = {"logical_and", "logical_or"}
_ON_BOOLS = {
    "add": "logical_or",
    "mul": "logical_and",
    "maximum": "logical_or",
    "minimum": "logical_and",
}
_ANY_DTYPE_UNARY = {"neg", "abs", "square", "relu", "floor"}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028235e38}


def is_operand(value: Any) -> bool:
    """Whether an operator takes the value; Python tries the other side if not."""
    return (
        isinstance(value, TensorBase)
        or as_number(value) is not None
        or hasattr(value, "__dlpack__")
    )


def unary(kind: str, x: TensorBase) -> Tensor:
    """f(x) per element; integers become float32 where f is not on integers."""
    from_dtype = x.dtype
    if kind == "neg" and from_dtype is dtypes.bool_:
        raise fail(TypeError, "neg: not defined for bool", "use logical_not()")
    if kind == "floor" and not from_dtype.is_floating_point:
        return same(x)
    if kind not in _ANY_DTYPE_UNARY and not from_dtype.is_floating_point:
        x = cast(x, dtypes.float32)
    return record("unary", [x], kind=kind)


def cast(x: TensorBase, to: dtype) -> Tensor:
    """x in another dtype; a pending sum is reduced first unless `to` is wider."""
    if x.dtype is to:
        return same(x)
    return record("cast", [x], dtype=to.name)


def binary(kind: str, a: Any, b: Any) -> Tensor:
    """f(a, b) per element of the broadcast shape. One of them may be a number,
    which then is weak: it decides the dtype only by a higher category."""
    if _are_alike(a, b):
        return record("binary", [a, b], kind=kind)  # the usual case, kept short
    x, y = as_number(a), as_number(b)
    left = as_tensor(a, kind) if x is None else None
    right = as_tensor(b, kind) if y is None else None
    tensors = [(t.dtype, t.ndim) for t in (left, right) if t is not None]
    compute = result_dtype(tensors, [n for n in (x, y) if n is not None])
    if kind == "div" and not compute.is_floating_point:
        compute = dtypes.float32
    if kind in _LOGICAL:
        compute = dtypes.bool_
    if compute is dtypes.bool_:
        if kind in ("sub", "pow"):
            raise fail(TypeError, f"{kind}: not defined for bool", "convert one operand first")
        kind = _ON_BOOLS.get(kind, kind)
    if left is not None and y is not None:
        left = _reduced_before(kind, left, y, compute, divisor=True)
    if right is not None and x is not None:
        right = _reduced_before(kind, right, x, compute, divisor=False)
    return record("binary", [_operand(left, x, compute), _operand(right, y, compute)], kind=kind)


def _are_alike(a: Any, b: Any) -> bool:
    """Whether both are tensors of one floating dtype: nothing to convert."""
    if not (isinstance(a, TensorBase) and isinstance(b, TensorBase)):
        return False
    return a.dtype is b.dtype and a.dtype.is_floating_point


def _operand(tensor: Tensor | None, number: Number | None, d: dtype) -> TensorBase | _dtorch.Node:
    if tensor is None:
        assert number is not None
        return scalar(number, d)
    return cast(tensor, d) if tensor.dtype is not d else tensor


def _reduced_before(kind: str, t: Tensor, number: Number, d: dtype, divisor: bool) -> Tensor:
    """t with pending axes reduced where the number is not a finite factor: the
    zeros that other devices hold would become NaN."""
    factor = kind == "mul" or (kind == "div" and divisor)
    if not factor:
        return t
    value = float(number)
    finite = math.isfinite(value) and abs(value) <= _LARGEST.get(d.name, math.inf)
    if finite and (kind == "mul" or value != 0):
        return t
    if not any(p.is_partial() for p in t.placements):
        return t
    return t.redistribute(placements=[Replicate() if p.is_partial() else p for p in t.placements])


def logical_not(x: TensorBase) -> Tensor:
    """x == 0, per element."""
    return record("binary", [x, scalar(0, x.dtype)], kind="eq")


class Elementwise(TensorBase):
    """Operators and elementwise methods of `Tensor`."""

    __slots__ = ()

    def __add__(self, other: Any) -> Tensor:
        return binary("add", self, other) if is_operand(other) else NotImplemented

    def __radd__(self, other: Any) -> Tensor:
        return binary("add", other, self) if is_operand(other) else NotImplemented

    def __sub__(self, other: Any) -> Tensor:
        return binary("sub", self, other) if is_operand(other) else NotImplemented

    def __rsub__(self, other: Any) -> Tensor:
        return binary("sub", other, self) if is_operand(other) else NotImplemented

    def __mul__(self, other: Any) -> Tensor:
        return binary("mul", self, other) if is_operand(other) else NotImplemented

    def __rmul__(self, other: Any) -> Tensor:
        return binary("mul", other, self) if is_operand(other) else NotImplemented

    def __truediv__(self, other: Any) -> Tensor:
        return binary("div", self, other) if is_operand(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Tensor:
        return binary("div", other, self) if is_operand(other) else NotImplemented

    def __pow__(self, other: Any) -> Tensor:
        return binary("pow", self, other) if is_operand(other) else NotImplemented

    def __rpow__(self, other: Any) -> Tensor:
        return binary("pow", other, self) if is_operand(other) else NotImplemented

    def __and__(self, other: Any) -> Tensor:
        return _bitwise("logical_and", self, other)

    def __or__(self, other: Any) -> Tensor:
        return _bitwise("logical_or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Tensor:
        if self.dtype is not dtypes.bool_:
            raise fail(TypeError, f"~: needs a bool tensor, got {self.dtype.name}")
        return logical_not(self)

    def __eq__(self, other: object) -> Any:
        return binary("eq", self, other) if is_operand(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return binary("ne", self, other) if is_operand(other) else NotImplemented

    def __lt__(self, other: Any) -> Tensor:
        return binary("lt", self, other) if is_operand(other) else NotImplemented

    def __le__(self, other: Any) -> Tensor:
        return binary("le", self, other) if is_operand(other) else NotImplemented

    def __gt__(self, other: Any) -> Tensor:
        return binary("gt", self, other) if is_operand(other) else NotImplemented

    def __ge__(self, other: Any) -> Tensor:
        return binary("ge", self, other) if is_operand(other) else NotImplemented

    def __hash__(self) -> int:
        return id(self)

    def __neg__(self) -> Tensor:
        return unary("neg", self)

    def __pos__(self) -> Tensor:
        return same(self)

    def __abs__(self) -> Tensor:
        return unary("abs", self)

    def add(self, other: Any) -> Tensor:
        return binary("add", self, other)

    def sub(self, other: Any) -> Tensor:
        return binary("sub", self, other)

    def mul(self, other: Any) -> Tensor:
        return binary("mul", self, other)

    def div(self, other: Any) -> Tensor:
        return binary("div", self, other)

    def pow(self, exponent: Any) -> Tensor:
        return binary("pow", self, exponent)

    def maximum(self, other: Any) -> Tensor:
        return binary("maximum", self, other)

    def minimum(self, other: Any) -> Tensor:
        return binary("minimum", self, other)

    def logical_and(self, other: Any) -> Tensor:
        return binary("logical_and", self, other)

    def logical_or(self, other: Any) -> Tensor:
        return binary("logical_or", self, other)

    def logical_not(self) -> Tensor:
        return logical_not(self)

    def neg(self) -> Tensor:
        return unary("neg", self)

    def abs(self) -> Tensor:
        return unary("abs", self)

    def exp(self) -> Tensor:
        return unary("exp", self)

    def log(self) -> Tensor:
        return unary("log", self)

    def sqrt(self) -> Tensor:
        return unary("sqrt", self)

    def rsqrt(self) -> Tensor:
        return unary("rsqrt", self)

    def square(self) -> Tensor:
        return unary("square", self)

    def reciprocal(self) -> Tensor:
        return unary("reciprocal", self)

    def sin(self) -> Tensor:
        return unary("sin", self)

    def cos(self) -> Tensor:
        return unary("cos", self)

    def tanh(self) -> Tensor:
        return unary("tanh", self)

    def sigmoid(self) -> Tensor:
        return unary("sigmoid", self)

    def relu(self) -> Tensor:
        return unary("relu", self)

    def floor(self) -> Tensor:
        return unary("floor", self)


def _bitwise(kind: str, a: Any, b: Any) -> Tensor:
    if not is_operand(b):
        return NotImplemented
    other = b.dtype if isinstance(b, TensorBase) else dtypes.bool_
    if a.dtype is not dtypes.bool_ or other is not dtypes.bool_:
        raise fail(TypeError, f"{kind}: & and | need bool tensors, got {a.dtype.name}")
    return binary(kind, a, b)
