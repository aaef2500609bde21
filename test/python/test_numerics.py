"""Values where systems tend to differ: NaN, infinities, empty dims, ties."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dtorch
import dtorch.nn.functional as F
from dtorch import Partial, Replicate, Shard, init_device_mesh

INF, NAN = math.inf, math.nan


def compare(function: Callable[..., Any], *operands: torch.Tensor, exact: bool = False) -> None:
    """The same function of PyTorch's tensors and of ours, on the host and on a
    mesh under several placements."""
    expected = function(torch, *operands)
    mesh = init_device_mesh("cpu", (3,))
    hosts = [dtorch.Tensor(x) for x in operands]
    results = [function(dtorch, *hosts)]
    for d in range(max(x.ndim for x in operands)):
        placed = [t.redistribute(mesh, [Shard(d) if d < t.ndim else Replicate()]) for t in hosts]
        results.append(function(dtorch, *placed))
    if operands[0].is_floating_point() and not torch.isinf(operands[0]).any():
        results.append(function(dtorch, *(t.redistribute(mesh, [Partial()]) for t in hosts)))
    for actual in results:
        torch.testing.assert_close(
            actual.to_torch(),
            expected,
            rtol=0 if exact else 1e-5,
            atol=0 if exact else 1e-6,
            equal_nan=True,
        )


SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, INF, -INF, NAN, 1e30, -1e30])


@pytest.mark.parametrize(
    "name",
    """neg abs exp log sqrt rsqrt square reciprocal sin cos tanh sigmoid relu floor ceil round
    trunc sign log2 log10 log1p expm1 asin erf isnan isinf isfinite logical_not""".split(),  # noqa: SIM905
)
def test_unary_functions_of_special_values(name: str) -> None:
    x = SPECIAL[:-2] if name in ("sin", "cos") else SPECIAL
    compare(lambda api, x: getattr(api, name)(x), x)


@pytest.mark.parametrize("name", ["silu", "gelu", "leaky_relu", "elu", "softplus", "logsigmoid"])
def test_activations_of_special_values(name: str) -> None:
    x = torch.tensor([0.0, 1.0, -1.0, 30.0, -30.0, 90.0, -90.0, NAN, INF])
    x = x[:-1] if name == "gelu" else x  # PyTorch's gelu of infinity is NaN
    compare(lambda api, x: getattr(api.nn.functional, name)(x), x)


@pytest.mark.parametrize(
    "name",
    "add sub mul div floor_divide remainder fmod pow maximum minimum eq ne lt le gt ge".split(),  # noqa: SIM905
)
def test_binary_functions_of_special_values(name: str) -> None:
    compare(lambda api, a, b: getattr(api, name)(a, b), SPECIAL.unsqueeze(1), SPECIAL)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "pow", "div_trunc"])
def test_integers(name: str) -> None:
    a = torch.tensor([7, -7, 8, -8, 0, 1, -1, 2**40]).unsqueeze(1)
    b = torch.tensor([2, -2, 3, -3, 1, -1, 5])

    def function(api: Any, a: Any, b: Any) -> Any:
        if name == "div_trunc":
            return api.div(a, b, rounding_mode="trunc")
        return getattr(api, name)(a, b)

    compare(function, a, b, exact=True)


def test_powers_of_integers() -> None:
    t = dtorch.Tensor([1, 2])
    with pytest.raises(ValueError, match="negative powers are not allowed"):
        t**-1
    assert (t ** dtorch.Tensor([-1, -1])).tolist() == [1, 0]
    assert (2**t).tolist() == [2, 4]


def test_integer_division_by_zero_is_an_error_of_the_run() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (dtorch.Tensor([1]) // 0).tolist()


def test_halves_round_to_even() -> None:
    assert dtorch.round(dtorch.Tensor([0.5, 1.5, 2.5, -0.5, -1.5])).tolist() == [0, 2, 2, 0, -2]
    compare(lambda api, x: api.round(x, decimals=1), torch.tensor([0.25, 0.35, -1.25, 7.0]))
    compare(lambda api, x: api.round(x, decimals=-1), torch.tensor([5.0, 15.0, 25.0, -15.0]))


def test_clamp_of_nan_and_crossed_bounds() -> None:
    compare(lambda api, x: api.clamp(x, -1.0, 1.0), SPECIAL)
    compare(lambda api, x: api.clamp(x, min=2.0, max=1.0), SPECIAL)
    compare(lambda api, x: api.clamp(x, min=NAN), SPECIAL)
    compare(lambda api, x: api.clamp(x, max=x * 0), SPECIAL)
    with pytest.raises(ValueError, match="needs min, max or both"):
        dtorch.clamp(dtorch.Tensor([1.0]))


def test_logsumexp() -> None:
    rows = [[-INF, -INF, -INF], [INF, 1, 2], [NAN, 1, 2], [1000, 1001, 1002], [-INF, 0, 1]]
    x = torch.tensor(rows)
    compare(lambda api, x: api.logsumexp(x, 1), x)
    compare(lambda api, x: api.logsumexp(x, (0, 1), keepdim=True), x[3:])
    compare(lambda api, x: api.logsumexp(x, 0), torch.zeros(0, 3))
    five = dtorch.arange(5, device_mesh=init_device_mesh("cpu", (2,)), placements=[Shard(0)])
    assert five.logsumexp(0).item() == pytest.approx(4.4519144)


def test_variance() -> None:
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1)) + 1000
    for options in ({}, {"dim": 1}, {"dim": (0, 1), "keepdim": True}, {"correction": 0}):
        compare(lambda api, x, o=options: api.var(x, **o), x)
        compare(lambda api, x, o=options: api.std(x, **o), x)
    compare(lambda api, x: api.var(x, False), x)
    compare(lambda api, x: api.var(x, 0, False), x)
    for rows in (0, 1):
        assert math.isnan(dtorch.zeros(rows).var().item())
    assert dtorch.Tensor([1.0, 2.0]).var(correction=5).item() == INF
    for i in (0, 1):
        compare(lambda api, x, i=i: api.var_mean(x, 1)[i], x)


def test_a2_means_of_uneven_shards() -> None:
    """Case A2."""
    two, four = init_device_mesh("cpu", (2,)), init_device_mesh("cpu", (4,))
    x = dtorch.arange(12.0).view(3, 4)
    assert x.redistribute(two, [Shard(0)]).mean().item() == 5.5
    assert x[:1].redistribute(two, [Shard(0)]).mean().item() == 1.5
    seven = dtorch.arange(7.0).redistribute(four, [Shard(0)])
    assert seven.var().item() == pytest.approx(4.6666667)


def test_reductions_of_nothing() -> None:
    empty = torch.zeros(0, 3)
    for name in ("sum", "prod", "mean", "any", "all"):
        compare(lambda api, x, n=name: getattr(api, n)(x), empty)
        compare(lambda api, x, n=name: getattr(api, n)(x, 0), empty)
        compare(lambda api, x, n=name: getattr(api, n)(x, 1), empty)
    ours = dtorch.Tensor(empty)
    for name in ("amax", "max", "argmax", "min", "argmin"):
        with pytest.raises(IndexError, match="non-zero size"):
            getattr(dtorch, name)(ours, 0)
        with pytest.raises(IndexError, match="non-zero size"):
            getattr(dtorch, name)(ours)
    assert dtorch.argmax(ours, 1).shape == (0,)
    assert dtorch.any(dtorch.Tensor([0.0, NAN]), ()).tolist() == [False, True]


def test_extrema_and_their_places() -> None:
    x = torch.tensor([[1.0, 5, 5, 2], [NAN, 3, NAN, 9], [-INF, -INF, -INF, -INF]])
    for name in ("max", "min"):
        for field in ("values", "indices"):
            compare(lambda api, x, n=name, f=field: getattr(getattr(api, n)(x, 1), f), x)
            compare(lambda api, x, n=name, f=field: getattr(getattr(api, n)(x, 0, True), f), x)
        compare(lambda api, x, n=name: getattr(api, n)(x), x)
        compare(lambda api, x, n=name: getattr(api, n)(x, x.flip(1)), x)
    for name in ("argmax", "argmin"):
        compare(lambda api, x, n=name: getattr(api, n)(x), x)
        compare(lambda api, x, n=name: getattr(api, n)(x, keepdim=True), x)
        compare(lambda api, x, n=name: getattr(api, n)(x, -1, keepdim=True), x)


def test_d4_places_along_a_sharded_dim_are_global() -> None:
    """Case D4."""
    two, four = init_device_mesh("cpu", (2,)), init_device_mesh("cpu", (4,))
    assert dtorch.Tensor([10, 5, 3, 8]).redistribute(two, [Shard(0)]).argmax().item() == 0
    t = dtorch.Tensor([[1, 9, 2, 3], [4, 0, 7, 5]]).redistribute(two, [Shard(1)])
    assert t.argmax(1).tolist() == [1, 2]
    values, indices = t.max(1)
    assert (values.tolist(), indices.tolist()) == ([9, 7], [1, 2])
    assert t.argmin(1).tolist() == [0, 1]
    assert t.argmax(1, keepdim=True).tolist() == [[1], [2]]
    five = dtorch.Tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]]).redistribute(four, [Shard(1)])
    assert five.argmax(1).tolist() == [4, 0] and five.argmin(-1).tolist() == [1, 1]
    three = dtorch.Tensor([[3, 1, 4]]).redistribute(four, [Shard(1)])  # an empty rank
    assert three.argmax(1).tolist() == [2]
    logits = dtorch.arange(24.0).view(2, 3, 4).redistribute(two, [Shard(2)])
    assert logits.argmax(-1).tolist() == [[3] * 3] * 2


def test_e1_a_vocabulary_that_does_not_divide() -> None:
    """Case E1: no column of padding ever counts."""
    weight = torch.tensor([[-v - 1.0, 0.0] for v in range(17)])
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=["tp"])
    head = dtorch.nn.ColumnParallelLinear(2, 17, bias=False, device_mesh=mesh)
    head.load_state_dict({"weight": weight})
    logits = head(dtorch.Tensor([[1.0, 0.0]]))
    assert logits.shape == (1, 17) and logits.placements == [Shard(1)]
    assert logits.tolist() == [[-v - 1.0 for v in range(17)]]
    assert logits.argmax(-1).tolist() == [0]
    assert F.softmax(logits, -1).sum().item() == pytest.approx(1.0)
    state = head.state_dict()
    assert tuple(state["weight"].shape) == (17, 2)
    for size in (1, 2, 3):
        other = dtorch.nn.ColumnParallelLinear(
            2,
            17,
            bias=False,
            device_mesh=init_device_mesh("cpu", (size,), mesh_dim_names=["tp"]),
        )
        other.load_state_dict(state)
        assert other(dtorch.Tensor([[1.0, 0.0]])).tolist() == logits.tolist()


def test_c3_softmax_families_over_a_sharded_dim() -> None:
    """Case C3."""
    for row in ([1.0, 2, 3, 4, 5, 6, 7, 8], [500.0, 501, 502, 503, -500, -501, -502, -503]):
        x = torch.tensor(row)
        compare(lambda api, x: api.nn.functional.log_softmax(x, -1), x)
        compare(lambda api, x: api.nn.functional.softmax(x, -1), torch.stack([x, x]))
        compare(lambda api, x: api.logsumexp(x, -1), x)
    compare(lambda api, x: api.softmax(x, 0), torch.zeros(0, 3))


def test_order() -> None:
    x = torch.tensor([[3.0, NAN, 1.0, 3.0, -INF], [2.0, 2.0, 2.0, INF, 0.0]])
    for options in ({}, {"descending": True}, {"dim": 0}, {"stable": True}):
        for field in ("values", "indices"):
            compare(
                lambda api, x, o=options, f=field: getattr(api.sort(x, **{"stable": True, **o}), f),
                x,
            )
    compare(lambda api, x: api.topk(x, 2).values, x)
    compare(lambda api, x: api.topk(x, 2, largest=False).values, x)
    compare(lambda api, x: api.topk(x, 1, 0).indices, x[:, 2:])
    with pytest.raises(IndexError, match=r"k must be in \[0, 5\], got 6"):
        dtorch.topk(dtorch.Tensor(x), 6)


def test_running_sums() -> None:
    for x in (torch.arange(6).view(2, 3), torch.randn(5, 3), torch.zeros(0, 2)):
        compare(lambda api, x: api.cumsum(x, 0), x)
        compare(lambda api, x: api.cumsum(x, -1), x)
    compare(lambda api, x: api.cumsum(x, 0), torch.tensor([True, True, False]))


@pytest.mark.parametrize("p", [0, 1, 2, 3, 0.5, INF, -INF, "fro"])
def test_norms(p: Any) -> None:
    x = torch.tensor([[1.0, -2.0, 0.0], [3.0, -4.0, 5.0]])
    compare(lambda api, x: api.norm(x, p, 1), x)
    compare(lambda api, x: api.norm(x, p, (0, 1), keepdim=True), x)


@pytest.mark.parametrize(
    "equation",
    """ij,jk->ik ij,jk ij->ji ij-> ii ii->i ij,ij-> bij,bjk->bik bij,kj->bki i,j->ij
    ...ij,...jk->...ik
    bhqd,bhkd->bhqk ij,kl->ijkl ij,jk,kl->il aab,bc->ac i...->... ...->...""".split(),  # noqa: SIM905
)
def test_einsum(equation: str) -> None:
    sizes = {"b": 2, "h": 3, "i": 3, "j": 4, "k": 5, "l": 2, "q": 4, "d": 5, "a": 3, "c": 4}
    generator = torch.Generator().manual_seed(2)
    operands = []
    for term in equation.partition("->")[0].split(","):
        dots = [2, 2] if "..." in term else []
        shape = [*dots, *(sizes[c] for c in term.replace("...", ""))]
        if term.startswith("i..."):
            shape = [sizes["i"], *dots]
        operands.append(torch.randn(shape, generator=generator))
    compare(lambda api, *xs: api.einsum(equation, *xs), *operands)


def test_einsum_with_lists_and_broadcast() -> None:
    x, y = torch.randn(2, 3), torch.randn(3, 1)
    compare(lambda api, x, y: api.einsum(x, [0, 1], y, [1, 2], [0, 2]), x, y)
    compare(lambda api, x, y: api.einsum("ij,jk->ik", x, y), torch.randn(2, 1), torch.randn(3, 4))
    with pytest.raises(ValueError, match="has 1 operands, got 2 tensors"):
        dtorch.einsum("ij", dtorch.Tensor(x), dtorch.Tensor(y))
    with pytest.raises(ValueError, match="dim 'j' has sizes 3 and 2"):
        dtorch.einsum("ij,jk", dtorch.Tensor(x), dtorch.zeros(2, 2))
    with pytest.raises(ValueError, match="must name dims of the operands"):
        dtorch.einsum("ij->ik", dtorch.Tensor(x))


def test_non_finite_factors_of_pending_sums() -> None:
    """The zeros that other devices hold must not become NaN."""
    mesh = init_device_mesh("cpu", (2,))
    p = dtorch.ones(2, device_mesh=mesh, placements=[Partial()])
    assert (p * INF).tolist() == [INF, INF]
    assert (p / 0).tolist() == [INF, INF]
    assert dtorch.where(p > 0, p, INF).tolist() == [1, 1]
    assert p.masked_fill(p > 0, INF).tolist() == [INF, INF]
    assert F.gelu(p, approximate="tanh").tolist() == F.gelu(dtorch.ones(2), "tanh").tolist()
    assert (p * 3 - 1).tolist() == [2, 2]
