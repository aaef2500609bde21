"""Sample calls of every op and kind: the table that op tests run through.

A sample has cases of one rank each: small shapes, even and uneven over 2 and 3
devices, with empty shards. `expr` says the same call through a public interface,
`api` being the module `torch` or `dtorch`; operands of kind "scalar" reach it as
Python numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dtorch.arrays import Array

__all__ = ["SAMPLES", "Case", "Operand", "Sample", "draw"]


@dataclass(frozen=True)
class Operand:
    """Shape, dtype, and what values to draw: "normal", "positive", "nonzero"
    (either sign), "unit" (in (-1, 1)), "special" (with zeros, infinities and NaN), "bool",
    "index" (below `limit`) or "scalar" (0-dim, of value `limit`)."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    values: str = "normal"
    limit: float = 0


@dataclass(frozen=True)
class Case:
    """Operands and attributes of one call."""

    operands: tuple[Operand, ...]
    attrs: dict[str, Any] = field(default_factory=dict)

    def types(self) -> list[tuple[tuple[int, ...], str]]:
        return [(o.shape, o.dtype) for o in self.operands]


@dataclass(frozen=True)
class Sample:
    """A call in several sizes."""

    name: str
    op: str
    cases: tuple[Case, ...]
    expr: Callable[..., Any] | None
    """expr(api, attrs, *values); None where PyTorch has no such function."""

    @property
    def kind(self) -> str | None:
        return self.cases[0].attrs.get("kind")


def draw(operand: Operand, rng: np.random.Generator) -> Array:
    """Values for an operand."""
    if operand.values == "scalar":
        return np.array(operand.limit, dtype=operand.dtype)
    if operand.values == "bool":
        return np.asarray(rng.integers(0, 2, operand.shape).astype(bool))
    if operand.values == "index":
        high = int(operand.limit)
        return np.asarray(rng.integers(0, high, operand.shape).astype(operand.dtype))
    if operand.dtype.startswith("int"):
        return np.asarray(rng.integers(-9, 10, operand.shape).astype(operand.dtype))
    x = rng.normal(size=operand.shape)
    if operand.values == "positive":
        x = np.abs(x) + 0.5
    if operand.values == "special":
        special = np.array([0.0, np.inf, -np.inf, np.nan])
        x = np.where(rng.integers(0, 2, x.shape) == 0, x, special[rng.integers(0, 4, x.shape)])
    if operand.values == "unit":
        x = np.tanh(x)
    if operand.values == "nonzero":
        x = x + np.sign(x) * 0.5
    return np.asarray(x.astype(operand.dtype))


def generator(name: str) -> np.random.Generator:
    """Random numbers that depend on the name only."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def f(*shape: int) -> Operand:
    return Operand(shape)


def positive(*shape: int) -> Operand:
    return Operand(shape, values="positive")


def nonzero(*shape: int) -> Operand:
    return Operand(shape, values="nonzero")


def unit(*shape: int) -> Operand:
    return Operand(shape, values="unit")


def special(*shape: int) -> Operand:
    return Operand(shape, values="special")


def flag(*shape: int) -> Operand:
    return Operand(shape, "bool", "bool")


def small_ints(*shape: int) -> Operand:
    return Operand(shape, "int64", "index", 3)


def ints(*shape: int) -> Operand:
    return Operand(shape, "int64")


def number(value: float, dtype: str = "float32") -> Operand:
    return Operand((), dtype, "scalar", value)


_ELEMENTWISE_SHAPES: tuple[tuple[int, ...], ...] = ((6, 4), (5, 3), (1, 7))
_POSITIVE_DOMAIN = {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"}
_UNARY = [
    "neg",
    "abs",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "square",
    "reciprocal",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "relu",
    "silu",
    "gelu",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "asin",
    "erf",
    "isnan",
    "isinf",
    "logical_not",
]
_ARITHMETIC = ["add", "sub", "mul", "div", "pow", "maximum", "minimum"]
_DIVISIONS = ["floor_divide", "remainder", "fmod"]
_COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


def _or_recorded(op: str, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` where the module has the function `name` that it uses; the op recorded
    as it is where not. Without a name, `call` is PyTorch's only."""

    def expr(api: Any, attrs: dict[str, Any], *values: Any) -> Any:
        found = api if name or api.__name__ == "torch" else None
        for part in name.split(".") if name else ():
            found = getattr(found, part, None)
        if found is not None:
            return call(api, attrs, *values)
        from dtorch._base import record, scalar

        dtype = next(v.dtype for v in values if hasattr(v, "dtype"))
        return record(op, [v if hasattr(v, "dtype") else scalar(v, dtype) for v in values], **attrs)

    return expr


