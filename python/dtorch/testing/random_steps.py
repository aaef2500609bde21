"""Statements for random programs: one maker per kind of op.

A maker looks at a value and writes a line of Python that PyTorch and dtorch both
understand (`api` is either). Names that one of them lacks are no error: the line
is dropped, so an op takes part from the day it exists.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dtorch import _dtorch

__all__ = ["STEPS", "Choices", "Step", "Value", "literal"]

T = TypeVar("T")


@dataclass
class Value:
    """One value in both libraries. Integers must agree bit for bit (`slack` 0),
    rounded values within `slack`; those only pass through ops without jumps."""

    name: str
    theirs: Any
    ours: Any
    slack: float = 0

    @property
    def exact(self) -> bool:
        return self.slack == 0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.theirs.shape)

    @property
    def dtype(self) -> str:
        return str(self.theirs.dtype).removeprefix("torch.")

    @property
    def floating(self) -> bool:
        return bool(self.theirs.is_floating_point())


@dataclass
class Step:
    """A line's right-hand side. `rounds`: the result is no integer any more;
    `jumps`: not for rounded values; `sums`: adds that many products up."""

    text: str
    rounds: bool = False
    jumps: bool = False
    sums: int = 0


class Choices:
    """What makers draw from: even draws of a seed, which hypothesis chose. (Its own
    draws favour what resembles an example before; here every step counts.)"""

    def __init__(self, *seed: int) -> None:
        self.random = random.Random(str(seed))

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def one_of(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def flag(self) -> bool:
        return self.random.random() < 0.5

    def dim(self, x: Value) -> int:
        """A dim, counted from either end."""
        return self.integer(-len(x.shape), len(x.shape) - 1) if x.shape else 0

    def order(self, n: int) -> list[int]:
        return self.random.sample(range(n), n)


class Pool:
    """The values so far, and new ones made to measure."""

    values: list[Value]
    choices: Choices

    def new(self, shape: Sequence[int], dtype: str) -> str:
        """The name of a new placed value."""
        raise NotImplementedError


Maker = Callable[[Choices, Pool, Value], Step | str | None]


def literal(choices: Choices, shape: Sequence[int], low: int = -2, high: int = 3) -> Any:
    """Nested lists of small integers."""
    if not shape:
        return choices.integer(low, high)
    count = math.prod(shape)
    return _nest([choices.integer(low, high) for _ in range(count)], shape)


def _nest(flat: list[int], shape: Sequence[int]) -> Any:
    if len(shape) == 1:
        return flat
    size = math.prod(shape[1:])
    return [_nest(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


# -- elementwise -------------------------------------------------------------

_EXACT = ["neg", "abs", "square", "relu", "sign"]
_JUMPS = ["floor", "ceil", "round", "trunc", "isnan", "isinf", "logical_not"]
_AWAY_FROM_ZERO = {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"}
_WITHIN_ONE = {"asin"}


def kinds(op: str) -> list[str]:
    """The kinds of a generic op, from the op table."""
    entry = next((o for o in _dtorch.op_table() if o["name"] == op), None)
    return list(entry["kinds"]) if entry else []


def unary(c: Choices, pool: Pool, x: Value) -> Step:
    kind = c.one_of(_EXACT + _JUMPS + [k for k in kinds("unary") if k not in _EXACT + _JUMPS])
    argument = x.name
    if kind in _AWAY_FROM_ZERO:
        argument = f"api.abs({x.name}) + 1"
    if kind in _WITHIN_ONE:
        argument = f"api.clamp({x.name}, -1, 1)"
    call = f"named(api, {kind!r})({argument})"
    exact = kind in _EXACT + _JUMPS
    return Step(call, not exact, kind in _JUMPS or kind in _AWAY_FROM_ZERO | _WITHIN_ONE)


_PAIRS = ["add", "sub", "mul", "maximum", "minimum"]
_COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
_LOGICAL = ["logical_and", "logical_or", "logical_xor"]


def partner(c: Choices, pool: Pool, x: Value) -> str:
    """A value or number that broadcasts with x."""
    fits = [y.name for y in pool.values if _broadcast(x.shape, y.shape) and y.exact]
    sort = c.integer(0, 5)
    if sort == 0 and fits:
        return c.one_of(fits)
    if sort == 1:
        return str(c.one_of([2, 0, -1, 3, True]))
    if sort == 2 and x.floating:
        return str(c.one_of([0.5, 2.0, -1.0]))
    shape = [n if c.flag() else 1 for n in x.shape][c.integer(0, len(x.shape)) :]
    return pool.new(shape, x.dtype if c.integer(0, 3) else c.one_of(DTYPES))


DTYPES = ["float32", "float64", "int64", "int32", "bool", "bfloat16", "float16"]


def _broadcast(a: Sequence[int], b: Sequence[int]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def pair(c: Choices, pool: Pool, x: Value) -> Step:
    kind, other = c.one_of(_PAIRS), partner(c, pool, x)
    if kind in ("maximum", "minimum") and not other.startswith("v"):
        other = f"api.tensor({other})"
    left, right = (x.name, other) if c.flag() or not other.startswith("v") else (other, x.name)
    return Step(f"api.{kind}({left}, {right})", sums=1)


def operator_pair(c: Choices, pool: Pool, x: Value) -> Step:
    sign, other = c.one_of(["+", "-", "*"]), partner(c, pool, x)
    left, right = (x.name, other) if c.flag() else (other, x.name)
    return Step(f"{left} {sign} {right}", sums=1)


def compare(c: Choices, pool: Pool, x: Value) -> Step:
    return Step(f"api.{c.one_of(_COMPARISONS)}({x.name}, {partner(c, pool, x)})", jumps=True)


def logic(c: Choices, pool: Pool, x: Value) -> Step:
    other = partner(c, pool, x)
    if not other.startswith("v"):
        other = f"api.tensor({other})"
    return Step(f"api.{c.one_of(_LOGICAL)}({x.name}, {other})", jumps=True)


def bits(c: Choices, pool: Pool, x: Value) -> Step | None:
    if x.floating:
        return None
    other = pool.new(x.shape[c.integer(0, len(x.shape)) :], x.dtype)
    return Step(f"{x.name} {c.one_of(['&', '|', '^'])} {other}")


def division(c: Choices, pool: Pool, x: Value) -> Step:
    kind, other = c.one_of(["div", "floor_divide", "remainder", "fmod"]), partner(c, pool, x)
    other = f"(api.abs({other}) + 1)" if other.startswith("v") else "3"
    if c.flag() and kind != "floor_divide":
        other = f"(-{other})"
    return Step(f"api.{kind}({x.name}, {other})", kind == "div", kind != "div")


def power(c: Choices, pool: Pool, x: Value) -> Step:
    return Step(f"{x.name} ** {c.one_of([2, 1, 3, 0, 2.0])}", sums=1)


def clamp(c: Choices, pool: Pool, x: Value) -> Step:
    bounds = c.one_of(["-1, 2", "min=0", "max=1", "0, 0"])
    return Step(f"api.clamp({x.name}, {bounds})")


def where(c: Choices, pool: Pool, x: Value) -> Step:
    condition = pool.new([n if c.flag() else 1 for n in x.shape], "bool")
    other = partner(c, pool, x)
    arguments = f"{x.name}, {other}" if c.flag() else f"{other}, {x.name}"
    return Step(f"api.where({condition}, {arguments})")


def masked_fill(c: Choices, pool: Pool, x: Value) -> Step:
    mask = pool.new([n if c.flag() else 1 for n in x.shape], "bool")
    return Step(f"{x.name}.masked_fill({mask}, {c.one_of([0, 1, -2])})")


def activation(c: Choices, pool: Pool, x: Value) -> Step:
    name = c.one_of(["silu", "gelu", "elu", "leaky_relu"])
    return Step(f"api.nn.functional.{name}({x.name})", rounds=True)


def cast(c: Choices, pool: Pool, x: Value) -> Step:
    to = c.one_of(DTYPES)
    widens = x.floating and to in ("float32", "float64")
    return Step(f"{x.name}.to(api.{to})", jumps=not widens)


def in_place(c: Choices, pool: Pool, x: Value) -> Step | None:
    other = pool.new([n if c.flag() else 1 for n in x.shape], x.dtype)
    name = c.one_of(["add_", "mul_", "copy_", "sub_"])
    return Step(f"{x.name}.clone().{name}({other})", sums=1)


# -- reductions ----------------------------------------------------------------


def dims_text(c: Choices, x: Value) -> str:
    """Arguments that pick dims, and keepdim."""
    keep = ", keepdim=True" if c.flag() else ""
    if c.integer(0, 3) == 0 or not x.shape:
        return ""
    if len(x.shape) > 1 and c.flag():
        chosen = tuple(sorted(c.order(len(x.shape))[: c.integer(1, len(x.shape))]))
        return f"{chosen}{keep}"
    return f"{c.dim(x)}{keep}"


def reduction(c: Choices, pool: Pool, x: Value) -> Step:
    kind = c.one_of(["sum", "amax", "amin", "mean", "any", "all"])
    arguments = dims_text(c, x)
    sums = x.theirs.numel() if kind in ("sum", "mean") else 0
    return Step(f"{x.name}.{kind}({arguments})", kind == "mean", kind in ("any", "all"), sums)


def statistic(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.floating:
        return None
    kind = c.one_of(["var", "std", "norm", "logsumexp"])
    arguments = dims_text(c, x) if kind in ("var", "std") else str(c.dim(x))
    if kind == "norm":
        return Step(f"{x.name}.norm(2, {arguments})", rounds=True, sums=x.theirs.numel())
    jumps = kind == "std"  # its slope at 0 is infinite
    return Step(f"{x.name}.{kind}({arguments})", True, jumps, sums=x.theirs.numel())


def position(c: Choices, pool: Pool, x: Value) -> Step:
    kind = c.one_of(["argmax", "argmin"])
    arguments = "" if c.integer(0, 3) == 0 else str(c.dim(x)) + c.one_of(["", ", keepdim=True"])
    return Step(f"{x.name}.{kind}({arguments})", jumps=True)


def extremum(c: Choices, pool: Pool, x: Value) -> Step:
    kind, part = c.one_of(["max", "min"]), c.integer(0, 1)
    return Step(f"{x.name}.{kind}({c.dim(x)})[{part}]", jumps=part == 1)


def product(c: Choices, pool: Pool, x: Value) -> Step | None:
    if x.shape and max(x.shape) > 5:
        return None
    return Step(f"{x.name}.prod({c.dim(x)})", sums=1)


def cumsum(c: Choices, pool: Pool, x: Value) -> Step:
    return Step(f"api.cumsum({x.name}, {c.dim(x)})", sums=x.theirs.numel())


def sort(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.shape:
        return None
    dim, falling = c.dim(x), c.flag()
    if c.flag():
        return Step(f"{x.name}.topk({c.integer(0, x.shape[dim])}, {dim}, {falling})[0]")
    part = c.integer(0, 1)
    text = f"api.sort({x.name}, dim={dim}, descending={falling}, stable=True)[{part}]"
    return Step(text, jumps=part == 1)


# -- products ------------------------------------------------------------------


def matmul(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.shape or x.dtype == "bool":
        return None
    k = x.shape[-1]
    shape = c.one_of([[k, 3], [k], [k, 1], [2, k, 2], [k, 5]])
    if len(x.shape) >= 2 and c.flag():
        left = pool.new(c.one_of([[3, x.shape[-2]], [x.shape[-2]], [2, x.shape[-2]]]), x.dtype)
        return Step(f"{left} @ {x.name}", sums=x.shape[-2])
    return Step(f"{x.name} @ {pool.new(shape, x.dtype)}", sums=k)


def contraction(c: Choices, pool: Pool, x: Value) -> Step | None:
    """A product with itself, which leaves a pending sum where x is sharded."""
    if len(x.shape) < 2 or x.dtype == "bool":
        return None
    sizes = x.shape[-1] if (first := c.flag()) else x.shape[-2]
    text = f"{x.name} @ {x.name}.mT" if first else f"{x.name}.mT @ {x.name}"
    return Step(text, sums=sizes)


def linear(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.shape or not x.floating:
        return None
    out = c.one_of([4, 1, 3, 6])
    weight = pool.new([out, x.shape[-1]], x.dtype)
    bias = f", {pool.new([out], x.dtype)}" if c.flag() else ""
    text = f"api.nn.functional.linear({x.name}, {weight}{bias})"
    return Step(text, sums=x.shape[-1] + 1)


def einsum(c: Choices, pool: Pool, x: Value) -> Step | None:
    if len(x.shape) != 2 or x.dtype == "bool":
        return None
    a, b = x.shape
    equation, shape, sums = c.one_of(
        [
            ("ij,jk->ik", [b, 3], b),
            ("ij,j->i", [b], b),
            ("ij,ij->", [a, b], a * b),
            ("ij,kj->ki", [2, b], b),
            ("ij,ik->jk", [a, 2], a),
        ]
    )
    return Step(f"api.einsum({equation!r}, {x.name}, {pool.new(shape, x.dtype)})", sums=sums)


def outer(c: Choices, pool: Pool, x: Value) -> Step | None:
    if len(x.shape) != 1:
        return None
    return Step(f"api.outer({x.name}, {pool.new([c.integer(1, 4)], x.dtype)})", sums=1)


def embedding(c: Choices, pool: Pool, x: Value) -> Step | None:
    if len(x.shape) != 2 or not x.floating or not x.shape[0]:
        return None
    indices = literal(c, c.one_of([[3], [2, 2], [1], []]), 0, x.shape[0] - 1)
    return Step(f"api.nn.functional.embedding(api.tensor({indices}), {x.name})")


def attention(c: Choices, pool: Pool, x: Value) -> Step | None:
    if len(x.shape) not in (3, 4) or not x.floating or 0 in x.shape:
        return None
    heads, length, keys, size = x.shape[-3], x.shape[-2], c.integer(1, 4), x.shape[-1]
    groups = c.one_of([n for n in (heads, 1, 2) if heads % n == 0])
    shape = [*x.shape[:-3], groups, keys, size]
    mask = ""
    if (sort := c.integer(0, 2)) == 1:
        mask = f", attn_mask={pool.new([length, keys], x.dtype)}"
    if sort == 2:
        mask = ", is_causal=True"
    text = (
        f"api.nn.functional.scaled_dot_product_attention({x.name}, "
        f"{pool.new(shape, x.dtype)}, {pool.new(shape, x.dtype)}{mask}, enable_gqa=True)"
    )
    return Step(text, rounds=True)


# -- normalisation -----------------------------------------------------------


def softmax(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.floating:
        return None
    name = c.one_of(["softmax", "log_softmax"])
    return Step(f"api.nn.functional.{name}({x.name}, {c.dim(x)})", rounds=True)


def norm(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.floating or not x.shape or 0 in x.shape:
        return None
    dims = x.shape[c.integer(0, len(x.shape) - 1) :]
    name = c.one_of(["rms_norm", "layer_norm"])
    return Step(f"api.nn.functional.{name}({x.name}, {dims}, eps=0.5)", rounds=True)


def group_norm(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.floating or len(x.shape) < 2 or 0 in x.shape:
        return None
    groups = c.one_of([n for n in range(1, x.shape[1] + 1) if x.shape[1] % n == 0])
    return Step(f"api.nn.functional.group_norm({x.name}, {groups}, eps=0.5)", rounds=True)


# -- movement ------------------------------------------------------------------


def reshape(c: Choices, pool: Pool, x: Value) -> Step:
    count, sizes = x.theirs.numel(), []
    for _ in range(c.integer(0, 3)):
        n = c.one_of([n for n in range(1, max(count, 1) + 1) if count % n == 0])
        sizes.append(n)
        count //= n
    sizes.insert(c.integer(0, len(sizes)), count)
    name = c.one_of(["reshape", "view"])
    if x.theirs.is_contiguous() and count and c.flag():
        sizes[sizes.index(count)] = -1
    return Step(f"{x.name}.contiguous().{name}({tuple(sizes)})")


def regroup(c: Choices, pool: Pool, x: Value) -> Step | None:
    """Splits or merges dims, as heads are."""
    if not x.shape:
        return None
    d = c.integer(0, len(x.shape) - 1)
    n = x.shape[d]
    if c.flag() or not n:
        return Step(f"{x.name}.flatten({d}, {c.integer(d, len(x.shape) - 1)})")
    inner = c.one_of([m for m in range(1, n + 1) if n % m == 0])
    return Step(f"{x.name}.unflatten({d}, ({n // inner}, {inner}))")


def permute(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.shape:
        return None
    if c.flag():
        return Step(f"{x.name}.transpose({c.dim(x)}, {c.dim(x)})")
    return Step(f"{x.name}.permute({tuple(c.order(len(x.shape)))})")


def ones(c: Choices, pool: Pool, x: Value) -> Step:
    if c.flag():
        return Step(f"{x.name}.squeeze({c.dim(x) if c.flag() and x.shape else ''})")
    return Step(f"{x.name}.unsqueeze({c.integer(-len(x.shape) - 1, len(x.shape))})")


def expand(c: Choices, pool: Pool, x: Value) -> Step:
    sizes = [c.one_of([-1, 3, 2]) if n == 1 else c.one_of([-1, n]) for n in x.shape]
    return Step(f"{x.name}.expand({tuple(c.one_of([[], [2], [1]]) + sizes)})")


def repeat(c: Choices, pool: Pool, x: Value) -> Step:
    if c.flag():
        dim = c.one_of(["", f", {c.dim(x)}"]) if x.shape else ""
        return Step(f"{x.name}.repeat_interleave({c.integer(1, 3)}{dim})")
    times = tuple(c.integer(1, 2) for _ in range(len(x.shape) + c.integer(0, 1)))
    return Step(f"{x.name}.repeat({times})" if times else x.name)


def join(c: Choices, pool: Pool, x: Value) -> Step | None:
    alike = [y.name for y in pool.values if y.shape == x.shape]
    others = [c.one_of(alike) for _ in range(c.integer(0, 2))]
    if c.flag():
        return Step(f"api.stack([{', '.join([x.name, *others])}], {c.dim(x)})")
    if not x.shape:
        return None
    dim = c.dim(x)
    shape = list(x.shape)
    shape[dim] = c.integer(0, 3)
    others.append(pool.new(shape, x.dtype))
    return Step(f"api.cat([{', '.join([x.name, *others])}], {dim})")


def pieces(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.shape:
        return None
    dim, kind = c.dim(x), c.integer(0, 3)
    n = x.shape[dim]
    if kind == 0:
        start = c.integer(0, n)
        return Step(f"{x.name}.narrow({dim}, {start}, {c.integer(0, n - start)})")
    if kind == 1:
        return Step(f"{x.name}.chunk({c.integer(1, 4)}, {dim})[{c.one_of([0, -1])}]")
    if kind == 2:
        return Step(f"{x.name}.split({c.integer(1, 3)}, {dim})[{c.one_of([0, -1])}]")
    return Step(f"{x.name}.unbind({dim})[{c.one_of([0, -1])}]") if n else None


def index(c: Choices, pool: Pool, x: Value) -> Step:
    return Step(f"{x.name}[{index_text(c, x)}]")


def index_text(c: Choices, x: Value, lists: bool = True) -> str:
    """Ints, slices, None, `...` and at most one list of positions."""
    items, listed = [], not lists
    for n in x.shape[: c.integer(0, len(x.shape))]:
        sort = c.integer(0, 4)
        if sort == 1 and n:
            items.append(str(c.integer(-n, n - 1)))
        elif sort == 2 and n and not listed:
            listed = True
            items.append(str(literal(c, [c.integer(1, 4)], -n, n - 1)))
        elif sort == 3:
            items.append(f"{c.integer(-n, n)}:{c.integer(-n, n)}")
        elif sort == 4:
            items.append(f"{c.one_of(['', 1])}::{c.integer(1, 3)}")
        else:
            items.append(":")
    if c.integer(0, 3) == 3:
        items.insert(c.integer(0, len(items)), "None")
    if c.integer(0, 3) == 3:
        items.append("...")
    return ", ".join(items) or "..."


def assign(c: Choices, pool: Pool, x: Value) -> Step:
    """x[…] = number, as an expression."""
    value = c.one_of(["1", "0", "-2"])
    return Step(f"assigned({x.name}, lambda t: t.__setitem__({setitem_index(c, x)}, {value}))")


def setitem_index(c: Choices, x: Value) -> str:
    text = index_text(c, x, lists=False)
    return f"ix[{text}]"


def select(c: Choices, pool: Pool, x: Value) -> Step | None:
    """index_select and gather with literal indices."""
    if not x.shape or 0 in x.shape:
        return None
    dim = c.dim(x)
    n = x.shape[dim]
    if c.flag():
        indices = literal(c, [c.integer(0, 4)], 0, n - 1)
        return Step(f"api.index_select({x.name}, {dim}, api.tensor({indices}, dtype=api.int64))")
    shape = list(x.shape)
    shape[dim] = c.integer(1, 3)
    return Step(f"api.gather({x.name}, {dim}, api.tensor({literal(c, shape, 0, n - 1)}))")


def scatter(c: Choices, pool: Pool, x: Value) -> Step | None:
    """Each position is written at most once, so that order does not matter."""
    if not x.shape or 0 in x.shape:
        return None
    dim = c.dim(x)
    shape = list(x.shape)
    shape[dim] = 1
    source = pool.new(shape, x.dtype)
    name = c.one_of(["scatter", "scatter_add"])
    indices = literal(c, shape, 0, x.shape[dim] - 1)
    return Step(f"api.{name}({x.name}, {dim}, api.tensor({indices}), {source})", sums=1)


def triangle(c: Choices, pool: Pool, x: Value) -> Step | None:
    if len(x.shape) < 2:
        return None
    return Step(f"api.{c.one_of(['tril', 'triu'])}({x.name}, {c.integer(-2, 2)})")


def flip(c: Choices, pool: Pool, x: Value) -> Step:
    dims = c.order(len(x.shape))[: c.integer(0, len(x.shape))]
    return Step(f"api.flip({x.name}, {tuple(dims)})")


def pad(c: Choices, pool: Pool, x: Value) -> Step | None:
    if not x.shape:
        return None
    widths = tuple(c.integer(0, 2) for _ in range(2 * c.integer(1, len(x.shape))))
    return Step(f"api.nn.functional.pad({x.name}, {widths}, value={c.one_of([0, 1])})")


def one_hot(c: Choices, pool: Pool, x: Value) -> Step | None:
    if x.dtype != "int64" or not x.shape:
        return None
    return Step(f"api.nn.functional.one_hot(api.abs({x.name}) % 3, 3)")


def like(c: Choices, pool: Pool, x: Value) -> Step:
    name = c.one_of(["zeros_like", "ones_like", "full_like"])
    return Step(f"api.{name}({x.name}{', 2' if name == 'full_like' else ''})")


STEPS: list[Maker] = [
    pair,
    unary,
    operator_pair,
    reduction,
    matmul,
    contraction,
    linear,
    reshape,
    regroup,
    permute,
    index,
    join,
    cast,
    compare,
    logic,
    bits,
    division,
    power,
    clamp,
    where,
    masked_fill,
    activation,
    in_place,
    statistic,
    position,
    extremum,
    product,
    cumsum,
    sort,
    einsum,
    outer,
    embedding,
    attention,
    softmax,
    norm,
    group_norm,
    ones,
    expand,
    repeat,
    pieces,
    assign,
    select,
    scatter,
    triangle,
    flip,
    pad,
    one_hot,
    like,
]
"""Every maker once; the first are the simplest."""
