"""Every op against PyTorch: on the host, and on meshes under drawn placements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dtorch
from dtorch import Partial, Placement, Replicate, Shard, init_device_mesh
from dtorch.arrays import Array
from dtorch.testing.samples import SAMPLES, Case, Sample, draw, generator

WITH_EXPR = [name for name, sample in SAMPLES.items() if sample.expr is not None]


def reference(sample: Sample, case: Case, values: list[Array]) -> torch.Tensor:
    return call(sample, torch, case, [torch.from_numpy(np.array(v)) for v in values])


def call(sample: Sample, api: Any, case: Case, tensors: list[Any]) -> Any:
    assert sample.expr is not None
    operands = [
        t.item() if o.values == "scalar" else t for t, o in zip(tensors, case.operands, strict=True)
    ]
    return sample.expr(api, case.attrs, *operands)


def check(actual: dtorch.Tensor, expected: torch.Tensor) -> None:
    assert actual.shape == tuple(expected.shape)
    assert actual.dtype is dtorch.dtypes.to_dtype(expected.dtype)
    loose = expected.dtype.itemsize < 4
    torch.testing.assert_close(
        actual.to_torch(),
        expected,
        rtol=1e-2 if loose else 2e-5,
        atol=1e-2 if loose else 1e-5,
        equal_nan=True,
    )


@pytest.mark.parametrize("name", WITH_EXPR)
def test_on_the_host(name: str) -> None:
    sample, rng = SAMPLES[name], generator(name)
    for case in sample.cases:
        values = [draw(o, rng) for o in case.operands]
        actual = call(sample, dtorch, case, [dtorch.Tensor(v) for v in values])
        check(actual, reference(sample, case, values))


def drawn_placements(ndim: int, floating: bool, axes: int, rng: Any) -> list[Placement]:
    """One placement per axis; pending ones only for floats."""
    options: list[Placement] = [Replicate(), *[Shard(d) for d in range(ndim)]]
    if floating:
        options.append(Partial())
    return [options[rng.integers(len(options))] for _ in range(axes)]


@pytest.mark.parametrize("name", WITH_EXPR)
@pytest.mark.parametrize("shape", [(3,), (2, 2)], ids=str)
def test_on_meshes(name: str, shape: tuple[int, ...]) -> None:
    """Any operand placements give the single-device result, in auto mode."""
    sample, rng = SAMPLES[name], generator(f"{name} on {shape}")
    mesh = init_device_mesh("cpu", shape)
    for case in sample.cases:
        values = [draw(o, rng) for o in case.operands]
        placed = []
        for value, operand in zip(values, case.operands, strict=True):
            floating = value.dtype.kind == "f"
            chosen = drawn_placements(value.ndim, floating, len(shape), rng)
            if operand.values == "scalar":
                chosen = []
            tensor = dtorch.Tensor(value)
            placed.append(tensor.redistribute(mesh, chosen) if chosen else tensor)
        check(call(sample, dtorch, case, placed), reference(sample, case, values))


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_attention_mask(kind: str) -> None:
    """Masks that leave a row without keys give 0 there, on every mesh."""
    rng = generator(kind)
    q, k, v = (rng.normal(size=(2, 3, n, 4)).astype("float32") for n in (5, 7, 7))
    keep = rng.integers(0, 2, (5, 7)).astype(bool)
    keep[2] = False
    mask = keep if kind == "bool" else np.where(keep, 0, -np.inf).astype("float32")
    expected = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.from_numpy, (q, k, v)), attn_mask=torch.from_numpy(mask)
    ).nan_to_num(0)
    mesh = init_device_mesh("cpu", (3,))
    for placements in ([Replicate()], [Shard(0)], [Shard(1)], [Shard(2)]):
        query = dtorch.Tensor(q).redistribute(mesh, placements)
        out = dtorch.nn.functional.scaled_dot_product_attention(
            query, dtorch.Tensor(k), dtorch.Tensor(v), attn_mask=dtorch.Tensor(mask)
        )
        torch.testing.assert_close(out.to_torch(), expected, rtol=1e-5, atol=1e-5)
        assert out.placements == placements


def test_random_numbers_are_the_same_on_every_mesh() -> None:
    expected = {}
    for shape in ((), (2,), (3,), (2, 2)):
        for placements in (None, [Shard(0)] * len(shape)):
            where: dict[str, Any] = {}
            if shape:
                where = {"device_mesh": init_device_mesh("cpu", shape), "placements": placements}
            dtorch.manual_seed(7)
            for name in ("randn", "rand"):
                values = getattr(dtorch, name)(5, 3, **where).numpy()
                assert np.array_equal(values, expected.setdefault(name, values))


def test_random_numbers_look_random() -> None:
    dtorch.manual_seed(1)
    normal, uniform = dtorch.randn(100, 100).numpy(), dtorch.rand(100, 100).numpy()
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.01
    again = dtorch.randn(100, 100).numpy()
    assert not np.array_equal(normal, again)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_products(dtype: str) -> None:
    """16 bits are storage, fp32 is arithmetic: one rounding at the end."""
    rng = generator(dtype)
    x, w = (torch.from_numpy(rng.normal(size=(4, 64)).astype("float32")) for _ in "xw")
    x, w = x.to(getattr(torch, dtype)), w.to(getattr(torch, dtype))
    exact = (x.double() @ w.double().T).to(getattr(torch, dtype))
    mesh = init_device_mesh("cpu", (4,))
    for placements in ([Replicate()], [Shard(0)]):
        placed = dtorch.Tensor(x).redistribute(mesh, placements)
        actual = dtorch.nn.functional.linear(placed, dtorch.Tensor(w)).to_torch()
        assert actual.dtype == exact.dtype
        torch.testing.assert_close(actual, exact, rtol=2**-7, atol=1e-2)


@pytest.mark.parametrize("world", [4, 8])
def test_bfloat16_sum_over_devices_keeps_small_terms(world: int) -> None:
    """Case I2: partial sums of 256 and ones add up in fp32, rounded once."""
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=["tp"])
    x = dtorch.ones(1, world, dtype="bfloat16", device_mesh=mesh, placements=[Shard(1)])
    w = dtorch.Tensor([[256.0] + [1.0] * (world - 1)], dtype="bfloat16")
    y = dtorch.nn.functional.linear(x, w.redistribute(mesh, [Shard(1)]))
    assert y.placements == [Partial()]
    assert y.item() == (264.0 if world == 8 else 260.0)
    column = y.expand(world, 1).redistribute(placements=[Shard(0)])
    assert column.tolist() == [[y.item()]] * world


def test_c3_softmax_over_a_sharded_dim() -> None:
    """Case C3: the maximum over devices is a maximum, and pads no column."""
    mesh = init_device_mesh("cpu", (2,))
    for values in (
        list(map(float, range(1, 9))),
        [500.0, 501, 502, 503, -500, -501, -502, -503],
        [0.0, 1, 2, 3, 4],
    ):
        x = dtorch.Tensor(values)
        t = x.redistribute(mesh, [Shard(0)])
        expected = torch.softmax(torch.tensor(values), 0)
        actual = dtorch.nn.functional.softmax(t, -1)
        torch.testing.assert_close(actual.to_torch(), expected, rtol=1e-5, atol=1e-6)
        assert t.amax().placements == [Partial("max")] and t.amax().item() == max(values)
        rows = dtorch.stack([x, x]).redistribute(mesh, [Shard(1)])
        both = dtorch.nn.functional.softmax(rows, 1).to_torch()
        torch.testing.assert_close(both, torch.stack([expected, expected]), rtol=1e-5, atol=1e-6)
