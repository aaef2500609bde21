"""The brute-force judge of placement rules.

A claim says how the operands and the result of one call lie on a mesh. It is
judged with nothing but the shard law and the kernels: operands are cut, or split
into pending parts at random, each device's kernel runs on its parts with the
result's box, and the assembled result must be the single-device one. Rules, rows
and their matching have no part in that, so they can be compared with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from dtorch import _dtorch
from dtorch.arrays import Array, from_bytes
from dtorch.dtypes import to_dtype
from dtorch.testing.samples import Case, Operand, draw

__all__ = ["Claim", "Judge", "axis_options", "mesh_of"]

Placements = tuple[_dtorch.Placement, ...]
Claim = tuple[Placements, ...]
"""Placements of each operand, then of the result; one placement per mesh axis."""

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""Offsets and sizes."""

R = _dtorch.Placement.replicate()
_COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def mesh_of(*shape: int) -> _dtorch.Mesh:
    """A mesh of virtual devices with axes a, b, …"""
    return _dtorch.Mesh.regular("cpu", [chr(ord("a") + i) for i in range(len(shape))], list(shape))


def axis_options(
    operand: Operand, reductions: Sequence[str], units: bool = False, reduced: bool = False
) -> list[_dtorch.Placement]:
    """Placements that a tensor can have on one axis. Dims of size 1 are left out:
    whether they count as shards is a matter of form."""
    options = [R]
    for dim, size in enumerate(operand.shape):
        if size != 1:
            options.append(_dtorch.Placement.shard(dim))
        for unit in range(2, size if units else 0):
            if size % unit == 0:
                options.append(_dtorch.Placement.shard(dim, unit))
    pending = pending_kinds(operand, reduced)
    options += [_dtorch.Placement.partial(r) for r in reductions if r in pending]
    return options


def pending_kinds(operand: Operand, reduced: bool) -> Sequence[str]:
    """How a tensor may be pending: floats in every way, integers those that are reduced,
    and bools that are reduced but not as a sum, which saturates."""
    if operand.dtype.startswith("float") or (reduced and operand.dtype != "bool"):
        return ("sum", "max", "min")
    return ("max", "min") if reduced else ()


@cache
def boxes(shape: tuple[int, ...], mesh: _dtorch.Mesh, placements: Placements) -> list[Box]:
    """What each device holds, by the shard law."""
    return [
        _dtorch.local_box(list(shape), mesh, list(placements), i) for i in range(mesh.num_devices)
    ]


def cut(x: Array, box: Box) -> Array:
    """The elements of a box, dense."""
    ranges = tuple(slice(o, o + n) for o, n in zip(*box, strict=True))
    return np.ascontiguousarray(x[ranges]).reshape(box[1])


def localise(
    x: Array, mesh: _dtorch.Mesh, placements: Placements, rng: np.random.Generator
) -> list[Array]:
    """Each device's part. Pending axes split every element at random: parts of
    mixed signs that add up to it, or one device (any) that holds the extremum."""
    shape = tuple(mesh.shape)
    parts: dict[tuple[int, ...], Array] = {(): x}
    for axis, size in enumerate(shape):
        split = _splitter(placements[axis], size, rng)
        parts = {
            (*at, i): piece for at, value in parts.items() for i, piece in enumerate(split(value))
        }
    return [
        cut(parts[at], box)
        for at, box in zip(np.ndindex(*shape), boxes(x.shape, mesh, placements), strict=True)
    ]


def _splitter(
    placement: _dtorch.Placement, size: int, rng: np.random.Generator
) -> Callable[[Array], list[Array]]:
    if placement.kind != "P":
        return lambda x: [x] * size
    if placement.reduce == "sum":

        def add_up(x: Array) -> list[Array]:
            noise = [rng.normal(size=x.shape, scale=3).astype(x.dtype) for _ in range(size - 1)]
            return [*noise, (x - sum(noise)).astype(x.dtype)]

        return add_up

    def extremum(x: Array) -> list[Array]:
        owner = rng.integers(0, size, x.shape)
        sign = -1 if placement.reduce == "max" else 1
        other = [x + sign * (np.abs(rng.normal(size=x.shape)) * 3 + 0.1) for _ in range(size)]
        # Beside NaN and the infinity that wins anything may stand.
        free = np.isnan(x) | (x == -sign * np.inf)
        other = [np.where(free, rng.normal(size=x.shape), y) for y in other]
        return [np.where(owner == i, x, y).astype(x.dtype) for i, y in enumerate(other)]

    return extremum


