"""Rotary positions: Su et al., RoFormer, 2021, with Llama 3's rescaling.

Tables are computed in float32 from integer positions and cast once at the end:
bfloat16 positions would collide above 256.
"""

from __future__ import annotations

import math

import numpy as np

import dtorch
from dtorch import nn

from .config import LlamaConfig


def inverse_frequencies(config: LlamaConfig) -> np.ndarray:
    """Angle per position of each pair of features, float32, [head_dim / 2].

    Worked out in float64 and rounded once, so that far positions keep the
    precision that float32 has.
    """
    exponents = np.arange(0, config.head_dim, 2, dtype=np.float64) / config.head_dim
    frequencies = config.rope_theta**-exponents
    kind = config.rope_type
    if kind == "linear":
        frequencies = frequencies / config.rope_scaling["factor"]
    elif kind == "llama3":
        frequencies = _rescale_like_llama3(frequencies, config.rope_scaling)
    elif kind != "default":
        raise NotImplementedError(
            f"rope_scaling: rope_type {kind!r} is not available; "
            "use 'default', 'linear' or 'llama3'"
        )
    return frequencies.astype(np.float32)


def _rescale_like_llama3(frequencies: np.ndarray, scaling: dict) -> np.ndarray:
    """Slow rotations are slowed by `factor`, fast ones kept, a band blended.

    The bounds are wavelengths, in shares of the original context length:

        wavelength   < L / high   between          > L / low
        frequency    kept         blend of both    divided by factor
    """
    factor = scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    length = scaling["original_max_position_embeddings"]
    turns = length * frequencies / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return frequencies * (kept + (1 - kept) / factor)


class LlamaRotaryEmbedding(nn.Module):
    """cos and sin of every position's angles, [batch, length, head_dim] each."""

    def __init__(self, config: LlamaConfig):
        super().__init__()
        # A host tensor: it joins any mesh as replicated, and is no weight.
        self.inv_freq = dtorch.Tensor(inverse_frequencies(config))

    def forward(self, x: dtorch.Tensor, position_ids: dtorch.Tensor):
        """`x` gives the dtype of the tables; `position_ids` is integer [batch, length]."""
        angles = position_ids.unsqueeze(-1).float() * self.inv_freq
        angles = dtorch.cat([angles, angles], dim=-1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def rotate_half(x: dtorch.Tensor) -> dtorch.Tensor:
    """(a, b) -> (-b, a) for the two halves of the last dim.

    Feature i is paired with feature i + head_dim / 2, the order in which
    Hugging Face's checkpoints store the projections.
    """
    half = x.shape[-1] // 2
    return dtorch.cat([-x[..., half:], x[..., :half]], dim=-1)


def apply_rotary(x: dtorch.Tensor, cos: dtorch.Tensor, sin: dtorch.Tensor) -> dtorch.Tensor:
    """Rotates queries or keys [batch, heads, length, head_dim] by their positions."""
    return x * cos.unsqueeze(1) + rotate_half(x) * sin.unsqueeze(1)
