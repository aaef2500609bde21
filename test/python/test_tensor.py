"""Tensors on the host: sources, dtypes, promotion, shapes, printing."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import torch

import dtorch
from dtorch import Replicate, Shard, init_device_mesh

DTYPES = ("bool", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def torch_dtype(name: str) -> torch.dtype:
    return getattr(torch, name)


# -- sources ------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_from_pytorch_and_back(name: str) -> None:
    x = torch.arange(6).reshape(2, 3).to(torch_dtype(name))
    t = dtorch.Tensor(x)
    assert t.dtype is getattr(dtorch, name) and t.shape == (2, 3)
    assert torch.equal(t.to_torch(), x) and t.to_torch().dtype == x.dtype
    assert torch.equal(dtorch.Tensor(x.t()).to_torch(), x.t())
    assert t.tolist() == x.tolist()
    sharded = t.redistribute(init_device_mesh("cpu", (4,)), [Shard(1)])
    assert torch.equal(sharded.to_torch(), x)


@pytest.mark.parametrize("name", [n for n in DTYPES if n != "bfloat16"])
def test_from_numpy_and_back(name: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(name)
    t = dtorch.Tensor(x)
    assert t.dtype is getattr(dtorch, name)
    assert np.array_equal(t.numpy(), x) and t.numpy().dtype == x.dtype
    assert np.array_equal(np.asarray(t), x)
    assert np.array_equal(np.from_dlpack(t), x) and torch.equal(torch.from_dlpack(t), t.to_torch())
    big = x.astype(x.dtype.newbyteorder(">"))
    assert np.array_equal(dtorch.Tensor(big).numpy(), x)


def test_from_lists_and_numbers() -> None:
    assert dtorch.Tensor([1, 2]).dtype is dtorch.int64
    assert dtorch.Tensor([1.0, 2]).dtype is dtorch.float32
    assert dtorch.Tensor([True]).dtype is dtorch.bool
    assert dtorch.Tensor([]).dtype is dtorch.float32 and dtorch.Tensor([]).shape == (0,)
    assert dtorch.Tensor(2.5).shape == () and dtorch.Tensor(2.5).item() == 2.5
    assert dtorch.Tensor(np.float64(1)).dtype is dtorch.float64
    assert dtorch.Tensor([[1.0], [2.0]], dtype=torch.float64).dtype is dtorch.float64
    assert dtorch.Tensor([dtorch.Tensor(1.0), dtorch.Tensor(2.0)]).tolist() == [1, 2]
    assert dtorch.Tensor(dtorch.Tensor([3])).tolist() == [3]


def test_from_dlpack_producers() -> None:
    class Producer:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    x = np.arange(4, dtype=np.int32)
    assert dtorch.Tensor(Producer(x)).tolist() == [0, 1, 2, 3]


def test_a_source_may_change_afterwards() -> None:
    """A later change of the source does not change the tensor, lazily or not."""
    array, tensor = np.ones(4, np.float32), torch.ones(4)
    read_only = array.view()
    read_only.flags.writeable = False
    made = [dtorch.Tensor(array), dtorch.Tensor(tensor), dtorch.Tensor(read_only)]
    doubled = [t * 2 for t in made]
    array[:] = 7
    tensor[:] = 7
    assert [t.tolist() for t in made] == [[1] * 4] * 3
    assert [t.tolist() for t in doubled] == [[2] * 4] * 3


def test_what_is_read_may_change_afterwards() -> None:
    t = dtorch.Tensor([1.0, 2.0])
    t.numpy()[:] = 9
    t.to_torch()[:] = 9
    np.asarray(t)[:] = 9
    assert t.tolist() == [1, 2]
    view = np.array(t, copy=False) if np.__version__ >= "2" else np.asarray(t)
    assert not view.flags.writeable


def test_borrowed_memory_is_not_copied() -> None:
    array = np.arange(4, dtype=np.float32)
    t = dtorch.from_numpy(array)
    assert t._host_value().array.ctypes.data == array.ctypes.data
    bits = np.array([0x3F80, 0x4000], np.uint16)
    b = dtorch.frombuffer(bits.tobytes(), dtype="bfloat16", shape=(2, 1))
    assert b.tolist() == [[1.0], [2.0]]
    assert dtorch.frombuffer(array, dtype="float32", count=2, offset=4).tolist() == [1, 2]


# -- dtypes -------------------------------------------------------------------


def test_dtypes_of_every_kind() -> None:
    for spelling in (dtorch.float16, "float16", "torch.float16", torch.float16, np.float16, "half"):
        assert dtorch.zeros(1, dtype=spelling).dtype is dtorch.float16
    assert dtorch.zeros(1, dtype=float).dtype is dtorch.float32
    assert dtorch.zeros(1, dtype=int).dtype is dtorch.int64
    assert dtorch.zeros(1, dtype=bool).dtype is dtorch.bool
    assert repr(dtorch.bfloat16) == "dtorch.bfloat16" and dtorch.float is dtorch.float32
    assert dtorch.bfloat16.itemsize == 2 and dtorch.bfloat16.is_floating_point
    assert copy.deepcopy(dtorch.int64) is dtorch.int64


@pytest.mark.parametrize(("source", "target"), itertools.product(DTYPES, DTYPES))
def test_casts(source: str, target: str) -> None:
    x = torch.tensor([0.0, 1.0, -2.5, 3.7, 100.3]).to(torch_dtype(source))
    t = dtorch.Tensor(x).to(target)
    assert t.dtype is getattr(dtorch, target)
    assert torch.equal(t.to_torch(), x.to(torch_dtype(target)))
    assert torch.equal(dtorch.Tensor(x, dtype=target).to_torch(), x.to(torch_dtype(target)))


def test_named_casts() -> None:
    t = dtorch.Tensor([1.5])
    for name in ("float", "double", "half", "bfloat16", "int", "long", "bool"):
        expected = getattr(torch.tensor([1.5]), name)()
        assert torch.equal(getattr(t, name)().to_torch(), expected)
    assert t.float() is t and t.to("cpu") is t and t.cpu() is t and t.contiguous() is t
    assert t.to(dtorch.zeros(1, dtype=int)).dtype is dtorch.int64
    assert t.to("cpu", dtorch.half).dtype is dtorch.float16
    assert t.type_as(dtorch.zeros(1, dtype=bool)).dtype is dtorch.bool
    assert t.to(device=torch.device("cpu"), dtype=torch.float64).dtype is dtorch.float64


def test_rounding_to_bfloat16_on_the_host() -> None:
    """To nearest even, as PyTorch; NaN and infinities stay."""
    bits = np.random.default_rng(0).integers(0, 2**32, 20000, dtype=np.uint32)
    x = torch.from_numpy(bits.view(np.float32).copy())
    got = dtorch.Tensor(x, dtype="bfloat16").to_torch()
    assert torch.equal(got.isnan(), x.bfloat16().isnan())
    assert torch.equal(got.nan_to_num(0), x.bfloat16().nan_to_num(0))


# -- arithmetic ---------------------------------------------------------------

OPERATORS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(("left", "right"), itertools.product(DTYPES, DTYPES))
def test_promotion_of_tensors(op: str, left: str, right: str) -> None:
    if op == "sub" and "bool" in (left, right):
        return  # PyTorch refuses
    for shapes in (((3,), (3,)), ((3,), ()), ((), (3,))):
        a = torch.tensor([3, 1, 2]).to(torch_dtype(left))
        b = torch.tensor([1, 1, 4]).to(torch_dtype(right))
        a, b = a if shapes[0] else a[2], b if shapes[1] else b[2]
        expected = OPERATORS[op](a, b)
        actual = OPERATORS[op](dtorch.Tensor(a), dtorch.Tensor(b))
        assert actual.dtype is dtorch.dtypes.to_dtype(expected.dtype)
        torch.testing.assert_close(actual.to_torch(), expected, rtol=1e-2, atol=0)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("number", [2, 2.5, True], ids=repr)
def test_numbers_are_weak(op: str, name: str, number: Any) -> None:
    if op == "sub" and (name == "bool" or number is True):
        return  # PyTorch refuses
    x = torch.tensor([3, 1, 2]).to(torch_dtype(name))
    for a, b in ((x, number), (number, x)):
        expected = OPERATORS[op](a, b)
        mine = [dtorch.Tensor(v) if isinstance(v, torch.Tensor) else v for v in (a, b)]
        actual = OPERATORS[op](*mine)
        assert actual.dtype is dtorch.dtypes.to_dtype(expected.dtype)
        torch.testing.assert_close(actual.to_torch(), expected, rtol=1e-2, atol=0)


def test_operands_of_other_libraries() -> None:
    t = dtorch.Tensor([1.0, 2.0])
    assert (t + np.array([1.0, 2.0], np.float32)).tolist() == [2, 4]
    assert (np.array([1.0, 2.0], np.float32) * t).tolist() == [1, 4]
    assert (t - torch.tensor([1.0, 1.0])).tolist() == [0, 1]
    assert (t * np.float32(3)).tolist() == [3, 6] and (np.float64(3) - t).tolist() == [2, 1]
    assert (t == None) is False and (t != "x") is True  # noqa: E711


def test_operators() -> None:
    x = torch.tensor([[1.0, -2.0], [3.5, 4.0]])
    t = dtorch.Tensor(x)
    for f in (
        lambda a: -a,
        lambda a: +a,
        abs,
        lambda a: a**2,
        lambda a: 2**a,
        lambda a: a.abs() ** 0.5,
        lambda a: 1 / a,
        lambda a: 1 - a,
        lambda a: a @ a,
        lambda a: a @ a[0],
        lambda a: a[0] @ a,
        lambda a: a[0] @ a[1],
        lambda a: (a > 0) & (a < 4),
        lambda a: (a > 0) | (a < -1),
        lambda a: ~(a > 0),
        lambda a: a != 4,
        lambda a: a <= 1,
        lambda a: a.max(),
        lambda a: a.min(),
        lambda a: a.amax(1),
        lambda a: a.amin((0, 1), keepdim=True),
        lambda a: a.sum(-1, keepdim=True),
        lambda a: a.mean((0,)),
        lambda a: a.sum(),
        lambda a: (a > 0).sum(0),
        lambda a: a.T,
        lambda a: a.mT,
        lambda a: a.t(),
        lambda a: a.view(4),
        lambda a: a.view(-1, 1, 2),
        lambda a: a.reshape((4, 1)),
        lambda a: a.flatten(),
        lambda a: a.unsqueeze(-1).expand(-1, 2, 3),
        lambda a: a.unsqueeze(0).squeeze(),
        lambda a: a.unsqueeze(0).squeeze(0),
        lambda a: a.unsqueeze(0).squeeze(1),
        lambda a: a.transpose(0, -1),
        lambda a: a.permute(1, 0),
        lambda a: a.unflatten(1, (2, 1)),
        lambda a: a.repeat_interleave(2, dim=1),
        lambda a: a.repeat_interleave(3),
        lambda a: a.narrow(1, -1, 1),
        lambda a: a.log() != a.log(),
    ):
        expected, actual = f(x), f(t)
        assert actual.shape == tuple(expected.shape)
        torch.testing.assert_close(actual.to_torch(), expected)


def test_joining() -> None:
    a, b = torch.arange(6).view(2, 3), torch.arange(6.0).view(2, 3)
    mine = dtorch.Tensor(a), dtorch.Tensor(b)
    for dim in (0, 1, -1):
        torch.testing.assert_close(dtorch.cat(mine, dim).to_torch(), torch.cat((a, b), dim))
        torch.testing.assert_close(
            dtorch.stack([mine[0]] * 2, dim).to_torch(), torch.stack([a] * 2, dim)
        )


@pytest.mark.parametrize("kind", ["sum", "mean", "amax", "amin"])
def test_empty_and_scalar_reductions(kind: str) -> None:
    for x in (torch.tensor(3.0), torch.zeros(2, 0), torch.zeros(0, 2)):
        for dim in range(x.ndim):
            if kind.startswith("a") and x.shape[dim] == 0:
                continue
            expected = getattr(x, kind)(dim)
            torch.testing.assert_close(
                getattr(dtorch.Tensor(x), kind)(dim).to_torch(), expected, equal_nan=True
            )
    assert getattr(dtorch.Tensor(3.0), kind)().item() == 3


def test_half_precision_means_do_not_overflow() -> None:
    x = torch.full((1000,), 100.0, dtype=torch.float16)
    assert dtorch.Tensor(x).mean().item() == 100
    assert dtorch.Tensor(x).mean().dtype is dtorch.float16


def test_maxima_propagate_nan() -> None:
    x = dtorch.Tensor([1.0, float("nan"), 2.0])
    sharded = x.redistribute(init_device_mesh("cpu", (3,)), [Shard(0)])
    for t in (x, sharded):
        assert np.isnan(t.amax().item()) and np.isnan(t.amin().item())
        assert np.isnan(t.maximum(dtorch.Tensor(5.0)).tolist()[1])


# -- factories ----------------------------------------------------------------


def test_factories() -> None:
    assert dtorch.zeros(2, 3).tolist() == dtorch.zeros((2, 3)).tolist() == [[0] * 3] * 2
    assert dtorch.ones([2]).tolist() == [1, 1] and dtorch.ones(2).dtype is dtorch.float32
    assert dtorch.full((2,), 7).dtype is dtorch.int64 and dtorch.full((1,), True).tolist() == [True]
    assert dtorch.empty(2, dtype=int).shape == (2,) and dtorch.zeros(()).shape == ()
    for args in ((5,), (2, 5), (2, 9, 3), (5, 0, -2), (0.0, 1.0, 0.25), (3,), (0,)):
        expected = torch.arange(*args)
        actual = dtorch.arange(*args)
        assert actual.dtype is dtorch.dtypes.to_dtype(expected.dtype)
        torch.testing.assert_close(actual.to_torch(), expected)
    assert dtorch.arange(3, dtype="float16").dtype is dtorch.float16
    assert dtorch.tensor([1.0], requires_grad=True).requires_grad


def test_factories_on_a_mesh() -> None:
    mesh = init_device_mesh("cpu", (2, 2))
    where = {"device_mesh": mesh, "placements": [Shard(0), Replicate()]}
    for make in (
        lambda **k: dtorch.zeros(5, 2, **k),
        lambda **k: dtorch.ones(5, 2, **k),
        lambda **k: dtorch.full((5, 2), 3.5, **k),
        lambda **k: dtorch.arange(1, 11, 2, **k),
        lambda **k: dtorch.tensor([[1.0], [2.0], [3.0]], **k),
    ):
        t = make(**where)
        assert t.device_mesh == mesh and t.placements == where["placements"]
        assert t.tolist() == make().tolist()
        assert make(device_mesh=mesh).placements == [Replicate()] * 2
    like = dtorch.zeros_like(dtorch.ones(5, 2, dtype="float64", **where))
    assert like.placements == where["placements"] and like.dtype is dtorch.float64
    assert dtorch.full_like(like, 2.0).tolist() == [[2] * 2] * 5
    assert dtorch.randn_like(like).device_mesh == mesh
    assert dtorch.ones_like(dtorch.zeros(2)).tolist() == [1, 1]


# -- printing and holding -----------------------------------------------------


def test_repr() -> None:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    x = dtorch.zeros(8, 4).redistribute(mesh, [Shard(0), Shard(1)])
    h = x @ dtorch.zeros(4, 512).redistribute(mesh, [Replicate(), Shard(0)])
    assert repr(h) == (
        "dtorch.Tensor(shape=(8, 512), dtype=float32, mesh=(dp=2, tp=2), "
        "placements=[S(0), P], lazy)"
    )
    assert repr(dtorch.Tensor([1])) == "dtorch.Tensor(shape=(1,), dtype=int64)"


def test_str_computes() -> None:
    t = dtorch.Tensor([1.0, 2.0]) * 2
    assert str(t) == "dtorch.Tensor([2., 4.], dtype=float32)"
    assert f"{t.sum():.1f}" == "6.0" and f"{dtorch.Tensor(3)}" == "dtorch.Tensor(3, dtype=int64)"
    assert str(dtorch.Tensor([1.0]).bfloat16()) == "dtorch.Tensor([1.], dtype=bfloat16)"


def test_numbers_out() -> None:
    assert float(dtorch.Tensor([1.5])) == 1.5 and int(dtorch.Tensor(3)) == 3
    assert bool(dtorch.Tensor([0.0])) is False and bool(dtorch.Tensor(2) > 1) is True
    assert isinstance(dtorch.Tensor(True).item(), bool)
    assert isinstance(dtorch.Tensor(1).item(), int)
    assert list(range(5))[dtorch.Tensor(2)] == 2


def test_gradients_are_accepted_not_computed() -> None:
    t = dtorch.Tensor([1.0], requires_grad=True)
    assert t.requires_grad and t.grad is None and not t.detach().requires_grad
    assert t.requires_grad_(False) is t and not t.requires_grad
    with dtorch.no_grad(), dtorch.inference_mode():
        assert (t * 2).tolist() == [2]
    assert not dtorch.is_grad_enabled()
    with pytest.raises(NotImplementedError, match="gradients"):
        (t * 2).sum().backward()


def test_copies_share_the_value() -> None:
    t = dtorch.Tensor([1.0]) + 1
    for other in (t.detach(), t.clone(), copy.deepcopy(t), copy.copy(t)):
        assert other is not t and other.tolist() == [2]


def test_nodes_die_with_their_tensors() -> None:
    """Case H2 in small: what nobody holds is forgotten."""
    graph = dtorch.default_graph
    before = graph.num_live_nodes
    for i in range(20):
        ((dtorch.ones(100) + i).sum() * 2).item()
    t = dtorch.ones(3)
    for _ in range(10):
        t = t * 2
    assert graph.num_live_nodes > before
    assert t.tolist() == [1024] * 3
    del t
    assert graph.num_live_nodes <= before + 1


def test_sync_computes_what_is_held() -> None:
    with dtorch.Graph() as graph:
        a = dtorch.ones(3) * 3
        graph.sync()
        assert "lazy" not in repr(a) and a.tolist() == [3] * 3
