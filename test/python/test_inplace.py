"""In-place forms and assignment to parts: the tensor gets another value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dtorch
import dtorch.nn.functional as F
from dtorch import Partial, Replicate, Shard, init_device_mesh, nn

PLACEMENTS = [None, [Shard(0)], [Shard(1)], [Shard(2)], [Partial()], [Replicate()]]


def data() -> torch.Tensor:
    return torch.arange(4 * 3 * 5, dtype=torch.float32).reshape(4, 3, 5)


def placed(x: torch.Tensor, placements: Any) -> dtorch.Tensor:
    t = dtorch.Tensor(x)
    return t.redistribute(init_device_mesh("cpu", (3,)), placements) if placements else t


N = None
ASSIGNMENTS: list[tuple[Any, Any]] = [
    (0, 7.0),
    ((slice(None), 1), torch.arange(5.0)),
    ((slice(1, 3), slice(None), slice(None, None, 2)), -1),
    ((..., -1), torch.arange(3.0)),
    ((N, 2), torch.arange(15.0).view(1, 3, 5)),
    (slice(3, 1), 5.0),
    ([0, 2], torch.arange(30.0).view(2, 3, 5)),
    ([-1, 0], 3.5),
    (([0, 1, 3], [2, 0, 1]), torch.arange(15.0).view(3, 5)),
    ((slice(None), [0, 2]), torch.arange(10.0).view(2, 5)),
    (([0, 1], slice(None), [4, 0]), torch.arange(6.0).view(2, 3)),
    ((2, [0, 1], slice(1, 3)), 9.0),
    (torch.tensor([[0, 1], [2, 3]]), torch.arange(15.0).view(3, 5)),
    ([True, False, True, False], torch.arange(15.0).view(3, 5)),
    ((slice(None), [True, False, True]), 1.5),
    (np.array([1, 2]), 0),
]


@pytest.mark.parametrize("placements", PLACEMENTS, ids=str)
@pytest.mark.parametrize("case", range(len(ASSIGNMENTS)))
def test_assignment_to_a_part(case: int, placements: Any) -> None:
    index, value = ASSIGNMENTS[case]
    expected = data()
    expected[index] = value
    t = placed(data(), placements)
    before = t.placements
    t[index] = dtorch.Tensor(value) if isinstance(value, torch.Tensor) else value
    assert torch.equal(t.to_torch(), expected)
    assert t.placements == before or Partial() in before


@pytest.mark.parametrize("placements", PLACEMENTS, ids=str)
def test_assignment_under_a_mask(placements: Any) -> None:
    x = data()
    for mask, value in (
        (x > 20, -1.0),
        (x[:, 0, 0] > 20, torch.arange(15.0).view(3, 5)),
        (x[:, :, 0] > 20, torch.tensor(2.5)),
        (x[:, :, 0] > 20, torch.arange(5.0)),
        (x > 57, torch.tensor([1.0, 2.0])),  # one value for each true place
        (torch.tensor(True), 3.0),
    ):
        expected = data()
        expected[mask] = value
        t = placed(x, placements)
        ours = dtorch.Tensor(value) if isinstance(value, torch.Tensor) else value
        t[dtorch.Tensor(mask)] = ours
        assert torch.equal(t.to_torch(), expected)


def test_a_mask_needs_no_look_at_its_values() -> None:
    t = dtorch.Tensor(data())
    mask = t > 20
    t[mask] = 0.0
    assert not mask._node.computed


@pytest.mark.parametrize(
    ("index", "value", "error", "message"),
    [
        (0, torch.zeros(4), ValueError, r"must broadcast to \(3, 5\), got shape \(4,\)"),
        (4, 1.0, IndexError, "out of bounds"),
        ("a", 1.0, IndexError, "only ints"),
        (0, "a", TypeError, "operands must be tensors or numbers"),
    ],
)
def test_bad_assignments(index: Any, value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dtorch.Tensor(data())[index] = value


def test_positions_out_of_range_are_errors_of_the_run() -> None:
    t = dtorch.Tensor(data())
    for index in ([7], ([0, 1], [2, 9]), ([-5], [0])):
        with pytest.raises(IndexError, match=r"test_inplace\.py:\d+: error: .*outside"):
            t[index].tolist()
        changed = dtorch.Tensor(data())
        changed[index] = 1.0
        with pytest.raises(IndexError, match="outside"):
            changed.tolist()


@pytest.mark.parametrize("placements", PLACEMENTS, ids=str)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add_", (2,)),
        ("sub_", (torch.ones(5),)),
        ("mul_", (torch.arange(3.0).view(3, 1),)),
        ("div_", (4,)),
        ("pow_", (2,)),
        ("remainder_", (3,)),
        ("neg_", ()),
        ("exp_", ()),
        ("clamp_", (3, 20)),
        ("masked_fill_", (data() > 8, -1.0)),
        ("fill_", (2.5,)),
        ("zero_", ()),
        ("copy_", (torch.arange(5),)),
        ("eq_", (4,)),
        ("index_add_", (0, torch.tensor([1, 1]), torch.ones(2, 3, 5))),
        ("scatter_", (2, torch.zeros(4, 3, 1, dtype=torch.int64), 1.0)),
        ("index_put_", ((torch.tensor([0, 0]),), torch.tensor(1.0), True)),
    ],
)
def test_in_place_methods(name: str, arguments: tuple[Any, ...], placements: Any) -> None:
    x = data() / 16
    expected = getattr(x.clone(), name)(*arguments)
    t = placed(x, placements)

    def ours(a: Any) -> Any:
        if isinstance(a, tuple):
            return tuple(map(ours, a))
        return dtorch.Tensor(a) if isinstance(a, torch.Tensor) else a

    before = t.placements
    assert getattr(t, name)(*map(ours, arguments)) is t
    torch.testing.assert_close(t.to_torch(), expected)
    assert t.placements == before or Partial() in before


def test_operators_in_place_keep_the_object() -> None:
    x = dtorch.Tensor([1.0, 2.0])
    alias, old = x, x + 0
    x += 1
    x *= 2
    x -= 0.5
    x /= 2
    x //= 0.5
    x **= 2
    x %= 7
    assert alias is x and alias.tolist() == [2.0, 4.0]
    assert old.tolist() == [1.0, 2.0]
    flags = dtorch.Tensor([True, False])
    flags |= dtorch.Tensor([False, True])
    flags &= dtorch.Tensor([True, False])
    flags ^= True
    assert flags.tolist() == [False, True]
    x[0] += 5
    assert x.tolist() == [7.0, 4.0]


def test_in_place_keeps_dtype_and_shape() -> None:
    i = dtorch.Tensor([1, 2])
    with pytest.raises(TypeError, match="result type float32 cannot be cast to the tensor's int64"):
        i.add_(1.5)
    with pytest.raises(TypeError, match="cannot be cast"):
        i /= 2
    with pytest.raises(TypeError, match="cannot be cast"):
        dtorch.Tensor([True]).add_(1)
    with pytest.raises(ValueError, match=r"must have the tensor's shape \(2,\), got \(3, 2\)"):
        i.add_(dtorch.ones(3, 2, dtype="int64"))
    h = dtorch.Tensor([1.0], dtype="bfloat16")
    h.add_(dtorch.Tensor([1.0]))
    assert h.dtype is dtorch.bfloat16 and i.tolist() == [1, 2]


def test_a_host_tensor_moves_to_the_mesh_it_meets() -> None:
    mesh = init_device_mesh("cpu", (2,))
    x = dtorch.Tensor([1.0, 2.0])
    x.add_(dtorch.ones(2).redistribute(mesh, [Shard(0)]))
    assert x.device_mesh == mesh and x.tolist() == [2.0, 3.0]
    y = dtorch.zeros(2, device_mesh=mesh, placements=[Shard(0)])
    y.copy_(torch.tensor([4, 5]))
    assert y.placements == [Shard(0)] and y.tolist() == [4.0, 5.0]


def test_random_values_in_place() -> None:
    dtorch.manual_seed(3)
    x = dtorch.zeros(100, 100).normal_(2.0, 0.5)
    assert abs(x.mean().item() - 2) < 0.05 and abs(x.std().item() - 0.5) < 0.05
    y = dtorch.zeros(100, 100).uniform_(-1, 3)
    assert y.amin().item() >= -1 and y.amax().item() < 3 and abs(y.mean().item() - 1) < 0.1


def test_parameters_in_place() -> None:
    layer = nn.Linear(2, 2, bias=False)
    weight = layer.weight
    x = dtorch.Tensor([[1.0, 1.0]])
    weight.fill_(1.0)
    assert layer(x).tolist() == [[2.0, 2.0]]
    weight.mul_(3).add_(1)
    weight[0] = 0
    assert layer(x).tolist() == [[0.0, 8.0]] and layer.weight is weight
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    row = nn.RowParallelLinear(2, 3, device_mesh=mesh)
    row.bias.copy_(torch.tensor([1.0, 2.0, 3.0]))
    row.weight.zero_()
    assert row(x.redistribute(mesh, [Shard(1)])).tolist() == [[1.0, 2.0, 3.0]]
    assert row.state_dict()["bias"].tolist() == [1.0, 2.0, 3.0]


def test_activations_in_place() -> None:
    x = dtorch.Tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x and x.tolist() == [0.0, 2.0]
    assert F.leaky_relu(dtorch.Tensor([-1.0]), 0.5, inplace=True).tolist() == [-0.5]


def test_views_are_values_of_their_own() -> None:
    """What the docs say: changing a view leaves the tensor as it was."""
    x = dtorch.zeros(2, 2)
    row = x[0]
    row.add_(1)
    assert x.tolist() == [[0, 0], [0, 0]] and row.tolist() == [1, 1]
    x.unsqueeze_(0)
    assert x.shape == (1, 2, 2)
