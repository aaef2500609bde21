"""The numbers that describe one Llama."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class LlamaConfig:
    """Sizes and constants of a Llama, under Hugging Face's names.

    `head_dim` may differ from `hidden_size / num_attention_heads`.
    `rope_scaling` is None or a dict with `rope_type` (or `type`) "default",
    "linear" or "llama3" and that type's factors.
    """

    vocab_size: int = 32000
    hidden_size: int = 4096
    intermediate_size: int = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: str = "silu"
    max_position_embeddings: int = 2048
    initializer_range: float = 0.02
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool = False
    rope_theta: float = 10000.0
    rope_scaling: dict[str, Any] | None = None
    attention_bias: bool = False
    mlp_bias: bool = False
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2

    def __post_init__(self) -> None:
        if self.num_key_value_heads is None:
            self.num_key_value_heads = self.num_attention_heads
        if self.head_dim is None:
            if self.hidden_size % self.num_attention_heads:
                raise ValueError(
                    f"LlamaConfig: hidden_size {self.hidden_size} is not a multiple of "
                    f"num_attention_heads {self.num_attention_heads}; give head_dim"
                )
            self.head_dim = self.hidden_size // self.num_attention_heads
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"LlamaConfig: num_attention_heads {self.num_attention_heads} must be a "
                f"multiple of num_key_value_heads {self.num_key_value_heads}"
            )
        if self.head_dim % 2:
            raise ValueError(
                f"LlamaConfig: head_dim must be even for rotary positions, got {self.head_dim}"
            )
        if self.hidden_act != "silu":
            raise ValueError(f"LlamaConfig: hidden_act must be 'silu', got {self.hidden_act!r}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LlamaConfig:
        """From the keys of a `config.json`; unknown keys are ignored.

        Newer files keep theta and scaling together in `rope_parameters`.
        """
        values = dict(values)
        rope = values.get("rope_parameters")
        if rope:
            values.setdefault("rope_theta", rope.get("rope_theta", cls.rope_theta))
            if _rope_type(rope) != "default" and not values.get("rope_scaling"):
                values["rope_scaling"] = dict(rope)
        scaling = values.get("rope_scaling")
        if scaling is not None and _rope_type(scaling) == "default":
            values["rope_scaling"] = None
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in values.items() if key in known})

    @classmethod
    def from_json(cls, path: str | Path) -> LlamaConfig:
        """From a `config.json`, or from the folder that holds one."""
        path = Path(path)
        if path.is_dir():
            path = path / "config.json"
        return cls.from_dict(json.loads(path.read_text()))

    @classmethod
    def of(cls, config: Any) -> LlamaConfig:
        """From whatever describes a Llama: ours, a dict, or an object with `to_dict`."""
        if isinstance(config, cls):
            return config
        if isinstance(config, Mapping):
            return cls.from_dict(config)
        if hasattr(config, "to_dict"):
            return cls.from_dict(config.to_dict())
        raise TypeError(
            f"LlamaConfig: expected a LlamaConfig, a dict or a Hugging Face config, "
            f"got {type(config).__name__}"
        )

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @property
    def rope_type(self) -> str:
        return _rope_type(self.rope_scaling) if self.rope_scaling else "default"


def _rope_type(rope: Mapping[str, Any]) -> str:
    return rope.get("rope_type", rope.get("type", "default"))
