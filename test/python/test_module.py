"""Module: registration, hooks, state, initial values."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch

import dtorch
from dtorch import Graph, Partial, Replicate, Shard, init_device_mesh, nn

MESH = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])


class Block(nn.Module):
    def __init__(self, size: int, device_mesh: Any = None) -> None:
        super().__init__()
        self.up = nn.ColumnParallelLinear(size, 2 * size, device_mesh=device_mesh)
        self.act = nn.SiLU()
        self.down = nn.RowParallelLinearWithReplicateOutput(2 * size, size, device_mesh=device_mesh)

    def forward(self, x: dtorch.Tensor) -> dtorch.Tensor:
        return x + self.down(self.act(self.up(x)))


class Net(nn.Module):
    def __init__(self, size: int = 4, device_mesh: Any = None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(size, device_mesh) for _ in range(2)])
        self.norm = nn.RMSNorm(size, eps=1e-6, device_mesh=device_mesh)
        self.register_buffer("scale", dtorch.Tensor([2.0]))
        self.register_buffer("cache", dtorch.Tensor([1.0]), persistent=False)

    def forward(self, x: dtorch.Tensor) -> dtorch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.norm(x) * self.scale


class TorchBlock(torch.nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(size, 2 * size)
        self.down = torch.nn.Linear(2 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.silu(self.up(x)))


class TorchNet(torch.nn.Module):
    def __init__(self, size: int = 4) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([TorchBlock(size) for _ in range(2)])
        self.norm = torch.nn.RMSNorm(size, eps=1e-6)
        self.register_buffer("scale", torch.tensor([2.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.norm(x) * self.scale


NAMES = [
    f"blocks.{i}.{layer}.{kind}"
    for i in range(2)
    for layer in ("up", "down")
    for kind in ("weight", "bias")
] + ["norm.weight"]


def test_the_tree() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == NAMES
    assert len(list(net.parameters())) == 9 and len(list(net.parameters(recurse=False))) == 0
    assert [n for n, _ in net.named_children()] == ["blocks", "norm"]
    assert [n for n, _ in net.named_modules()][:4] == ["", "blocks", "blocks.0", "blocks.0.up"]
    assert [n for n, _ in net.named_buffers()] == ["scale", "cache"]
    assert list(net.state_dict()) == ["scale", *NAMES]
    assert net.get_submodule("blocks.1.act") is net.blocks[1].act
    assert net.get_parameter("norm.weight") is net.norm.weight
    assert list(net.state_dict(prefix="m."))[0].startswith("m.")
    seen: list[Any] = []
    assert net.apply(lambda m: seen.append(m)) is net and seen[-1] is net
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = net.absent
    with pytest.raises(AttributeError, match="no module"):
        net.get_submodule("blocks.7")


def test_registration_follows_assignment() -> None:
    net = Net()
    net.extra = nn.Parameter(dtorch.ones(2))
    assert "extra" in dict(net.named_parameters())
    net.extra = None
    assert net.extra is None and "extra" not in dict(net.named_parameters())
    net.norm = nn.SiLU()
    assert len(list(net.parameters())) == 8
    del net.norm
    assert not hasattr(net, "norm")
    net.note = dtorch.ones(1)
    assert "note" not in net.state_dict()
    net.scale = dtorch.Tensor([3.0])
    assert net.state_dict()["scale"].tolist() == [3.0]
    with pytest.raises(TypeError, match="is a parameter"):
        net.blocks[0].up.weight = dtorch.ones(2)

    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.SiLU()

    with pytest.raises(AttributeError, match="super"):
        Early()


def test_containers() -> None:
    a, b, c = nn.SiLU(), nn.ReLU(), nn.Identity()
    layers = nn.ModuleList([a])
    assert layers.append(b) is layers and layers.extend([c]) is layers
    assert len(layers) == 3 and layers[-1] is c and list(layers[1:]) == [b, c]
    layers.insert(1, c)
    layers[0] = b
    assert list(layers) == [b, c, b, c]
    del layers[1:3]
    assert [name for name, _ in layers.named_modules()] == ["", "0", "1"]
    assert list(layers) == [b, c]
    with pytest.raises(IndexError, match="out of range"):
        layers[2]
    with pytest.raises(IndexError, match="out of range"):
        del layers[2]
    run = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Sequential(a, nn.Identity())))
    assert [n for n, _ in run.named_modules()] == ["", "first", "second", "second.0", "second.1"]
    x = dtorch.Tensor([-1.0, 2.0])
    expected = torch.nn.functional.silu(torch.tensor([0.0, 2.0]))
    torch.testing.assert_close(run(x).to_torch(), expected)
    assert repr(nn.Sequential(nn.Linear(2, 3, bias=False), nn.SiLU())) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=False)\n  (1): SiLU()\n)"
    )


def test_hooks_run_in_the_seeds_order() -> None:
    calls = []

    class Hooked(nn.Module):
        def redistribute_input(self, *args: Any, **kwargs: Any) -> Any:
            calls.append(("input", args, kwargs))
            return [args[0] + 1], {"scale": 3}

        def forward(self, x: int, scale: int) -> int:
            calls.append(("forward", x, scale))
            return x * scale

        def redistribute_output(self, output: int) -> int:
            calls.append(("output", output))
            return output + 100

    assert Hooked()(4, extra=5) == 115
    assert calls == [("input", (4,), {"extra": 5}), ("forward", 5, 3), ("output", 15)]


def test_an_input_hook_must_return_a_pair() -> None:
    class Hooked(nn.Module):
        def redistribute_input(self, x: int) -> Any:
            return x

    pattern = r"test_module\.py:\d+: error: Hooked.redistribute_input: must return .* got 4"
    with pytest.raises(TypeError, match=pattern):
        Hooked()(4)


def test_hooks_keep_the_callers_placements() -> None:
    class Transparent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block(4, MESH)

        def redistribute_input(self, x: dtorch.Tensor) -> Any:
            self.held = x.device_mesh, x.placements
            x = x.redistribute_by_dict(
                self.first_param_device_mesh(), placements_dict={"dp": Shard(0), "pp": Shard(1)}
            )
            return [x], {}

        def forward(self, x: dtorch.Tensor) -> dtorch.Tensor:
            assert x.placements == [Shard(0), Replicate()]
            return self.block(x)

        def redistribute_output(self, y: dtorch.Tensor) -> dtorch.Tensor:
            return y.redistribute(self.held[0], placements=self.held[1])

    model = Transparent()
    x = dtorch.randn(3, 4)
    host = model(x)
    assert host.placements == [] and host.device_mesh == x.device_mesh
    placed = model(x.redistribute(MESH, [Replicate(), Shard(1)]))
    assert placed.placements == [Replicate(), Shard(1)]
    np.testing.assert_allclose(placed.numpy(), host.numpy(), rtol=1e-5)


def test_first_param_device_mesh() -> None:
    assert Block(2, MESH).first_param_device_mesh() == MESH
    assert nn.SiLU().first_param_device_mesh().ndim == 0
    with Graph.default_graph().device_mesh_guard(MESH):
        assert nn.SiLU().first_param_device_mesh() == MESH


@pytest.mark.parametrize(
    "device_mesh", [None, MESH, init_device_mesh("cpu", (3,), mesh_dim_names=["tp"])]
)
def test_state_dicts_of_pytorch(device_mesh: Any) -> None:
    reference = TorchNet()
    net = Net(device_mesh=device_mesh)
    result = net.load_state_dict(reference.state_dict())
    assert result.missing_keys == [] and result.unexpected_keys == []
    x = torch.randn(5, 4)
    expected = reference(x).detach()
    torch.testing.assert_close(net(dtorch.Tensor(x)).to_torch(), expected, rtol=1e-5, atol=1e-5)
    for name, value in reference.state_dict().items():
        assert torch.equal(net.state_dict()[name].to_torch(), value)
    other = Net(device_mesh=MESH)
    other.load_state_dict(net.state_dict())
    torch.testing.assert_close(other(dtorch.Tensor(x)).to_torch(), expected, rtol=1e-5, atol=1e-5)
    back = TorchNet()
    back.load_state_dict({k: v.to_torch() for k, v in other.state_dict().items()})
    torch.testing.assert_close(back(x).detach(), expected)


def test_loading_names_every_problem_and_changes_nothing() -> None:
    net = Net()
    before = {k: v.numpy() for k, v in net.state_dict().items()}
    state: dict[str, Any] = {k: v + 1 for k, v in TorchNet().state_dict().items()}
    del state["norm.weight"]
    state["extra"] = torch.zeros(1)
    state["blocks.0.up.weight"] = torch.zeros(3, 3)
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    message = str(caught.value)
    assert "missing key 'norm.weight'" in message and "unexpected key 'extra'" in message
    assert "shape (3, 3) of 'blocks.0.up.weight', expected (8, 4)" in message
    with pytest.raises(RuntimeError, match="blocks.0.up.weight") as caught:
        net.load_state_dict(state, strict=False)
    assert "missing" not in str(caught.value)
    assert all(np.array_equal(net.state_dict()[k].numpy(), v) for k, v in before.items())
    del state["blocks.0.up.weight"]
    result = net.load_state_dict(state, strict=False)
    assert result.missing_keys == ["blocks.0.up.weight", "norm.weight"]
    assert result.unexpected_keys == ["extra"]
    assert not np.array_equal(
        net.state_dict()["blocks.1.up.weight"].numpy(), before["blocks.1.up.weight"]
    )


def test_loading_what_is_no_state_dict() -> None:
    with pytest.raises(TypeError, match="needs a mapping, got None"):
        Net().load_state_dict(None)  # type: ignore[arg-type]


def test_loading_converts() -> None:
    layer = nn.Linear(2, 2, bias=False, device_mesh=MESH)
    for source in (
        torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.bfloat16),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        [[1, 2], [3, 4]],
        dtorch.Tensor([[1.0, 2.0], [3.0, 4.0]]).half(),
        dtorch.Tensor([[1.0, 2.0], [3.0, 4.0]]).redistribute(MESH, [Shard(0), Shard(1)]),
        dtorch.Tensor([[0.5, 1.0], [1.5, 2.0]]).redistribute(MESH, [Partial(), Shard(0)]) * 2,
    ):
        layer.load_state_dict({"weight": source})
        assert layer.weight.dtype is dtorch.float32
        assert layer.weight.tolist() == [[1, 2], [3, 4]]
        layer.load_state_dict({"weight": np.zeros((2, 2))})


def test_a_source_may_change_after_loading() -> None:
    source = torch.ones(2, 2)
    layer = nn.Linear(2, 2, bias=False)
    layer.load_state_dict({"weight": source})
    source[:] = 5
    assert layer.weight.tolist() == [[1, 1], [1, 1]]


def test_loading_again_reaches_recorded_code() -> None:
    """A new version of a parameter; what was recorded before keeps the old one."""
    layer = nn.Linear(2, 1, bias=False, device_mesh=MESH)
    x = dtorch.Tensor([[1.0, 1.0]])
    layer.load_state_dict({"weight": [[1.0, 2.0]]})
    before = layer(x)
    view = layer.state_dict()["weight"]
    layer.load_state_dict({"weight": [[10.0, 20.0]]})
    assert layer(x).item() == 30 and before.item() == 3
    assert view.tolist() == layer.weight.tolist() == [[10, 20]]


class Tied(nn.Module):
    def __init__(self, device_mesh: Any = None) -> None:
        super().__init__()
        self.embed = nn.Embedding(6, 4, device_mesh=device_mesh, tp_dim=None)
        self.head = nn.Linear(4, 6, bias=False, device_mesh=device_mesh, tp_dim=None)
        self.head.weight = self.embed.weight

    def forward(self, ids: dtorch.Tensor) -> dtorch.Tensor:
        return self.head(self.embed(ids))


def test_tied_parameters() -> None:
    model = Tied()
    assert [n for n, _ in model.named_parameters()] == ["embed.weight"]
    assert list(model.state_dict()) == ["embed.weight", "head.weight"]
    weight = torch.randn(6, 4)
    model.load_state_dict({"embed.weight": weight, "head.weight": weight.clone()})
    expected = torch.nn.functional.embedding(torch.tensor([1, 5]), weight) @ weight.t()
    torch.testing.assert_close(model(dtorch.Tensor([1, 5])).to_torch(), expected)
    model.load_state_dict({"head.weight": weight * 2})
    assert torch.equal(model.embed.weight.to_torch(), weight * 2)
    with pytest.raises(RuntimeError, match="two unequal values for a tie, 'embed.weight'"):
        model.load_state_dict({"embed.weight": weight, "head.weight": weight + 1})
    assert torch.equal(model.embed.weight.to_torch(), weight * 2)


def storage(parameter: nn.Parameter, device: int = 0) -> int:
    from dtorch import _dtorch

    return _dtorch.local_array(parameter._node, device).ctypes.data


def test_equal_sources_share_memory() -> None:
    """Replicas share one buffer, and so do two names of one tensor."""
    model = Tied(MESH)
    model.head.weight = nn.Linear(4, 6, bias=False, device_mesh=MESH, tp_dim=None).weight
    weight = torch.randn(6, 4)
    model.load_state_dict({"embed.weight": weight, "head.weight": weight})
    assert len({storage(model.embed.weight, d) for d in range(4)}) == 1
    assert storage(model.embed.weight) == storage(model.head.weight)
    model.load_state_dict({"embed.weight": weight, "head.weight": weight.clone()})
    assert storage(model.embed.weight) != storage(model.head.weight)


def test_nothing_is_initialised_before_use() -> None:
    """A model of 40 GB is made and its shapes are read in no time; weights that
    are loaded replace values that never were."""
    with Graph.default_graph().device_mesh_guard(MESH):
        huge = nn.Sequential(nn.Linear(100_000, 100_000), nn.Embedding(100_000, 2))
    assert huge.state_dict()["0.weight"].shape == (100_000, 100_000)
    assert huge[0].weight.placements == [Replicate(), Shard(0)]
    assert all(p._cell.node is None for p in huge.parameters())
    small = nn.Linear(2, 2)
    small.weight._set_init(lambda: pytest.fail("computed"))
    small.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(2)})
    assert small.to(dtorch.float64).weight.tolist() == [[1, 1], [1, 1]]


def test_initial_values() -> None:
    dtorch.manual_seed(3)
    one = nn.Linear(64, 32)
    dtorch.manual_seed(3)
    many = nn.Linear(64, 32, device_mesh=MESH)
    assert np.array_equal(one.weight.numpy(), many.weight.numpy())
    assert np.array_equal(one.bias.numpy(), many.bias.numpy())
    weight = one.weight.numpy()
    bound = 1 / 8
    assert -bound <= weight.min() < -0.9 * bound and 0.9 * bound < weight.max() <= bound
    assert not np.array_equal(weight[:, 0], one.bias.numpy())
    embed = nn.Embedding(100, 50).weight.numpy()
    assert abs(embed.std() - 1) < 0.05 and abs(embed.mean()) < 0.05
    assert nn.RMSNorm(5, device_mesh=MESH).weight.tolist() == [1] * 5
    with dtorch.mode("strict"):  # making a value is not the user's recording
        assert nn.Linear(4, 4, device_mesh=MESH)(dtorch.ones(1, 4)).shape == (1, 4)


def test_init_functions() -> None:
    layer = nn.Linear(50, 40, device_mesh=MESH)
    for use_before in (False, True):
        if use_before:
            layer.weight.numpy()
        assert nn.init.constant_(layer.weight, 2.0) is layer.weight
        assert set(layer.weight.numpy().ravel()) == {2.0}
        nn.init.zeros_(layer.bias)
        assert not layer.bias.numpy().any()
        nn.init.ones_(layer.bias)
        assert layer.bias.numpy().all()
        nn.init.normal_(layer.weight, 5.0, 0.1)
        assert abs(layer.weight.numpy().mean() - 5) < 0.05
        nn.init.uniform_(layer.weight, 1.0, 2.0)
        assert 1 <= layer.weight.numpy().min() < 1.1
        nn.init.kaiming_uniform_(layer.weight, a=5**0.5)
        assert 0.13 < layer.weight.numpy().max() <= 50**-0.5
        nn.init.xavier_uniform_(layer.weight)
        assert 0.24 < layer.weight.numpy().max() <= (6 / 90) ** 0.5


def test_parameters_of_recorded_values() -> None:
    p = nn.Parameter(dtorch.arange(4).float() * 2)
    q = nn.Parameter((dtorch.ones(4) * 3).redistribute(MESH, [Shard(0), Partial()]))
    assert p.requires_grad and p.tolist() == [0, 2, 4, 6]
    assert q.placements == [Shard(0), Partial()] and q.tolist() == [3] * 4
    assert (p * q).tolist() == [0, 6, 12, 18]
    assert nn.Parameter(p).tolist() == p.tolist()
    assert "Parameter(shape=(4,), dtype=float32" in repr(p)
    frozen = nn.Parameter(dtorch.Tensor([1]), requires_grad=False)
    assert not frozen.requires_grad


def test_dtypes_of_modules() -> None:
    net = Net(device_mesh=MESH)
    net.load_state_dict(TorchNet().state_dict())
    reference = {k: v.to_torch() for k, v in net.state_dict().items()}
    assert net.to(torch.bfloat16) is net
    assert all(p.dtype is dtorch.bfloat16 for p in net.parameters())
    assert net.scale.dtype is dtorch.bfloat16
    for name, value in net.state_dict().items():
        assert torch.equal(value.to_torch(), reference[name].bfloat16())
    assert net(dtorch.ones(2, 4).bfloat16()).dtype is dtorch.bfloat16
    assert net.float()(dtorch.ones(2, 4)).dtype is dtorch.float32
    assert net.half().norm.weight.dtype is dtorch.float16
    assert net.double().norm.weight.dtype is dtorch.float64
    assert net.to("cpu") is net and net.cpu() is net
    with pytest.raises(TypeError, match="floating"):
        net.to(dtorch.int64)
    with pytest.raises(RuntimeError, match="CUDA is not available"):
        net.to("cuda")
    assert nn.Linear(2, 2, dtype="float64").weight.dtype is dtorch.float64


def test_modes_of_modules() -> None:
    net = Net()
    assert net.training and net.eval() is net and not net.blocks[0].act.training
    assert net.train() is net and net.norm.training
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_deep_copies_are_independent() -> None:
    net = Net(device_mesh=MESH)
    net.load_state_dict(TorchNet().state_dict())
    twin = copy.deepcopy(net)
    expected = net(dtorch.ones(1, 4)).tolist()
    assert twin(dtorch.ones(1, 4)).tolist() == expected
    twin.load_state_dict({k: np.zeros(v.shape) for k, v in twin.state_dict().items()})
    assert net(dtorch.ones(1, 4)).tolist() == expected
    fresh = Net()
    assert np.array_equal(copy.deepcopy(fresh).norm.weight.numpy(), fresh.norm.weight.numpy())


def test_ops_carry_module_paths() -> None:
    """Parameters of a dump have the names of the root that was called last."""
    net = Net()
    net(dtorch.ones(1, 4))
    assert net.blocks[1].down.weight._node.name == "blocks.1.down.weight"
    block = net.blocks[1]
    block(dtorch.ones(1, 4))
    assert block.down.weight._node.name == "down.weight"
    net(dtorch.ones(1, 4))
    assert block.down.weight._node.name == "blocks.1.down.weight"
    assert block.down.weight._node.parameter
