"""auto inserts redistributes; strict says what is missing."""

from __future__ import annotations

import threading

import pytest

import dtorch
import dtorch.nn.functional as F
from dtorch import Graph, Partial, PlacementError, Replicate, Shard, init_device_mesh

MESH = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])


def sharded(dim: int) -> dtorch.Tensor:
    return dtorch.arange(16).float().view(4, 4).redistribute(MESH, [Shard(dim)])


def test_auto_is_the_default() -> None:
    assert Graph.default_graph().mode == "auto" and Graph().mode == "auto"
    y = F.softmax(sharded(1), dim=1)
    assert y.sum().item() == pytest.approx(4)


def test_strict_is_an_error_that_explains() -> None:
    with dtorch.mode("strict"), pytest.raises(PlacementError) as caught:
        F.softmax(sharded(1), dim=1)
    message = str(caught.value)
    assert message.startswith(f"{__file__}:") and "error: softmax: " in message
    assert "strict" in message and "[S(1)]" in message
    assert "legal rows" in message and "(S(0) -> S(0))" in message
    assert 'use mode "auto"' in message


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.softmax(sharded(1), dim=-1),
        lambda: F.rms_norm(sharded(1), 4),
        lambda: sharded(0) + sharded(1),
        lambda: sharded(0)[1:3],
        lambda: sharded(0)[1],
        lambda: dtorch.cat([sharded(0), sharded(0)]),
        lambda: sharded(1).view(16),
        lambda: (sharded(1) @ sharded(0)).exp(),
        lambda: sharded(0).sum(0) * sharded(0).sum(0),
    ],
)
def test_strict_forbids_inserted_communication(call) -> None:
    expected = call().tolist()
    with dtorch.mode("strict"), pytest.raises(PlacementError, match=r"test_modes\.py:\d+: error: "):
        call()
    assert call().tolist() == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda: sharded(0) + dtorch.ones(4, 4),
        lambda: sharded(0) * dtorch.ones(4, 1, device_mesh=MESH),
        lambda: sharded(1) + dtorch.ones(4),
        lambda: sharded(0) + dtorch.ones(4, 4).redistribute(MESH),
        lambda: sharded(0).redistribute(placements=[Shard(1)]),
        lambda: sharded(0)[:, 1],
        lambda: sharded(0).sum() + 10,
        lambda: F.linear(sharded(1), dtorch.ones(3, 4, device_mesh=MESH)),
        lambda: sharded(0).view(2, 2, 4),
        lambda: sharded(1) @ sharded(0),
    ],
)
def test_strict_allows_slices_and_explicit_redistributes(call) -> None:
    expected = call().tolist()
    with dtorch.mode("strict"):
        assert call().tolist() == expected


def test_the_mode_is_the_graphs() -> None:
    with Graph(mode="strict") as graph:
        assert Graph.default_graph() is graph and dtorch.default_graph is graph
        with pytest.raises(PlacementError):
            F.softmax(sharded(1), dim=1)
        with dtorch.mode("auto"):
            assert graph.mode == "auto"
            F.softmax(sharded(1), dim=1)
        assert graph.mode == "strict"
    assert Graph.default_graph() is not graph and Graph.default_graph().mode == "auto"


def test_the_mode_is_restored_after_an_error() -> None:
    with pytest.raises(KeyError), dtorch.mode("strict"):
        raise KeyError
    assert Graph.default_graph().mode == "auto"


def test_strict_is_checked_when_recorded() -> None:
    """What was recorded in one mode keeps it when it runs in another."""
    y = F.softmax(sharded(1), dim=1)
    with dtorch.mode("strict"):
        assert y.sum().item() == pytest.approx(4)
    with dtorch.mode("strict"):
        z = sharded(0) * 2
    assert z.tolist() == (sharded(0) * 2).tolist()


def test_graphs_are_per_thread() -> None:
    seen = []
    with Graph() as graph:
        thread = threading.Thread(target=lambda: seen.append(Graph.default_graph()))
        thread.start()
        thread.join()
        assert seen[0] is not graph


def test_d1_linear_of_a_sequence_shard_moves_nothing() -> None:
    """Case D1."""
    w = dtorch.ones(5, 3)
    for length in (4, 5):
        x = dtorch.arange(2 * length * 3).float().view(2, length, 3)
        expected = [[[s] * 5 for s in row] for row in x.sum(-1).tolist()]
        t = x.redistribute(init_device_mesh("cpu", (2,), mesh_dim_names=["cp"]), [Shard(1)])
        with dtorch.mode("strict"):
            y = F.linear(t, w)
        assert y.placements == [Shard(1)]
        dtorch.reset_counters()
        assert y.tolist() == expected
        assert {k for k, c in dtorch.counters().items() if c.count} == {"to_host"}
        gathered = F.linear(t.redistribute(placements=[Replicate()]), w)
        assert gathered.tolist() == expected
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["tp", "cp"])
    x = dtorch.arange(24).float().view(2, 4, 3)
    y = F.linear(
        x.redistribute(mesh, [Replicate(), Shard(1)]), w.redistribute(mesh, [Shard(0), Replicate()])
    )
    assert y.placements == [Shard(2), Shard(1)]
    assert y.tolist() == [[[v] * 5 for v in r] for r in ([3, 12, 21, 30], [39, 48, 57, 66])]


