"""The Llama of the tests: `dtorch.models.llama`, the one model code there is."""

from dtorch.models.llama import (
    LlamaConfig,
    LlamaDecoderLayer,
    LlamaForCausalLM,
    LlamaMLP,
    LlamaModel,
    LlamaRotaryEmbedding,
    LlamaSdpaAttention,
)

__all__ = [
    "LlamaConfig",
    "LlamaDecoderLayer",
    "LlamaForCausalLM",
    "LlamaMLP",
    "LlamaModel",
    "LlamaRotaryEmbedding",
    "LlamaSdpaAttention",
]
