"""The short ways through C give what the Python functions give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dtorch
import dtorch.nn.functional as F
from dtorch import Partial, Replicate, Shard, _dtorch, dtypes, functions

HotFunction = type(dtorch.Tensor.view)
PLACES: list[tuple[Any, str]] = [
    *[(dtorch.Tensor, name) for name in dir(dtorch.Tensor)],
    *[(functions, name) for name in functions.__all__],
    *[(F, name) for name in F.__all__],
]
HOT = {
    f"{owner.__name__}.{name}": getattr(owner, name)
    for owner, name in PLACES
    if type(getattr(owner, name)) is HotFunction
}
"""Every one, by a place where users find it."""
FLOATS = [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64]
DTYPES = [dtypes.bool_, dtypes.int32, dtypes.int64, *FLOATS]
NUMBERS: list[Any] = [True, False, 0, 1, -3, 2**31, 2**63, 10**400, 0.0, -0.5, 1e5, 1e300]
NUMBERS += [math.inf, math.nan]
OTHERS: list[Any] = [np.float32(2), np.arange(3.0, dtype=np.float32), "x", None, [1.0], 2j]


def tensor(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> dtorch.Tensor:
    return dtorch.Tensor(np.random.default_rng(seed).integers(0, 5, shape)).to(dtype)


def floats(*shape: int) -> dtorch.Tensor:
    return tensor(dtypes.float32, shape)


# -- calls: arguments of each short way, by its name ------------------------------


def binary_calls() -> Iterator[tuple[Any, ...]]:
    for a in DTYPES:
        for b in DTYPES:
            yield tensor(a, (2, 3)), tensor(b, (3,), 1)
            yield tensor(a, ()), tensor(b, (3,), 1)
        for other in [*NUMBERS, *OTHERS]:
            yield tensor(a, (3,)), other
            yield tensor(a, ()), other
            yield other, tensor(a, (3,))
    yield floats(2, 3), floats(2, 2)
    yield (floats(2, 3),)
    yield floats(2, 3), 1, 2


def unary_calls() -> Iterator[tuple[Any, ...]]:
    for dtype in DTYPES:
        yield (tensor(dtype, (2, 3)),)
        yield (tensor(dtype, ()),)
    yield floats(2), 1
    yield ()
    yield ("x",)


def cast_calls() -> Iterator[tuple[Any, ...]]:
    for a in DTYPES:
        for b in DTYPES:
            yield tensor(a, (2, 3)), b
    yield floats(2), "float32"


def view_calls() -> Iterator[tuple[Any, ...]]:
    x = floats(2, 3, 4)
    yield from [(x, 24), (x, 6, 4), (x, (6, 4)), (x, [4, -1]), (x, 2, 3, 4), (x, -1, 1)]
    yield from [(x, 5), (x, -1, -1), (x, -2), (x, 0, -1), (x, 7, -1), (x,), (x, ()), (x, "a")]
    yield from [(x, 2.0, 12), (x, True, 24), (x, np.int64(24)), (x, (1,) * 9 + (24,))]
    yield from [(floats(), 1), (floats(), ()), (floats(1), ()), (floats(0, 3), 3, 0)]
    yield from [(floats(0, 3), -1, 0), (floats(0, 3), 5, -1), (x, *(1,) * 7, 24)]
    yield (tensor(dtypes.bool_, (2, 3)), 6)


def dim_calls() -> Iterator[tuple[Any, ...]]:
    for x in (floats(2, 3), floats(1, 3, 1), floats(), floats(1)):
        for dim in (*range(-5, 5), None, 1.0, True, np.int64(0), "a", (0,), [0, 1]):
            yield x, dim
    yield (floats(1, 3),)


def flatten_calls() -> Iterator[tuple[Any, ...]]:
    for x in (floats(2, 3, 4), floats(), floats(0, 3)):
        yield (x,)
        for first in (-4, -1, 0, 1, 3, 1.0):
            yield x, first
            for last in (-4, -1, 0, 2, None):
                yield x, first, last


def permute_calls() -> Iterator[tuple[Any, ...]]:
    x = floats(2, 3, 4)
    yield from [(x, 2, 0, 1), (x, (2, 0, 1)), (x, [-1, 0, 1]), (x, 0, 1, 2), (x, 0, 0, 1)]
    yield from [(x, 0, 1), (x, 0, 1, 3), (x, 0, 1, 2.0), (x,), (floats(), ()), (x, -1, 2, 0)]


def transpose_calls() -> Iterator[tuple[Any, ...]]:
    for x in (floats(2, 3, 4), floats(3), floats()):
        for a in (-4, -1, 0, 1, 3, 1.0, None):
            for b in (-2, 0, 2, True):
                yield x, a, b


def expand_calls() -> Iterator[tuple[Any, ...]]:
    x = floats(2, 1, 3)
    yield from [(x, 2, 4, 3), (x, (2, 4, 3)), (x, -1, 4, -1), (x, 5, 2, 1, 3), (x, 2, 1, 3)]
    yield from [(x, 3, 1, 3), (x, 4, 3), (x, -1, 2, 1, 3), (x, 2, 0, 3), (x, 2, 1.0, 3), (x,)]
    yield from [(floats(), 3), (floats(), ()), (x, [2, -2, 3])]


def index_calls() -> Iterator[tuple[Any, ...]]:
    x = floats(3, 4, 5)
    for index in (0, -1, 3, -4, True, 1.0, None, ..., slice(None), slice(1, None), slice(-2, 9)):
        yield x, index
        yield x, (index, 1)
        yield x, (..., index)
        yield x, (slice(0, 3, 2), index, None)
    for index in ((0, 0, 0), (0, 0, 0, 0), (..., ...), (slice(None, None, -1),), (), (None,) * 12):
        yield x, index
    for part in (slice(2, 1), slice(0, 0), slice("a"), slice(0, 3, 0), slice(True, 2)):
        yield x, part
    yield from [(x, np.int64(1)), (floats(), ()), (floats(), 0), (floats(), None), (x, [0, 1])]
    yield from [(floats(1, 1), (0, 0)), (floats(0, 2), slice(None)), (floats(0, 2), 0)]


def matmul_calls() -> Iterator[tuple[Any, ...]]:
    shapes = [(3,), (2, 3), (3, 2), (4, 2, 3), (4, 3, 2), (), (1, 3, 3)]
    for a in shapes:
        for b in shapes:
            yield floats(*a), floats(*b)
    for dtype in DTYPES:
        yield tensor(dtype, (2, 3)), tensor(dtype, (3, 2))
        yield tensor(dtype, (2, 3)), floats(3, 2)
    yield floats(2, 3), 2.0


def linear_calls() -> Iterator[Any]:
    x, w, b = floats(2, 3), floats(4, 3), floats(4)
    yield from [(x, w), (x, w, None), (x, w, b), (floats(3), w), (floats(5, 2, 3), w, b)]
    yield (x,), {"weight": w, "bias": b}
    yield (), {"input": x, "weight": w}
    yield (x, w), {"weight": w}
    yield (x, w), {"other": b}
    yield from [(x, floats(3, 4)), (x, floats(3)), (floats(), w), (x, w, 1.0), (x, w, floats(3))]
    yield from [(x, w, tensor(dtypes.float64, (4,))), (x, tensor(dtypes.float64, (4, 3))), (x,)]
    for dtype in DTYPES:
        yield tensor(dtype, (2, 3)), tensor(dtype, (4, 3)), tensor(dtype, (4,))


def softmax_calls() -> Iterator[Any]:
    for dtype in DTYPES:
        yield tensor(dtype, (2, 3)), 1
    for dim in (-3, -2, 0, 2, None, 1.0):
        yield floats(2, 3), dim
        yield (floats(2, 3),), {"dim": dim}
    yield (floats(2, 3), -1), {"dtype": dtypes.float64}
    yield from [(floats(2, 3),), (floats(), 0), (floats(0, 3), 1)]


def rms_norm_calls() -> Iterator[Any]:
    x, w = floats(2, 3), floats(3)
    for shape in (3, (3,), [3], (2, 3), 2, (), 3.0):
        yield x, shape, w, 1e-5
        yield (x, shape), {"eps": 1e-5}
        yield x, shape
    yield from [(x, 3, floats(2), 1e-5), (x, 3, w, 1), (x, 3, tensor(dtypes.float64, (3,)), 1e-5)]
    for dtype in DTYPES:
        yield tensor(dtype, (2, 3)), (3,), tensor(dtype, (3,)), 1e-5


def sum_calls() -> Iterator[Any]:
    for dtype in DTYPES:
        yield (tensor(dtype, (2, 3)),)
        yield tensor(dtype, (2, 3)), 0, True
    for x in (floats(2, 3, 4), floats(), floats(0, 2)):
        for dim in (None, (), 0, -1, 2, 3, (0, 1), [0, 0], 1.0):
            yield x, dim
            yield (x, dim), {"keepdim": True}
    yield (floats(2),), {"dtype": dtypes.float64}
    yield floats(2), 0, 1


def cat_calls() -> Iterator[Any]:
    x, y = floats(2, 3), floats(1, 3)
    yield from [([x, y],), ((x, y), 0), ([x, x], 1), ([x, x], -1), ([x, y], 1), ([x],), ([],)]
    yield from [([x, floats(3)],), ([floats()],), ([x, 1.0],), (x,), ([x, y], 2), ([x, y], 0.0)]
    yield from [([x, tensor(dtypes.int64, (1, 3))],), ([y] * 9,), ([floats(0, 3), x],)]
    yield ((x, y),), {"dim": 0}


CALLS: dict[str, Any] = {
    "cast": cast_calls,
    "reshape": view_calls,
    "squeeze": dim_calls,
    "unsqueeze": dim_calls,
    "getitem": index_calls,
    **{
        name.removesuffix("_calls"): calls
        for name, calls in list(globals().items())
        if name.endswith("_calls") and name not in ("binary_calls", "unary_calls", "dim_calls")
    },
}


def calls_of(way: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Positional and keyword arguments."""
    kinds = {op["name"]: op["kinds"] for op in _dtorch.op_table()}
    calls = CALLS.get(way)
    if calls is None:
        calls = unary_calls if way in kinds["unary"] else binary_calls
    for call in calls():
        yield call if len(call) == 2 and isinstance(call[1], dict) else (call, {})


