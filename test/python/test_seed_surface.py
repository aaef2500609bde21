"""Every name, signature, default and behaviour of the two seed documents that
needs one stage, one test each. The order is that of the documents."""

from __future__ import annotations

import inspect
import unittest
from typing import Any

import numpy as np
import pytest
import torch

import dtorch
import dtorch.nn.functional as F
from dtorch import (
    DeviceMesh,
    Graph,
    Partial,
    Replicate,
    Shard,
    assign_layers_to_stages,
    get_default_device_mesh,
    init_device_mesh,
    nn,
)
from dtorch.test import assert_tensor_allclose, is_graph_satisfy

R = Replicate()
FIVE = ["dp", "tp", "pp", "ulysess_cp", "ring_cp"]


def signature(function: Any) -> dict[str, Any]:
    """Parameter names with defaults ("required" where there is none)."""
    return {
        name: "required" if p.default is p.empty else p.default
        for name, p in inspect.signature(function).parameters.items()
        if name != "self"
    }


def keyword_only(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters
    return [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]


# -- Module Parallel: 1. the hooks --------------------------------------------


def test_names_are_where_the_seeds_import_them() -> None:
    import dtorch.nn.modules.module

    assert dtorch.nn.modules.module.Module is nn.Module
    assert dtorch.nn.functional is F and dtorch.nn is nn
    for name in (
        "nn",
        "Graph",
        "DeviceMesh",
        "init_device_mesh",
        "assign_layers_to_stages",
        "Shard",
    ):
        assert hasattr(dtorch, name)
    for name in ("Tensor", "randn", "arange", "default_graph", "Replicate", "Partial"):
        assert hasattr(dtorch, name)


def test_the_base_hooks_change_nothing() -> None:
    module = nn.Module()
    assert module.redistribute_input(1, 2, x=3) == ((1, 2), {"x": 3})
    output = object()
    assert module.redistribute_output(output) is output


def test_a_call_runs_input_hook_forward_output_hook() -> None:
    class Layer(nn.Module):
        def redistribute_input(self, *args: Any, **kwargs: Any) -> Any:
            return [a * 2 for a in args], {}

        def forward(self, x: int) -> int:
            return x + 1

        def redistribute_output(self, output: int) -> int:
            return -output

    assert Layer()(5) == -11


# -- 2. data, tensor, context, pipeline parallel ------------------------------


def test_data_parallel_snippet() -> None:
    device_mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["dp"])
    input = dtorch.Tensor(torch.randn(4, 3))
    input = input.redistribute_by_dict(device_mesh, placements_dict={"dp": Shard(0)})
    assert input.device_mesh == device_mesh and input.placements == [Shard(0)]


def test_tensor_parallel_snippet() -> None:
    """Layers inside a guard, `token_ids` replicated on the tp dim."""
    device_mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    hidden_size, intermediate_size, vocab_size = 4, 6, 10
    with Graph.default_graph().device_mesh_guard(device_mesh):
        fc1 = nn.ColumnParallelLinear(hidden_size, intermediate_size)
        fc2 = nn.RowParallelLinearWithReplicateOutput(intermediate_size, hidden_size)
        embed = nn.EmbeddingWithReplicateOutput(vocab_size, hidden_size)
    assert fc1.weight.placements == [Shard(0)] and fc2.weight.placements == [Shard(1)]
    assert embed.weight.placements == [Shard(1)]
    h = embed(dtorch.Tensor([[1, 2, 3]]))
    assert h.placements == [R]
    h = fc1(h)
    assert h.placements == [Shard(2)]
    h = fc2(h)
    assert h.placements == [R] and h.shape == (1, 3, 4)


def test_weights_load_whole_and_are_cut() -> None:
    """No manual sharding by rank: the full tensors of PyTorch go in."""
    device_mesh = init_device_mesh("cpu", (4,), mesh_dim_names=["tp"])
    reference = torch.nn.Linear(5, 7)
    layer = nn.ColumnParallelLinearWithReplicateOutput(5, 7, device_mesh=device_mesh)
    layer.load_state_dict(reference.state_dict())
    x = torch.randn(2, 5)
    assert_tensor_allclose(None, reference(x), layer(dtorch.Tensor(x)), rtol=1e-5, atol=1e-5)


