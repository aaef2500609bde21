"""Activation functions and dropout."""

from __future__ import annotations

import math
from typing import Any

from dtorch import dtypes
from dtorch._base import as_number, as_tensor, record, resolve_dim
from dtorch._elementwise import binary, cast, reduced, unary
from dtorch._hot import hot
from dtorch._inplace import rebind
from dtorch._pointwise import where
from dtorch.dtypes import to_dtype
from dtorch.errors import fail
from dtorch.factories import rand_like
from dtorch.tensor import Tensor

__all__ = [
    "dropout",
    "elu",
    "gelu",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softmin",
    "softplus",
    "tanh",
]


def finish(input: Any, result: Tensor, subject: str, inplace: bool) -> Tensor:
    """The result, which becomes the input's value as well if `inplace`."""
    return rebind(input, result, subject) if inplace else result


def floating(subject: str, input: Any) -> Tensor:
    """The input, of a floating dtype."""
    x = as_tensor(input, subject)
    if not x.dtype.is_floating_point:
        raise fail(
            TypeError, f"{subject}: needs a floating dtype, got {x.dtype.name}", "use .float()"
        )
    return x


@hot("relu")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return finish(input, unary("relu", input), "relu", inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x within two bounds."""
    x = as_tensor(input, "hardtanh")
    if x.dtype.category == 1:
        min_val, max_val = int(min_val), int(max_val)
    result = binary("minimum", binary("maximum", x, min_val), max_val)
    return finish(input, result, "hardtanh", inplace)


@hot("silu")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return finish(input, unary("silu", input), "silu", inplace)


@hot("gelu")
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x, or its approximation by
    "tanh"."""
    x = floating("gelu", input)
    if approximate == "none":
        return unary("gelu", x)
    if approximate != "tanh":
        raise fail(ValueError, f'gelu: approximate must be "none" or "tanh", got {approximate!r}')
    wide = x if x.dtype.itemsize >= 4 else cast(x, dtypes.float32)
    cubic = wide + unary("square", wide) * wide * 0.044715
    curve = unary("tanh", cubic * math.sqrt(2.0 / math.pi)) + 1.0
    return cast(reduced(wide) * 0.5 * curve, x.dtype)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, else negative_slope * x."""
    x = floating("leaky_relu", input)
    result = where(binary("gt", x, 0), x, binary("mul", x, negative_slope))
    return finish(input, result, "leaky_relu", inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, else alpha * (exp(x) - 1)."""
    x = floating("elu", input)
    curve = binary("mul", unary("expm1", x), alpha)
    return finish(input, where(binary("gt", x, 0), x, curve), "elu", inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    x = floating("softplus", input)
    scaled = binary("mul", x, beta)
    soft = binary("div", unary("log1p", unary("exp", scaled)), beta)
    return where(binary("gt", scaled, threshold), x, soft)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    x = floating("logsigmoid", input)
    small = unary("log1p", unary("exp", -unary("abs", x)))
    return binary("sub", binary("minimum", x, 0.0), small)


@hot("sigmoid")
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return unary("sigmoid", input)


@hot("tanh")
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return unary("tanh", input)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """log(softmax(x)) over a dim, which is whole on each device."""
    if dim is None:
        raise fail(ValueError, "log_softmax: needs dim")
    x = as_tensor(input, "log_softmax")
    x = floating("log_softmax", x if dtype is None else cast(x, to_dtype(dtype)))
    d = resolve_dim(dim, x.ndim, "log_softmax")
    if not x.ndim:
        return record("log_softmax", [x.view(1)], dim=0).view(())
    return record("log_softmax", [x], dim=d)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """softmax(-x)."""
    from dtorch.nn.functional import softmax

    return softmax(-as_tensor(input, "softmin"), dim, _stacklevel, dtype)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros in place of a share p of the elements, the others divided by 1 - p;
    the input itself unless `training`. Random numbers as from `rand_like`: the
    same on every mesh."""
    x, share = as_tensor(input, "dropout"), as_number(p)
    if share is None or not 0 <= share <= 1:
        raise fail(ValueError, f"dropout: p must be in [0, 1], got {p!r:.80}")
    if not training:
        return x
    x = floating("dropout", x)
    kept = binary("ge", rand_like(x, dtype=dtypes.float32), share)
    scaled = binary("mul", x, 0.0 if share == 1 else 1.0 / (1.0 - share))
    return finish(input, where(kept, scaled, 0.0), "dropout", inplace)
