"""A real model: SmolLM2 in float32 beside PyTorch, with float64 as the yardstick."""

import numpy as np
import pytest

import dtorch
from dtorch.models.llama import LlamaForCausalLM
from dtorch.testing import smollm2

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def reference():
    return smollm2.reference()


def test_the_chat_template_gives_hugging_faces_ids(reference):
    chat = smollm2.Chat(smollm2.model_folder())
    assert chat.encode(smollm2.QUESTION) == reference.ids.tolist()


@pytest.mark.parametrize(("dp", "tp"), [(1, 1), (2, 2), (1, 8)])
def test_error_is_at_most_twice_pytorchs(reference, dp, tp):
    mesh = dtorch.init_device_mesh("cpu", (dp, tp), mesh_dim_names=["dp", "tp"])
    model = LlamaForCausalLM.from_pretrained(smollm2.model_folder(), device_mesh=mesh)
    logits = model(dtorch.Tensor(reference.ids[None])).numpy()[0]
    torch_error = np.abs(reference.logits - reference.exact).max()
    assert np.abs(logits - reference.exact).max() <= 2 * torch_error
    assert logits[-1].argmax() == reference.exact[-1].argmax()


def test_it_knows_the_capital_of_france():
    folder = smollm2.model_folder()
    chat = smollm2.Chat(folder)
    mesh = dtorch.init_device_mesh("cpu", (1, 2), mesh_dim_names=["dp", "tp"])
    model = LlamaForCausalLM.from_pretrained(folder, device_mesh=mesh)
    ids = chat.encode(smollm2.QUESTION)
    tokens = [token for token, _ in smollm2.generate(model, ids, 16, chat.stop_ids)]
    assert chat.decode(tokens) == "The capital of France is Paris."
