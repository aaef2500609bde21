"""Elementwise functions by name, and those made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dtorch import _dtorch, dtypes
from dtorch._base import as_number, as_tensor, record
from dtorch._elementwise import binary, bitwise_not, cast, checked_scalar, unary
from dtorch._hot import hot
from dtorch.dtypes import result_dtype
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

__all__ = [
    "abs",
    "add",
    "addcdiv",
    "addcmul",
    "asin",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "cos",
    "div",
    "divide",
    "eq",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "fmod",
    "ge",
    "gt",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "lerp",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "masked_fill",
    "maximum",
    "minimum",
    "mul",
    "multiply",
    "ne",
    "neg",
    "negative",
    "positive",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "sigmoid",
    "sign",
    "sin",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "tanh",
    "true_divide",
    "trunc",
    "where",
]


def _of_one(kind: str, doc: str) -> Callable[[Any], Tensor]:
    def function(input: Any) -> Tensor:
        return unary(kind, input)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = doc
    return hot(kind)(function)


def _of_two(kind: str, doc: str) -> Callable[[Any, Any], Tensor]:
    def function(input: Any, other: Any) -> Tensor:
        return binary(kind, input, other)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = doc
    return hot(kind)(function) if _dtorch.has_short_way(kind) else function


abs = _of_one("abs", "|x|.")
asin = _of_one("asin", "Inverse sine, in radians.")
ceil = _of_one("ceil", "The least integer not below x.")
cos = _of_one("cos", "Cosine of radians.")
erf = _of_one("erf", "Error function.")
exp = _of_one("exp", "e to the power x.")
expm1 = _of_one("expm1", "exp(x) - 1, precise near 0.")
floor = _of_one("floor", "The largest integer not above x.")
isinf = _of_one("isinf", "Whether x is an infinity.")
isnan = _of_one("isnan", "Whether x is NaN.")
log = _of_one("log", "Natural logarithm.")
log10 = _of_one("log10", "Logarithm to base 10.")
log1p = _of_one("log1p", "log(1 + x), precise near 0.")
log2 = _of_one("log2", "Logarithm to base 2.")
logical_not = _of_one("logical_not", "Whether x is 0.")
neg = _of_one("neg", "-x.")
reciprocal = _of_one("reciprocal", "1 / x.")
relu = _of_one("relu", "max(x, 0).")
rsqrt = _of_one("rsqrt", "1 / sqrt(x).")
sigmoid = _of_one("sigmoid", "1 / (1 + exp(-x)).")
sign = _of_one("sign", "-1, 0 or 1.")
sin = _of_one("sin", "Sine of radians.")
sqrt = _of_one("sqrt", "Square root.")
square = _of_one("square", "x * x.")
tanh = _of_one("tanh", "Hyperbolic tangent.")
trunc = _of_one("trunc", "The integer next to x towards 0.")
negative = neg

bitwise_and = _of_two("bitwise_and", "a & b, of integers and bools.")
bitwise_or = _of_two("bitwise_or", "a | b, of integers and bools.")
bitwise_xor = _of_two("bitwise_xor", "a ^ b, of integers and bools.")
eq = _of_two("eq", "a == b.")
floor_divide = _of_two("floor_divide", "floor(a / b).")
fmod = _of_two("fmod", "The remainder with the sign of a.")
ge = _of_two("ge", "a >= b.")
gt = _of_two("gt", "a > b.")
le = _of_two("le", "a <= b.")
logical_and = _of_two("logical_and", "Whether neither is 0.")
logical_or = _of_two("logical_or", "Whether one is not 0.")
logical_xor = _of_two("logical_xor", "Whether just one is not 0.")
lt = _of_two("lt", "a < b.")
maximum = _of_two("maximum", "The larger one; NaN if one is NaN.")
minimum = _of_two("minimum", "The smaller one; NaN if one is NaN.")
mul = _of_two("mul", "a * b.")
ne = _of_two("ne", "a != b.")
remainder = _of_two("remainder", "The remainder with the sign of b.")
multiply = mul


@hot("add")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other."""
    return binary("add", input, _scaled("add", input, other, alpha))


@hot("sub")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other."""
    return binary("sub", input, _scaled("sub", input, other, alpha))


@hot("rsub")
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input."""
    return binary("sub", other, _scaled("rsub", other, input, alpha))


subtract = sub


def _scaled(subject: str, input: Any, other: Any, alpha: Any) -> Any:
    """alpha * other; an alpha of 1 costs nothing."""
    if isinstance(alpha, int) and alpha == 1:
        return other
    factor = as_number(alpha)
    if factor is None:
        raise fail(TypeError, f"{subject}: alpha must be a number, got {alpha!r:.80}")
    d = _common_dtype(subject, input, other)
    if isinstance(factor, float) and not d.is_floating_point:
        raise fail(TypeError, f"{subject}: alpha must be an integer for integers, got {factor}")
    number = as_number(other)
    if number is not None:
        return number * factor
    wide = cast(as_tensor(other, subject), d)
    return binary("mul", wide, bool(factor) if d is dtypes.bool_ else factor)


@hot("div")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; rounded down ("floor") or towards 0 ("trunc")."""
    if rounding_mode is None:
        return binary("div", input, other)
    if rounding_mode == "floor":
        return binary("floor_divide", input, other)
    if rounding_mode != "trunc":
        raise fail(
            ValueError,
            f'div: rounding_mode must be None, "floor" or "trunc", got {rounding_mode!r}',
        )
    if _common_dtype("div", input, other).is_floating_point:
        return trunc(binary("div", input, other))
    # Exact for integers: what is left over has the sign of the dividend.
    return binary("floor_divide", binary("sub", input, binary("fmod", input, other)), other)


true_divide = divide = div


@hot("pow")
def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power `exponent`."""
    return binary("pow", input, exponent)


