"""First values of parameters. Nothing is computed until a parameter is used.

Random values are keyed by global element index and by the order in which
parameters are made: equal seeds give equal models on every mesh.
"""

from __future__ import annotations

import math

import numpy as np

from dtorch import random
from dtorch.arrays import HostArray, numpy_dtype
from dtorch.dtypes import bfloat16, dtype, float32
from dtorch.errors import fail
from dtorch.nn.parameter import Make, Parameter

__all__ = [
    "constant_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_uniform_",
    "zeros_",
]


def constant(shape: tuple[int, ...], d: dtype, value: float) -> Make:
    """A value everywhere."""

    def make() -> HostArray:
        wide = float32 if d is bfloat16 else d
        return HostArray(np.full(shape, value, numpy_dtype(wide)), wide)

    return make


def uniform(shape: tuple[int, ...], d: dtype, low: float, high: float) -> Make:
    """Uniform in [low, high), under the next key of the random state."""
    key = random.next_key()

    def make() -> HostArray:
        from dtorch.factories import _random

        unit = _random("uniform", "init", shape, dtype=d, key=key)
        return (unit * (high - low) + low)._host_value()

    return make


def normal(
    shape: tuple[int, ...], d: dtype, mean: float, std: float, zero_row: int | None = None
) -> Make:
    """Normal, under the next key; one row may be zero (padding of embeddings)."""
    key = random.next_key()

    def make() -> HostArray:
        from dtorch.factories import _random

        value = (_random("normal", "init", shape, dtype=d, key=key) * std + mean)._host_value()
        if zero_row is None:
            return value
        array = value.array.copy()
        array[zero_row] = 0
        return HostArray(array, value.dtype)

    return make


def uniform_(tensor: Parameter, a: float = 0.0, b: float = 1.0) -> Parameter:
    """Uniform in [a, b)."""
    tensor._set_init(uniform(tensor.shape, tensor.dtype, a, b))
    return tensor


def normal_(tensor: Parameter, mean: float = 0.0, std: float = 1.0) -> Parameter:
    """Normal."""
    tensor._set_init(normal(tensor.shape, tensor.dtype, mean, std))
    return tensor


def constant_(tensor: Parameter, val: float) -> Parameter:
    """One value everywhere."""
    tensor._set_init(constant(tensor.shape, tensor.dtype, val))
    return tensor


def zeros_(tensor: Parameter) -> Parameter:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def ones_(tensor: Parameter) -> Parameter:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def kaiming_uniform_(tensor: Parameter, a: float = 0.0) -> Parameter:
    """Uniform with variance 2 / ((1 + a^2) fan_in): He et al., 2015."""
    bound = math.sqrt(6.0 / ((1.0 + a * a) * _fans(tensor)[0]))
    return uniform_(tensor, -bound, bound)


def xavier_uniform_(tensor: Parameter, gain: float = 1.0) -> Parameter:
    """Uniform with variance 2 gain^2 / (fan_in + fan_out): Glorot and Bengio, 2010."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def _fans(tensor: Parameter) -> tuple[int, int]:
    """fan_in and fan_out of a weight [out, in, …]."""
    shape = tensor.shape
    if len(shape) < 2:
        raise fail(ValueError, f"init: fans need at least 2 dims, got shape {shape}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field