def _unary_samples() -> Iterator[Sample]:
    domains = dict.fromkeys(_POSITIVE_DOMAIN, positive) | {"asin": unit}
    domains |= dict.fromkeys(("isnan", "isinf", "logical_not"), special)
    for kind in _UNARY:
        operand = domains.get(kind, f)
        cases = tuple(Case((operand(*s),), {"kind": kind}) for s in _ELEMENTWISE_SHAPES)
        yield Sample(kind, "unary", cases, _named(kind, "unary"))


def _named(kind: str, op: str = "") -> Callable[..., Any]:
    """The function of that name, of the module or of its nn.functional."""

    def call(api: Any, attrs: dict[str, Any], *values: Any) -> Any:
        module = api if hasattr(api, kind) else api.nn.functional
        return getattr(module, kind)(*values)

    def expr(api: Any, attrs: dict[str, Any], *values: Any) -> Any:
        if hasattr(api, kind) or hasattr(api.nn.functional, kind):
            return call(api, attrs, *values)
        return _or_recorded(op, kind, call)(api, attrs, *values)

    return expr


def _operator(kind: str) -> Callable[..., Any]:
    """The Python operator `a == b`, … of that name."""

    def expr(api: Any, attrs: dict[str, Any], a: Any, b: Any) -> Any:
        return getattr(a, f"__{kind}__")(b)

    return expr


def _pairs(kind: str, left: Callable[..., Operand], right: Callable[..., Operand]) -> list[Sample]:
    """A binary kind on equal shapes, a row, and dims of size 1."""
    expr = _operator(kind) if kind in _COMPARISONS else _named(kind, "binary")
    shapes: dict[str, Sequence[tuple[tuple[int, ...], tuple[int, ...]]]] = {
        "": [(s, s) for s in _ELEMENTWISE_SHAPES],
        "_row": [((6, 4), (4,)), ((5, 3), (3,)), ((1, 7), (7,))],
        "_column": [((6, 4), (6, 1)), ((5, 3), (5, 1)), ((7, 2), (7, 1))],
    }
    if kind not in ("add", "mul"):
        del shapes["_column"]
    return [
        Sample(
            kind + suffix,
            "binary",
            tuple(Case((left(*a), right(*b)), {"kind": kind}) for a, b in pairs),
            expr,
        )
        for suffix, pairs in shapes.items()
    ]


def _binary_samples() -> Iterator[Sample]:
    for kind in _ARITHMETIC:
        left = positive if kind == "pow" else f
        right = nonzero if kind == "div" else f
        yield from _pairs(kind, left, right)
    for kind in _COMPARISONS:
        yield from _pairs(kind, small_ints, small_ints)[:1]
    for kind in ("logical_and", "logical_or", "logical_xor"):
        yield from _pairs(kind, flag, flag)[:1]
    for kind in _DIVISIONS:
        yield from _pairs(kind, f, nonzero)
    for kind in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield from _pairs(kind, ints, ints)[:1]


