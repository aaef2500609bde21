"""Redistributing: every placement to every placement, through the compiler."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
import torch

import dtorch
from dtorch import (
    DeviceMesh,
    Partial,
    Placement,
    PlacementError,
    Replicate,
    Shard,
    _dtorch,
    init_device_mesh,
)

R, P = Replicate(), Partial()
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "bool")


def drawn_mesh(rng: random.Random) -> DeviceMesh:
    """1 to 3 axes, at most 8 devices, ids in any order."""
    while True:
        shape = [rng.choice([1, 2, 2, 3, 4]) for _ in range(rng.randint(1, 3))]
        if math.prod(shape) <= 8:
            break
    ids = np.arange(math.prod(shape))
    if rng.random() < 0.4:
        ids = np.array(rng.sample(range(8), math.prod(shape)))
    elif rng.random() < 0.4:
        ids = ids.reshape(shape[::-1]).T.reshape(-1)
    return DeviceMesh("cpu", ids.reshape(shape))


def drawn_placements(
    rng: random.Random, shape: list[int], axes: int, sums: bool
) -> list[Placement]:
    """A placement per axis; axes that shard one dim share one unit."""
    units = [rng.choice([u for u in range(1, n + 1) if n % u == 0] or [1]) for n in shape]
    units = [u if rng.random() < 0.4 else 1 for u in units]
    options: list[Placement] = [R] + [P] * sums
    options += [Shard(d, unit=u) for d, u in enumerate(units)] * 2
    return [rng.choice(options) for _ in range(axes)]


def drawn_values(rng: random.Random, shape: list[int], dtype: str) -> torch.Tensor:
    """Small whole numbers: sums of them are exact in every dtype."""
    numbers = torch.tensor([rng.randint(-8, 8) for _ in range(math.prod(shape))]).reshape(shape)
    return numbers.to(getattr(torch, dtype))


def pending(rng: random.Random, mesh: DeviceMesh, shape: list[int], dtype: str) -> Any:
    """A sum pending over every axis of a random subset, differently on each
    device: a product contracted over a dim sharded by these axes."""
    inner = rng.choice([1, 3, 5])
    x, y = (
        drawn_values(rng, [shape[0], inner], dtype),
        drawn_values(rng, [inner, *shape[1:]], dtype),
    )
    axes = [rng.random() < 0.6 for _ in range(mesh.ndim)]
    left = dtorch.Tensor(x).redistribute(mesh, [Shard(1) if a else R for a in axes])
    right = dtorch.Tensor(y).redistribute(mesh, [Shard(0) if a else R for a in axes])
    return left @ right, (x.double() @ y.double()).to(x.dtype)


@pytest.mark.parametrize("seed", range(25))
def test_drawn(seed: int) -> None:
    """20 drawn chains of three redistributes each, values compared bit by bit."""
    rng = random.Random(seed)
    for case in range(20):
        mesh = drawn_mesh(rng)
        dtype = DTYPES[(seed + case) % len(DTYPES)]
        floating = "float" in dtype
        shape = [rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 9]) for _ in range(rng.randint(1, 3))]
        if floating and rng.random() < 0.3:
            shape = [max(n, 1) for n in shape[:1]] + [rng.randint(1, 6)]
            t, expected = pending(rng, mesh, shape, dtype)
        else:
            expected = drawn_values(rng, shape, dtype)
            first = drawn_placements(rng, shape, mesh.ndim, floating)
            t = dtorch.Tensor(expected).redistribute(mesh, first)
            assert t.placements == first
        for _ in range(2):
            placements = drawn_placements(rng, shape, mesh.ndim, floating)
            t = t.redistribute(placements=placements)
            assert t.placements == placements and t.shape == tuple(shape)
        assert torch.equal(t.to_torch(), expected), (mesh, dtype, shape, t)


def synced(t: dtorch.Tensor) -> bool:
    _dtorch.flush([t._node])
    return t._node.computed


@pytest.mark.parametrize("rows", [5, 7, 9, 10, 17])
def test_a1_an_uneven_round_trip(rows: int) -> None:
    """Case A1: exact values, and the global shape is known before any gather."""
    mesh = init_device_mesh("cpu", (4,))
    x = np.arange(rows * 10, dtype=np.float32).reshape(rows, 10)
    t = dtorch.Tensor(x).redistribute(mesh, [Shard(0)])
    assert t.shape == (rows, 10)
    # The balanced law: sizes differ by one at most, larger ones first.
    assert synced(t)
    pieces = [_dtorch.local_array(t._node, r).nbytes // 40 for r in range(4)]
    assert pieces == sorted(pieces, reverse=True) and sum(pieces) == rows
    assert max(pieces) - min(pieces) <= 1
    assert np.array_equal(t.redistribute(placements=[R]).numpy(), x)
    small = dtorch.Tensor(x[:3, :5]).redistribute(mesh, [Shard(1)])
    assert np.array_equal(small.redistribute(placements=[R]).numpy(), x[:3, :5])


def test_a2_mean_of_uneven_shards() -> None:
    """Case A2: one sum over all devices, then one division."""
    mesh = init_device_mesh("cpu", (2,))
    x = dtorch.arange(12).float().view(3, 4)
    assert x.redistribute(mesh, [Shard(0)]).mean().item() == 5.5
    one = dtorch.arange(4).float().view(1, 4)
    assert one.redistribute(mesh, [Shard(0)]).mean().item() == 1.5
    four = init_device_mesh("cpu", (4,))
    t = dtorch.arange(7).float().redistribute(four, [Shard(0)])
    centred = t - t.mean()
    assert ((centred * centred).sum() / 6).item() == pytest.approx(4.6666667)
    assert t.amax().item() == 6 and t.amin().item() == 0


@pytest.mark.parametrize("rows", [6, 5])
@pytest.mark.parametrize(
    "target",
    [[[Shard(0), Shard(0)]], [[Shard(1), Shard(0)]], [[Shard(0), R], [Shard(0), Shard(0)]]],
    ids=str,
)
def test_b1_a_pending_sum_beside_a_shard(rows: int, target: list[list[Placement]]) -> None:
    """Case B1."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["a", "b"])
    a = dtorch.arange(rows * 6).float().view(rows, 6).redistribute(mesh, [Shard(0), Shard(1)])
    b = dtorch.ones(6, 3).redistribute(mesh, [R, Shard(0)])
    c = a @ b
    assert c.placements == [Shard(0), P]
    for placements in target:
        c = c.redistribute(placements=placements)
    assert c.tolist() == [[s] * 3 for s in [15, 51, 87, 123, 159, 195][:rows]]