def assemble(
    parts: list[Array],
    shape: Sequence[int],
    mesh: _dtorch.Mesh,
    placements: Placements,
    loose: bool = False,
) -> Array | None:
    """The global value; None if replicas differ."""
    pending = [a for a, p in enumerate(placements) if p.kind == "P"]
    groups: dict[tuple[int, ...], Array] = {}
    held: dict[tuple[int, ...], Box] = {}
    for i, at in enumerate(np.ndindex(*mesh.shape)):
        key = tuple(0 if a in pending else c for a, c in enumerate(at))
        held[key] = _dtorch.local_box(list(shape), mesh, list(placements), i)
        # Axes may be pending in different ways only with one reduction each.
        combine = _COMBINE[placements[pending[0]].reduce] if pending else None
        groups[key] = combine(groups[key], parts[i]) if combine and key in groups else parts[i]
    result = np.zeros(tuple(shape), parts[0].dtype)
    written = np.zeros(tuple(shape), bool)
    for key, part in groups.items():
        ranges = tuple(slice(o, o + n) for o, n in zip(*held[key], strict=True))
        again = written[ranges]
        if not _close(result[ranges][again], part[again], loose):
            return None
        result[ranges] = part
        written[ranges] = True
    return result if written.all() else None


def _close(a: Array, b: Array, loose: bool) -> bool:
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    return bool(np.allclose(a, b, rtol=0.05 if loose else 1e-3, atol=0.05 if loose else 1e-4))


@dataclass
class Judge:
    """Judges claims about one case of one op."""

    op: str
    case: Case
    rng: np.random.Generator
    rounds: int = 2
    """Draws of values that a claim must survive."""
    inputs: list[list[Array]] = field(init=False)
    expected: list[Array] = field(init=False)
    result: Operand = field(init=False)

    def __post_init__(self) -> None:
        shape, dtype = _dtorch.infer_type(self.op, self.case.types(), self.case.attrs)
        self.result = Operand(tuple(shape), dtype)
        self.inputs = [[draw(o, self.rng) for o in self.case.operands] for _ in range(self.rounds)]
        whole = [((0,) * len(o.shape), o.shape) for o in (*self.case.operands, self.result)]
        self.expected = [self.run(values, whole) for values in self.inputs]

    def run(self, values: Sequence[Array], held: Sequence[Box]) -> Array:
        """One device's kernel on its parts; the last box is the result's."""
        operands = self.case.operands
        specs = [
            (o.dtype, list(o.shape), list(b[0]), list(b[1]))
            for o, b in zip((*operands, self.result), held, strict=True)
        ]
        raw = [np.ascontiguousarray(v).reshape(-1).view(np.uint8) for v in values]
        out = _dtorch.run_kernel(self.op, self.case.attrs, raw, specs[:-1], specs[-1])
        return from_bytes(out, to_dtype(self.result.dtype), held[-1][1]).array

    def defined(self, held: Sequence[Box]) -> bool:
        """Whether a kernel may run on these boxes at all: its parts fit together."""
        globals_ = [o.shape for o in (*self.case.operands, self.result)]
        return _FITS[self.op](self.case.attrs, globals_, held)

    def is_reduced(self, operand: Operand) -> bool:
        """Whether integers and bools may be pending; no op takes pending bools."""
        return self.op == "reduce" and (operand.dtype != "bool" or operand is self.result)

    def valid(self, mesh: _dtorch.Mesh, claim: Claim) -> bool:
        """Whether the claim gives the single-device result for every draw."""
        tensors = (*self.case.operands, self.result)
        for operand, placements in zip(tensors, claim, strict=True):
            if len({p.reduce for p in placements if p.kind == "P"}) > 1:
                return False  # sums of maxima mean nothing
            kinds = pending_kinds(operand, self.is_reduced(operand))
            if any(p.kind == "P" and p.reduce not in kinds for p in placements):
                return False
        held = [boxes(o.shape, mesh, p) for o, p in zip(tensors, claim, strict=True)]
        if not all(self.defined(device) for device in zip(*held, strict=True)):
            return False
        return all(self._agrees(mesh, claim, held, i) for i in range(self.rounds))

    def _agrees(
        self, mesh: _dtorch.Mesh, claim: Claim, held: list[list[Box]], draw_index: int
    ) -> bool:
        values = self.inputs[draw_index]
        local = [localise(x, mesh, p, self.rng) for x, p in zip(values, claim[:-1], strict=True)]
        try:
            parts = [
                self.run([pieces[i] for pieces in local], [b[i] for b in held])
                for i in range(mesh.num_devices)
            ]
        except (ValueError, IndexError):  # the kernel lacks positions that it needs
            return False
        loose = any("16" in o.dtype for o in (*self.case.operands, self.result))
        got = assemble(parts, self.result.shape, mesh, claim[-1], loose)
        return got is not None and _close(got, self.expected[draw_index], loose)

    def matches(self, mesh: _dtorch.Mesh, claim: Claim) -> bool:
        """Whether the rule engine accepts the claim."""
        return _dtorch.rule_matches(
            self.op,
            self.case.types(),
            self.case.attrs,
            mesh,
            [list(p) for p in claim[:-1]],
            list(claim[-1]),
        )

    def rows(self) -> list[Claim]:
        """Declared rows, as claims on a mesh of one axis."""
        rows = _dtorch.rule_rows(self.op, self.case.types(), self.case.attrs)
        return [tuple((p,) for p in (*operands, *results)) for operands, results in rows]

    def claims(self, reductions: Sequence[str], units: bool) -> Iterator[Claim]:
        """Every combination of placements on a mesh of one axis."""
        tensors = (*self.case.operands, self.result)
        options = [axis_options(o, reductions, units, self.is_reduced(o)) for o in tensors]
        for combination in itertools.product(*options):
            yield tuple((p,) for p in combination)


