"""Which of PyTorch's op entries have an op here, and how it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import dtorch
from dtorch.tensor import Tensor

__all__ = ["DTYPES", "FACTORIES", "REQUIRED", "find", "is_random"]

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int64": torch.int64}

REQUIRED = set(
    """
    add sub mul div true_divide floor_divide remainder fmod pow neg abs exp log log2 log10 sqrt
    rsqrt square reciprocal sin cos asin tanh sigmoid floor ceil trunc round sign isnan isinf
    isfinite expm1 log1p erf clamp where masked_fill maximum minimum eq ne lt le gt ge
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
    __radd__ __rsub__ __rmul__ __rdiv__ __rmod__ __rpow__ __rand__ __ror__ __rxor__ __rmatmul__
    matmul mm bmm mv dot outer einsum
    sum mean var std any all max min amax amin prod argmax argmin logsumexp norm cumsum topk sort
    argsort softmax log_softmax
    reshape view flatten unflatten transpose permute squeeze unsqueeze expand repeat
    repeat_interleave cat stack chunk split tensor_split unbind narrow select movedim flip
    __getitem__ index_select gather scatter scatter_add take_along_dim tril triu
    zeros ones full empty arange linspace eye randn randint zeros_like ones_like full_like
    empty_like randn_like rand_like randint_like clone to index_put fill zero_
    nn.functional.relu nn.functional.silu nn.functional.gelu nn.functional.leaky_relu
    nn.functional.elu nn.functional.linear nn.functional.rms_norm nn.functional.layer_norm
    nn.functional.group_norm nn.functional.dropout nn.functional.embedding
    nn.functional.scaled_dot_product_attention nn.functional.one_hot nn.functional.pad
    """.split()  # noqa: SIM905
)
"""Entries of which at least 95 % of the samples must be equal."""

FACTORIES = {"arange", "empty", "eye", "full", "linspace", "ones", "randint", "randn", "zeros"}
"""Entries without tensors: their result is placed."""

_RANDOM = {
    "empty",
    "empty_like",
    "new_empty",
    "nn.functional.dropout",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
}

_OTHERS = {"mode"}
"""Names that mean something else here."""


def is_random(name: str) -> bool:
    """Whether only shape and dtype can be compared."""
    return name in _RANDOM


def _property(name: str) -> Callable[..., Any]:
    return lambda x: getattr(x, name)


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def _in_place(name: str) -> Callable[..., Any]:
    """A function that the in-place method of a copy serves."""
    return lambda x, *args, **kwargs: getattr(x.clone(), name)(*args, **kwargs)


_SPECIAL: dict[str, Callable[..., Any]] = {
    # Entries that order their arguments in another way than the op.
    "__rdiv__": lambda x, other: other / x,
    "einsum": lambda operands, equation: dtorch.einsum(equation, *operands),
    "nn.functional.embedding": lambda weight, index, **options: dtorch.nn.functional.embedding(
        index, weight, **options
    ),
    "where": lambda x, condition, other: dtorch.where(condition, x, other),
    "fill": _in_place("fill_"),
    "zero_": _in_place("zero_"),
}


def find(name: str) -> Callable[..., Any] | None:
    """Our op for an entry; None if there is none."""
    if name in _OTHERS:
        return None
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name.startswith("nn.functional."):
        return getattr(dtorch.nn.functional, name.rpartition(".")[2], None)
    if "." in name:
        return None
    attribute = getattr(Tensor, name, None)
    if isinstance(attribute, property):
        return _property(name)
    function = getattr(dtorch, name, None)
    if callable(function) and not isinstance(function, type):
        return function  # type: ignore[no-any-return]
    return None if attribute is None else _method(name)
