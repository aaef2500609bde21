"""Llama with the sizes of the guide, on any mix of parallel strategies.

Runs under pytest, and as a program:
    python3 python/dtorch/test/modules/test_llama.py
"""

import unittest

import torch
from transformers import LlamaConfig
from transformers import LlamaForCausalLM as TorchLlamaForCausalLM

import dtorch
from dtorch import init_device_mesh
from dtorch.test import assert_tensor_allclose, is_graph_satisfy
from dtorch.test.modules.llama import LlamaForCausalLM


def _test_llama(test_case, device):
    config = LlamaConfig(
        hidden_size=1024,
        num_hidden_layers=2,
        num_attention_heads=8,
        intermediate_size=2752,
        vocab_size=32000,
    )
    torch.manual_seed(0)
    torch_llama = TorchLlamaForCausalLM(config).eval()
    torch_in = torch.randint(0, config.vocab_size, (2, 16))
    with torch.no_grad():
        torch_out = torch_llama(torch_in)[0]

    def dtorch_imp(dp=1, tp=1, pp=1, ulysess_cp=1, ring_cp=1):
        device_mesh = init_device_mesh(
            device,
            (dp, tp, pp, ulysess_cp, ring_cp),
            mesh_dim_names=["dp", "tp", "pp", "ulysess_cp", "ring_cp"],
        )
        if not is_graph_satisfy(dtorch.default_graph, device_mesh):
            return
        dtorch_in = dtorch.Tensor(torch_in)
        dtorch_llama = LlamaForCausalLM(config, device_mesh=device_mesh)
        dtorch_llama.load_state_dict(torch_llama.state_dict())
        dtorch_out = dtorch_llama(dtorch_in)
        assert_tensor_allclose(test_case, torch_out, dtorch_out, rtol=1e-4, atol=1e-4)

    dtorch_imp()
    dtorch_imp(dp=2)
    dtorch_imp(tp=2)
    dtorch_imp(dp=2, tp=4)
    dtorch_imp(tp=3)


class TestLlama(unittest.TestCase):
    def test_llama(self):
        _test_llama(self, "cpu")


if __name__ == "__main__":
    unittest.main()
