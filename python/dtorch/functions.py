"""Free functions, as in PyTorch. Most are methods of `Tensor`, too."""

from __future__ import annotations

from typing import Any

from dtorch import (
    _einsum,
    _gathering,
    _joining,
    _ordering,
    _pointwise,
    _products,
    _reductions,
)
from dtorch._base import as_tensor
from dtorch._einsum import *  # noqa: F403
from dtorch._gathering import *  # noqa: F403
from dtorch._hot import hot
from dtorch._joining import *  # noqa: F403
from dtorch._ordering import *  # noqa: F403
from dtorch._pointwise import *  # noqa: F403
from dtorch._products import *  # noqa: F403
from dtorch._reductions import *  # noqa: F403
from dtorch.nn.functional import dropout, log_softmax, softmax
from dtorch.tensor import Tensor

__all__ = [
    "adjoint",
    "broadcast_to",
    "clone",
    "dropout",
    "flatten",
    "flip",
    "index_put",
    "is_floating_point",
    "is_tensor",
    "log_softmax",
    "moveaxis",
    "movedim",
    "numel",
    "permute",
    "ravel",
    "reshape",
    "softmax",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "tile",
    "transpose",
    "unflatten",
    "unsqueeze",
    *_einsum.__all__,
    *_gathering.__all__,
    *_joining.__all__,
    *_ordering.__all__,
    *_pointwise.__all__,
    *_products.__all__,
    *_reductions.__all__,
]


def is_tensor(value: object) -> bool:
    """Whether it is a dtorch tensor."""
    return isinstance(value, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether its dtype is a floating one."""
    return input.dtype.is_floating_point


def numel(input: Tensor) -> int:
    """Number of elements."""
    return input.numel()


def clone(input: Any, *, memory_format: Any = None) -> Tensor:
    """A tensor of the same value."""
    return as_tensor(input, "clone").clone()


def reshape(input: Any, shape: Any) -> Tensor:
    """The same elements under another shape; one size may be -1."""
    return as_tensor(input, "reshape").reshape(shape)


@hot("flatten")
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dims start_dim … end_dim as one."""
    return as_tensor(input, "flatten").flatten(start_dim, end_dim)


def ravel(input: Any) -> Tensor:
    """All dims as one."""
    return as_tensor(input, "ravel").flatten()


def unflatten(input: Any, dim: int, sizes: Any) -> Tensor:
    """Dim `dim` as several; one size may be -1."""
    return as_tensor(input, "unflatten").unflatten(dim, sizes)


@hot("transpose")
def transpose(input: Any, dim0: int, dim1: int) -> Tensor:
    """Two dims exchanged."""
    return as_tensor(input, "transpose").transpose(dim0, dim1)


swapdims = swapaxes = transpose


def t(input: Any) -> Tensor:
    """The transpose of a tensor of at most 2 dims."""
    return as_tensor(input, "t").t()


def adjoint(input: Any) -> Tensor:
    """The last two dims exchanged: numbers here are real."""
    return as_tensor(input, "adjoint").mT


def permute(input: Any, dims: Any) -> Tensor:
    """Dims in another order."""
    return as_tensor(input, "permute").permute(dims)


def movedim(input: Any, source: Any, destination: Any) -> Tensor:
    """Dims moved to other places; the rest keep their order."""
    return as_tensor(input, "movedim").movedim(source, destination)


moveaxis = movedim


@hot("squeeze")
def squeeze(input: Any, dim: Any = None) -> Tensor:
    """Without dims of size 1 (all, or those named)."""
    return as_tensor(input, "squeeze").squeeze(dim)


@hot("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Tensor:
    """A new dim of size 1."""
    return as_tensor(input, "unsqueeze").unsqueeze(dim)


def broadcast_to(input: Any, size: Any) -> Tensor:
    """Expanded to a shape."""
    return as_tensor(input, "broadcast_to").expand(size)


def tile(input: Any, dims: Any) -> Tensor:
    """Copies along dims."""
    return as_tensor(input, "tile").tile(dims)


def flip(input: Any, dims: Any) -> Tensor:
    """Dims in reversed order of elements."""
    return as_tensor(input, "flip").flip(dims)


def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """input with input[indices] replaced by values, or added to."""
    return as_tensor(input, "index_put").clone().index_put_(indices, values, accumulate)
