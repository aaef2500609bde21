"""Llama on meshes: the planted faults, what it costs, what it records."""

import numpy as np
import pytest

import dtorch
from dtorch.models.llama import LlamaConfig, LlamaForCausalLM, LlamaRotaryEmbedding
from dtorch.testing.llama_reference import (
    FAULTS,
    LlamaCase,
    bias_added_tp_times,
    error,
    lost_row,
    no_rotary,
    reference,
    run,
    shifted_kv_heads,
)

pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def jitter(monkeypatch):
    """Devices drift apart at random."""
    monkeypatch.setenv("DTORCH_TEST_JITTER", "1")


def mesh_of(dp: int, tp: int):
    return dtorch.init_device_mesh("cpu", (dp, tp), mesh_dim_names=["dp", "tp"])


def costs(case: LlamaCase) -> dict:
    """Collectives of one forward: kind to (count, bytes)."""
    model = LlamaForCausalLM(case.config(), device_mesh=mesh_of(case.dp, case.tp))
    model.load_state_dict(reference(case).state_dict)
    ids = dtorch.Tensor(reference(case).ids)
    dtorch.reset_counters()
    model(ids).numpy()
    return {kind: tuple(value) for kind, value in dtorch.counters().items() if value[0]}


def counts(case: LlamaCase) -> dict:
    return {kind: count for kind, (count, _) in costs(case).items()}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize(("dp", "tp"), [(1, 2), (2, 3), (1, 8)])
def test_planted_faults_are_seen(fault, dp, tp):
    case = LlamaCase(dp=dp, tp=tp, length=16, bias=True)
    assert error(case) <= 1
    assert error(case, fault) >= 100


