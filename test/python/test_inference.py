"""Recording and the passes infer the same, for every op of a model."""

import numpy as np
import pytest

import dtorch
from dtorch import _dtorch as native
from dtorch.models.llama import LlamaConfig, LlamaForCausalLM


@pytest.fixture
def recorded(monkeypatch):
    """Holds every node that is recorded: a program then stores all of them, and
    the session compares each one's type and place with what the passes found."""
    nodes = []
    for name in ("record", "redistribute"):
        method = getattr(native.Graph, name)

        def keep(*args, method=method, **kwargs):
            nodes.append(method(*args, **kwargs))
            return nodes[-1]

        monkeypatch.setattr(native.Graph, name, keep)
    return nodes


@pytest.mark.parametrize(("dp", "tp"), [(1, 1), (2, 1), (1, 4), (2, 2), (2, 3), (1, 5)])
@pytest.mark.parametrize("heads", [(8, 2), (6, 3), (9, 3)])
def test_llama(recorded, dp, tp, heads):
    config = LlamaConfig(
        vocab_size=61,
        hidden_size=4 * heads[0],
        intermediate_size=88,
        num_hidden_layers=2,
        num_attention_heads=heads[0],
        num_key_value_heads=heads[1],
    )
    mesh = dtorch.init_device_mesh("cpu", (dp, tp), mesh_dim_names=["dp", "tp"])
    model = LlamaForCausalLM(config, device_mesh=mesh)
    ids = dtorch.Tensor(np.arange(21).reshape(3, 7) % 61)
    held = model(ids)
    recorded_ops = len(recorded)
    value = held.numpy()
    assert recorded_ops > 80
    assert all(node.computed for node in recorded)
    # Storing everything changed nothing.
    recorded.clear()
    del held
    np.testing.assert_array_equal(model(ids).numpy(), value)
