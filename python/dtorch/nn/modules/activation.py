"""Activations as modules."""

from __future__ import annotations

from dtorch.nn import functional as F
from dtorch.nn.modules.module import Module
from dtorch.tensor import Tensor

__all__ = ["GELU", "Identity", "ReLU", "SiLU", "Sigmoid", "Tanh"]


class Identity(Module):
    """The input itself; any arguments are accepted."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class SiLU(Module):
    """x * sigmoid(x)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)


class ReLU(Module):
    """max(x, 0)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input)


class GELU(Module):
    """x times the normal distribution function of x."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)
