"""Functions of `torch.nn.functional`, on sharded tensors as on whole ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dtorch import dtypes
from dtorch._base import as_tensor, record, resolve_dim, scalar
from dtorch._elementwise import cast
from dtorch._hot import hot
from dtorch._pointwise import where
from dtorch._products import matmul
from dtorch._reductions import norm
from dtorch._shaping import broadcast_shape
from dtorch.dtypes import EPS, to_dtype
from dtorch.errors import fail
from dtorch.factories import arange
from dtorch.nn import _activations, _shapes
from dtorch.nn._activations import *  # noqa: F403
from dtorch.nn._activations import dropout
from dtorch.nn._shapes import *  # noqa: F403
from dtorch.tensor import Tensor

__all__ = [
    "embedding",
    "linear",
    "rms_norm",
    "scaled_dot_product_attention",
    "softmax",
    *_activations.__all__,
    *_shapes.__all__,
]

CONTEXT_PARALLEL_AXES = ("ulysess_cp", "ulysses_cp", "ring_cp")


@hot("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: [..., in] and [out, in] to [..., out]."""
    input, weight = as_tensor(input, "linear"), as_tensor(weight, "linear")
    _check_dtype("linear", "input", input, "weight", weight)
    if weight.ndim != 2:
        raise fail(ValueError, f"linear: weight must have 2 dims, got shape {weight.shape}")
    if not input.ndim or input.shape[-1] != weight.shape[1]:
        raise fail(
            ValueError,
            f"linear: input's last dim must be weight's {weight.shape[1]}, got shape {input.shape}",
        )
    output = record("linear", [input, weight])
    return output if bias is None else output + bias


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of weight [v, d] at integer indices [...]: [..., d].

    Rows whose `norm_type`-norm exceeds `max_norm` are scaled down to it (in the
    result; the weight stays as it is). The arguments after that concern gradients.
    An index outside [0, v) is an error when the value is computed.
    """
    indices, weight = as_tensor(input, "embedding"), as_tensor(weight, "embedding")
    if indices.dtype.category != 1:
        raise fail(TypeError, f"embedding: indices must be integers, got {indices.dtype.name}")
    if weight.ndim != 2:
        raise fail(ValueError, f"embedding: weight must have 2 dims, got shape {weight.shape}")
    rows = record("embedding", [weight, indices])
    if max_norm is None:
        return rows
    wide = cast(rows, dtypes.float32) if rows.dtype.itemsize < 4 else rows
    length = norm(wide, norm_type, -1, keepdim=True)
    scale = where(length > max_norm, max_norm / (length + 1e-7), 1.0)
    return cast(wide * scale, rows.dtype)


@hot("softmax")
def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """exp(x) / sum(exp(x)) over a dim, which must be whole on each device (auto
    mode sees to it). `dtype` is cast to first."""
    if dim is None:
        raise fail(ValueError, "softmax: needs dim")
    x = input if dtype is None else cast(input, to_dtype(dtype))
    if not x.dtype.is_floating_point:
        raise fail(
            TypeError, f"softmax: needs a floating dtype, got {x.dtype.name}", "use .float()"
        )
    d = resolve_dim(dim, x.ndim, "softmax")
    return record("softmax", [x], dim=d) if x.ndim else softmax(x.view(1), 0).view(())


@hot("rms_norm")
def rms_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """x / sqrt(mean(x^2) + eps) over the last dims `normalized_shape`, times
    weight. fp32 inside; eps defaults to the dtype's."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    first = input.ndim - len(shape)
    if first < 0 or input.shape[first:] != shape:
        raise fail(
            ValueError,
            f"rms_norm: input's last dims must be {shape}, got shape {input.shape}",
        )
    if not input.dtype.is_floating_point:
        raise fail(TypeError, f"rms_norm: needs a floating dtype, got {input.dtype.name}")
    value = scalar(EPS[input.dtype.name] if eps is None else eps, dtypes.float32)
    normed = record("rms_norm", [input, value], dims=list(range(first, input.ndim)))
    return normed if weight is None else normed * weight


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value, positions being global.

    query [..., H, L, E], key [..., Hkv, S, E], value [..., Hkv, S, Ev] to
    [..., H, L, Ev]. With `enable_gqa` H is a multiple of Hkv, and query head h
    uses K/V head h // (H / Hkv). `attn_mask` broadcasts to [..., H, L, S]: bool
    (True takes part) or floating (added). `is_causal` is aligned top left. A
    fully masked row gives 0.

    >>> q = dtorch.zeros(1, 1, 3, 2)  # equal weights: means of what a row sees
    >>> v = dtorch.Tensor([1.0, 2.0, 3.0]).view(1, 1, 3, 1)
    >>> scaled_dot_product_attention(q, q, v, is_causal=True).flatten().tolist()
    [1.0, 1.5, 2.0]
    """
    subject = "scaled_dot_product_attention"
    _check_dtype(subject, "query", query, "key", key)
    _check_dtype(subject, "query", query, "value", value)
    if attn_mask is not None and is_causal:
        raise fail(ValueError, f"{subject}: attn_mask and is_causal exclude each other")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise fail(ValueError, f"{subject}: query, key and value need at least 2 dims")
    if query.ndim == 2:
        q, k, v = (t.unsqueeze(0) for t in (query, key, value))
        result = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal, scale)
        return result.squeeze(0)
    query, key, value = _broadcast_batch(subject, query, key, value, enable_gqa)
    _check_heads(subject, query, key, enable_gqa)
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        _check_no_context_parallel(subject, name, tensor)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    if dropout_p:
        return _attention_by_parts(query, key, value, attn_mask, dropout_p, is_causal, factor)
    operands: list[Any] = [query, key, value, scalar(factor, dtypes.float32)]
    if attn_mask is not None:
        floating = attn_mask.dtype.is_floating_point
        operands.append(cast(attn_mask, query.dtype) if floating else attn_mask)
    return record("sdpa", operands, is_causal=is_causal)


def _broadcast_batch(
    subject: str, query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """All with the same dims in front; heads only where they are not grouped."""
    kept = 3 if enable_gqa or query.shape[-3] != key.shape[-3] != 1 != query.shape[-3] else 2
    tensors = query, key, value
    if len({t.shape[:-kept] for t in tensors}) == 1:
        return tensors
    batch = broadcast_shape(subject, *(t.shape[:-kept] for t in tensors))
    q, k, v = (t.expand(*batch, *t.shape[-kept:]) for t in tensors)
    return q, k, v


def _attention_by_parts(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    factor: float,
) -> Tensor:
    """Attention with dropout of its weights, in ops that hold them all."""
    groups = query.shape[-3] // key.shape[-3]
    if groups > 1:
        key, value = (t.repeat_interleave(groups, -3) for t in (key, value))
    scores = matmul(query, key.transpose(-2, -1)) * factor
    if is_causal:
        rows, columns = (arange(n, device_mesh=query.device_mesh) for n in scores.shape[-2:])
        attn_mask = rows.unsqueeze(1) >= columns
    if attn_mask is not None and attn_mask.dtype is dtypes.bool_:
        scores = where(attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = scores + cast(attn_mask, scores.dtype)
    weights = softmax(scores, -1)
    if attn_mask is not None:  # a row without keys gives 0
        weights = where(scores.amax(-1, keepdim=True) == -math.inf, 0.0, weights)
    return matmul(dropout(weights, dropout_p), value)


def _check_heads(subject: str, query: Tensor, key: Tensor, enable_gqa: bool) -> None:
    heads, kv_heads = query.shape[-3], key.shape[-3]
    if enable_gqa:
        if kv_heads == 0 or heads % kv_heads:
            raise fail(
                ValueError,
                f"{subject}: query heads must be a multiple of K/V heads, "
                f"got {heads} and {kv_heads}",
            )
    elif heads != kv_heads:
        raise fail(
            ValueError,
            f"{subject}: query and key must have the same number of heads, "
            f"got {heads} and {kv_heads}",
            "pass enable_gqa=True",
        )


def _check_no_context_parallel(subject: str, name: str, tensor: Tensor) -> None:
    mesh, sequence = tensor.device_mesh, tensor.ndim - 2
    for axis, placement in zip(mesh.dim_names, tensor.placements, strict=True):
        if (
            axis in CONTEXT_PARALLEL_AXES
            and mesh.shape[mesh.dim_names.index(axis)] > 1
            and placement.is_shard(sequence)
        ):
            raise fail(
                NotImplementedError,
                f"{subject}: context parallelism is not available yet, got {name} sharded "
                f"by sequence on axis {axis!r}",
                f"redistribute it to Replicate() on {axis!r}",
            )


def _check_dtype(subject: str, left: str, a: Tensor, right: str, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise fail(
            TypeError,
            f"{subject}: {left} and {right} must have one dtype, "
            f"got {a.dtype.name} and {b.dtype.name}",
            "convert one with .to(dtype)",
        )