def positive(input: Any) -> Tensor:
    """input itself."""
    return +as_tensor(input, "positive")


@hot("round")
def round(input: Any, *, decimals: int = 0) -> Tensor:
    """To the nearest integer (or decimal place), halves to the even one."""
    x = as_tensor(input, "round")
    if not decimals:
        return unary("round", x)
    if not x.dtype.is_floating_point:
        raise fail(TypeError, f"round: decimals need a floating dtype, got {x.dtype.name}")
    wide = x if x.dtype.itemsize >= 4 else cast(x, dtypes.float32)
    unit = 10.0 ** (decimals if decimals > 0 else -decimals)
    if decimals > 0:
        return cast(unary("round", wide * unit) / unit, x.dtype)
    return cast(unary("round", wide / unit) * unit, x.dtype)


def isfinite(input: Any) -> Tensor:
    """Whether x is neither NaN nor an infinity."""
    x = as_tensor(input, "isfinite")
    if not x.dtype.is_floating_point:
        return binary("eq", x, x)
    return binary("lt", unary("abs", x), float("inf"))


def _common_dtype(subject: str, *values: Any) -> dtypes.dtype:
    """The dtype that an op on these tensors and numbers computes in."""
    numbers = [n for n in map(as_number, values) if n is not None]
    tensors = [as_tensor(v, subject) for v in values if as_number(v) is None]
    return result_dtype([(t.dtype, t.ndim) for t in tensors], numbers)


def where(condition: Any, input: Any = None, other: Any = None) -> Tensor:
    """input where the condition holds, else other; all broadcast.

    >>> where(dtorch.Tensor([True, False]), dtorch.Tensor([1, 2]), 0).tolist()
    [1, 0]
    """
    if input is None or other is None:
        raise fail(
            NotImplementedError,
            "where: needs input and other",
            "the places of true elements are nonzero(condition, as_tuple=True)",
        )
    chosen = as_tensor(condition, "where")
    if chosen.dtype is not dtypes.bool_:
        raise fail(TypeError, f"where: condition must be bool, got {chosen.dtype.name}")
    d = _common_dtype("where", input, other)
    return record("where", [chosen, *(_as_operand(v, d) for v in (input, other))])


def _as_operand(value: Any, d: dtypes.dtype) -> Any:
    number = as_number(value)
    return cast(as_tensor(value, "where"), d) if number is None else checked_scalar(number, d)


def masked_fill(input: Any, mask: Any, value: Any) -> Tensor:
    """input with `value` (a number or 0-dim tensor) where the bool mask holds."""
    x, chosen, number = as_tensor(input, "masked_fill"), as_tensor(mask, "masked_fill"), value
    if chosen.dtype is not dtypes.bool_:
        raise fail(TypeError, f"masked_fill: mask must be bool, got {chosen.dtype.name}")
    if as_number(value) is None:
        tensor = as_tensor(value, "masked_fill")
        if tensor.ndim:
            raise fail(ValueError, f"masked_fill: value must have 0 dims, got {tensor.ndim}")
        number = cast(tensor, x.dtype)
    elif x.dtype.category == 1:
        number = _truncated("masked_fill", value, x.dtype)
    return record("where", [chosen, _as_operand(number, x.dtype), x])


def _truncated(subject: str, value: Any, d: dtypes.dtype) -> int:
    """A number as an integer, as PyTorch fills with it."""
    try:
        return int(as_number(value))  # type: ignore[arg-type]
    except (OverflowError, ValueError):
        raise fail(ValueError, f"{subject}: value must fit {d.name}, got {value}") from None


def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """input within bounds, which are numbers or tensors; NaN stays NaN. Where
    min exceeds max the result is max."""
    x = as_tensor(input, "clamp")
    if min is None and max is None:
        raise fail(ValueError, "clamp: needs min, max or both")
    d = _common_dtype("clamp", x, *(b for b in (min, max) if b is not None))
    if d is dtypes.bool_:
        raise fail(TypeError, "clamp: not defined for bool")
    x = cast(x, d)
    if min is not None:
        x = binary("maximum", x, _bound(min, d))
    return x if max is None else binary("minimum", x, _bound(max, d))


def _bound(value: Any, d: dtypes.dtype) -> Any:
    return value if as_number(value) is not None else cast(as_tensor(value, "clamp"), d)


def clip(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """As `clamp`."""
    return clamp(input, min, max)


def clamp_min(input: Any, min: Any) -> Tensor:
    """input, or min where that is larger."""
    return clamp(input, min)


def clamp_max(input: Any, max: Any) -> Tensor:
    """input, or max where that is smaller."""
    return clamp(input, None, max)


def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """input + weight * (end - input)."""
    x, d = _widened("lerp", input, end)
    y, _ = _widened("lerp", end, input)
    return cast(binary("add", x, binary("mul", binary("sub", y, x), weight)), d)


def _widened(subject: str, value: Any, *others: Any) -> tuple[Any, dtypes.dtype]:
    """value in a dtype that loses nothing on the way, and the dtype at the end."""
    d = _common_dtype(subject, value, *others)
    if as_number(value) is not None or d.itemsize >= 4 or not d.is_floating_point:
        return value, d
    return cast(as_tensor(value, subject), dtypes.float32), d


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    x, d = _widened("addcmul", input, tensor1, tensor2)
    product = binary("mul", tensor1, _widened("addcmul", tensor2, tensor1)[0])
    return cast(add(x, product, alpha=value), d)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    x, d = _widened("addcdiv", input, tensor1, tensor2)
    quotient = binary("div", tensor1, _widened("addcdiv", tensor2, tensor1)[0])
    return cast(add(x, quotient, alpha=value), d)
