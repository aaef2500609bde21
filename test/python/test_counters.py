"""`dtorch.counters()`: collectives and bytes, and that looking twice costs once."""

from __future__ import annotations

import dtorch
import dtorch.nn.functional as F
from dtorch import Counter, Partial, Replicate, Shard, init_device_mesh


def counted() -> dict[str, Counter]:
    return {kind: c for kind, c in dtorch.counters().items() if c.count}


def test_bytes_received_add_up_over_devices() -> None:
    mesh = init_device_mesh("cpu", (4,))
    dtorch.reset_counters()
    t = dtorch.ones(8, 4).redistribute(mesh, [Shard(0)])
    t.redistribute(placements=[Replicate()]).to_torch()
    total = 8 * 4 * 4
    # Each of 4 devices receives the three quarters that it lacks.
    assert counted()["all_gather"] == Counter(1, 4 * total * 3 // 4)
    assert counted()["to_host"] == Counter(1, total)
    dtorch.reset_counters()
    assert not counted()


def test_an_all_reduce_is_a_scatter_and_a_gather() -> None:
    mesh = init_device_mesh("cpu", (4,))
    x = dtorch.ones(2, 8).redistribute(mesh, [Shard(1)])
    y = F.linear(x, dtorch.ones(4, 8).redistribute(mesh, [Shard(1)]))
    assert y.placements == [Partial()]
    dtorch.reset_counters()
    assert y.redistribute(placements=[Replicate()]).sum().item() == 64
    total = 2 * 4 * 4
    assert counted()["all_reduce"] == Counter(1, 2 * 4 * total * 3 // 4)


def test_looking_twice_runs_once() -> None:
    mesh = init_device_mesh("cpu", (2,))
    t = dtorch.arange(6).redistribute(mesh, [Shard(0)]) * 2
    dtorch.reset_counters()
    assert t.tolist() == t.numpy().tolist() == t.to_torch().tolist()
    assert str(t) and t[0:6] is t
    assert counted()["to_host"].count == 1


def test_repr_computes_nothing() -> None:
    dtorch.default_graph.sync()
    t = dtorch.ones(3) + 1
    assert repr(t) == "dtorch.Tensor(shape=(3,), dtype=float32, lazy)"
    assert "lazy" in repr(t)
    str(t)
    assert "lazy" not in repr(t)


def test_groups_count_as_one_collective() -> None:
    mesh = init_device_mesh("cpu", (2, 2))
    t = dtorch.ones(4, 4).redistribute(mesh, [Shard(0), Shard(1)])
    dtorch.reset_counters()
    t.redistribute(placements=[Shard(0), Replicate()])
    gathered = t.redistribute(placements=[Shard(0), Replicate()])
    dtorch.default_graph.sync()
    assert counted()["all_gather"].count == 1
    assert gathered.sum().item() == 16


def test_data_parallel_communicates_nothing() -> None:
    mesh = init_device_mesh("cpu", (3,), mesh_dim_names=["dp"])
    x = dtorch.ones(5, 4).redistribute(mesh, [Shard(0)])
    layer = dtorch.nn.Sequential(
        dtorch.nn.Linear(4, 6, device_mesh=mesh),
        dtorch.nn.SiLU(),
        dtorch.nn.RMSNorm(6, device_mesh=mesh),
        dtorch.nn.Linear(6, 2, device_mesh=mesh),
    )
    y = F.softmax(layer(x), dim=-1)
    dtorch.reset_counters()
    y.to_torch()
    assert set(counted()) == {"to_host"}


def test_tensor_parallel_costs_one_all_reduce() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    first = dtorch.nn.ColumnParallelLinear(4, 5, device_mesh=mesh)
    second = dtorch.nn.RowParallelLinearWithReplicateOutput(5, 4, device_mesh=mesh)
    y = second(F.silu(first(dtorch.ones(3, 4))))
    dtorch.reset_counters()
    y.to_torch()
    assert {k: c.count for k, c in counted().items()} == {"all_reduce": 1, "to_host": 1}
