"""Element types of results, in every combination, are PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

import dtorch

DTYPES = ["bool", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "maximum",
    "minimum",
    "eq",
    "lt",
    "logical_and",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
]
NUMBERS = [True, 3, 2.5]
UNARY = [
    "neg",
    "abs",
    "exp",
    "sqrt",
    "square",
    "reciprocal",
    "sign",
    "floor",
    "ceil",
    "round",
    "trunc",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "bitwise_not",
    "erf",
    "positive",
]
REDUCTIONS = ["sum", "mean", "prod", "amax", "any", "all", "var", "cumsum0", "argmax"]


def values(dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    count = max(1, int(torch.tensor(shape).prod())) if shape else 1
    return (torch.arange(count) % 3 + 1).reshape(shape).to(getattr(torch, dtype))


def both(function: str, *operands: Any) -> tuple[Any, Any]:
    """PyTorch's result and ours; None for an error."""
    ours = [dtorch.Tensor(x) if isinstance(x, torch.Tensor) else x for x in operands]
    try:
        expected = getattr(torch, function)(*operands)
    except (RuntimeError, TypeError, NotImplementedError):
        expected = None
    try:
        actual = getattr(dtorch, function)(*ours)
    except (TypeError, ValueError) as error:
        assert ": error: " in str(error)
        actual = None
    return expected, actual


def check(expected: Any, actual: Any) -> None:
    assert (expected is None) == (actual is None), (expected, actual)
    if expected is None:
        return
    assert dtorch.dtypes.to_dtype(expected.dtype) is actual.dtype
    result = actual.to_torch()
    torch.testing.assert_close(result, expected, rtol=1e-2, atol=1e-2, equal_nan=True)


@pytest.mark.parametrize("function", BINARY)
def test_two_tensors(function: str) -> None:
    for a, b in itertools.product(DTYPES, DTYPES):
        for left, right in (((3,), (3,)), ((), (3,)), ((2, 3), ())):
            check(*both(function, values(a, left), values(b, right)))


# PyTorch's functions of these names take no numbers.
TENSORS_ONLY = {"maximum", "minimum", "logical_and", "logical_xor"}


@pytest.mark.parametrize("function", [f for f in BINARY if f not in TENSORS_ONLY])
def test_a_tensor_and_a_number(function: str) -> None:
    for dtype, number, shape in itertools.product(DTYPES, NUMBERS, [(), (3,)]):
        if (function, dtype, number) == ("pow", "bool", True):
            continue  # PyTorch has it for this one exponent
        check(*both(function, values(dtype, shape), number))


@pytest.mark.parametrize("operator", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
def test_a_number_and_a_tensor(operator: str) -> None:
    for dtype, number, shape in itertools.product(DTYPES, NUMBERS, [(), (3,)]):
        x = values(dtype, shape)
        name = f"__r{operator}__"
        try:
            expected = getattr(x, name)(number)
        except (RuntimeError, TypeError, NotImplementedError):
            expected = None
        try:
            actual = getattr(dtorch.Tensor(x), name)(number)
        except TypeError as error:
            assert ": error: " in str(error)
            actual = None
        check(expected, actual)


@pytest.mark.parametrize("function", UNARY)
def test_one_tensor(function: str) -> None:
    for dtype in DTYPES:
        check(*both(function, values(dtype, (2, 3))))


@pytest.mark.parametrize("function", REDUCTIONS)
def test_reductions(function: str) -> None:
    name, dim = function.rstrip("0"), [0] if function.endswith("0") else []
    for dtype in DTYPES:
        if (dtype, name) in (("bool", "argmax"),):
            continue  # PyTorch has no kernel for it
        check(*both(name, values(dtype, (2, 3)), *dim))


def test_where_cat_and_stack() -> None:
    for a, b in itertools.product(DTYPES, DTYPES):
        left, right = values(a, (3,)), values(b, (3,))
        mask = torch.tensor([True, False, True])
        check(*both("where", mask, left, right))
        check(*both("where", mask, left, 2.5))
        check(torch.cat([left, right]), dtorch.cat([dtorch.Tensor(left), dtorch.Tensor(right)]))
        check(torch.stack([left, right]), dtorch.stack([dtorch.Tensor(left), dtorch.Tensor(right)]))


def test_clamp() -> None:
    for dtype, low, high in itertools.product(DTYPES[1:], [None, 1, 1.5], [2, 2.5]):
        check(*both("clamp", values(dtype, (3,)), low, high))
        bound = values("float32", (3,))
        check(*both("clamp", values(dtype, (3,)), bound))


def test_alpha() -> None:
    x, b = values("int64", (3,)), values("bool", (3,))
    for tensor, other, alpha in ((x, x, 2), (b, x, 2), (b, b, 2), (x, 1, 3), (x.float(), x, 0.5)):
        expected = torch.add(tensor, other, alpha=alpha)
        ours = dtorch.Tensor(other) if isinstance(other, torch.Tensor) else other
        check(expected, dtorch.add(dtorch.Tensor(tensor), ours, alpha=alpha))
    with pytest.raises(TypeError, match="alpha must be an integer for integers, got 1.5"):
        dtorch.add(dtorch.Tensor(x), 1, alpha=1.5)
    with pytest.raises(TypeError, match="alpha must be a number"):
        dtorch.add(dtorch.Tensor(x), 1, alpha="a")


def test_numbers_must_fit() -> None:
    x = dtorch.Tensor([1], dtype="int32")
    with pytest.raises(ValueError, match="must fit int32, got 2147483648"):
        x + 2**31
    with pytest.raises(ValueError, match="must fit int64"):
        dtorch.Tensor([1]) * 2**63
    with pytest.raises(ValueError, match="must fit int64, got inf"):
        dtorch.full((2,), float("inf"), dtype="int64")
    assert (x + (2**31 - 2)).tolist() == [2**31 - 1]


def test_integers_wrap() -> None:
    x = torch.tensor([2**63 - 1, -(2**63)])
    ours = dtorch.Tensor(x)
    assert torch.equal((ours + 1).to_torch(), x + 1)
    assert torch.equal((ours * ours).to_torch(), x * x)
    assert torch.equal((-ours).to_torch(), -x)
    assert torch.equal(ours.abs().to_torch(), x.abs())
