"""Llama: one model code for one device and for every mesh."""

from .config import LlamaConfig
from .model import (
    LlamaDecoderLayer,
    LlamaForCausalLM,
    LlamaMLP,
    LlamaModel,
    LlamaSdpaAttention,
)
from .rotary import LlamaRotaryEmbedding, apply_rotary, inverse_frequencies, rotate_half

__all__ = [
    "LlamaConfig",
    "LlamaDecoderLayer",
    "LlamaForCausalLM",
    "LlamaMLP",
    "LlamaModel",
    "LlamaRotaryEmbedding",
    "LlamaSdpaAttention",
    "apply_rotary",
    "inverse_frequencies",
    "rotate_half",
]