def test_the_least_collectives_run() -> None:
    """One all-reduce over both axes, one gather over both, slices for nothing."""
    mesh = init_device_mesh("cpu", (2, 2))
    x = dtorch.ones(4, 4)
    both = x.redistribute(mesh, [Shard(1), Shard(1)]) @ x.redistribute(mesh, [Shard(0), Shard(0)])
    for t, target, kinds in (
        (both, [R, R], {"all_reduce": 1}),
        (both, [Shard(0), Shard(0)], {"reduce_scatter": 1}),
        (x.redistribute(mesh, [Shard(0), Shard(0)]), [R, R], {"all_gather": 1}),
        (x.redistribute(mesh, [R, Shard(0)]), [R, Shard(1)], {"all_to_all": 1}),
        (x.redistribute(mesh, [R, R]), [Shard(0), Shard(1)], {}),
        (x.redistribute(mesh, [R, R]), [P, P], {}),
    ):
        dtorch.reset_counters()
        moved = t.redistribute(placements=target)
        graph = dtorch.Graph.default_graph()
        graph.sync()
        assert {k: c.count for k, c in dtorch.counters().items() if c.count} == kinds
        assert moved.tolist() == t.tolist()


def test_a_shard_of_nothing_new_is_the_same_layout() -> None:
    """S(0:2) of 8 over 2 devices is S(0): nothing moves."""
    mesh = init_device_mesh("cpu", (2,))
    t = dtorch.arange(8).redistribute(mesh, [Shard(0)])
    unit = t.redistribute(placements=[Shard(0, unit=2)])
    assert unit.placements == [Shard(0, unit=2)]
    dtorch.reset_counters()
    dtorch.default_graph.sync()
    assert not any(c.count for c in dtorch.counters().values())
    assert unit.tolist() == list(range(8))


def test_a_pending_maximum_becomes_a_pending_sum() -> None:
    mesh = init_device_mesh("cpu", (3,))
    top = dtorch.Tensor([[1.0, 5.0, 2.0], [4.0, 0.0, 3.0]]).redistribute(mesh, [Shard(1)]).amax(1)
    assert top.placements == [Partial("max")]
    pending = top.redistribute(placements=[P])
    assert pending.placements == [P] and (pending + top).tolist() == [10, 8]
    assert top.redistribute(placements=[Shard(0)]).tolist() == [5, 4]


