"""First values of Llama's parameters, and what its state dicts need beyond names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import dtorch
from dtorch import nn

EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"


def initialize(model: nn.Module) -> None:
    """Weights normal with `initializer_range`, biases 0; a tied head is the embedding.

    Nothing is computed until a parameter is used: loading weights costs no drawing.
    """
    parameters = dict(model.named_parameters())
    for name, parameter in parameters.items():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.dim() == 2:
            nn.init.normal_(parameter, std=model.config.initializer_range)
    if model.config.tie_word_embeddings:
        embedding = parameters[EMBEDDING]
        parameters[HEAD]._set_init(lambda: embedding._host_value())


class _Renamed(Mapping[str, Any]):
    """A state dict with some names answered by others, read only when asked.

    A value with two names is read once, so that equal layouts share its memory.
    """

    def __init__(self, base: Mapping[str, Any], names: Mapping[str, str]):
        self._base = base
        self._names = names
        uses = Counter(names.values())
        self._shared = {name: None for name in uses if uses[name] > 1}

    def __getitem__(self, name: str) -> Any:
        source = self._names[name]
        if source not in self._shared:
            return self._base[source]
        if self._shared[source] is None:
            self._shared[source] = self._base[source]
        return self._shared[source]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def complete_state_dict(config, state_dict: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fills in a tied pair's absent half and drops the tables of old checkpoints.

    Raises ValueError when a tied pair comes with two different values.
    """
    # Early checkpoints stored each layer's rotary frequencies.
    names = {name: name for name in state_dict if not name.endswith("rotary_emb.inv_freq")}
    if config.tie_word_embeddings:
        if EMBEDDING in names and HEAD in names:
            _check_tie(state_dict[EMBEDDING], state_dict[HEAD])
            names[HEAD] = EMBEDDING
        elif EMBEDDING in names:
            names[HEAD] = EMBEDDING
        elif HEAD in names:
            names[EMBEDDING] = HEAD
    return _Renamed(state_dict, names)


def _check_tie(embedding: Any, head: Any) -> None:
    if embedding is head or _same_memory(embedding, head):
        return
    a, b = (dtorch.Tensor(value).float().numpy() for value in (embedding, head))
    if a.shape != b.shape or not np.array_equal(a, b, equal_nan=True):
        raise ValueError(
            f"load_state_dict: {HEAD} and {EMBEDDING} are tied (tie_word_embeddings) "
            "but hold different values; give one of them, or two equal ones"
        )


def _same_memory(a: Any, b: Any) -> bool:
    """Whether two PyTorch tensors are one tensor's memory, as tied weights are."""
    if not (hasattr(a, "data_ptr") and hasattr(b, "data_ptr")):
        return False
    return a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride()