def outcome(function: Any, args: Any, kwargs: Any) -> Any:
    """What a call gives, so that equal outcomes compare equal."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error).partition(" error: ")[2] or str(error)
    if not isinstance(result, dtorch.Tensor):
        return result
    if any(result is arg for arg in args):
        return "the operand itself"
    try:
        value = result.to(dtypes.float64).numpy().tobytes()
    except Exception as error:
        value = str(error).partition(" error: ")[2].encode()
    return result.shape, result.dtype, result.placements, result.device_mesh, value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*HOT, "cast"])
def test_short_way_gives_the_same(name: str) -> None:
    function = HOT.get(name, dtorch._elementwise.cast)
    before, count = function.short_calls, 0
    for args, kwargs in calls_of(function.way):
        count += 1
        expected = outcome(function.__wrapped__, args, kwargs)
        assert outcome(function, args, kwargs) == expected, (args, kwargs)
    taken = function.short_calls - before
    assert taken > 0
    assert taken < count or name == "cast"  # some calls must not take it


@pytest.mark.parametrize("number", [2, 0, 1e39, math.inf, math.nan, True])
@pytest.mark.parametrize("name", ["__mul__", "__rmul__", "__truediv__", "__add__"])
def test_pending_values_meet_numbers(name: str, number: Any) -> None:
    mesh = dtorch.init_device_mesh("cpu", (2,))
    x = floats(4).redistribute(mesh, [Partial()])
    function = HOT[f"Tensor.{name}"]
    assert outcome(function, (x, number), {}) == outcome(function.__wrapped__, (x, number), {})


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_placements(mode: Any) -> None:
    mesh = dtorch.init_device_mesh("cpu", (2, 2))
    options = [Replicate(), Shard(0), Shard(1), Partial()]
    w = floats(4, 4).redistribute(mesh, [Replicate(), Shard(0)])
    cases: dict[str, Any] = {
        "Tensor.__add__": lambda x: (x, w),
        "Tensor.matmul": lambda x: (x, w),
        "Tensor.view": lambda x: (x, 2, 8),
        "Tensor.transpose": lambda x: (x, 0, 1),
        "Tensor.exp": lambda x: (x,),
        "Tensor.sum": lambda x: (x, 1),
        "Tensor.__getitem__": lambda x: (x, (slice(1, 3), 0)),
        "dtorch.nn.functional.linear": lambda x: (x, w),
        "dtorch.nn.functional.softmax": lambda x: (x, -1),
    }
    with dtorch.mode(mode):
        for first in options:
            for second in options:
                x = floats(4, 4).redistribute(mesh, [first, second])
                for name, args in cases.items():
                    function = HOT[name]
                    expected = outcome(function.__wrapped__, args(x), {})
                    assert outcome(function, args(x), {}) == expected, (name, first, second)


def test_parameters_are_operands() -> None:
    layer = dtorch.nn.Linear(3, 4)
    before = F.linear.short_calls
    assert F.linear(floats(2, 3), layer.weight, layer.bias).shape == (2, 4)
    assert F.linear.short_calls == before + 1


def test_hot_functions_look_like_functions() -> None:
    import copy
    import inspect
    import pickle

    assert list(inspect.signature(F.softmax).parameters)[:2] == ["input", "dim"]
    assert F.softmax.__name__ == "softmax" and "exp(x)" in F.softmax.__doc__
    assert copy.deepcopy(F.silu) is F.silu and pickle.loads(pickle.dumps(F.silu)) is F.silu
    bound = floats(2, 3).view
    assert bound(6).shape == (6,)
    assert bound.__self__.shape == (2, 3)


def test_places_are_those_of_the_user() -> None:
    x = floats(2, 3)
    y = x + x
    with pytest.raises(ValueError, match=r"test_hot\.py:\d+: error: add: "):
        y + floats(2, 2)
