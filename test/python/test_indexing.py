"""Indexing, on the host and along sharded dims: positions are global."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dtorch
from dtorch import Partial, Replicate, Shard, init_device_mesh

N = None
INDICES: list[Any] = [
    0,
    -1,
    slice(None),
    slice(1, 3),
    slice(-3, -1),
    slice(None, None, 2),
    slice(1, 100, 3),
    slice(3, 1),
    slice(100, 200),
    N,
    ...,
    (),
    (0, 1),
    (slice(None), -1),
    (slice(None), slice(1, 3), 2),
    (..., 0),
    (0, ...),
    (0, ..., -1),
    (N, 0, N, ..., N),
    (slice(1, 4), N, slice(None), slice(None, None, 2)),
    (..., slice(None, -1), N),
    (1, 2, 3),
    (slice(None), slice(None), slice(None), N),
    (np.int64(1), slice(np.int32(0), np.int64(2))),
]


def data() -> torch.Tensor:
    return torch.arange(4 * 3 * 5, dtype=torch.float32).reshape(4, 3, 5)


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize(
    "placements", [None, [Shard(0)], [Shard(1)], [Shard(2)], [Partial()], [Replicate()]], ids=str
)
def test_as_in_pytorch(index: Any, placements: Any) -> None:
    expected = data()[index]
    t = dtorch.Tensor(data())
    if placements:
        t = t.redistribute(init_device_mesh("cpu", (3,)), placements)
    actual = t[index]
    assert actual.shape == tuple(expected.shape)
    assert torch.equal(actual.to_torch(), expected)


def test_d3_bounds_are_global() -> None:
    """Case D3."""
    two, four = init_device_mesh("cpu", (2,)), init_device_mesh("cpu", (4,))
    t = dtorch.arange(8, device_mesh=two, placements=[Shard(0)]).float()
    assert t[2:4].tolist() == [2, 3]
    assert t[0:2].tolist() == [0, 1]
    assert t[3:7].tolist() == [3, 4, 5, 6]
    assert t[1::3].tolist() == [1, 4, 7]
    assert t[-1].item() == 7 and t[5].item() == 5
    assert t.narrow(0, 6, 2).tolist() == [6, 7]
    assert t.redistribute(placements=[Replicate()])[2:4].tolist() == [2, 3]
    assert dtorch.arange(8, device_mesh=four, placements=[Shard(0)])[2:4].tolist() == [2, 3]
    box = dtorch.Tensor(np.arange(60.0).reshape(3, 4, 5)).redistribute(two, [Shard(0)])
    assert box[1].shape == (4, 5)
    assert np.array_equal(box[1].numpy(), np.arange(20.0, 40.0).reshape(4, 5))
    h = dtorch.Tensor(np.arange(64.0).reshape(2, 8, 4)).redistribute(two, [Shard(1)])
    assert h[:, -1, :].tolist() == [[28, 29, 30, 31], [60, 61, 62, 63]]


def test_untouched_dims_keep_their_shards() -> None:
    mesh = init_device_mesh("cpu", (2,))
    t = dtorch.Tensor(data()).redistribute(mesh, [Shard(0)])
    assert t[:, 1].placements == [Shard(0)]
    assert t[:, :, 1:3].placements == [Shard(0)]
    assert t[N, :, 1].placements == [Shard(1)]


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (4, IndexError, "index 4 is out of bounds for dimension 0 with size 4"),
        (-5, IndexError, "index -5 is out of bounds for dimension 0 with size 4"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        ((..., ...), IndexError, "single ellipsis"),
        (slice(None, None, -1), ValueError, "step must be positive"),
        (slice(None, None, 0), ValueError, "step"),
        ("a", IndexError, "only ints, slices"),
        (1.0, IndexError, "only ints, slices"),
        ([0.5], IndexError, "of integers or bools, got float32"),
        (["a"], IndexError, "must hold integers or bools"),
        (dtorch.Tensor([0.5]), IndexError, "of integers or bools, got float32"),
        ([True, False], IndexError, "the shape of the mask"),
        (dtorch.Tensor([True, False]), IndexError, "the shape of the mask"),
        (([0, 1], [0, 1, 2]), ValueError, "must broadcast"),
    ],
)
def test_bad_indices(index: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dtorch.Tensor(data())[index]


def test_an_integer_tensor_is_an_index() -> None:
    assert torch.equal(dtorch.Tensor(data())[dtorch.Tensor(2)].to_torch(), data()[2])


def test_iteration_and_length() -> None:
    t = dtorch.Tensor(data())
    assert len(t) == 4 and [row.shape for row in t] == [(3, 5)] * 4
    first, *_, last = dtorch.arange(5)
    assert (first.item(), last.item()) == (0, 4)
    with pytest.raises(TypeError, match="0-dim"):
        len(dtorch.Tensor(1.0))
    with pytest.raises(TypeError, match="0-dim"):
        iter(dtorch.Tensor(1.0))


@pytest.mark.parametrize("placements", [None, [Shard(0)], [Shard(1)]], ids=str)
def test_split_chunk_narrow(placements: Any) -> None:
    x = data()
    t = dtorch.Tensor(x)
    if placements:
        t = t.redistribute(init_device_mesh("cpu", (2,)), placements)
    for dim in (0, 1, -1):
        for actual, expected in (
            (t.chunk(3, dim), x.chunk(3, dim)),
            (t.split(2, dim), x.split(2, dim)),
            (t.split([1, x.shape[dim] - 1], dim), x.split([1, x.shape[dim] - 1], dim)),
            ([t.narrow(dim, 1, 2)], [x.narrow(dim, 1, 2)]),
        ):
            assert len(actual) == len(expected)
            for a, e in zip(actual, expected, strict=True):
                assert torch.equal(a.to_torch(), e)
    with pytest.raises(ValueError, match="add up to 4"):
        t.split([1, 2])
    with pytest.raises(ValueError, match="exceeds dimension size"):
        t.narrow(0, 3, 2)
