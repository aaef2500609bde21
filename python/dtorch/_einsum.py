"""`einsum`: a chain of batched matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dtorch._base import as_tensor
from dtorch._elementwise import binary
from dtorch._products import matmul
from dtorch._reductions import reduce
from dtorch._shaping import slice_of, view_as_shape
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

__all__ = ["einsum"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

Term = tuple["Tensor", str]
"""A tensor and one letter per dim; dims of `...` are digits and the like."""


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products, as the equation says: einsum("bik,bkj->bij", x, y).

    Operands are taken in order from the left. Also takes lists of dims after the
    operands, as PyTorch does: einsum(x, [0, 1], y, [1, 2], [0, 2]).
    """
    if not isinstance(equation, str):
        equation, operands = _from_lists([equation, *operands])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    tensors = [as_tensor(t, "einsum") for t in operands]
    inputs, output = _parse(equation, [t.ndim for t in tensors])
    sizes = _sizes(inputs, tensors)
    terms = [_without_repeats(t, names) for t, names in zip(tensors, inputs, strict=True)]
    result = terms[0]
    for i, term in enumerate(terms[1:], 1):
        later = set(output).union(*(names for _, names in terms[i + 1 :]))
        result = _contract(_summed(result, later | set(term[1])), term, later, sizes)
    tensor, names = _summed(result, set(output))
    tensor = tensor.permute([names.index(n) for n in output]) if output else tensor
    return tensor.expand([sizes[n] for n in output])


def _from_lists(items: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The equation for operands that alternate with lists of dims."""

    def term(dims: Sequence[Any]) -> str:
        return "".join("..." if d is ... else _LETTERS[d] for d in dims)

    try:
        pairs = len(items) // 2
        equation = ",".join(term(items[2 * i + 1]) for i in range(pairs))
        if len(items) % 2:
            equation += "->" + term(items[-1])
    except (IndexError, TypeError):
        raise fail(
            ValueError, "einsum: needs an equation, or operands with lists of dims in [0, 52)"
        ) from None
    return equation, tuple(items[0 : 2 * pairs : 2])


def _parse(equation: str, ndims: list[int]) -> tuple[list[str], str]:
    """Letters per dim of each operand and of the output."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise fail(
            ValueError, f"einsum: equation has {len(terms)} operands, got {len(ndims)} tensors"
        )
    extra = 0
    for term, ndim in zip(terms, ndims, strict=True):
        named = len(term.replace("...", "", 1))
        if named != ndim and ("..." not in term or named > ndim):
            raise fail(ValueError, f"einsum: '{term}' has {named} dims, got a tensor of {ndim}")
        extra = max(extra, ndim - named)
    dots = "".join(chr(ord("0") + i) for i in range(extra))

    def spelled(term: str, count: int) -> str:
        names = term.replace("...", dots[len(dots) - count :], 1)
        if any(n not in _LETTERS and n not in dots for n in names):
            raise fail(ValueError, f"einsum: dims must be letters or '...', got '{term}'")
        return names

    inputs = [
        spelled(t, n - len(t.replace("...", "", 1))) for t, n in zip(terms, ndims, strict=True)
    ]
    if arrow:
        output = spelled(right, extra)
    else:
        everything = "".join(terms).replace("...", "")
        output = dots + "".join(sorted(n for n in set(everything) if everything.count(n) == 1))
    known = set("".join(inputs))
    if len(set(output)) != len(output) or not set(output) <= known:
        raise fail(
            ValueError, f"einsum: '{right}' must name dims of the operands, each at most once"
        )
    return inputs, output


def _sizes(inputs: list[str], tensors: list[Tensor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for names, tensor in zip(inputs, tensors, strict=True):
        for name, size in zip(names, tensor.shape, strict=True):
            held = sizes.setdefault(name, size)
            if held != size and 1 not in (held, size):
                raise fail(ValueError, f"einsum: dim '{name}' has sizes {held} and {size}")
            sizes[name] = size if held == 1 else held
    return sizes


def _without_repeats(x: Tensor, names: str) -> Term:
    """The diagonal over dims of one name."""
    for name in names:
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            order = [d for d in range(x.ndim) if d not in (first, second)]
            n = x.shape[first]
            if x.shape[second] != n:
                raise fail(ValueError, f"einsum: dim '{name}' has sizes {n} and {x.shape[second]}")
            rest = [x.shape[d] for d in order]
            flat = view_as_shape(x.permute([*order, first, second]), [*rest, n * n])
            x = slice_of(flat, x.ndim - 2, 0, n * n, n + 1)
            names = "".join(c for c in names if c != name) + name
    return x, names


def _summed(term: Term, kept: set[str]) -> Term:
    """Summed over dims that nothing else names."""
    x, names = term
    dims = [d for d, name in enumerate(names) if name not in kept]
    if not dims:
        return term
    return reduce("sum", x, dims, False), "".join(n for n in names if n in kept)


def _contract(left: Term, right: Term, later: set[str], sizes: dict[str, int]) -> Term:
    """The product of two, summed over dims that nothing later names."""
    right = _summed(right, later | set(left[1]))
    (x, a), (y, b) = left, right
    shared = [n for n in a if n in b]
    summed = [n for n in shared if n not in later]
    if not summed:
        return _multiplied(x, a, y, b)
    batch = [n for n in shared if n in later]
    rows, columns = [n for n in a if n not in b], [n for n in b if n not in a]
    # Sizes of 1 broadcast in batch dims by themselves, but not where they are summed.
    x = _arranged(x, a, batch, rows, summed, sizes)
    y = _arranged(y, b, batch, summed, columns, sizes)
    product = matmul(x, y)
    shape = [*product.shape[: len(batch)], *(sizes[n] for n in (*rows, *columns))]
    return view_as_shape(product, shape), "".join([*batch, *rows, *columns])


def _arranged(
    x: Tensor,
    names: str,
    batch: list[str],
    first: list[str],
    second: list[str],
    sizes: dict[str, int],
) -> Tensor:
    """Batch dims, then the dims `first` as one and `second` as one."""
    order = [*batch, *first, *second]
    x = x.permute([names.index(n) for n in order])
    wide = [*x.shape[: len(batch)], *(sizes[n] for n in (*first, *second))]
    ends = [math.prod(sizes[n] for n in group) for group in (first, second)]
    return view_as_shape(x.expand(wide), [*wide[: len(batch)], *ends])


def _multiplied(x: Tensor, a: str, y: Tensor, b: str) -> Term:
    """Without a sum: dims side by side, broadcast."""
    names = a + "".join(n for n in b if n not in a)
    y = y.permute([b.index(n) for n in names if n in b])
    shape = iter(y.shape)
    y = view_as_shape(y, [next(shape) if n in b else 1 for n in names])
    x = view_as_shape(x, [*x.shape, *([1] * (len(names) - len(a)))])
    return binary("mul", x, y), names
