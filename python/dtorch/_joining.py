"""Ops that join tensors, and those that cut one into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dtorch._base import TensorBase, as_tensor, record, resolve_dim
from dtorch._elementwise import cast
from dtorch._hot import hot
from dtorch._shaping import broadcast_shape, slice_of, view_as_shape
from dtorch.dtypes import result_dtype
from dtorch.errors import as_int, fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

__all__ = [
    "broadcast_tensors",
    "cat",
    "chunk",
    "concat",
    "concatenate",
    "hstack",
    "narrow",
    "roll",
    "select",
    "split",
    "split_with_sizes",
    "stack",
    "tensor_split",
    "unbind",
    "vstack",
]


def _parts(subject: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)):
        raise fail(TypeError, f"{subject}: needs a list of tensors, got {type(tensors).__name__}")
    if not tensors:
        raise fail(ValueError, f"{subject}: needs at least one tensor")
    return [as_tensor(t, subject) for t in tensors]


@hot("cat")
def cat(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Joins tensors along a dim; other sizes must agree. An empty tensor of one
    dim joins anything, as in PyTorch."""
    parts = _parts("cat", tensors)
    to = result_dtype([(t.dtype, t.ndim) for t in parts], [])
    if any(t.ndim == 0 for t in parts):
        raise fail(ValueError, "cat: tensors must have at least 1 dim, got 0", "use stack")
    parts = [t for t in parts if t.shape != (0,)] or parts[:1]
    d = resolve_dim(dim, parts[0].ndim, "cat")
    return record("cat", [cast(t, to) for t in parts], dim=d)


concat = concatenate = cat


