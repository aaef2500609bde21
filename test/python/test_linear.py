"""Linear and its parallel classes, Embedding, RMSNorm: placements and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dtorch
from dtorch import (
    DeviceMesh,
    Graph,
    Partial,
    Placement,
    PlacementError,
    Replicate,
    Shard,
    init_device_mesh,
    nn,
)

R, P = Replicate(), Partial()
WEIGHT = [[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
BIAS = [100.0, 200, 300]


def mesh(*shape: int, names: list[str] | None = None) -> DeviceMesh:
    return init_device_mesh("cpu", shape, mesh_dim_names=names or ["dp", "tp", "cp"][: len(shape)])


TP = mesh(2, names=["tp"])


def test_c2_a_row_bias_is_added_once() -> None:
    """Case C2."""
    state: dict[str, Any] = {"weight": torch.tensor(WEIGHT), "bias": torch.tensor(BIAS)}
    x = dtorch.Tensor([[1.0, 2.0, 3.0, 4.0]])
    for device_mesh in (TP, mesh(4, names=["tp"]), mesh(2, 2), mesh(2, 3), mesh(1, names=["tp"])):
        layer = nn.RowParallelLinearWithReplicateOutput(4, 3, device_mesh=device_mesh)
        layer.load_state_dict(state)
        placed = x.redistribute_by_dict(device_mesh, placements_dict={"tp": Shard(1)})
        assert layer(placed).tolist() == [[130, 270, 410]]
        assert layer.bias.check_placement("tp", P)
        state = layer.state_dict()
        assert state["bias"].tolist() == BIAS and state["weight"].tolist() == WEIGHT
    plain = nn.Linear(4, 3)
    plain.load_state_dict(state)
    assert plain(x).tolist() == [[130, 270, 410]]


def test_e1_a_vocabulary_that_tp_does_not_divide() -> None:
    """Case E1."""
    state: Any = {"weight": torch.tensor([[-v - 1.0, 0.0] for v in range(17)])}
    for tp in (4, 1, 2, 3):
        device_mesh = mesh(tp, names=["tp"])
        head = nn.ColumnParallelLinear(2, 17, bias=False, device_mesh=device_mesh)
        head.load_state_dict(state)
        logits = head(dtorch.Tensor([[1.0, 0.0]]))
        assert logits.shape == (1, 17)
        assert logits.tolist() == [[-v - 1 for v in range(17)]]
        assert logits.numpy().argmax() == 0
        assert dtorch.nn.functional.softmax(logits, -1).sum().item() == pytest.approx(1)
        state = head.state_dict()
        assert state["weight"].shape == (17, 2)


@pytest.mark.parametrize(
    ("kind", "weight", "bias"),
    [("col", Shard(0), Shard(0)), ("row", Shard(1), P), (None, Shard(0), Shard(0))],
)
def test_weight_sharding_rules(kind: Any, weight: Placement, bias: Placement) -> None:
    three = mesh(2, 2, 2)
    for tp_dim, axis in (("tp", 1), (2, 2), (-3, 0)):
        layer = nn.Linear(4, 6, device_mesh=three, tp_dim=tp_dim, tp_shard_type=kind)
        assert layer.tp_dim == axis or layer.tp_dim == axis % 3
        assert layer.weight.placements == [weight if a == axis else R for a in range(3)]
        assert layer.bias.placements == [bias if a == axis else R for a in range(3)]
    for tp_dim in (None, "absent"):
        layer = nn.Linear(4, 6, device_mesh=three, tp_dim=tp_dim, tp_shard_type=kind)
        assert layer.tp_dim is None and layer.weight.placements == [R] * 3
        assert layer.bias.placements == [R] * 3
    with pytest.raises(IndexError, match="axis must be in"):
        nn.Linear(4, 6, device_mesh=three, tp_dim=3)


def test_without_a_mesh_there_are_no_placements() -> None:
    layer = nn.Linear(4, 6)
    assert layer.weight.placements == [] and layer.weight.device_mesh.ndim == 0
    assert layer.tp_dim is None
    x = dtorch.ones(2, 4).redistribute(TP, [Shard(0)])
    assert layer(x).placements == [Shard(0)] and layer(x).device_mesh == TP


CLASSES = {
    nn.Linear: (R, Shard(1)),
    nn.ColumnParallelLinear: (R, Shard(1)),
    nn.ColumnParallelLinearWithReplicateOutput: (R, R),
    nn.ColumnParallelLinearWithReplicateInputOutput: (None, R),
    nn.RowParallelLinear: (Shard(1), P),
    nn.RowParallelLinearWithReplicateOutput: (Shard(1), R),
    nn.ReplicateParallelLinear: (None, None),
}


@pytest.mark.parametrize("device_mesh", [TP, mesh(2, 3), mesh(2, 2, 2)], ids=lambda m: str(m.shape))
@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("bias", [True, False])
def test_each_class(cls: type[nn.Linear], device_mesh: DeviceMesh, bias: bool) -> None:
    """Checks, conversions, result placements and numbers of every class."""
    wanted, made = CLASSES[cls]
    reference = torch.nn.Linear(7, 5, bias=bias)
    layer = cls(7, 5, bias=bias, device_mesh=device_mesh)
    layer.load_state_dict(reference.state_dict())
    x = torch.randn(3, 7)
    expected = reference(x).detach()
    axis = device_mesh.dim_name_index("tp")
    assert axis is not None
    for held in (R, Shard(0), Shard(1), P):
        t = dtorch.Tensor(x).redistribute_by_dict(
            device_mesh, placements_dict={"dp": Shard(0), "tp": held}
        )
        if wanted not in (None, held):
            with pytest.raises(PlacementError, match=f"{cls.__name__}: input must be") as caught:
                layer(t)
            assert isinstance(caught.value, AssertionError)
            assert repr(wanted) in str(caught.value) and repr(held) in str(caught.value)
            continue
        y = layer(t)
        torch.testing.assert_close(y.to_torch(), expected, rtol=1e-5, atol=1e-5)
        if made is not None:
            assert y.check_placement("tp", made)
        if axis == 1:
            assert y.check_placement("dp", Shard(0))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_a_host_input_is_lifted(cls: type[nn.Linear]) -> None:
    layer = cls(4, 6, device_mesh=TP)
    x = dtorch.ones(2, 4)
    if CLASSES[cls][0] == Shard(1):
        with pytest.raises(PlacementError, match=r"got Replicate\(\)"):
            layer(x)
        x = x.redistribute(TP, [Shard(1)])
    y = layer(x)
    assert y.device_mesh == TP
    plain = nn.Linear(4, 6)
    plain.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(y.numpy(), plain(dtorch.ones(2, 4)).numpy(), rtol=1e-5)


def test_an_input_on_another_mesh() -> None:
    x = dtorch.ones(2, 4).redistribute(mesh(2, 2))
    for layer in (nn.Linear(4, 4, device_mesh=TP), nn.RMSNorm(4, device_mesh=TP)):
        with pytest.raises(PlacementError, match="input must be on the mesh of the weight"):
            layer(x)


def test_placements_given_at_the_call() -> None:
    """`redistribute_input` and `redistribute_output` take a placement."""
    column = nn.ColumnParallelLinear(4, 6, device_mesh=TP)
    x = dtorch.ones(2, 4).redistribute(TP, [Shard(0)])
    y = column(x, input_placement=R)
    assert y.placements == [Shard(1)]
    assert column.redistribute_output(y, R).placements == [R]
    assert column.redistribute_output(y) is y
    args, kwargs = column.redistribute_input(x, Replicate())
    assert list(args)[0].placements == [R] and kwargs == {}
    row = nn.RowParallelLinear(4, 6, device_mesh=TP)
    assert row(x, input_placement=Shard(-1)).placements == [P]
    none = nn.ReplicateParallelLinear(4, 6, device_mesh=TP)
    assert none(x, input_placement=R).placements == [Shard(0)]


def test_inputs_of_more_dims() -> None:
    row = nn.RowParallelLinearWithReplicateOutput(4, 3, device_mesh=TP)
    row.load_state_dict({"weight": WEIGHT, "bias": BIAS})
    x = dtorch.ones(2, 3, 4).redistribute(TP, [Shard(2)])
    assert row(x).tolist() == [[[110, 226, 342]] * 3] * 2
    vector = dtorch.ones(4).redistribute(TP, [Shard(0)])
    assert row(vector).tolist() == [110, 226, 342]


@pytest.mark.parametrize("tp", [2, 4])
def test_units_keep_heads_whole(tp: int) -> None:
    """9 heads of 4 features on 2 and 4 devices: no collective between the two
    layers, one all-reduce at the end, and the numbers of one device."""
    heads, head_dim, hidden = 9, 4, 8
    device_mesh = mesh(tp, names=["tp"])
    column = nn.ColumnParallelLinear(hidden, 36, device_mesh=device_mesh, tp_unit=head_dim)
    row = nn.RowParallelLinearWithReplicateOutput(
        36, hidden, device_mesh=device_mesh, tp_unit=head_dim
    )
    assert column.weight.placements == column.bias.placements == [Shard(0, unit=head_dim)]
    assert row.weight.placements == [Shard(1, unit=head_dim)] and row.bias.placements == [P]
    torch_column, torch_row = torch.nn.Linear(hidden, 36), torch.nn.Linear(36, hidden)
    column.load_state_dict(torch_column.state_dict())
    row.load_state_dict(torch_row.state_dict())
    x = torch.randn(2, 3, hidden)
    with dtorch.mode("strict"):
        split = column(dtorch.Tensor(x)).view(2, 3, heads, head_dim).transpose(1, 2)
        assert split.placements == [Shard(1)]
        merged = (split * 2).transpose(1, 2).reshape(2, 3, 36)
        assert merged.placements == [Shard(2, unit=head_dim)]
        y = row(merged)
    dtorch.reset_counters()
    expected = torch_row(torch_column(x) * 2).detach()
    torch.testing.assert_close(y.to_torch(), expected, rtol=1e-5, atol=1e-5)
    counts = {kind: c.count for kind, c in dtorch.counters().items() if c.count}
    assert counts == {"all_reduce": 1, "to_host": 1}
    assert row(merged, input_placement=Shard(-1)).placements == [R]


def test_heads_without_a_unit_are_right_too() -> None:
    """auto inserts an exchange to whole heads; strict names the unit."""
    column = nn.ColumnParallelLinear(8, 36, device_mesh=TP)
    flat = column(dtorch.ones(2, 8)).redistribute(placements=[Shard(1)])
    heads = flat.view(2, 9, 4)
    assert heads.numpy().reshape(2, 36).tolist() == flat.tolist()
    with dtorch.mode("strict"), pytest.raises(PlacementError, match="view"):
        flat.view(2, 9, 4)


@pytest.mark.parametrize("cls", [nn.Embedding, nn.EmbeddingWithReplicateOutput])
def test_embedding(cls: type[nn.Embedding]) -> None:
    reference = torch.nn.Embedding(11, 5)
    ids = torch.tensor([[0, 10, 3], [7, 7, 1]])
    for device_mesh in (TP, mesh(2, 3)):
        layer = cls(11, 5, device_mesh=device_mesh)
        assert layer.weight.check_placement("tp", Shard(1))
        layer.load_state_dict(reference.state_dict())
        placed = dtorch.Tensor(ids).redistribute_by_dict(
            device_mesh, placements_dict={"dp": Shard(0)}
        )
        y = layer(placed)
        assert y.check_placement("tp", Shard(2) if cls is nn.Embedding else R)
        assert torch.equal(y.to_torch(), reference(ids).detach())
        assert torch.equal(layer(dtorch.Tensor(ids)).to_torch(), reference(ids).detach())
        sharded = placed.redistribute_by_dict(placements_dict={"tp": Shard(0)})
        with pytest.raises(PlacementError, match=f"{cls.__name__}: input must be Replicate"):
            layer(sharded)
    host = cls(11, 5)
    assert host.weight.placements == [] and host(dtorch.Tensor(ids)).shape == (2, 3, 5)


@pytest.mark.parametrize("make", [nn.Linear, nn.RowParallelLinear, nn.Embedding])
def test_sizes_below_zero(make: Any) -> None:
    for sizes in (-1, 3), (3, -1):
        with pytest.raises(ValueError, match=r"test_linear\.py:\d+: error: .*at least 0, got -1"):
            make(*sizes)


def test_embedding_arguments() -> None:
    padded = nn.Embedding(5, 3, padding_idx=-1)
    assert padded.weight.numpy()[4].tolist() == [0, 0, 0] and padded.weight.numpy()[0].any()
    with pytest.raises(IndexError, match="padding_idx"):
        nn.Embedding(5, 3, padding_idx=5)
    layer = nn.Embedding(5, 3, max_norm=1.0)
    rows = layer(dtorch.arange(5))
    assert rows.norm(dim=1).amax().item() == pytest.approx(1.0, abs=1e-5)
    assert layer.weight.norm(dim=1).amax().item() > 1


def test_rms_norm() -> None:
    for shape in (6, (3, 6)):
        reference = torch.nn.RMSNorm(shape, eps=1e-5)
        with torch.no_grad():
            reference.weight.normal_()
        layer = nn.RMSNorm(shape, eps=1e-5, device_mesh=TP)
        layer.load_state_dict(reference.state_dict())
        assert layer.weight.placements == [R]
        x = torch.randn(4, 3, 6)
        expected = reference(x).detach()
        for t in (dtorch.Tensor(x), dtorch.Tensor(x).redistribute(TP, [Shard(0)])):
            torch.testing.assert_close(layer(t).to_torch(), expected, rtol=1e-5, atol=1e-5)
    plain = nn.RMSNorm(6, elementwise_affine=False)
    assert plain.weight is None and not list(plain.parameters())
    x = torch.randn(2, 6)
    expected = torch.nn.functional.rms_norm(x, (6,))
    torch.testing.assert_close(plain(dtorch.Tensor(x)).to_torch(), expected)


def test_a_guard_gives_the_mesh() -> None:
    with Graph.default_graph().device_mesh_guard(TP):
        fc1 = nn.ColumnParallelLinear(8, 6)
        fc2 = nn.RowParallelLinearWithReplicateOutput(6, 8)
        embed = nn.EmbeddingWithReplicateOutput(10, 8)
        scale = nn.Parameter(dtorch.Tensor([1.0, 2.0]))
    assert scale.device_mesh == TP and scale.placements == [R]
    h = embed(dtorch.Tensor([[1, 2, 3]]))
    assert h.placements == [R]
    h = fc1(h)
    assert h.placements == [Shard(2)]
    assert fc2(h).placements == [R]
