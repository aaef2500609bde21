"""Checkpoint files: tied heads, one file or several, what is missing or misshapen."""

import json

import numpy as np
import pytest

import dtorch
from dtorch.models.llama import LlamaConfig, LlamaForCausalLM
from dtorch.testing.llama_reference import LlamaCase, reference
from dtorch.weights import Checkpoint, CheckpointError, load_pretrained, save_file

torch = pytest.importorskip("torch")

HEAD = "lm_head.weight"
EMBEDDING = "model.embed_tokens.weight"


def tensors(case: LlamaCase) -> dict:
    """Hugging Face's weights as separate tensors (its tie shares memory)."""
    return {name: value.clone() for name, value in reference(case).state_dict.items()}


def model_of(case: LlamaCase, dp=1, tp=2) -> LlamaForCausalLM:
    mesh = dtorch.init_device_mesh("cpu", (dp, tp), mesh_dim_names=["dp", "tp"])
    return LlamaForCausalLM(case.config(), device_mesh=mesh)


def logits_of(model, case: LlamaCase) -> np.ndarray:
    return model(dtorch.Tensor(reference(case).ids)).numpy()


def assert_agrees(model, case: LlamaCase) -> None:
    expected = reference(case).logits
    np.testing.assert_allclose(logits_of(model, case), expected, rtol=1e-4, atol=1e-4)


def write_sharded(values: dict, folder) -> dict:
    """Two files and their index; returns the index."""
    names = sorted(values)
    files = {
        "model-00001-of-00002.safetensors": names[::2],
        "model-00002-of-00002.safetensors": names[1::2],
    }
    weight_map = {}
    for file, keys in files.items():
        save_file({key: values[key] for key in keys}, folder / file)
        weight_map.update(dict.fromkeys(keys, file))
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return index


def test_tied_head_may_be_absent():
    case = LlamaCase(tied=True)
    state_dict = tensors(case)
    del state_dict[HEAD]
    model = model_of(case)
    model.load_state_dict(state_dict)
    assert_agrees(model, case)
    state = model.state_dict()
    np.testing.assert_array_equal(state[HEAD].numpy(), state[EMBEDDING].numpy())


def test_untied_head_must_be_there():
    case = LlamaCase()
    state_dict = tensors(case)
    del state_dict[HEAD]
    with pytest.raises((KeyError, RuntimeError, ValueError), match=HEAD):
        model_of(case).load_state_dict(state_dict)


def test_a_tie_with_two_values_is_an_error():
    case = LlamaCase(tied=True)
    state_dict = tensors(case)
    state_dict[HEAD] = state_dict[HEAD] + 1
    with pytest.raises(ValueError, match="tied"):
        model_of(case).load_state_dict(state_dict)


def test_a_tie_with_two_equal_values_is_fine():
    case = LlamaCase(tied=True)
    model = model_of(case)
    model.load_state_dict(tensors(case))
    assert_agrees(model, case)


def test_single_file_and_sharded_index(tmp_path):
    case = LlamaCase(bias=True)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    values = tensors(case)
    save_file(values, tmp_path / "one" / "model.safetensors")
    write_sharded(values, tmp_path / "two")
    results = []
    for source in (tmp_path / "one", tmp_path / "one" / "model.safetensors", tmp_path / "two"):
        model = model_of(case)
        load_pretrained(model, source)
        assert_agrees(model, case)
        results.append(logits_of(model, case))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_from_pretrained_reads_config_and_weights(tmp_path):
    case = LlamaCase(tied=True)
    values = tensors(case)
    del values[HEAD]
    save_file(values, tmp_path / "model.safetensors")
    config = {key: value for key, value in case.config().items() if value is not None}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert_agrees(LlamaForCausalLM.from_pretrained(tmp_path), case)


def test_a_file_of_another_library(tmp_path):
    from safetensors.torch import save_file as torch_save_file

    case = LlamaCase()
    torch_save_file(tensors(case), tmp_path / "model.safetensors")
    model = model_of(case, tp=1)
    load_pretrained(model, tmp_path)
    assert_agrees(model, case)


