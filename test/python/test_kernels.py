"""Kernels on every dtype that PyTorch has them for: NaN, infinities, rounding, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dtorch
from dtorch import Replicate, Shard, init_device_mesh
from dtorch._base import record, scalar

INTS = [torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
ALL = [torch.bool, *INTS, *FLOATS]
NUMBERS = [*INTS, *FLOATS]


def drawn(shape: tuple[int, ...], dtype: torch.dtype, finite: bool = False) -> torch.Tensor:
    """Small numbers; floats with zeros of both signs, infinities and NaN among them."""
    rng = torch.Generator().manual_seed(sum(shape) + dtype.itemsize)
    if not dtype.is_floating_point:
        low, high = (0, 2) if dtype is torch.bool else (-5, 6)
        return torch.randint(low, high, shape, generator=rng).to(dtype)
    x = torch.randn(shape, generator=rng) * 2
    specials = torch.tensor([0.0, -0.0, np.inf, -np.inf, np.nan])
    if not finite:
        chosen = specials[torch.randint(0, 5, shape, generator=rng)]
        x = torch.where(torch.rand(shape, generator=rng) < 0.3, chosen, x)
    return x.to(dtype)


def check(actual: dtorch.Tensor, expected: torch.Tensor, scale: float = 1) -> None:
    assert actual.shape == tuple(expected.shape)
    loose = expected.dtype.is_floating_point and expected.dtype.itemsize < 4
    tolerance = scale * (2**-7 if loose else 1e-6)
    torch.testing.assert_close(
        actual.to_torch(), expected, rtol=tolerance, atol=tolerance, equal_nan=True
    )


def run(op: str, *tensors: torch.Tensor, **attrs: Any) -> dtorch.Tensor:
    return record(op, [dtorch.Tensor(t) for t in tensors], **attrs)


FUNCTIONS = {
    "neg abs square relu floor round trunc ceil": NUMBERS,
    "sign isnan isinf logical_not log log2 log10 log1p expm1 asin erf exp sin cos tanh": ALL,
}


@pytest.mark.parametrize("kind", [k for kinds in FUNCTIONS for k in kinds.split()])
def test_unary(kind: str) -> None:
    (dtypes,) = [d for kinds, d in FUNCTIONS.items() if kind in kinds.split()]
    for dtype in dtypes:
        x = drawn((5, 37), dtype)
        check(run("unary", x, kind=kind), getattr(torch, kind)(x), 2)


@pytest.mark.parametrize("kind", ["log", "log2", "log10", "log1p", "expm1", "tanh", "erf"])
def test_elementary_functions_over_all_magnitudes(kind: str) -> None:
    """Within 4 ulp of the exact value, from denormals to the largest numbers."""
    bits = torch.arange(0, 0x7F800000, 0x7FF1, dtype=torch.int32)
    positive = bits.view(torch.float32)
    x = torch.cat([positive, -positive])
    exact = getattr(torch, kind)(x.double())
    unit = (
        torch.nextafter(exact.float().abs(), torch.tensor(np.inf)) - exact.float().abs()
    ).double()
    error = (run("unary", x, kind=kind).to_torch().double() - exact).abs()
    finite = exact.float().isfinite() & (exact.abs() > 1e-37)
    assert (error[finite] <= 4 * unit[finite]).all()
    check(run("unary", x[~finite], kind=kind), exact[~finite].float())


@pytest.mark.parametrize("kind", ["sin", "cos"])
def test_circular_functions_of_large_angles(kind: str) -> None:
    x = torch.cat([torch.linspace(-2e4, 2e4, 10001), torch.tensor([1e9, 1e15, 1e20, 3e38])])
    expected = getattr(torch, kind)(x.double()).float()
    torch.testing.assert_close(run("unary", x, kind=kind).to_torch(), expected, rtol=0, atol=2e-7)


BINARY = {
    "floor_divide remainder fmod": NUMBERS,
    "pow": FLOATS,
    "bitwise_and bitwise_or bitwise_xor": [torch.bool, *INTS],
    "logical_xor maximum minimum": ALL,
}


@pytest.mark.parametrize("kind", [k for kinds in BINARY for k in kinds.split()])
@pytest.mark.parametrize("shape", [(5, 37), (37,), (5, 1), ()], ids=str)
def test_binary(kind: str, shape: tuple[int, ...]) -> None:
    (dtypes,) = [d for kinds, d in BINARY.items() if kind in kinds.split()]
    for dtype in dtypes:
        x, y = drawn((5, 37), dtype), drawn(shape, dtype)
        if dtype in INTS:
            y = torch.where(y == 0, 3, y).to(dtype)
        check(run("binary", x, y, kind=kind), getattr(torch, kind)(x, y))


@pytest.mark.parametrize("kind", ["floor_divide", "remainder", "fmod"])
def test_integer_division(kind: str) -> None:
    zeros = torch.zeros(3, dtype=torch.int64)
    with pytest.raises(RuntimeError, match=f"{kind}: .* must not be 0.*ZeroDivisionError"):
        run("binary", zeros + 1, zeros, kind=kind).numpy()
    least = torch.tensor([-(2**63)])
    wrapped = -(2**63) if kind == "floor_divide" else 0
    assert run("binary", least, zeros[:1] - 1, kind=kind).tolist() == [wrapped]


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0, 0.0, 1.7, -40.0])
def test_powers_by_one_number(exponent: float) -> None:
    for dtype in FLOATS:
        x = drawn((5, 37), dtype)
        x[x == -np.inf] = 1  # its square root is NaN or, of float16, infinity in PyTorch
        power = torch.tensor(exponent, dtype=dtype)
        check(run("binary", x, power, kind="pow"), x ** float(power))


SHAPES = [
    ((5, 7), (5, 7), (5, 7)),
    ((5, 7), (), ()),
    ((5, 1), (7,), (5, 7)),
    ((7,), (5, 1), ()),
    ((3, 5, 7), (5, 7), (7,)),
    ((), (4,), (4,)),
    ((0, 3), (3,), ()),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_where(shapes: tuple[tuple[int, ...], ...]) -> None:
    for dtype in ALL:
        condition, *values = (
            drawn(s, d) for s, d in zip(shapes, (torch.bool, dtype, dtype), strict=True)
        )
        check(run("where", condition, *values), torch.where(condition, *values))


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)], ids=str)
def test_reductions(dims: tuple[int, ...]) -> None:
    for dtype in ALL:
        x = drawn((3, 4, 18), dtype)
        for keepdim in (False, True):
            where: dict[str, Any] = {"dims": list(dims), "keepdim": keepdim}
            for kind in ("any", "all"):
                expected = getattr(torch, kind)(x != 0, dim=dims, keepdim=keepdim)
                check(run("reduce", x, kind=kind, **where), expected)
            if dtype is torch.bool:
                continue
            factors = 1 + 0.1 * drawn((3, 4, 18), torch.float64, finite=True)
            factors = (factors if dtype.is_floating_point else x).to(dtype)
            product = factors.double() if dtype.is_floating_point else factors.long()
            for dim in sorted(dims, reverse=True):
                product = product.prod(dim, keepdim=keepdim)
            check(run("reduce", factors, kind="prod", **where), product.to(dtype))


@pytest.mark.parametrize("shape", [(3, 4, 18), (2, 150, 3), (70, 1, 130), (300, 2, 3)], ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_order(shape: tuple[int, ...], dim: int) -> None:
    """NaN is the largest, the first of equals counts, sorting is stable."""
    for dtype in ALL:
        x = drawn(shape, dtype)
        for kind in ("argmax", "argmin"):
            expected = getattr(torch, kind)(x.int() if dtype is torch.bool else x, dim)
            check(run("arg_reduce", x, kind=kind, dim=dim), expected)
        for descending in (False, True):
            expected = torch.argsort(x, dim=dim, descending=descending, stable=True)
            check(run("sort_indices", x, dim=dim, descending=descending), expected)
        if dtype is not torch.bool:
            x = drawn(shape, dtype, finite=True)
            check(run("cumsum", x, dim=dim), torch.cumsum(x, dim, dtype=dtype), 20)


def test_sorting_wide_integers() -> None:
    x = torch.randint(-(2**62), 2**62, (2, 900), generator=torch.Generator().manual_seed(3))
    for descending in (False, True):
        expected = torch.argsort(x, dim=1, descending=descending, stable=True)
        check(run("sort_indices", x, dim=1, descending=descending), expected)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_indexing(dim: int) -> None:
    """Negative indices count from the end, in int32 and int64."""
    rng = torch.Generator().manual_seed(dim)
    for dtype in ALL:
        x = drawn((4, 6, 9), dtype)
        n = x.shape[dim]
        sizes = [3, 5, 7]
        sizes[dim] = 11
        index = torch.randint(-n, n, sizes, generator=rng)
        positive = index % n
        src = drawn(tuple(sizes), dtype, finite=True)
        finite = drawn((4, 6, 9), dtype, finite=True)
        line = torch.randint(-n, n, (5,), generator=rng)
        once = torch.argsort(torch.rand(sizes, generator=rng), dim=dim).narrow(dim, 0, 1) % n
        part = src.narrow(dim, 0, 1).contiguous()
        for kind in INTS:
            check(run("gather", x, index.to(kind), dim=dim), torch.gather(x, dim, positive))
            expected = torch.index_select(x, dim, line % n)
            check(run("index_select", x, line.to(kind), dim=dim), expected)
            put = run("scatter", x, once.to(kind), part, dim=dim, reduce="none")
            check(put, torch.scatter(x, dim, once, part))
            if dtype is not torch.bool:
                wide = torch.float64 if dtype.is_floating_point else dtype
                total = torch.scatter_add(finite.to(wide), dim, positive, src.to(wide)).to(dtype)
                check(run("scatter", finite, index.to(kind), src, dim=dim, reduce="add"), total, 4)


@pytest.mark.parametrize("op", ["gather", "index_select", "scatter"])
@pytest.mark.parametrize("bad", [61, -62, 70])
def test_indices_outside(op: str, bad: int) -> None:
    """On the host, and where only one device sees the index."""
    x = torch.zeros(61, 2)
    index = torch.tensor([0, bad]) if op == "index_select" else torch.tensor([[0, 0], [0, bad]])
    operands = [x, index] + ([torch.zeros(2, 2)] if op == "scatter" else [])
    attrs = {"dim": 0} | ({"reduce": "add"} if op == "scatter" else {})
    mesh = init_device_mesh("cpu", (2,))
    for placements in (None, [Replicate()], [Shard(0)], [Shard(1)]):
        tensors = [dtorch.Tensor(t) for t in operands]
        if placements:
            tensors[0] = tensors[0].redistribute(mesh, placements)
        message = rf"test_kernels.py:\d+: error: {op}: index {bad} is outside \[-61, 61\)"
        with pytest.raises(IndexError, match=message):
            record(op, tensors, **attrs).numpy()


def test_moves() -> None:
    for dtype in ALL:
        x, value = drawn((4, 6, 9), dtype), drawn((4, 2, 3), dtype)
        expected = x.clone()
        expected[:, 1:5:2, 3:6] = value
        bounds = {"starts": [0, 1, 3], "stops": [4, 5, 6], "steps": [1, 2, 1]}
        check(run("slice_update", x, value, **bounds), expected)
        for diagonal in (-7, -2, 0, 1, 12):
            for kind in ("tril", "triu"):
                expected = getattr(torch, kind)(x, diagonal)
                check(run("tril_triu", x, kind=kind, diagonal=diagonal), expected)
        check(run("tril_triu", x, kind="tril", diagonal=2**62), x)
        check(run("flip", x, dims=[0, 2]), x.flip(0, 2))
        check(run("flip", x, dims=[]), x)
        fill = drawn((), dtype, finite=True)
        padded = torch.full((4, 7, 14), fill.item(), dtype=dtype)
        padded[:, 1:, 2:11] = x
        check(run("pad", x, fill, before=[0, 1, 2], after=[0, 0, 3]), padded)


@pytest.mark.parametrize("dims", [(2,), (1, 2), (0, 2)], ids=str)
def test_norms(dims: tuple[int, ...]) -> None:
    for dtype in FLOATS:
        x = drawn((4, 6, 300), dtype, finite=True) + 3
        wide = x.double()
        variance = wide.var(dims, correction=0, keepdim=True)
        expected = (wide - wide.mean(dims, keepdim=True)) / (variance + 1e-5).sqrt()
        eps = torch.tensor(1e-5)
        check(run("layer_norm", x, eps, dims=list(dims)), expected.to(dtype), 4)
        for dim in dims:
            check(run("log_softmax", x, dim=dim), torch.log_softmax(x, dim), 4)


def test_random_integers() -> None:
    """The same on every mesh, of every dtype; all of the range, evenly."""
    attrs: dict[str, Any] = {"shape": [1000, 7], "dtype": "int64"}

    def randint(low: int, high: int, **extra: Any) -> dtorch.Tensor:
        numbers = (3, 0, low, high)
        return record("randint", [scalar(n, dtorch.int64) for n in numbers], **attrs | extra)

    whole = randint(-3, 4)
    counts = np.bincount(whole.numpy().reshape(-1) + 3)
    assert len(counts) == 7 and counts.min() > 850
    assert np.array_equal(randint(-3, 4, dtype="float32").numpy(), whole.numpy())
    mesh = init_device_mesh("cpu", (3, 2))
    for placements in ([Shard(0), Shard(1)], [Shard(1), Shard(0)], [Shard(0), Shard(0)]):
        numbers = [dtorch.Tensor(n).redistribute(mesh, [Replicate()] * 2) for n in (3, 0, -3, 4)]
        parts = record("randint", numbers, **attrs).redistribute(placements=placements)
        assert np.array_equal(parts.numpy(), whole.numpy())
    wide = randint(-(2**63), 2**63 - 1).numpy()
    assert wide.min() < -(2**62) and wide.max() > 2**62
    with pytest.raises(ValueError, match="randint: low must be below high, got 4 and 4"):
        randint(4, 4).numpy()
