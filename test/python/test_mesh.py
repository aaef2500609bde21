"""Meshes and placements as Python objects."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import dtorch
from dtorch import (
    DeviceMesh,
    Graph,
    Partial,
    PlacementError,
    Replicate,
    Shard,
    assign_layers_to_stages,
    get_default_device_mesh,
    init_device_mesh,
)


def test_a_mesh_knows_its_axes() -> None:
    mesh = init_device_mesh("cpu", (2, 3), mesh_dim_names=["dp", "tp"])
    assert (mesh.shape, mesh.ndim, mesh.dim_names) == ((2, 3), 2, ["dp", "tp"])
    assert mesh.device_type == "cpu" and mesh.size() == 6 and mesh.size(1) == 3
    assert mesh.dim_name_index("tp") == 1 and mesh.dim_name_index("pp") is None
    assert mesh.has_dim_name("dp") and not mesh.has_dim_name("pp")


def test_axes_without_names_are_numbered() -> None:
    assert init_device_mesh("cpu", (2, 2)).dim_names == ["dim_0", "dim_1"]
    assert DeviceMesh("cpu", [[0], [1]]).dim_names == ["dim_0", "dim_1"]


def test_repr_is_the_seeds() -> None:
    mesh = init_device_mesh("cuda", (2, 2, 2), mesh_dim_names=["dp", "ulysess_cp", "ring_cp"])
    assert repr(mesh) == (
        "DeviceMesh('cuda', dim_name: ['dp', 'ulysess_cp', 'ring_cp'], shape: (2, 2, 2), "
        "data: [[[0, 1], [2, 3]], [[4, 5], [6, 7]]])"
    )


def test_a_large_mesh_costs_nothing() -> None:
    mesh = init_device_mesh("cpu", (128, 128), mesh_dim_names=["dp", "tp"])
    assert mesh.size() == 16384 and "16384 devices" in repr(mesh)
    assert mesh.unbind("dp")[1].shape == (128,)
    assert not Graph.default_graph().satisfy(mesh)


def test_meshes_compare_by_contents() -> None:
    a, b = init_device_mesh("cpu", (2, 2)), DeviceMesh("cpu", [[0, 1], [2, 3]])
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != DeviceMesh("cpu", [[0, 2], [1, 3]])
    assert a != init_device_mesh("cpu", (2, 2), mesh_dim_names=["x", "y"])
    assert a != init_device_mesh("cuda", (2, 2))


@pytest.mark.parametrize("axis", ["pp", 1, -2])
def test_unbind_removes_an_axis(axis: str | int) -> None:
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=["dp", "pp", "tp"])
    stages = mesh.unbind(axis)
    assert [m.dim_names for m in stages] == [["dp", "tp"]] * 2
    assert stages == [
        DeviceMesh("cpu", [[0, 1], [4, 5]], ["dp", "tp"]),
        DeviceMesh("cpu", [[2, 3], [6, 7]], ["dp", "tp"]),
    ]


def test_unbind_of_an_absent_name_is_one_stage() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["dp"])
    assert mesh.unbind("pp") == [mesh] and mesh.unbind("pp")[0] is mesh


def test_unbind_of_the_last_axis_gives_devices() -> None:
    one = init_device_mesh("cpu", (3,)).unbind(0)
    assert [m.shape for m in one] == [()] * 3 and one[0] != one[1]
    assert all(m != get_default_device_mesh() for m in one)
    placed = dtorch.Tensor([1.0, 2.0]).redistribute(one[1])
    assert placed.device_mesh == one[1] and placed.placements == []
    assert (placed * 2).tolist() == [2, 4]


def test_check_all_dim_names_in_set() -> None:
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=["dp", "tp"])
    mesh.check_all_dim_names_in_set({"dp", "tp", "pp"})
    with pytest.raises(ValueError, match=r"must be among \['dp'\], got \['tp'\]"):
        mesh.check_all_dim_names_in_set({"dp"})


@pytest.mark.parametrize(
    "make",
    [
        lambda: init_device_mesh("tpu", (2,)),
        lambda: init_device_mesh("cpu", (2, 0)),
        lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp"]),
        lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "dp"]),
        lambda: DeviceMesh("cpu", [0, 0]),
        lambda: DeviceMesh("cpu", [0.5, 1.5]),
        lambda: DeviceMesh("cpu", []),
        lambda: DeviceMesh("cpu", [0, -1]),
        lambda: DeviceMesh("cpu", [0, 1 << 40]),
        lambda: DeviceMesh("cpu", np.array([1 << 63], np.uint64)),
        lambda: init_device_mesh("cpu", (1 << 63,)),
        lambda: init_device_mesh("cpu", (1 << 40, 1 << 40)),
        lambda: init_device_mesh("cpu", (2,), mesh_dim_names=["a\n"]),
    ],
)
def test_bad_meshes(make) -> None:
    with pytest.raises(ValueError, match=r"test_mesh\.py:\d+: error: "):
        make()


def test_cuda_meshes_can_be_made_but_not_used() -> None:
    mesh = init_device_mesh("cuda", (2,), mesh_dim_names=["tp"])
    assert mesh.device_type == "cuda" and not dtorch.default_graph.satisfy(mesh)
    for use in (
        lambda: dtorch.zeros(2, device_mesh=mesh),
        lambda: dtorch.Tensor([1.0]).redistribute(mesh),
        lambda: dtorch.Tensor([1.0], device="cuda"),
        lambda: dtorch.randn(2, device="cuda"),
        lambda: dtorch.nn.Linear(2, 2, device_mesh=mesh),
        lambda: dtorch.Tensor([1.0]).to("cuda:0"),
        lambda: dtorch.Tensor([1.0]).cuda(),
    ):
        with pytest.raises(RuntimeError, match="CUDA is not available"):
            use()


def test_a_mesh_larger_than_the_world() -> None:
    mesh = init_device_mesh("cpu", (64,), mesh_dim_names=["tp"])
    for use in (
        lambda: dtorch.zeros(2, device_mesh=mesh),
        lambda: dtorch.Tensor([1.0]).redistribute(mesh),
        lambda: dtorch.nn.Linear(2, 2, device_mesh=mesh),
    ):
        with pytest.raises(RuntimeError, match="DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE"):
            use()


def test_placements_are_values() -> None:
    assert [repr(p) for p in (Shard(0), Replicate(), Partial())] == [
        "Shard(0)",
        "Replicate()",
        "Partial()",
    ]
    assert repr(Shard(1, unit=64)) == "Shard(1, unit=64)"
    assert Shard(0) == Shard(0) != Shard(1) and Shard(0) != Shard(0, unit=2)
    assert Replicate() == Replicate() != Partial() and Replicate() != "Replicate()"
    assert len({Shard(0), Shard(0), Replicate(), Replicate(), Partial()}) == 3
    assert Shard(2).dim == 2 and Shard(2, unit=4).unit == 4 and Shard(2).unit == 1
    assert Shard(1).is_shard() and Shard(1).is_shard(1) and not Shard(1).is_shard(0)
    assert Replicate().is_replicate() and Partial().is_partial()
    for p in (Shard(1, unit=3), Replicate(), Partial()):
        assert pickle.loads(pickle.dumps(p)) == copy.deepcopy(p) == p


@pytest.mark.parametrize(
    "make",
    [
        lambda t, m: t.redistribute(m, [Shard(2)]),
        lambda t, m: t.redistribute(m, [Shard(-3)]),
        lambda t, m: t.redistribute(m, []),
        lambda t, m: t.redistribute(m, [Replicate(), Replicate()]),
        lambda t, m: t.redistribute(m, [Shard(0, unit=3)]),
        lambda t, m: Shard(0, unit=0),
        lambda t, m: dtorch.zeros(4, 6, device_mesh=m, placements=[Shard(5)]),
        lambda t, m: dtorch.zeros(4, 6, placements=[Shard(0)]),
    ],
)
def test_bad_placements(make) -> None:
    t, m = dtorch.zeros(4, 6), init_device_mesh("cpu", (2,))
    with pytest.raises(PlacementError, match=r"test_mesh\.py:\d+: error: "):
        make(t, m)


def test_a_placement_error_is_a_value_and_an_assertion_error() -> None:
    assert issubclass(PlacementError, ValueError) and issubclass(PlacementError, AssertionError)


def test_what_is_no_placement() -> None:
    mesh = init_device_mesh("cpu", (2,))
    with pytest.raises(TypeError, match="must be Shard, Replicate or Partial"):
        dtorch.zeros(4).redistribute(mesh, ["S(0)"])
    with pytest.raises(TypeError, match="needs a DeviceMesh"):
        dtorch.zeros(4).redistribute((2,), [Shard(0)])


@pytest.mark.parametrize(
    ("layers", "stages", "counts"),
    [
        (10, 3, [4, 3, 3]),
        (30, 4, [8, 8, 7, 7]),
        (7, 2, [4, 3]),
        (5, 4, [2, 1, 1, 1]),
        (0, 2, [0, 0]),
        (3, 1, [3]),
    ],
)
def test_layers_are_spread_over_stages(layers: int, stages: int, counts: list[int]) -> None:
    """Case G1: no layer is lost, earlier stages get one more."""
    ids = assign_layers_to_stages(layers, stages)
    assert ids == sorted(ids) and [ids.count(s) for s in range(stages)] == counts


def test_fewer_layers_than_stages() -> None:
    assert assign_layers_to_stages(2, 4) == [0, 1]
    assert assign_layers_to_stages(4, 2) == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="num_stages >= 1"):
        assign_layers_to_stages(2, 0)


def test_the_default_mesh_is_the_host_until_guarded() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    host = get_default_device_mesh()
    assert host.ndim == 0 and host.shape == () and "host" in repr(host)
    assert get_default_device_mesh(mesh) is mesh
    inner = init_device_mesh("cpu", (3,), mesh_dim_names=["tp"])
    graph = Graph.default_graph()
    with graph.device_mesh_guard(mesh):
        assert get_default_device_mesh() == mesh
        with graph.device_mesh_guard(inner):
            assert get_default_device_mesh() == inner
            assert dtorch.zeros(3).device_mesh == inner
        assert dtorch.arange(3).device_mesh == mesh
        assert dtorch.tensor([1.0]).placements == [Replicate()]
        assert dtorch.Tensor([1.0]).device_mesh == host
        assert dtorch.zeros(3, device_mesh=inner).device_mesh == inner
    assert get_default_device_mesh() == host and dtorch.zeros(3).device_mesh == host


def test_a_guard_is_left_on_errors() -> None:
    mesh = init_device_mesh("cpu", (2,))
    with pytest.raises(KeyError), Graph.default_graph().device_mesh_guard(mesh):
        raise KeyError
    assert get_default_device_mesh().ndim == 0


def test_a_guard_holds_for_its_own_thread() -> None:
    meshes: list[DeviceMesh] = []
    with Graph.default_graph().device_mesh_guard(init_device_mesh("cpu", (2,))):
        thread = threading.Thread(target=lambda: meshes.append(get_default_device_mesh()))
        thread.start()
        thread.join()
    assert [mesh.ndim for mesh in meshes] == [0]


def test_ids_may_be_any_array() -> None:
    ids = np.array([[3, 1], [0, 2]])
    mesh = DeviceMesh("cpu", ids, ["a", "b"])
    assert "[[3, 1], [0, 2]]" in repr(mesh)
    t = dtorch.Tensor(np.arange(20.0).reshape(5, 4)).redistribute(mesh, [Shard(0), Shard(1)])
    assert np.array_equal((t * 2).numpy(), np.arange(20.0).reshape(5, 4) * 2)
