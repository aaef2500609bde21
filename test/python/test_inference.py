"""Recording and the passes infer the same, for every op of a model."""

import numpy as np
import pytest

import dtorch
from dtorch.models.llama import LlamaConfig, LlamaForCausalLM


@pytest.mark.parametrize(("dp", "tp"), [(1, 1), (2, 1), (1, 4), (2, 2), (2, 3), (1, 5)])
@pytest.mark.parametrize("heads", [(8, 2), (6, 3), (9, 3)])
def test_llama(dp, tp, heads):
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
    with dtorch.Graph() as graph:
        held = model(ids)
        # A program then stores every node, and the session compares each one's
        # type and place with what the passes found.
        nodes = graph._native.live_nodes()
        assert len(nodes) > 80
        value = held.numpy()
        assert all(node.computed for node in nodes)
        # Storing everything changed nothing.
        del nodes, held
        np.testing.assert_array_equal(model(ids).numpy(), value)