def test_d2_dims_of_size_one() -> None:
    """Case D2."""
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=["dp", "tp", "cp"])
    q = dtorch.ones(2, 4, 8, 2).redistribute(mesh, [Shard(0), Shard(1), Shard(2)])
    cos = dtorch.arange(8).float().view(1, 1, 8, 1)
    for table in (
        cos,
        cos.redistribute(mesh),
        cos.redistribute(mesh, [Replicate(), Replicate(), Shard(2)]),
    ):
        product = q * table
        assert product.placements == [Shard(0), Shard(1), Shard(2)]
        for total, extra in ((product, 0), (q + table, 1)):
            values = total.numpy()
            assert all((values[:, :, at] == at + extra).all() for at in range(8))
    two = init_device_mesh("cpu", (2,))
    row = dtorch.Tensor([[0.0, 1.0]]).redistribute(two, [Shard(0)])
    assert row.view(1, 2).tolist() == [[0, 1]]
    assert row.unsqueeze(0).tolist() == [[[0, 1]]]
    assert (row * 2).tolist() == [[0, 2]]
    seven = dtorch.Tensor([[7.0]]).redistribute(two, [Shard(0)])
    column = dtorch.arange(4).float().view(4, 1).redistribute(two, [Shard(0)])
    assert (seven + column).tolist() == [[7], [8], [9], [10]]


def test_c1_a_number_is_added_once() -> None:
    """Case C1."""
    s = dtorch.arange(10).float().redistribute(MESH, [Shard(0)]).sum()
    assert s.placements == [Partial()]
    one = dtorch.Tensor([10.0]).redistribute(MESH, [Replicate()])
    results = [s + 10, 10 + s, s - 10, s + dtorch.Tensor(10.0), s * 2, s / 2, s + s]
    assert [r.item() for r in results] == [55, 55, 35, 55, 90, 22.5, 90]
    assert (s + one).tolist() == [55]
    assert all(r.placements == [Partial()] for r in results)


@pytest.mark.parametrize(
    "make", [lambda p: p * float("inf"), lambda p: p / 0, lambda p: p / float("inf")]
)
def test_a_factor_that_is_not_finite_reduces_first(make) -> None:
    """The zeros of other devices would become NaN."""
    p = dtorch.Tensor([1.0, 2.0]).redistribute(MESH, [Partial()])
    value = make(p)
    assert value.placements == [Replicate()]
    assert value.tolist() == make(dtorch.Tensor([1.0, 2.0])).tolist()


def test_h1_no_argument_is_baked_into_a_plan() -> None:
    """Case H1: the same graph with another scalar gives another result."""
    two = init_device_mesh("cpu", (2,))
    t = dtorch.Tensor([1.0, 2.0]).redistribute(two, [Shard(0)])
    p = t.sum()
    assert [(p * i).item() for i in (1, 2, 3)] == [3, 6, 9]
    assert [(p * i).item() for i in (-5, 2)] == [-15, 6]
    for x in (t, t.redistribute(placements=[Replicate()])):
        assert [(x * i).tolist() for i in (1, 2, 3)] == [[1, 2], [2, 4], [3, 6]]
    assert [t[i : i + 1].tolist() for i in (0, 1)] == [[1], [2]]
    assert [t.view(n, -1).shape for n in (1, 2)] == [(1, 2), (2, 1)]
    x = dtorch.Tensor([[3.0, 4.0]])
    assert [round(F.rms_norm(x, 2, eps=e).sum().item(), 4) for e in (0.0, 100.0)] == [
        1.9799,
        0.6600,
    ]
    square = dtorch.Tensor([[0.0, 1.0], [2.0, 5.0]])
    by_dim = [F.softmax(square, dim=i).tolist() for i in (0, 1)]
    assert by_dim[0] != by_dim[1]
    assert [dtorch.full((2,), v).tolist() for v in (1.0, 2.0)] == [[1, 1], [2, 2]]
    assert [dtorch.arange(3, 3 + n).tolist() for n in (1, 2)] == [[3], [3, 4]]
    assert [square.sum(i).tolist() for i in (0, 1)] == [[2, 6], [1, 7]]


def test_other_scalars_do_not_compile_again() -> None:
    from dtorch import _dtorch

    t = dtorch.arange(6).float().redistribute(MESH, [Shard(0)])
    assert t.sum().item() == 15
    results, compiled = [], []
    for i in range(3):
        results.append((t * (i + 0.5) + i).sum().item())
        compiled.append(_dtorch.compile_counters()["programs"])
    assert results == [7.5, 28.5, 49.5] and len(set(compiled)) == 1