def stack(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Joins tensors of one shape along a new dim."""
    parts = _parts("stack", tensors)
    if len({t.shape for t in parts}) != 1:
        raise fail(ValueError, f"stack: shapes must be equal, got {[t.shape for t in parts]}")
    d = resolve_dim(dim, parts[0].ndim + 1, "stack")
    to = result_dtype([(t.dtype, t.ndim) for t in parts], [])
    return record("cat", [cast(t, to).unsqueeze(d) for t in parts], dim=d)


def hstack(tensors: Sequence[Any]) -> Tensor:
    """Joins along dim 1 (dim 0 for tensors of one dim)."""
    parts = [t.view(1) if t.ndim == 0 else t for t in _parts("hstack", tensors)]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Any]) -> Tensor:
    """Joins along dim 0; tensors of one dim become rows."""
    return cat([t.view(1, -1) if t.ndim < 2 else t for t in _parts("vstack", tensors)], 0)


def narrow(input: Any, dim: int, start: Any, length: int) -> Tensor:
    """Elements start … start + length - 1 of a dim."""
    x = as_tensor(input, "narrow")
    if not x.ndim:
        raise fail(ValueError, "narrow: not for a tensor of 0 dims")
    d = resolve_dim(dim, x.ndim, "narrow")
    size, first = x.shape[d], _int("narrow", "start", start)
    if not -size <= first <= size:
        raise fail(IndexError, f"narrow: start must be in [{-size}, {size}], got {first}")
    first, length = first + size if first < 0 else first, _int("narrow", "length", length)
    if length < 0 or first + length > size:
        raise fail(
            ValueError,
            f"narrow: start ({first}) + length ({length}) exceeds dimension size ({size})",
        )
    return slice_of(x, d, first, first + length)


def _int(subject: str, name: str, value: Any) -> int:
    return as_int(value, f"{subject}: {name}")


def select(input: Any, dim: int, index: int) -> Tensor:
    """Position `index` of a dim, without that dim."""
    x = as_tensor(input, "select")
    if not x.ndim:
        raise fail(IndexError, "select: not for a tensor of 0 dims")
    d, at = resolve_dim(dim, x.ndim, "select"), _int("select", "index", index)
    size = x.shape[d]
    if not -size <= at < size:
        raise fail(IndexError, f"select: index {at} is out of range for dim {d} of size {size}")
    row = slice_of(x, d, at % size, at % size + 1)
    return view_as_shape(row, [*x.shape[:d], *x.shape[d + 1 :]])


def unbind(input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """All positions of a dim, as tensors without that dim."""
    x = as_tensor(input, "unbind")
    if not x.ndim:
        raise fail(IndexError, "unbind: not for a tensor of 0 dims")
    d = resolve_dim(dim, x.ndim, "unbind")
    return tuple(select(x, d, i) for i in range(x.shape[d]))


def _pieces(x: TensorBase, dim: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(slice_of(x, dim, start, start + size))
        start += size
    return tuple(pieces)


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size (the last may be smaller), or of given sizes."""
    x = as_tensor(tensor, "split")
    if not x.ndim:
        raise fail(ValueError, "split: not for a tensor of 0 dims")
    d = resolve_dim(dim, x.ndim, "split")
    n = x.shape[d]
    if isinstance(split_size_or_sections, (list, tuple)):
        sizes = [_int("split", "sizes", s) for s in split_size_or_sections]
        if sum(sizes) != n or any(s < 0 for s in sizes):
            raise fail(ValueError, f"split: sizes {sizes} must add up to {n}")
        return _pieces(x, d, sizes)
    step = _int("split", "the size", split_size_or_sections)
    if step < 1 and not (step == 0 and n == 0):
        raise fail(ValueError, f"split: the size must be at least 1, got {step}")
    return _pieces(x, d, [min(step, n - i) for i in range(0, n, step)] if n else [0])


def split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of given sizes."""
    return split(input, list(split_sizes), dim)


def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of ceil(n / chunks), as in PyTorch (this is a
    split of the global value, not the shard law)."""
    x = as_tensor(input, "chunk")
    chunks = _int("chunk", "chunks", chunks)
    if chunks < 1:
        raise fail(ValueError, f"chunk: chunks must be at least 1, got {chunks}")
    if not x.ndim:
        raise fail(ValueError, "chunk: not for a tensor of 0 dims")
    n = x.shape[resolve_dim(dim, x.ndim, "chunk")]
    return split(x, [0] * chunks if n == 0 else -(-n // chunks), dim)


def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """So many pieces, whose sizes differ by at most 1, or pieces between indices
    (a tensor of them is looked at)."""
    x = as_tensor(input, "tensor_split")
    if not x.ndim:
        raise fail(ValueError, "tensor_split: not for a tensor of 0 dims")
    d = resolve_dim(dim, x.ndim, "tensor_split")
    n, given = x.shape[d], indices_or_sections
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, int):
        if given < 1:
            raise fail(ValueError, f"tensor_split: sections must be at least 1, got {given}")
        return _pieces(x, d, [n // given + (i < n % given) for i in range(given)])
    edges = [slice(None, _int("tensor_split", "indices", i)).indices(n)[1] for i in given]
    starts, stops = [0, *edges], [*edges, n]
    return tuple(slice_of(x, d, a, max(a, b)) for a, b in zip(starts, stops, strict=True))


def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved by `shifts` along dims, those at the end to the front."""
    x = as_tensor(input, "roll")
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return view_as_shape(roll(x.flatten(), shifts, 0), x.shape)
    by = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    along = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if len(by) != len(along):
        raise fail(ValueError, f"roll: needs one shift per dim, got {by} and {along}")
    for shift, dim in zip(by, along, strict=True):
        d = resolve_dim(dim, x.ndim, "roll")
        n = x.shape[d] if x.ndim else 0
        if n and shift % n:
            cut = n - shift % n
            x = cat([slice_of(x, d, cut, n), slice_of(x, d, 0, cut)], d)
    return x


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    parts = [as_tensor(t, "broadcast_tensors") for t in given]
    shape = broadcast_shape("broadcast_tensors", *(t.shape for t in parts))
    return tuple(t.expand(shape) for t in parts)