def test_context_parallel_placements() -> None:
    """The snippet's tensors; attention itself runs where the cp dims are 1."""
    device_mesh = init_device_mesh("cpu", (2, 1, 1), mesh_dim_names=["dp", "ulysess_cp", "ring_cp"])
    placements = [Shard(0), Shard(2), Shard(2)]
    query, key, value = (
        dtorch.randn(2, 3, n, 4, device_mesh=device_mesh, placements=placements) for n in (5, 5, 5)
    )
    out = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert out.device_mesh == device_mesh and out.shape == (2, 3, 5, 4)
    assert all(out.check_placement(i, p) for i, p in enumerate(placements))
    expected = torch.nn.functional.scaled_dot_product_attention(
        query.to_torch(), key.to_torch(), value.to_torch(), is_causal=True
    )
    assert_tensor_allclose(None, expected, out, rtol=1e-5, atol=1e-5)


def test_print_of_a_mesh_and_of_placements() -> None:
    mesh = init_device_mesh("cuda", (2, 2, 2), mesh_dim_names=["dp", "ulysess_cp", "ring_cp"])
    start = "DeviceMesh('cuda', dim_name: ['dp', 'ulysess_cp', 'ring_cp'], shape: (2, 2, 2), data: "
    assert str(mesh).startswith(start)
    assert str([Shard(0), Shard(2), Shard(2)]) == "[Shard(0), Shard(2), Shard(2)]"
    assert str([Replicate(), Partial()]) == "[Replicate(), Partial()]"


def test_unbind() -> None:
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=["dp", "tp", "pp"])
    stages = mesh.unbind("pp")
    assert len(stages) == 2 and all(m.dim_names == ["dp", "tp"] for m in stages)
    assert stages[0] != stages[1]
    flat = init_device_mesh("cpu", (2,), mesh_dim_names=["dp"])
    assert flat.unbind("pp") == [flat]


def test_assign_layers_to_stages() -> None:
    assert list(signature(assign_layers_to_stages)) == ["num_layers", "num_stages"]
    assert assign_layers_to_stages(4, 2) == [0, 0, 1, 1]
    assert assign_layers_to_stages(5, 2) == [0, 0, 0, 1, 1]


def test_device_mesh_guard_binds_modules() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    with Graph.default_graph().device_mesh_guard(mesh):
        layer = nn.Linear(2, 2)
    assert layer.first_param_device_mesh() == mesh
    assert nn.Linear(2, 2).first_param_device_mesh().ndim == 0


def test_a_transformer_of_one_stage() -> None:
    """The pipeline section's model, on a mesh whose pp dim is absent."""

    class TransformerBlock(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 8, tp_dim=None)

        def forward(self, x: dtorch.Tensor, freqs: dtorch.Tensor) -> dtorch.Tensor:
            return self.fc(x) * freqs

    class Transformer(nn.Module):
        def __init__(self, device_mesh: DeviceMesh) -> None:
            super().__init__()
            num_layers = 4
            self.freqs_cis = dtorch.ones(8)
            self.pp_stage_meshes = device_mesh.unbind("pp")
            pp_stages = len(self.pp_stage_meshes)
            self.layer_stage_ids = assign_layers_to_stages(num_layers, pp_stages)
            with Graph.default_graph().device_mesh_guard(self.pp_stage_meshes[0]):
                self.tok_embeddings = nn.EmbeddingWithReplicateOutput(10, 8)
            self.layers = nn.ModuleList()
            for layer_id in range(num_layers):
                layer_device_mesh = self.pp_stage_meshes[self.layer_stage_ids[layer_id]]
                with Graph.default_graph().device_mesh_guard(layer_device_mesh):
                    self.layers.append(TransformerBlock())
            with Graph.default_graph().device_mesh_guard(self.pp_stage_meshes[-1]):
                self.output = nn.Linear(8, 10)

        def forward(self, tokens: dtorch.Tensor) -> dtorch.Tensor:
            h = self.tok_embeddings(tokens)
            for layer_id, layer in enumerate(self.layers):
                layer_device_mesh = self.pp_stage_meshes[self.layer_stage_ids[layer_id]]
                h = h.redistribute(device_mesh=layer_device_mesh)
                h = layer(h, self.freqs_cis)
            return self.output(h).float()

    device_mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    model = Transformer(device_mesh)
    y = model(dtorch.Tensor([[1, 2], [3, 4]]))
    assert y.shape == (2, 2, 10) and y.dtype is dtorch.float32
    assert y.placements == [R, Shard(2)]
    plain = Transformer(get_default_device_mesh())
    plain.load_state_dict(model.state_dict())
    assert_tensor_allclose(None, plain(dtorch.Tensor([[1, 2], [3, 4]])), y, rtol=1e-4, atol=1e-5)