def _where_samples() -> Iterator[Sample]:
    def where(api: Any, attrs: dict[str, Any], *values: Any) -> Any:
        return api.where(*values)

    shapes: dict[str, list[tuple[tuple[int, ...], ...]]] = {
        "": [(s, s, s) for s in _ELEMENTWISE_SHAPES],
        "_row": [((6, 4), (4,), (6, 1)), ((5, 3), (3,), (5, 1)), ((1, 7), (7,), (1, 1))],
    }
    for suffix, triples in shapes.items():
        cases = tuple(Case((flag(*c), f(*a), f(*b))) for c, a, b in triples)
        yield Sample(f"where{suffix}", "where", cases, _or_recorded("where", "where", where))


def _cast_samples() -> Iterator[Sample]:
    def expr(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return x.to(getattr(api, attrs["dtype"]))

    pairs = [
        ("float32", "float64"),
        ("float64", "float32"),
        ("float32", "float16"),
        ("float16", "float32"),
        ("float32", "int64"),
        ("int64", "float32"),
        ("float32", "bool"),
        ("bool", "int32"),
        ("int32", "int64"),
    ]
    for source, target in pairs:
        # Zeros matter when they become bool.
        values = {"bool": "bool"}.get(source, "index" if target == "bool" else "normal")
        cases = tuple(
            Case((Operand(s, source, values, 3),), {"dtype": target}) for s in _ELEMENTWISE_SHAPES
        )
        yield Sample(f"cast_{source}_{target}", "cast", cases, expr)


def _product_samples() -> Iterator[Sample]:
    def linear(api: Any, attrs: dict[str, Any], x: Any, w: Any) -> Any:
        return api.nn.functional.linear(x, w)

    def embedding(api: Any, attrs: dict[str, Any], weight: Any, indices: Any) -> Any:
        return api.nn.functional.embedding(indices, weight)

    matmul = _named("matmul")
    sizes = ((4, 6, 4), (5, 3, 7), (7, 5, 1))
    yield Sample("matmul", "matmul", tuple(Case((f(m, k), f(k, n))) for m, k, n in sizes), matmul)
    yield Sample(
        "matmul_batched",
        "matmul",
        tuple(Case((f(3, m, k), f(3, k, n))) for m, k, n in sizes),
        matmul,
    )
    yield Sample(
        "matmul_batch_of_one",
        "matmul",
        tuple(
            Case((f(b, 1, m, k), f(3, k, n))) for b, (m, k, n) in zip((2, 3, 5), sizes, strict=True)
        ),
        matmul,
    )
    yield Sample(
        "linear",
        "linear",
        tuple(Case((f(b, m, k), f(n, k))) for b, (m, k, n) in zip((2, 3, 1), sizes, strict=True)),
        linear,
    )
    yield Sample(
        "linear_vector", "linear", tuple(Case((f(k), f(n, k))) for _, k, n in sizes), linear
    )
    yield Sample(
        "embedding",
        "embedding",
        tuple(
            Case((f(v, d), Operand((b, n), "int64", "index", v)))
            for v, d, b, n in ((6, 4, 2, 6), (7, 5, 3, 1), (3, 1, 5, 3))
        ),
        embedding,
    )


def _norm_samples() -> Iterator[Sample]:
    def softmax(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return api.nn.functional.softmax(x, dim=attrs["dim"])

    def log_softmax(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return api.nn.functional.log_softmax(x, dim=attrs["dim"])

    def layer_norm(api: Any, attrs: dict[str, Any], x: Any, eps: float) -> Any:
        shape = x.shape[attrs["dims"][0] :]
        return api.nn.functional.layer_norm(x, tuple(shape), eps=eps)

    def rms_norm(api: Any, attrs: dict[str, Any], x: Any, eps: float) -> Any:
        shape = x.shape[attrs["dims"][0] :]
        return api.nn.functional.rms_norm(x, tuple(shape), eps=eps)

    shapes = ((4, 3, 6), (5, 2, 3), (1, 7, 2))
    for dim in (0, 1, 2):
        yield Sample(
            f"softmax_{dim}",
            "softmax",
            tuple(Case((f(*s),), {"dim": dim}) for s in shapes),
            softmax,
        )
        yield Sample(
            f"log_softmax_{dim}",
            "log_softmax",
            tuple(Case((f(*s),), {"dim": dim}) for s in shapes),
            _or_recorded("log_softmax", "nn.functional.log_softmax", log_softmax),
        )
    norms = {
        "rms_norm": rms_norm,
        "layer_norm": _or_recorded("layer_norm", "nn.functional.layer_norm", layer_norm),
    }
    for op, expr in norms.items():
        for dims in ([2], [1, 2]):
            cases = tuple(Case((f(*s), number(1e-3)), {"dims": dims}) for s in shapes)
            yield Sample(f"{op}_{len(dims)}", op, cases, expr)


def _sdpa_samples() -> Iterator[Sample]:
    def sdpa(
        api: Any, attrs: dict[str, Any], q: Any, k: Any, v: Any, scale: float, *mask: Any
    ) -> Any:
        return api.nn.functional.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask[0] if mask else None,
            is_causal=attrs["is_causal"],
            scale=scale,
            enable_gqa=q.shape[-3] != k.shape[-3],
        )

    def cases(
        group: int, causal: bool, mask: Callable[..., Operand] | None = None, rows: bool = True
    ) -> tuple[Case, ...]:
        result = []
        for b, kv_heads, length, keys, e, ev in (
            (2, 2, 4, 6, 4, 2),
            (3, 3, 5, 5, 2, 3),
            (1, 4, 2, 7, 2, 1),
        ):
            heads = kv_heads * group
            operands = [
                f(b, heads, length, e),
                f(b, kv_heads, keys, e),
                f(b, kv_heads, keys, ev),
                number(0.7),
            ]
            if mask is not None:
                operands.append(mask(b, heads, length, keys) if rows else mask(length, keys))
            result.append(Case(tuple(operands), {"is_causal": causal}))
        return tuple(result)

    yield Sample("sdpa", "sdpa", cases(1, False), sdpa)
    yield Sample("sdpa_causal", "sdpa", cases(1, True), sdpa)
    yield Sample("sdpa_grouped", "sdpa", cases(3, True), sdpa)
    yield Sample("sdpa_mask_added", "sdpa", cases(1, False, f), sdpa)
    yield Sample("sdpa_mask_shared", "sdpa", cases(2, False, f, rows=False), sdpa)
    yield Sample("sdpa_mask_bool", "sdpa", cases(1, False, flag, rows=False), None)


def _reduce_samples() -> Iterator[Sample]:
    def reduce(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return getattr(x, attrs["kind"])(tuple(attrs["dims"]), keepdim=attrs["keepdim"])

    shapes = ((4, 3, 6), (5, 2, 3), (7, 2, 2))
    for kind in ("sum", "amax", "amin"):
        for dims, keepdim in (([2], False), ([0], True), ([0, 2], False), ([0, 1, 2], False)):
            attrs = {"kind": kind, "dims": dims, "keepdim": keepdim}
            name = f"{kind}_{''.join(map(str, dims))}{'_keep' if keepdim else ''}"
            yield Sample(name, "reduce", tuple(Case((f(*s),), attrs) for s in shapes), reduce)
    attrs = {"kind": "sum", "dims": [0], "keepdim": False}
    yield Sample("sum_ints", "reduce", tuple(Case((ints(*s),), attrs) for s in shapes), reduce)

    def one_dim(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return getattr(api, attrs["kind"])(x, attrs["dims"][0], keepdim=attrs["keepdim"])

    for kind, operand in (("prod", f), ("any", flag), ("all", flag), ("any", small_ints)):
        for dims, keepdim in (([1], False), ([0], True)):
            attrs = {"kind": kind, "dims": dims, "keepdim": keepdim}
            name = f"{kind}_{dims[0]}{'_ints' if operand is small_ints else ''}"
            yield Sample(
                name,
                "reduce",
                tuple(Case((operand(*s),), attrs) for s in shapes),
                _or_recorded("reduce", kind, one_dim),
            )


def _ordering_samples() -> Iterator[Sample]:
    def arg(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return getattr(api, attrs["kind"])(x, attrs["dim"])

    def cumsum(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return api.cumsum(x, attrs["dim"])

    def argsort(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return api.argsort(x, dim=attrs["dim"], descending=attrs["descending"], stable=True)

    shapes = ((4, 3, 6), (5, 2, 3), (7, 2, 2))
    for dim in (0, 2):
        for kind in ("argmax", "argmin"):
            yield Sample(
                f"{kind}_{dim}",
                "arg_reduce",
                tuple(Case((f(*s),), {"kind": kind, "dim": dim}) for s in shapes),
                _or_recorded("arg_reduce", kind, arg),
            )
        yield Sample(
            f"cumsum_{dim}",
            "cumsum",
            tuple(Case((f(*s),), {"dim": dim}) for s in shapes),
            _or_recorded("cumsum", "cumsum", cumsum),
        )
        yield Sample(
            f"sort_indices_{dim}",
            "sort_indices",
            tuple(Case((small_ints(*s),), {"dim": dim, "descending": dim == 0}) for s in shapes),
            _or_recorded("sort_indices", "argsort", argsort),
        )


def _indexing_samples() -> Iterator[Sample]:
    def at(limit: int, *shape: int) -> Operand:
        return Operand(shape, "int64", "index", limit)

    def gather(api: Any, attrs: dict[str, Any], x: Any, index: Any) -> Any:
        return api.gather(x, attrs["dim"], index)

    def index_select(api: Any, attrs: dict[str, Any], x: Any, index: Any) -> Any:
        return api.index_select(x, attrs["dim"], index)

    def scatter(api: Any, attrs: dict[str, Any], x: Any, index: Any, src: Any) -> Any:
        if attrs["reduce"] == "multiply":
            return api.scatter(x, attrs["dim"], index, src, reduce="multiply")
        put = api.scatter if attrs["reduce"] == "none" else api.scatter_add
        return put(x, attrs["dim"], index, src)

    gather = _or_recorded("gather", "gather", gather)
    # The other dim of the index is as long as the input's, or shorter.
    for suffix, cut in (("", 0), ("_part", 1)):
        yield Sample(
            f"gather_0{suffix}",
            "gather",
            tuple(
                Case((f(n, m), at(n, k, m - cut)), {"dim": 0})
                for n, m, k in ((6, 4, 5), (5, 3, 6), (2, 7, 3))
            ),
            gather,
        )
    yield Sample(
        "gather_1",
        "gather",
        tuple(
            Case((f(n, m), at(m, n, k)), {"dim": 1})
            for n, m, k in ((6, 4, 5), (5, 3, 6), (7, 2, 1))
        ),
        gather,
    )
    for dim in (0, 1):
        yield Sample(
            f"index_select_{dim}",
            "index_select",
            tuple(
                Case((f(*s), at(s[dim], k)), {"dim": dim})
                for s, k in (((6, 4), 5), ((5, 3), 4), ((7, 2), 2))
            ),
            _or_recorded("index_select", "index_select", index_select),
        )
    # Of several writes to one place PyTorch lets any win, so there is but one.
    variants = (("none", 1, 0), ("add", 5, 0), ("add", 3, 1), ("multiply", 3, 0))
    for reduce, count, cut in variants:
        yield Sample(
            f"scatter_{reduce}{'_part' * cut}",
            "scatter",
            tuple(
                Case(
                    (f(n, m), at(m, n - cut, count), f(n - cut, count)),
                    {"dim": 1, "reduce": reduce},
                )
                for n, m in ((6, 4), (5, 3), (7, 2))
            ),
            _or_recorded("scatter", "scatter", scatter),
        )


def _movement_samples() -> Iterator[Sample]:
    def view(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return x.reshape(tuple(attrs["shape"]))

    def views(name: str, *pairs: tuple[tuple[int, ...], tuple[int, ...]]) -> Sample:
        return Sample(
            f"view_{name}",
            "view",
            tuple(Case((f(*a),), {"shape": list(b)}) for a, b in pairs),
            view,
        )

    yield views("split_heads", ((4, 6), (4, 3, 2)), ((5, 20), (5, 5, 4)), ((3, 9), (3, 3, 3)))
    yield views("merge_heads", ((4, 3, 2), (4, 6)), ((5, 5, 4), (5, 20)), ((3, 3, 3), (3, 9)))
    yield views("merge_batch", ((4, 3, 2), (12, 2)), ((5, 2, 4), (10, 4)), ((7, 2, 3), (14, 3)))
    yield views("add_one", ((4, 6), (4, 1, 6)), ((5, 3), (5, 1, 3)))
    yield views("drop_one", ((4, 1, 6), (4, 6)), ((5, 1, 3), (5, 3)))
    yield views("regroup", ((4, 6), (8, 3)), ((6, 2), (3, 4)), ((5, 6), (10, 3)))

    def permute(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return x.permute(tuple(attrs["dims"]))

    shapes = ((4, 3, 6), (5, 2, 3), (7, 2, 2))
    for dims in ([1, 0, 2], [2, 0, 1]):
        yield Sample(
            f"permute_{''.join(map(str, dims))}",
            "permute",
            tuple(Case((f(*s),), {"dims": dims}) for s in shapes),
            permute,
        )

    def expand(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return x.expand(tuple(attrs["shape"]))

    yield Sample(
        "expand",
        "expand",
        tuple(
            Case((f(n, 1, m),), {"shape": [4, n, k, m]})
            for n, k, m in ((6, 4, 2), (5, 3, 3), (7, 2, 1))
        ),
        expand,
    )

    def slices(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        bounds = zip(attrs["starts"], attrs["stops"], attrs["steps"], strict=True)
        return x[tuple(slice(*b) for b in bounds)]

    def slice_case(shape: tuple[int, ...], start: int, stop: int, step: int) -> Case:
        attrs = {"starts": [0, start], "stops": [shape[0], stop], "steps": [1, step]}
        return Case((f(*shape),), attrs)

    yield Sample(
        "slice",
        "slice",
        (slice_case((6, 5), 1, 4, 1), slice_case((5, 7), 1, 7, 3), slice_case((7, 4), 3, 3, 1)),
        slices,
    )

    def slice_update(api: Any, attrs: dict[str, Any], x: Any, value: Any) -> Any:
        bounds = zip(attrs["starts"], attrs["stops"], attrs["steps"], strict=True)
        y = x.clone()
        y[tuple(slice(*b) for b in bounds)] = value
        return y

    def update_case(*shape: int, start: int, stop: int, step: int) -> Case:
        case = slice_case(shape, start, stop, step)
        taken = (shape[0], len(range(start, stop, step)))
        return Case((f(*shape), f(*taken)), case.attrs)

    yield Sample(
        "slice_update",
        "slice_update",
        (
            update_case(6, 5, start=1, stop=4, step=1),
            update_case(5, 7, start=1, stop=7, step=3),
            update_case(7, 4, start=0, stop=3, step=1),
        ),
        _or_recorded("slice_update", "", slice_update),
    )

    def pad(api: Any, attrs: dict[str, Any], x: Any, value: float) -> Any:
        sizes = [n for p in zip(attrs["before"], attrs["after"], strict=True) for n in p[::-1]]
        return api.nn.functional.pad(x, tuple(sizes[::-1]), value=value)

    yield Sample(
        "pad",
        "pad",
        tuple(
            Case((f(*s), number(2.5)), {"before": [0, b], "after": [0, a]})
            for s, b, a in (((6, 4), 1, 2), ((5, 3), 0, 1), ((7, 2), 3, 0))
        ),
        _or_recorded("pad", "nn.functional.pad", pad),
    )

    def flip(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return api.flip(x, attrs["dims"])

    def triangle(api: Any, attrs: dict[str, Any], x: Any) -> Any:
        return getattr(api, attrs["kind"])(x, diagonal=attrs["diagonal"])

    yield Sample(
        "flip",
        "flip",
        tuple(Case((f(*s),), {"dims": [0, 2]}) for s in shapes),
        _or_recorded("flip", "flip", flip),
    )
    for kind, diagonal in (("tril", 0), ("tril", 1), ("triu", 0), ("triu", -1)):
        yield Sample(
            f"{kind}_{diagonal}",
            "tril_triu",
            tuple(Case((f(*s),), {"kind": kind, "diagonal": diagonal}) for s in shapes),
            _or_recorded("tril_triu", kind, triangle),
        )

    def cat(api: Any, attrs: dict[str, Any], *parts: Any) -> Any:
        return api.cat(list(parts), dim=attrs["dim"])

    for dim in (0, 1):
        yield Sample(
            f"cat_{dim}",
            "cat",
            tuple(
                Case((f(a, b), f(a + (dim == 0), b + (dim == 1)), f(a, b)), {"dim": dim})
                for a, b in ((4, 2), (3, 5), (1, 3))
            ),
            cat,
        )


def _factory_samples() -> Iterator[Sample]:
    def arange(api: Any, attrs: dict[str, Any], start: float, step: float) -> Any:
        dtype = getattr(api, attrs["dtype"])
        return api.arange(start, start + step * attrs["size"], step, dtype=dtype)

    def full(api: Any, attrs: dict[str, Any], value: float) -> Any:
        return api.full(tuple(attrs["shape"]), value, dtype=getattr(api, attrs["dtype"]))

    yield Sample(
        "arange",
        "arange",
        tuple(
            Case((number(3, "int64"), number(2, "int64")), {"size": n, "dtype": "int64"})
            for n in (6, 5, 1)
        ),
        arange,
    )
    yield Sample(
        "arange_float",
        "arange",
        tuple(
            Case((number(0.5, "float64"), number(0.25, "float64")), {"size": n, "dtype": "float32"})
            for n in (6, 5)
        ),
        arange,
    )
    yield Sample(
        "full",
        "full",
        tuple(
            Case((number(2.5),), {"shape": list(s), "dtype": "float32"})
            for s in _ELEMENTWISE_SHAPES
        ),
        full,
    )
    for kind in ("normal", "uniform"):
        yield Sample(
            f"random_{kind}",
            "random",
            tuple(
                Case(
                    (number(17, "int64"), number(5, "int64")),
                    {"kind": kind, "shape": list(s), "dtype": "float32"},
                )
                for s in _ELEMENTWISE_SHAPES
            ),
            None,
        )
    yield Sample(
        "randint",
        "randint",
        tuple(
            Case(
                tuple(number(n, "int64") for n in (17, 5, -3, 4)),
                {"shape": list(s), "dtype": "int64"},
            )
            for s in _ELEMENTWISE_SHAPES
        ),
        None,
    )


SAMPLES: dict[str, Sample] = {
    sample.name: sample
    for family in (
        _unary_samples,
        _binary_samples,
        _where_samples,
        _cast_samples,
        _product_samples,
        _norm_samples,
        _sdpa_samples,
        _reduce_samples,
        _ordering_samples,
        _indexing_samples,
        _movement_samples,
        _factory_samples,
    )
    for sample in family()
}
"""All samples by name."""