# Which boxes fit together, by op. This is what the kernels are written against:
# it keeps them from reading outside their parts, and says nothing about values.

Attrs = dict[str, Any]
Shapes = Sequence[tuple[int, ...]]
Boxes = Sequence[Box]


def _broadcasts(shape: Sequence[int], local: Sequence[int], result: Sequence[int]) -> bool:
    """Whether a part serves a part of a result, dims right-aligned."""
    return all(
        have == (1 if whole == 1 else want)
        for whole, have, want in zip(shape[::-1], local[::-1], result[::-1], strict=False)
    )


def _fits_elementwise(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    *operands, result = [b[1] for b in held]
    if 0 in result:
        return True
    return all(_broadcasts(s, x, result) for s, x in zip(shapes, operands, strict=False))


def _fits_first(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    """The first operand and the result have one shape; the others are 0-dim."""
    return held[0][1] == held[-1][1]


def _fits_matmul(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    x, y, z = (b[1] for b in held)
    if x[-1] != y[-2] or x[-2] != z[-2] or y[-1] != z[-1]:
        return False
    return all(_broadcasts(shapes[i][:-2], (x, y)[i][:-2], z[:-2]) for i in (0, 1))


def _fits_linear(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    x, w, y = (b[1] for b in held)
    return x[-1] == w[1] and y == (*x[:-1], w[0])


def _fits_embedding(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    w, indices, y = (b[1] for b in held)
    return y == (*indices, w[1])


def _fits_reduce(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    x, y, dims = held[0][1], held[1][1], attrs["dims"]
    if attrs["keepdim"]:
        return y == tuple(1 if d in dims else n for d, n in enumerate(x))
    return y == tuple(n for d, n in enumerate(x) if d not in dims)


def _fits_arg_reduce(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    return _fits_reduce({"dims": [attrs["dim"]], "keepdim": False}, shapes, held)


def _fits_view(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    return int(np.prod(held[0][1])) == int(np.prod(held[1][1]))


def _fits_permute(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    return held[1][1] == tuple(held[0][1][d] for d in attrs["dims"])


def _fits_slice(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    x, y = held[0][1], held[1][1]
    for d, (start, stop, step) in enumerate(
        zip(attrs["starts"], attrs["stops"], attrs["steps"], strict=True)
    ):
        size = shapes[0][d]
        if (start, stop, step) == (0, size, 1):
            if x[d] != y[d]:
                return False
        elif x[d] != size or y[d] != len(range(start, stop, step)):
            return False
    return True


def _fits_cat(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    *parts, y = [b[1] for b in held]
    dim = attrs["dim"]
    others = {p[:dim] + p[dim + 1 :] for p in (*parts, y)}
    return len(others) == 1 and sum(p[dim] for p in parts) == y[dim]


def _fits_sdpa(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    q, k, v = (b[1] for b in held[:3])
    y = held[-1][1]
    if q[-1] != k[-1] or k[-2] != v[-2] or y != (*q[:-1], v[-1]):
        return False
    if len(held) == 5:
        return True
    (offset, size), whole = held[4], shapes[4]
    # Rows and keys of the mask must cover those of query and key.
    for back, box in ((2, held[0]), (1, held[1])):
        if whole[-back] == 1:
            continue
        first, count = box[0][-2], box[1][-2]
        if first < offset[-back] or first + count > offset[-back] + size[-back]:
            return False
    return True


def _fits_always(attrs: Attrs, shapes: Shapes, held: Boxes) -> bool:
    """Any boxes, or the kernel itself refuses those that do not fit."""
    return True


_FITS: dict[str, Callable[[Attrs, Shapes, Boxes], bool]] = {
    "unary": _fits_first,
    "binary": _fits_elementwise,
    "where": _fits_elementwise,
    "cast": _fits_first,
    "matmul": _fits_matmul,
    "linear": _fits_linear,
    "embedding": _fits_embedding,
    "softmax": _fits_first,
    "log_softmax": _fits_first,
    "rms_norm": _fits_first,
    "layer_norm": _fits_first,
    "sdpa": _fits_sdpa,
    "reduce": _fits_reduce,
    "arg_reduce": _fits_arg_reduce,
    "cumsum": _fits_first,
    "sort_indices": _fits_first,
    "gather": _fits_always,
    "index_select": _fits_always,
    "scatter": _fits_always,
    "slice_update": _fits_always,
    "tril_triu": _fits_always,
    "pad": _fits_always,
    "flip": _fits_first,
    "view": _fits_view,
    "permute": _fits_permute,
    "expand": _fits_elementwise,
    "slice": _fits_slice,
    "cat": _fits_cat,
    "arange": _fits_always,
    "full": _fits_always,
    "random": _fits_always,
    "randint": _fits_always,
}