def test_randn_with_a_device() -> None:
    """`dtorch.randn(batch_size, in_dim, device=…)`."""
    assert dtorch.randn(2, 3, device="cpu").shape == (2, 3)
    with pytest.raises(RuntimeError, match="CUDA is not available"):
        dtorch.randn(2, 3, device="cuda")


def test_redistribute_to_the_same_stage_is_nothing() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    h = dtorch.ones(2, 4).redistribute(mesh, [Shard(1)])
    assert h.redistribute(device_mesh=mesh) is h
    assert h.redistribute(device_mesh=mesh, placements=h.placements) is h


# -- 3. Linear ----------------------------------------------------------------


def test_linear_signature() -> None:
    assert signature(nn.Linear) == {
        "in_features": "required",
        "out_features": "required",
        "bias": True,
        "device": None,
        "dtype": None,
        "device_mesh": None,
        "tp_dim": "tp",
        "tp_shard_type": None,
        "tp_unit": None,
    }
    assert keyword_only(nn.Linear) == ["tp_dim", "tp_shard_type", "tp_unit"]


@pytest.mark.parametrize(
    ("tp_dim", "axis"), [("tp", 1), ("dp", 0), (1, 1), (None, None), ("x", None)]
)
def test_linear_tp_dim(tp_dim: Any, axis: int | None) -> None:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    layer = nn.Linear(4, 4, device_mesh=mesh, tp_dim=tp_dim)
    assert layer.tp_dim == axis
    assert layer.weight.placements == [Shard(0) if i == axis else R for i in range(2)]


@pytest.mark.parametrize(
    ("kind", "weight", "bias"), [("col", Shard(0), Shard(0)), ("row", Shard(1), Partial())]
)
def test_linear_tp_shard_type(kind: Any, weight: Any, bias: Any) -> None:
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=["dp", "tp", "cp"])
    layer = nn.Linear(4, 4, device_mesh=mesh, tp_shard_type=kind)
    assert layer.weight.placements == [R, weight, R]
    assert layer.bias.placements == [R, bias, R]


def test_linear_redistribute_input() -> None:
    assert signature(nn.Linear.redistribute_input) == {
        "input": "required",
        "input_placement": None,
    }
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    row = nn.Linear(4, 4, device_mesh=mesh, tp_shard_type="row")
    x = dtorch.ones(2, 4).redistribute(mesh, [Shard(0), R])
    args, kwargs = row.redistribute_input(x, Shard(1))
    assert isinstance(args, list) and kwargs == {}
    assert args[0].placements == [Shard(0), Shard(1)]
    with pytest.raises(AssertionError):
        row.redistribute_input(x)
    column = nn.Linear(4, 4, device_mesh=mesh, tp_shard_type="col")
    assert column.redistribute_input(x)[0][0] is x
    with pytest.raises(AssertionError):
        column.redistribute_input(args[0])
    assert column.redistribute_input(args[0], R)[0][0].placements == [Shard(0), R]


def test_linear_redistribute_output() -> None:
    assert signature(nn.Linear.redistribute_output) == {
        "output": "required",
        "output_placement": None,
    }
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    layer = nn.Linear(4, 4, device_mesh=mesh)
    y = dtorch.ones(2, 4).redistribute(mesh, [Shard(0), Shard(1)])
    assert layer.redistribute_output(y) is y
    assert layer.redistribute_output(y, R).placements == [Shard(0), R]


SUBCLASSES = [
    ("ColumnParallelLinear", "col", R, Shard(1)),
    ("ColumnParallelLinearWithReplicateOutput", "col", R, R),
    ("ColumnParallelLinearWithReplicateInputOutput", "col", None, R),
    ("RowParallelLinear", "row", Shard(1), Partial()),
    ("RowParallelLinearWithReplicateOutput", "row", Shard(1), R),
    ("ReplicateParallelLinear", None, None, None),
]


