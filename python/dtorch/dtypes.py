"""Element types: `dtorch.float32` and its kin.

Wherever a dtype is asked for, PyTorch's and NumPy's dtypes, names and the
Python types `float`, `int`, `bool` do as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtorch import _dtorch
from dtorch.errors import fail

__all__ = [
    "bfloat16",
    "bool_",
    "double",
    "dtype",
    "float16",
    "float32",
    "float64",
    "half",
    "int32",
    "int64",
    "long",
    "to_dtype",
]


class dtype:
    """An element type; one object each, so `is` compares."""

    __slots__ = ("is_floating_point", "itemsize", "name", "rank")

    def __init__(self, name: str, itemsize: int, rank: int, floating: bool) -> None:
        self.name = name
        self.itemsize = itemsize
        self.rank = rank
        self.is_floating_point = floating

    def __repr__(self) -> str:
        return f"dtorch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return to_dtype, (self.name,)

    @property
    def category(self) -> int:
        """0 bool, 1 integer, 2 floating: what promotion compares first."""
        return 2 if self.is_floating_point else int(self.name != "bool")


bool_ = dtype("bool", 1, 0, False)
int32 = dtype("int32", 4, 1, False)
int64 = dtype("int64", 8, 2, False)
float16 = dtype("float16", 2, 3, True)
bfloat16 = dtype("bfloat16", 2, 3, True)
float32 = dtype("float32", 4, 4, True)
float64 = dtype("float64", 8, 5, True)
half, double, long = float16, float64, int64

BY_NAME = {d.name: d for d in (bool_, int32, int64, float16, bfloat16, float32, float64)}
_dtorch.set_dtypes(BY_NAME)
BY_NAME |= {"half": half, "double": double, "long": long, "float": float32, "int": int32}
"""Every spelling of a name."""
_BY_TYPE: dict[Any, dtype] = {float: float32, int: int64, bool: bool_}

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
"""Distance from 1 to the next number, per floating dtype."""


def to_dtype(value: Any) -> dtype:
    """The dtype meant by a dtype of ours, PyTorch's or NumPy's, a name or type.

    >>> to_dtype("float32"), to_dtype(np.int64), to_dtype(bool)
    (dtorch.float32, dtorch.int64, dtorch.bool)
    """
    if isinstance(value, dtype):
        return value
    found: dtype | None = None
    if isinstance(value, type) and value in _BY_TYPE:
        return _BY_TYPE[value]
    if isinstance(value, str):
        found = BY_NAME.get(value.rpartition(".")[2])
    elif type(value).__module__ == "torch":
        found = BY_NAME.get(str(value).rpartition(".")[2])
    else:
        try:
            found = BY_NAME.get(np.dtype(value).name)
        except TypeError:
            found = None
    if found is None:
        raise fail(
            TypeError,
            f"dtype: must be one of {', '.join(list(BY_NAME)[:7])}, got {value!r}",
        )
    return found


def promote(a: dtype, b: dtype) -> dtype:
    """The dtype that holds both, as PyTorch promotes two tensors with dims."""
    if a is b:
        return a
    if {a.name, b.name} == {"float16", "bfloat16"}:
        return float32
    return a if a.rank > b.rank else b


def scalar_dtype(value: bool | int | float) -> dtype:
    """The dtype of a Python number on its own."""
    return _BY_TYPE[type(value)]


def result_dtype(operands: list[tuple[dtype, int]], numbers: list[bool | int | float]) -> dtype:
    """PyTorch's result type of (dtype, ndim) operands and Python numbers.

    Tensors with dims outrank 0-dim tensors, which outrank numbers: the lower
    one only counts if its category (bool, integer, floating) is higher.
    """
    tiers: list[dtype | None] = [None, None, None]
    for d, ndim in operands:
        tier = 0 if ndim else 1
        held = tiers[tier]
        tiers[tier] = d if held is None else promote(held, d)
    for number in numbers:
        d, held = scalar_dtype(number), tiers[2]
        tiers[2] = d if held is None else promote(held, d)
    result: dtype | None = None
    for tier_dtype in tiers:
        if tier_dtype is None:
            continue
        if result is None or tier_dtype.category > result.category:
            result = tier_dtype
    assert result is not None, "no operands"
    return result
