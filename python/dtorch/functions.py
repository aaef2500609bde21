"""Free functions with the names of `Tensor`'s methods, as in PyTorch."""

from __future__ import annotations

from typing import Any

from dtorch._base import as_tensor
from dtorch._elementwise import binary, unary
from dtorch._reductions import Dims, matmul
from dtorch._shaping import cat, stack
from dtorch.tensor import Tensor

__all__ = [
    "abs",
    "add",
    "amax",
    "amin",
    "cat",
    "chunk",
    "cos",
    "div",
    "exp",
    "flatten",
    "floor",
    "is_tensor",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "matmul",
    "maximum",
    "mean",
    "minimum",
    "mul",
    "neg",
    "permute",
    "pow",
    "reciprocal",
    "relu",
    "reshape",
    "rsqrt",
    "sigmoid",
    "sin",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "sub",
    "sum",
    "tanh",
    "transpose",
    "unsqueeze",
]


def is_tensor(value: object) -> bool:
    """Whether it is a dtorch tensor."""
    return isinstance(value, Tensor)


def _unary(kind: str, input: Any) -> Tensor:
    return unary(kind, as_tensor(input, kind))


def abs(input: Tensor) -> Tensor:
    return _unary("abs", input)


def neg(input: Tensor) -> Tensor:
    return _unary("neg", input)


def exp(input: Tensor) -> Tensor:
    return _unary("exp", input)


def log(input: Tensor) -> Tensor:
    return _unary("log", input)


def sqrt(input: Tensor) -> Tensor:
    return _unary("sqrt", input)


def rsqrt(input: Tensor) -> Tensor:
    return _unary("rsqrt", input)


def square(input: Tensor) -> Tensor:
    return _unary("square", input)


def reciprocal(input: Tensor) -> Tensor:
    return _unary("reciprocal", input)


def sin(input: Tensor) -> Tensor:
    return _unary("sin", input)


def cos(input: Tensor) -> Tensor:
    return _unary("cos", input)


def tanh(input: Tensor) -> Tensor:
    return _unary("tanh", input)


def sigmoid(input: Tensor) -> Tensor:
    return _unary("sigmoid", input)


def relu(input: Tensor) -> Tensor:
    return _unary("relu", input)


def floor(input: Tensor) -> Tensor:
    return _unary("floor", input)


def add(input: Any, other: Any) -> Tensor:
    return binary("add", input, other)


def sub(input: Any, other: Any) -> Tensor:
    return binary("sub", input, other)


def mul(input: Any, other: Any) -> Tensor:
    return binary("mul", input, other)


def div(input: Any, other: Any) -> Tensor:
    return binary("div", input, other)


def pow(input: Any, exponent: Any) -> Tensor:
    return binary("pow", input, exponent)


def maximum(input: Any, other: Any) -> Tensor:
    return binary("maximum", input, other)


def minimum(input: Any, other: Any) -> Tensor:
    return binary("minimum", input, other)


def logical_and(input: Any, other: Any) -> Tensor:
    return binary("logical_and", input, other)


def logical_or(input: Any, other: Any) -> Tensor:
    return binary("logical_or", input, other)


def logical_not(input: Tensor) -> Tensor:
    return as_tensor(input, "logical_not").logical_not()


def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return input.sum(dim, keepdim, dtype=dtype)


def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return input.mean(dim, keepdim, dtype=dtype)


def amax(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    return input.amax(dim, keepdim)


def amin(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    return input.amin(dim, keepdim)


def reshape(input: Tensor, shape: Any) -> Tensor:
    return input.reshape(shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    return input.flatten(start_dim, end_dim)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    return input.transpose(dim0, dim1)


def permute(input: Tensor, dims: Any) -> Tensor:
    return input.permute(dims)


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    return input.squeeze(dim)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    return input.unsqueeze(dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    return input.chunk(chunks, dim)


def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return input.split(split_size_or_sections, dim)