def test_our_file_in_another_library(tmp_path):
    from safetensors.torch import load_file

    values = tensors(LlamaCase())
    values["half"] = torch.randn(3, 5).to(torch.bfloat16)
    save_file(values, tmp_path / "x.safetensors", metadata={"format": "pt"})
    read = load_file(tmp_path / "x.safetensors")
    assert read.keys() == values.keys()
    assert all(torch.equal(read[key], values[key]) for key in values)


def test_sharded_parameters_are_saved_whole(tmp_path):
    case = LlamaCase(tied=True, bias=True)
    model = model_of(case, dp=2, tp=4)
    model.load_state_dict(tensors(case))
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    saved = Checkpoint(tmp_path)
    for name, value in tensors(case).items():
        np.testing.assert_array_equal(saved[name].array, value.numpy(), err_msg=name)


def test_bfloat16_file_into_float32_model(tmp_path):
    case = LlamaCase()
    halves = {name: value.to(torch.bfloat16) for name, value in tensors(case).items()}
    save_file(halves, tmp_path / "model.safetensors")
    model = model_of(case)
    load_pretrained(model, tmp_path)
    for name, value in model.state_dict().items():
        assert value.dtype is dtorch.float32
        np.testing.assert_array_equal(value.numpy(), halves[name].float().numpy(), err_msg=name)


def test_missing_file_of_an_index_is_named(tmp_path):
    write_sharded(tensors(LlamaCase()), tmp_path)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match="model-00002-of-00002.safetensors: missing"):
        load_pretrained(model_of(LlamaCase()), tmp_path)


def test_tensor_that_the_index_promises_is_named(tmp_path):
    index = write_sharded(tensors(LlamaCase()), tmp_path)
    index["weight_map"]["extra.weight"] = "model-00001-of-00002.safetensors"
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="00001.*'extra.weight'"):
        Checkpoint(tmp_path)


def test_wrong_shape_names_file_tensor_and_both_shapes(tmp_path):
    values = tensors(LlamaCase())
    values["model.norm.weight"] = torch.ones(31)
    save_file(values, tmp_path / "model.safetensors")
    model = model_of(LlamaCase())
    before = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    with pytest.raises(
        CheckpointError, match=r"model.safetensors: .*model.norm.weight.*\(31,\).*\(32,\)"
    ):
        load_pretrained(model, tmp_path)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name], err_msg=name)


@pytest.mark.parametrize("change", ["missing", "unexpected"])
def test_missing_and_unexpected_tensors_are_named(tmp_path, change):
    values = tensors(LlamaCase())
    name = "model.layers.1.mlp.up_proj.weight"
    if change == "missing":
        del values[name]
    else:
        name = "model.layers.9.mlp.up_proj.weight"
        values[name] = torch.ones(2)
    save_file(values, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        load_pretrained(model_of(LlamaCase()), tmp_path)


def test_nothing_there(tmp_path):
    with pytest.raises(CheckpointError, match="neither"):
        Checkpoint(tmp_path)
    with pytest.raises(CheckpointError, match="no such file"):
        Checkpoint(tmp_path / "absent")


def test_a_broken_file_is_named(tmp_path):
    save_file({"a": np.ones(100, np.float32)}, tmp_path / "model.safetensors")
    whole = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[:-10])
    with pytest.raises(CheckpointError, match="model.safetensors: not a valid"):
        Checkpoint(tmp_path)


def test_rotary_tables_of_old_checkpoints_are_ignored():
    case = LlamaCase()
    state_dict = tensors(case)
    state_dict["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.zeros(2)
    model = model_of(case)
    model.load_state_dict(state_dict)
    assert_agrees(model, case)


def test_hugging_face_config_object():
    transformers = pytest.importorskip("transformers")
    case = LlamaCase()
    values = {key: value for key, value in case.config().items() if value is not None}
    config = transformers.LlamaConfig(**values)
    model = LlamaForCausalLM(config)
    assert LlamaConfig.of(config) == LlamaConfig.of(case.config())
    model.load_state_dict(tensors(case))
    assert_agrees(model, case)