@pytest.mark.parametrize(("name", "kind", "wanted", "made"), SUBCLASSES)
def test_linear_subclasses(name: str, kind: Any, wanted: Any, made: Any) -> None:
    """The table of presets: tp_dim, tp_shard_type, input check, output conversion."""
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    cls = getattr(nn, name)
    assert list(signature(cls))[:6] == list(signature(nn.Linear))[:6]
    layer = cls(4, 4, device_mesh=mesh)
    assert isinstance(layer, nn.Linear)
    assert layer.tp_dim == (None if name == "ReplicateParallelLinear" else 0)
    assert layer.tp_shard_type == kind
    for placement in (R, Shard(0), Shard(1)):
        x = dtorch.ones(2, 4).redistribute(mesh, [placement])
        if wanted is None or placement == wanted:
            y = layer(x)
            assert made is None or y.placements == [made]
            np.testing.assert_allclose(
                y.numpy(), F.linear(dtorch.ones(2, 4), layer.weight, layer.bias).numpy(), rtol=1e-5
            )
        else:
            with pytest.raises(AssertionError):
                layer(x)


# -- Llama: 1, 2. meshes and the top-level model ------------------------------


def test_five_named_dims() -> None:
    assert list(signature(init_device_mesh)) == ["device_type", "mesh_shape", "mesh_dim_names"]
    mesh = init_device_mesh("cuda", (1, 2, 1, 1, 1), mesh_dim_names=FIVE)
    assert mesh.dim_names == FIVE and mesh.ndim == 5 and mesh.device_type == "cuda"


def test_get_default_device_mesh() -> None:
    assert signature(get_default_device_mesh) == {"device_mesh": None}
    mesh = init_device_mesh("cpu", (2,))
    assert get_default_device_mesh(device_mesh=mesh) is mesh
    assert get_default_device_mesh() == dtorch.Tensor(1.0).device_mesh


def test_check_all_dim_names_in_set() -> None:
    mesh = init_device_mesh("cpu", (1,) * 5, mesh_dim_names=FIVE)
    mesh.check_all_dim_names_in_set(set(FIVE))
    with pytest.raises(ValueError, match="pp"):
        mesh.check_all_dim_names_in_set({"dp", "tp"})


def test_redistribute_input_and_output_of_a_model() -> None:
    """Names that the mesh lacks are listed unconditionally; the output goes back
    to where the input was."""
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=["dp", "tp"])
    ids = dtorch.Tensor([[1, 2], [3, 4]])
    device_mesh, placements = ids.device_mesh, ids.placements
    moved = ids.redistribute_by_dict(
        mesh,
        placements_dict={
            "dp": Shard(0),
            "tp": Replicate(),
            "ulysess_cp": Shard(1),
            "ring_cp": Shard(1),
        },
    )
    assert moved.placements == [Shard(0), R]
    back = moved.redistribute(device_mesh, placements=placements)
    assert back.placements == [] and back.tolist() == ids.tolist()


def test_redistribute_signature() -> None:
    assert signature(dtorch.Tensor.redistribute) == {"device_mesh": None, "placements": None}


def test_redistribute_by_dict_signature() -> None:
    assert signature(dtorch.Tensor.redistribute_by_dict) == {
        "device_mesh": None,
        "placements_dict": "required",
        "default_placement_mode": "replicate",
    }
    assert keyword_only(dtorch.Tensor.redistribute_by_dict) == [
        "placements_dict",
        "default_placement_mode",
    ]


def test_dims_of_the_input() -> None:
    x = dtorch.ones(2, 3)
    assert x.dim() == 2 and x.ndim == 2 and x.shape[1] == 3


# -- Llama: 4 to 6. positions, heads, broadcast -------------------------------


def test_arange_on_a_mesh() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["dp"])
    h = dtorch.ones(2, 5, 3).redistribute(mesh, [Shard(0)])
    position_ids = dtorch.arange(h.shape[1], device_mesh=h.device_mesh).unsqueeze(0)
    assert position_ids.placements == [R] and position_ids.tolist() == [[0, 1, 2, 3, 4]]


def test_view_and_transpose_carry_the_shard() -> None:
    """view(bsz, q_len, -1, head_dim).transpose(1, 2): the sequence dim becomes 2."""
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["ring_cp"])
    x = dtorch.ones(2, 6, 8).redistribute(mesh, [Shard(1)])
    q = x.view(2, 6, -1, 4).transpose(1, 2)
    assert q.shape == (2, 2, 6, 4) and q.placements == [Shard(2)]


def test_broadcast_turns_replicate_into_shard() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["ring_cp"])
    q = dtorch.ones(1, 2, 6, 4).redistribute(mesh, [Shard(2)])
    cos = dtorch.arange(6, device_mesh=mesh).float().view(1, 1, 6, 1)
    dtorch.reset_counters()
    with dtorch.mode("strict"):
        y = q * cos
    assert y.placements == [Shard(2)]
    assert y.sum((0, 1, 3)).tolist() == [0, 8, 16, 24, 32, 40]