def test_faults_change_what_they_say():
    case = LlamaCase(bias=True, tp=2)
    for fault, name in [
        (shifted_kv_heads, "model.layers.0.self_attn.k_proj.weight"),
        (bias_added_tp_times, "model.layers.0.self_attn.o_proj.bias"),
        (lost_row, "model.layers.0.mlp.down_proj.weight"),
    ]:
        state_dict = dict(reference(case).state_dict)
        with fault(case, state_dict):
            changed = [k for k, v in state_dict.items() if v is not reference(case).state_dict[k]]
        assert name in changed
    from dtorch.models.llama import model

    with no_rotary(case, {}):
        assert model.apply_rotary(1, 2, 3) == 1
    assert model.apply_rotary.__name__ == "apply_rotary"


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_least_communication(tp):
    """Two all-reduces a layer, one all-gather after the embedding, one gather at the exit."""
    for layers in (1, 3):
        expected = {"all_gather": 1, "all_reduce": 2 * layers, "to_host": 1}
        assert counts(LlamaCase(tp=tp, layers=layers)) == expected
        assert counts(LlamaCase(dp=8 // tp, tp=tp, layers=layers, batch=3)) == expected


def test_data_parallel_only_gathers_the_logits():
    case = LlamaCase(dp=4, batch=3, length=7)
    assert costs(case) == {"to_host": (1, 3 * 7 * 61 * 4)}
    assert set(counts(LlamaCase())) <= {"to_host"}


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_nine_heads_cost_no_more_collectives_than_eight(tp):
    nine = counts(LlamaCase(tp=tp, heads=(36, 9, 3)))
    assert nine == counts(LlamaCase(tp=tp, heads=(32, 8, 4)))


@pytest.mark.parametrize("tp", [2, 3, 4, 5, 8])
def test_any_number_of_heads(tp):
    assert error(LlamaCase(tp=tp, heads=(36, 9, 3))) <= 1
    assert error(LlamaCase(tp=tp, heads=(35, 5, 5), explicit_head_dim=True)) <= 1


def test_pass_work_does_not_grow_with_depth():
    def work(layers: int) -> int:
        case = LlamaCase(tp=2, layers=layers, heads=(24, 6, 3), length=5)
        before = dtorch.compile_counters()["ops"]
        run(case)
        return dtorch.compile_counters()["ops"] - before

    two, thirty = work(2), work(30)
    assert two > 0
    assert thirty == two


def test_replicas_and_meshes_agree_with_one_device():
    one = run(LlamaCase(batch=3))
    for dp, tp in [(2, 1), (3, 1), (8, 1)]:
        # Data parallelism computes the very same sums.
        np.testing.assert_allclose(run(LlamaCase(dp=dp, tp=tp, batch=3)), one, rtol=1e-5, atol=1e-5)


def test_logits_go_back_to_where_the_ids_were():
    case = LlamaCase(dp=2, tp=2, batch=4)
    mesh = mesh_of(2, 2)
    model = LlamaForCausalLM(case.config(), device_mesh=mesh)
    model.load_state_dict(reference(case).state_dict)
    ids = dtorch.Tensor(reference(case).ids)
    assert model(ids).device_mesh == ids.device_mesh
    sharded = ids.redistribute(mesh, placements=[dtorch.Shard(0), dtorch.Replicate()])
    logits = model(sharded)
    assert logits.device_mesh == mesh
    assert list(logits.placements) == [dtorch.Shard(0), dtorch.Replicate()]
    np.testing.assert_allclose(logits.numpy(), reference(case).logits, rtol=1e-4, atol=1e-4)


def test_first_values_follow_the_config_on_every_mesh():
    states = []
    for tp in (1, 4):
        dtorch.manual_seed(3)
        config = {**LlamaCase(bias=True, tied=True).config(), "initializer_range": 0.5}
        model = LlamaForCausalLM(config, device_mesh=mesh_of(1, tp))
        states.append({name: value.numpy() for name, value in model.state_dict().items()})
    for name, value in states[0].items():
        np.testing.assert_array_equal(value, states[1][name], err_msg=name)
        if value.ndim == 2:
            assert value.std() == pytest.approx(0.5, rel=0.15), name
        else:
            assert set(value) == {0.0 if name.endswith("bias") else 1.0}, name
    embedding = states[0]["model.embed_tokens.weight"]
    np.testing.assert_array_equal(states[0]["lm_head.weight"], embedding)


def test_unknown_mesh_dim_is_an_error():
    mesh = dtorch.init_device_mesh("cpu", (2,), mesh_dim_names=["expert"])
    with pytest.raises((ValueError, AssertionError), match="expert"):
        LlamaForCausalLM(LlamaCase().config(), device_mesh=mesh)


def test_model_without_a_mesh_runs_on_the_host():
    case = LlamaCase()
    model = LlamaForCausalLM(case.config())
    model.load_state_dict(reference(case).state_dict)
    logits = model(dtorch.Tensor(reference(case).ids)).numpy()
    np.testing.assert_allclose(logits, reference(case).logits, rtol=1e-4, atol=1e-4)


def test_key_value_projections_are_replicated_where_heads_do_not_divide():
    mesh = mesh_of(1, 4)
    model = LlamaForCausalLM(LlamaCase(heads=(32, 8, 2)).config(), device_mesh=mesh)
    attention = model.model.layers[0].self_attn
    assert list(attention.k_proj.weight.placements) == [dtorch.Replicate(), dtorch.Replicate()]
    assert attention.q_proj.weight.placements[1] == dtorch.Shard(0, unit=4)
    assert attention.o_proj.weight.placements[1] == dtorch.Shard(1, unit=4)
    model = LlamaForCausalLM(LlamaCase(heads=(32, 8, 4)).config(), device_mesh=mesh)
    assert model.model.layers[0].self_attn.k_proj.weight.placements[1].is_shard(0)


def test_rotary_table_is_computed_in_float32_for_bfloat16():
    config = LlamaConfig(hidden_size=4, num_attention_heads=2)
    x = dtorch.Tensor(np.zeros((1, 8192, 4), np.float32)).to(dtorch.bfloat16)
    cos, _ = LlamaRotaryEmbedding(config)(x, dtorch.arange(8192).unsqueeze(0))
    assert cos.dtype is dtorch.bfloat16
    table = cos.float().numpy()[0, :, 0]
    # bfloat16 keeps 8 bits; bfloat16 positions would give -0.04 and 0.29.
    assert table[257] == pytest.approx(0.819306, abs=2e-3)
    assert table[8191] == pytest.approx(-0.646390, abs=2e-3)
