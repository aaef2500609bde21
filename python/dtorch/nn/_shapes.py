"""Norms over groups of dims, padding, and one-hot vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dtorch import dtypes
from dtorch._base import as_tensor, flatten_ints, record, scalar
from dtorch._elementwise import binary, cast, checked_scalar
from dtorch._gathering import from_places, one_hot, select_rows
from dtorch._shaping import slice_dims, view_as_shape
from dtorch.errors import fail
from dtorch.nn._activations import floating
from dtorch.tensor import Tensor

__all__ = ["group_norm", "layer_norm", "one_hot", "pad"]


def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) over the last dims `normalized_shape`,
    times weight, plus bias. fp32 inside."""
    x, shape = floating("layer_norm", input), tuple(flatten_ints([normalized_shape], "layer_norm"))
    first = x.ndim - len(shape)
    if first < 0 or not shape or x.shape[first:] != shape:
        raise fail(
            ValueError,
            f"layer_norm: input's last dims must be {shape}, got shape {x.shape}",
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.shape != shape:
            raise fail(
                ValueError, f"layer_norm: {name} must have shape {shape}, got {tensor.shape}"
            )
    value = scalar(eps, dtypes.float32)
    normed = record("layer_norm", [x, value], dims=list(range(first, x.ndim)))
    return _affine(normed, weight, bias)


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """x * weight + bias in the dtype of x."""
    result = x if weight is None else binary("mul", x, weight)
    result = result if bias is None else binary("add", result, bias)
    return cast(result, x.dtype)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`layer_norm` over each group of channels: x [n, c, …] with c a multiple of
    `num_groups`; weight and bias [c]."""
    x = floating("group_norm", input)
    if x.ndim < 2:
        raise fail(ValueError, f"group_norm: input must have at least 2 dims, got {x.ndim}")
    n, channels, *rest = x.shape
    if num_groups < 1 or channels % num_groups:
        raise fail(
            ValueError,
            f"group_norm: channels must be a multiple of num_groups, got {channels} "
            f"and {num_groups}",
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.shape != (channels,):
            raise fail(
                ValueError, f"group_norm: {name} must have shape ({channels},), got {tensor.shape}"
            )
    groups = view_as_shape(x, [n, num_groups, channels // num_groups * math.prod(rest)])
    value = scalar(eps, dtypes.float32)
    normed = view_as_shape(record("layer_norm", [groups, value], dims=[2]), x.shape)
    column = [channels, *[1] * len(rest)]
    return _affine(normed, *(t if t is None else view_as_shape(t, column) for t in (weight, bias)))


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Elements added before and after the last dims: pad = (before, after) of the
    last dim, then of the one before it. Negative numbers cut. `mode` is
    "constant" (`value`, 0 by default), "reflect", "replicate" or "circular"."""
    x, counts = as_tensor(input, "pad"), flatten_ints([pad], "pad")
    if len(counts) % 2 or len(counts) > 2 * x.ndim:
        raise fail(
            ValueError,
            f"pad: needs a pair for each of at most {x.ndim} dims, got {counts}",
        )
    missing = [0] * (x.ndim - len(counts) // 2)
    before, after = (missing + counts[i::2][::-1] for i in (0, 1))
    if mode == "constant":
        return _pad_constant(x, before, after, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise fail(
            ValueError,
            f'pad: mode must be "constant", "reflect", "replicate" or "circular", got {mode!r}',
        )
    if value is not None and value != 0:
        raise fail(ValueError, f"pad: mode {mode!r} takes no value, got {value}")
    for d in range(x.ndim):
        if before[d] or after[d]:
            x = select_rows(x, d, from_places(_places(mode, x.shape[d], before[d], after[d])))
    return x


def _pad_constant(x: Tensor, before: list[int], after: list[int], value: Any) -> Tensor:
    starts = [max(0, -b) for b in before]
    stops = [n - max(0, -a) for n, a in zip(x.shape, after, strict=True)]
    if any(a > b for a, b in zip(starts, stops, strict=True)):
        raise fail(ValueError, f"pad: cuts more than shape {x.shape} has, got {before} and {after}")
    x = slice_dims(x, starts, stops, [1] * x.ndim)
    front, back = [max(0, b) for b in before], [max(0, a) for a in after]
    if not any(front) and not any(back):
        return x
    number = int(value) if x.dtype.category == 1 else value
    fill = checked_scalar(number, x.dtype)
    return record("pad", [x, fill], before=front, after=back)


def _places(mode: str, n: int, before: int, after: int) -> Any:
    """Where the elements of a padded dim come from."""
    most = n - 1 if mode == "reflect" else n if mode == "circular" else n + before + after
    if max(before, after) > most or n == 0:
        raise fail(
            ValueError,
            f"pad: {mode!r} adds at most {max(most, 0)} to a dim of {n}, got {(before, after)}",
        )
    places = np.arange(-before, n + after)
    if mode == "replicate":
        return places.clip(0, n - 1)
    if mode == "circular":  # goes round what is left after cutting, as in PyTorch
        first, left = max(-before, 0), n + min(before, 0) + min(after, 0)
        return first + (places - first) % max(left, 1)
    turned = np.abs(places)
    return np.where(turned >= n, 2 * (n - 1) - turned, turned)