def test_without_placements_axes_map_by_name() -> None:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    host = dtorch.arange(8).float()
    lifted = host.redistribute(mesh)
    assert lifted.placements == [R, R]
    t = host.redistribute(mesh, [Shard(0), P])
    assert t.redistribute(mesh) is t and t.redistribute(placements=[Shard(0), P]) is t
    back = t.redistribute(host.device_mesh, placements=host.placements)
    assert back.placements == [] and back.tolist() == host.tolist()
    assert t.redistribute(host.device_mesh).tolist() == host.tolist()
    with pytest.raises(ValueError, match="needs device_mesh, placements or both"):
        t.redistribute()


def test_negative_shard_dims() -> None:
    mesh = init_device_mesh("cpu", (2,))
    t = dtorch.zeros(2, 4).redistribute(mesh, [Shard(-1)])
    assert t.placements == [Shard(1)]
    assert t.check_placement(0, Shard(-1)) and not t.check_placement(0, Shard(0))


def test_placements_that_do_not_fit() -> None:
    mesh = init_device_mesh("cpu", (2, 2))
    with pytest.raises(PlacementError, match=r"one placement per mesh axis, 2, got \[Shard\(0\)\]"):
        dtorch.ones(4, device_mesh=mesh).redistribute(placements=[Shard(0)])
    with pytest.raises(PlacementError, match=r"no dim to shard, got Shard\(0\)"):
        dtorch.Tensor(1.0).redistribute(mesh, [Shard(0), Replicate()])


def test_redistribute_by_dict() -> None:
    mesh = init_device_mesh("cpu", (2, 2, 1), mesh_dim_names=["dp", "tp", "pp"])
    t = (
        dtorch.arange(16)
        .float()
        .view(4, 4)
        .redistribute_by_dict(
            mesh, placements_dict={"dp": Shard(0), "tp": Shard(-1), "absent": Shard(7)}
        )
    )
    assert t.placements == [Shard(0), Shard(1), R]
    assert t.redistribute_by_dict(placements_dict={1: Shard(0)}).placements == [R, Shard(0), R]
    kept = t.redistribute_by_dict(placements_dict={"tp": R}, default_placement_mode="keep")
    assert kept.placements == [Shard(0), R, R]
    assert kept.tolist() == t.tolist()
    every = {"dp": R, "tp": R, -1: R}
    assert t.redistribute_by_dict(
        placements_dict=every, default_placement_mode="raise_error"
    ).placements == [R, R, R]
    with pytest.raises(ValueError, match=r"must name every axis, lacks \['tp', 'pp'\]"):
        t.redistribute_by_dict(placements_dict={"dp": R}, default_placement_mode="raise_error")
    with pytest.raises(ValueError, match="named twice"):
        t.redistribute_by_dict(placements_dict={"dp": R, 0: R})
    with pytest.raises(ValueError, match="default_placement_mode must be"):
        t.redistribute_by_dict(placements_dict={}, default_placement_mode="other")
    with pytest.raises(IndexError, match="axis must be in"):
        t.redistribute_by_dict(placements_dict={3: R})
    with pytest.raises(PlacementError, match="shard dim must be in"):
        t.redistribute_by_dict(placements_dict={"dp": Shard(2)})
    with pytest.raises(TypeError):
        t.redistribute_by_dict(mesh, {"dp": R})
    host = dtorch.arange(3)
    assert host.redistribute_by_dict(placements_dict={"dp": Shard(0)}) is host


def test_check_placement() -> None:
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=["tp", "one"])
    t = dtorch.zeros(4, 6).redistribute(mesh, [Shard(1, unit=3), R])
    assert t.check_placement("tp", Shard(1)) and t.check_placement(0, Shard(-1, unit=2))
    assert not t.check_placement("tp", Shard(0)) and not t.check_placement("tp", R)
    assert all(t.check_placement("one", p) for p in (R, P, Shard(0)))
    assert t.redistribute(placements=[P, R]).check_placement(-2, P)


def test_a_size_one_axis_keeps_what_was_written() -> None:
    mesh = init_device_mesh("cpu", (1, 2))
    t = dtorch.arange(4).redistribute(mesh, [Shard(0), Shard(0)])
    assert t.placements == [Shard(0), Shard(0)]
    assert (t + 1).placements == [R, Shard(0)]
    assert dtorch.zeros(4, device_mesh=mesh, placements=[P, R]).placements == [P, R]
