"""Indexing with tensors, lists and masks, and the ops that take positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dtorch
import dtorch.nn.functional as F
from dtorch import Partial, Replicate, Shard, init_device_mesh


def data() -> torch.Tensor:
    return torch.arange(4 * 3 * 5, dtype=torch.float32).reshape(4, 3, 5)


ROWS, GRID = torch.tensor([2, 0, -1]), torch.tensor([[0, 1, 2], [2, 1, -3]])
INDICES: list[Any] = [
    ROWS,
    GRID,
    torch.tensor(1),
    torch.zeros(0, dtype=torch.int64),
    (slice(None), torch.tensor([0, 2])),
    (slice(None), slice(1, 2), torch.tensor([[4, 0]])),
    (ROWS, torch.tensor([0, 1, 2])),
    (ROWS, slice(None), torch.tensor([4, 0, 1])),
    (slice(1, 4), GRID),
    (GRID, GRID, GRID),
    (0, GRID),
    (..., ROWS),
    (None, ROWS),
    (ROWS, None, GRID),
    (1, slice(None), ROWS),
    torch.tensor([1, 2], dtype=torch.int32),
    (np.array([0, 1]), 1),
    ([0, 1], [1, 2], [3, 4]),
    [True, False, True, True],
    (slice(None), np.array([False, True, True])),
    np.arange(12).reshape(4, 3) % 2 == 0,
    data() > 30,
    (data()[:, 0, 0] > 0, 1),
    (slice(None), data()[0] > 5),
    True,
    False,
    (0, True),
]


@pytest.mark.parametrize("index", INDICES, ids=lambda i: str(i)[:40])
@pytest.mark.parametrize(
    "placements", [None, [Shard(0)], [Shard(1)], [Shard(2)], [Partial()]], ids=str
)
def test_as_in_pytorch(index: Any, placements: Any) -> None:
    expected = data()[index]
    t = dtorch.Tensor(data())
    if placements:
        t = t.redistribute(init_device_mesh("cpu", (3,)), placements)

    def ours(item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(map(ours, item))
        return dtorch.Tensor(item) if isinstance(item, torch.Tensor) else item

    for taken in (t[ours(index)], t[index]):
        assert taken.shape == tuple(expected.shape)
        assert torch.equal(taken.to_torch(), expected)


def test_sharded_positions() -> None:
    mesh = init_device_mesh("cpu", (2,))
    where = dtorch.Tensor(ROWS).redistribute(mesh, [Shard(0)])
    for placements in ([Shard(0)], [Shard(1)], [Replicate()]):
        t = dtorch.Tensor(data()).redistribute(mesh, placements)
        assert torch.equal(t[where].to_torch(), data()[ROWS])


def compare(function: Callable[..., Any], *operands: torch.Tensor) -> None:
    expected = function(torch, *operands)
    mesh = init_device_mesh("cpu", (3,))
    hosts = [dtorch.Tensor(x) for x in operands]
    results = [function(dtorch, *hosts)]
    for d in range(3):
        for which in range(len(operands)):
            chosen = [
                [Shard(d)] if i == which and d < t.ndim else [Replicate()]
                for i, t in enumerate(hosts)
            ]
            moved = [t.redistribute(mesh, p) for t, p in zip(hosts, chosen, strict=True)]
            results.append(function(dtorch, *moved))
    for actual in results:
        assert actual.dtype is dtorch.dtypes.to_dtype(expected.dtype)
        assert torch.equal(actual.to_torch(), expected)


def test_gather_and_scatter() -> None:
    x = data()
    generator = torch.Generator().manual_seed(0)
    for dim, n in ((0, 4), (1, 3), (2, 5)):
        index = torch.randint(n, (3, 3, 4), generator=generator)
        compare(lambda api, x, i, d=dim: api.gather(x, d, i), x, index)
        src = torch.randn(4, 3, 5, generator=generator)
        compare(lambda api, x, i, s, d=dim: api.scatter_add(x, d, i, s), x, index, src)
        compare(lambda api, x, i, d=dim: x.scatter(d, i, 9), x, index)
        compare(lambda api, x, i, d=dim: x.scatter(d, i, 2.0, reduce="multiply"), x, index)
        some = torch.randperm(n, generator=generator)[: n - 1]
        compare(lambda api, x, i, d=dim: api.index_select(x, d, i), x, some)
        order = x.argsort(dim, descending=True)
        compare(lambda api, x, i, d=dim: api.take_along_dim(x, i, d), x, order)
        compare(lambda api, x, i, d=dim: api.index_fill(x, d, i, -1), x, some)
    compare(lambda api, x, i: api.take(x, i), x, torch.tensor([[0, -1], [59, 7]]))


def test_positions_of_the_wrong_kind() -> None:
    t = dtorch.Tensor(data())
    with pytest.raises(TypeError, match="index must be of integers, got float32"):
        dtorch.gather(t, 0, t)
    with pytest.raises(ValueError, match="index must have the dims of input"):
        dtorch.gather(t, 0, dtorch.Tensor(ROWS))
    with pytest.raises(ValueError, match="index must have 1 dim"):
        dtorch.index_select(t, 0, dtorch.Tensor(GRID))
    with pytest.raises(TypeError, match="src must have input's dtype, got int64 and float32"):
        dtorch.scatter(t, 0, dtorch.zeros(1, 1, 1, dtype="int64"), dtorch.Tensor([[[1]]]))
    with pytest.raises(IndexError, match=r"index 5 is outside \[-4, 4\)"):
        dtorch.index_select(t, 0, dtorch.Tensor([5])).tolist()
    with pytest.raises(ValueError, match='reduce must be None, "add" or "multiply"'):
        dtorch.scatter(t, 0, dtorch.zeros(1, 1, 1, dtype="int64"), 1.0, reduce="max")


def test_triangles_and_diagonals() -> None:
    x = data()
    for diagonal in (-2, -1, 0, 1, 7):
        compare(lambda api, x, d=diagonal: api.tril(x, d), x)
        compare(lambda api, x, d=diagonal: api.triu(x, d), x)
        compare(lambda api, x, d=diagonal: api.diagonal(x, d, 1, 2), x)
    with pytest.raises(ValueError, match="at least 2 dims, got 1"):
        dtorch.tril(dtorch.zeros(3))


def test_one_hot() -> None:
    x = torch.tensor([[0, 3], [2, 1]])
    for classes in (-1, 4, 7):
        compare(lambda api, x, c=classes: api.nn.functional.one_hot(x, c), x)
    for bad in ([4], [-1]):
        with pytest.raises(IndexError, match="outside"):
            F.one_hot(dtorch.Tensor(bad), 4).tolist()
    with pytest.raises(TypeError, match="needs int64"):
        F.one_hot(dtorch.Tensor([0.0]), 4)


def test_pad() -> None:
    x = data()
    for counts in ((1, 2), (0, 1, 2, 0), (1, 1, 1, 1, 1, 1), (-1, 2), (-1, -1, 1, 0)):
        compare(lambda api, x, c=counts: api.nn.functional.pad(x, c, value=7.0), x)
    for mode in ("reflect", "replicate", "circular"):
        for counts in ((2, 1), (-1, 1), (1, -2)):
            compare(lambda api, x, m=mode, c=counts: api.nn.functional.pad(x, c, m), x)
    with pytest.raises(ValueError, match="a pair for each of at most 3 dims"):
        F.pad(dtorch.Tensor(x), (1,))
    with pytest.raises(ValueError, match="'reflect' adds at most 4 to a dim of 5"):
        F.pad(dtorch.Tensor(x), (5, 0), "reflect")


def test_places_of_true_elements() -> None:
    x = data() % 7 > 3
    compare(lambda api, x: api.nonzero(x), x)
    compare(lambda api, x: api.masked_select(x, x), x)
    for ours, theirs in zip(
        dtorch.nonzero(dtorch.Tensor(x), as_tuple=True), x.nonzero(as_tuple=True), strict=True
    ):
        assert torch.equal(ours.to_torch(), theirs)


def test_repeats() -> None:
    x = data()
    compare(lambda api, x: api.repeat_interleave(x, 2, 1), x)
    compare(lambda api, x: api.repeat_interleave(x, 3), x)
    compare(lambda api, x, r: api.repeat_interleave(x, r, 0), x, torch.tensor([0, 2, 1, 3]))
    compare(lambda api, x: x.repeat(2, 1, 1, 3), x)
    compare(lambda api, x: api.tile(x, (2,)), x)
    compare(lambda api, x: api.roll(x, (1, -2), (0, 2)), x)
    compare(lambda api, x: api.flip(x, (0, -1)), x)
