"""Small Llamas in every shape that sharding finds hard, beside Hugging Face's.

Weights are drawn with a spread of 0.2, biases and norm weights at random too: with
the usual 0.02 a model would hide a missing rotary embedding below the tolerance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

RTOL = ATOL = 1e-4

# hidden size, query heads, K/V heads
HEADS = [(32, 8, 8), (32, 8, 2), (32, 8, 1), (24, 6, 3)]


@dataclass(frozen=True)
class LlamaCase:
    """One model shape, one input shape, one mesh."""

    dp: int = 1
    tp: int = 1
    heads: tuple[int, int, int] = (32, 8, 2)
    explicit_head_dim: bool = False
    batch: int = 2
    length: int = 7
    bias: bool = False
    tied: bool = False
    layers: int = 3

    def config(self) -> dict:
        """The keys of a config.json; an explicit head_dim is not hidden / heads."""
        hidden, heads, kv_heads = self.heads
        return {
            "vocab_size": 61,
            "hidden_size": hidden,
            "intermediate_size": 88,
            "num_hidden_layers": self.layers,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "head_dim": 6 if self.explicit_head_dim else None,
            "initializer_range": 0.2,
            "attention_bias": self.bias,
            "mlp_bias": self.bias,
            "tie_word_embeddings": self.tied,
        }


@dataclass
class Reference:
    state_dict: dict
    ids: np.ndarray
    logits: np.ndarray


def reference(case: LlamaCase) -> Reference:
    """Weights, ids and Hugging Face's logits; the mesh does not matter."""
    return _reference(replace(case, dp=1, tp=1))


@lru_cache(maxsize=512)
def _reference(case: LlamaCase) -> Reference:
    import torch

    model = _torch_model(replace(case, batch=0, length=0))
    generator = torch.Generator().manual_seed(case.batch * 100 + case.length)
    ids = torch.randint(0, 61, (case.batch, case.length), generator=generator)
    with torch.no_grad():
        logits = model(ids).logits
    return Reference(model.state_dict(), ids.numpy(), logits.numpy())


@lru_cache(maxsize=64)
def _torch_model(case: LlamaCase):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = {key: value for key, value in case.config().items() if value is not None}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = LlamaForCausalLM(LlamaConfig(**config)).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    parameter.normal_(0, 0.2)
                elif "norm" in name:
                    parameter.normal_(1, 0.2)
    return model


def run(case: LlamaCase, fault: Fault | None = None) -> np.ndarray:
    """Our logits of the case, on its mesh, with a planted fault if one is given."""
    import dtorch
    from dtorch.models.llama import LlamaForCausalLM

    expected = reference(case)
    mesh = dtorch.init_device_mesh("cpu", (case.dp, case.tp), mesh_dim_names=["dp", "tp"])
    state_dict = dict(expected.state_dict)
    with fault(case, state_dict) if fault else contextlib.nullcontext():
        model = LlamaForCausalLM(case.config(), device_mesh=mesh)
        model.load_state_dict(state_dict)
        return model(dtorch.Tensor(expected.ids)).numpy()


def error(case: LlamaCase, fault: Fault | None = None) -> float:
    """Largest difference from the reference in units of the tolerance (1 passes)."""
    expected, actual = reference(case).logits, run(case, fault)
    if actual.shape != expected.shape:
        raise AssertionError(f"{case}: logits {actual.shape}, expected {expected.shape}")
    excess = np.abs(actual - expected) / (ATOL + RTOL * np.abs(expected))
    # A NaN must fail: it compares false with everything.
    return float(excess.max()) if not np.isnan(excess).any() else float("inf")


Fault = Callable[[LlamaCase, dict], contextlib.AbstractContextManager]


@contextlib.contextmanager
def no_rotary(case: LlamaCase, state_dict: dict) -> Iterator[None]:
    """Queries and keys keep no position."""
    from dtorch.models.llama import model

    original = model.apply_rotary
    model.apply_rotary = lambda x, cos, sin: x
    try:
        yield
    finally:
        model.apply_rotary = original


@contextlib.contextmanager
def shifted_kv_heads(case: LlamaCase, state_dict: dict) -> Iterator[None]:
    """Every query head uses the K/V head after its own."""
    hidden, heads, _ = case.heads
    head_dim = case.config()["head_dim"] or hidden // heads
    for name, value in state_dict.items():
        if ".k_proj." in name or ".v_proj." in name:
            state_dict[name] = value.roll(head_dim, dims=0)
    yield


@contextlib.contextmanager
def bias_added_tp_times(case: LlamaCase, state_dict: dict) -> Iterator[None]:
    """The row-parallel bias is summed over the tp devices."""
    for name, value in state_dict.items():
        if name.endswith("o_proj.bias"):
            state_dict[name] = value * case.tp
    yield


@contextlib.contextmanager
def lost_row(case: LlamaCase, state_dict: dict) -> Iterator[None]:
    """The last of the MLP's inner rows is dropped, as by a shard cut too short."""
    for name, value in state_dict.items():
        if name.endswith("down_proj.weight"):
            value = value.clone()
            value[:, -1] = 0
            state_dict[name] = value
    yield


FAULTS = [no_rotary, shifted_kv_heads, bias_added_tp_times, lost_row]