def test_attention_signature() -> None:
    assert signature(F.scaled_dot_product_attention) == {
        "query": "required",
        "key": "required",
        "value": "required",
        "attn_mask": None,
        "dropout_p": 0.0,
        "is_causal": False,
        "scale": None,
        "enable_gqa": False,
    }


def test_embedding_with_replicate_output() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    layer = nn.EmbeddingWithReplicateOutput(7, 5, device_mesh=mesh)
    assert layer.weight.placements == [Shard(1)]
    assert layer(dtorch.Tensor([1, 2])).placements == [R]


def test_rms_norm_takes_eps() -> None:
    layer = nn.RMSNorm(4, eps=1e-3)
    x = torch.randn(2, 4)
    expected = torch.nn.functional.rms_norm(x, (4,), eps=1e-3)
    assert_tensor_allclose(None, expected, layer(dtorch.Tensor(x)), rtol=1e-5, atol=1e-6)


# -- Llama: 8. testing --------------------------------------------------------


def test_is_graph_satisfy() -> None:
    """A mesh of eight virtual devices fits, one of sixteen does not."""
    assert is_graph_satisfy(dtorch.default_graph, init_device_mesh("cpu", (2, 2, 2)))
    assert not is_graph_satisfy(dtorch.default_graph, init_device_mesh("cpu", (2, 8)))
    assert not is_graph_satisfy(dtorch.default_graph, init_device_mesh("cuda", (1,)))
    assert dtorch.default_graph is Graph.default_graph()


def test_assert_tensor_allclose() -> None:
    case = unittest.TestCase()
    assert_tensor_allclose(case, torch.ones(2), dtorch.ones(2) + 1e-6, rtol=1e-4, atol=1e-4)
    for wrong in (dtorch.ones(2) * 1.01, dtorch.ones(3), dtorch.Tensor([1.0, float("nan")])):
        with pytest.raises(AssertionError):
            assert_tensor_allclose(case, torch.ones(2), wrong, rtol=1e-4, atol=1e-4)
        with pytest.raises(AssertionError):
            assert_tensor_allclose(None, torch.ones(2), wrong, rtol=1e-4, atol=1e-4)


def test_any_factorisation_gives_the_reference() -> None:
    """The test's closure, over meshes whose pp and cp dims are 1."""
    reference = torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.SiLU(), torch.nn.Linear(10, 6))
    torch_in = torch.randn(4, 3, 6)
    torch_out = reference(torch_in)

    class Model(nn.Module):
        def __init__(self, device_mesh: DeviceMesh) -> None:
            super().__init__()
            device_mesh = get_default_device_mesh(device_mesh=device_mesh)
            with Graph.default_graph().device_mesh_guard(device_mesh.unbind("pp")[0]):
                self.net = nn.Sequential(
                    nn.ColumnParallelLinear(6, 10),
                    nn.SiLU(),
                    nn.RowParallelLinearWithReplicateOutput(10, 6),
                )

        def redistribute_input(self, x: dtorch.Tensor) -> Any:
            self.held = x.device_mesh, x.placements
            placements = {"dp": Shard(0), "tp": Replicate(), "ulysess_cp": Shard(1)}
            mesh = self.first_param_device_mesh()
            return [x.redistribute_by_dict(mesh, placements_dict=placements)], {}

        def forward(self, x: dtorch.Tensor) -> dtorch.Tensor:
            return self.net(x)

        def redistribute_output(self, y: dtorch.Tensor) -> dtorch.Tensor:
            return y.redistribute(self.held[0], placements=self.held[1])

    def dtorch_imp(
        dp: int = 1, tp: int = 1, pp: int = 1, ulysess_cp: int = 1, ring_cp: int = 1
    ) -> None:
        mesh = init_device_mesh("cpu", (dp, tp, pp, ulysess_cp, ring_cp), mesh_dim_names=FIVE)
        if not is_graph_satisfy(dtorch.default_graph, mesh):
            return
        model = Model(mesh)
        state = {f"net.{k}": v for k, v in reference.state_dict().items()}
        model.load_state_dict(state)
        out = model(dtorch.Tensor(torch_in))
        assert_tensor_allclose(None, torch_out, out, rtol=1e-4, atol=1e-4)

    for dp, tp in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (2, 4), (1, 8), (8, 1)):
        dtorch_imp(dp=dp, tp=tp)
