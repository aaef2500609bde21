"""Ops that move elements: views, permutations, concatenation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dtorch._base import TensorBase, as_tensor, flatten_ints, record, resolve_dim, same
from dtorch._elementwise import cast
from dtorch.dtypes import result_dtype
from dtorch.errors import fail

if TYPE_CHECKING:
    from dtorch.tensor import Tensor


def resolve_view(subject: str, shape: Sequence[int], sizes: list[int]) -> list[int]:
    """The sizes with -1 replaced by what is left of the elements."""
    count = math.prod(shape)
    problem = f"{subject}: shape '{sizes}' is invalid for input of size {count}"
    unknown = [i for i, n in enumerate(sizes) if n == -1]
    if len(unknown) > 1 or any(n < -1 for n in sizes):
        raise fail(ValueError, f"{subject}: at most one size may be -1, got {sizes}")
    if not unknown:
        if math.prod(sizes) != count:
            raise fail(ValueError, problem)
        return sizes
    known = math.prod(n for n in sizes if n != -1)
    if known == 0:
        raise fail(ValueError, f"{problem}: -1 could be any number")
    if count % known:
        raise fail(ValueError, problem)
    return [count // known if n == -1 else n for n in sizes]


def view_as_shape(x: TensorBase, shape: Sequence[int]) -> Tensor:
    """x under a shape without -1; x's own node if nothing changes."""
    if tuple(shape) == x.shape:
        return same(x)
    return record("view", [x], shape=list(shape))


def cat(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Joins tensors along a dim; other sizes must agree."""
    parts = [as_tensor(t, "cat") for t in tensors]
    if not parts:
        raise fail(ValueError, "cat: needs at least one tensor")
    d = resolve_dim(dim, parts[0].ndim, "cat")
    to = result_dtype([(t.dtype, t.ndim) for t in parts], [])
    return record("cat", [cast(t, to) for t in parts], dim=d)


def stack(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Joins tensors of one shape along a new dim."""
    parts = [as_tensor(t, "stack") for t in tensors]
    if len({t.shape for t in parts}) != 1:
        raise fail(ValueError, f"stack: shapes must be equal, got {[t.shape for t in parts]}")
    d = resolve_dim(dim, parts[0].ndim + 1, "stack")
    return cat([t.unsqueeze(d) for t in parts], d)


def slice_dims(
    x: TensorBase, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]
) -> Tensor:
    """x[start:stop:step] per dim; bounds are resolved already."""
    full = all(
        a == 0 and b == n and s == 1
        for a, b, s, n in zip(starts, stops, steps, x.shape, strict=True)
    )
    if full:
        return same(x)
    return record("slice", [x], starts=list(starts), stops=list(stops), steps=list(steps))


class Shaping(TensorBase):
    """Methods of `Tensor` that move elements. All sizes are global."""

    __slots__ = ()

    def view(self, *shape: Any) -> Tensor:
        """The same elements under another shape; one size may be -1."""
        sizes = flatten_ints(shape, "view")
        return view_as_shape(self, resolve_view("view", self.shape, sizes))

    def reshape(self, *shape: Any) -> Tensor:
        """As `view`: there are no strides that could make a difference."""
        sizes = flatten_ints(shape, "reshape")
        return view_as_shape(self, resolve_view("reshape", self.shape, sizes))

    def view_as(self, other: TensorBase) -> Tensor:
        return self.view(other.shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Dims start_dim … end_dim as one."""
        shape = self.shape or (1,)
        first = resolve_dim(start_dim, self.ndim, "flatten")
        last = resolve_dim(end_dim, self.ndim, "flatten")
        if first > last:
            raise fail(ValueError, f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
        joined = math.prod(shape[first : last + 1])
        return view_as_shape(self, [*shape[:first], joined, *shape[last + 1 :]])

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Tensor:
        """Dim `dim` as several; one size may be -1."""
        d, shape = resolve_dim(dim, self.ndim, "unflatten"), self.shape
        parts = resolve_view("unflatten", [shape[d]], flatten_ints([sizes], "unflatten"))
        return view_as_shape(self, [*shape[:d], *parts, *shape[d + 1 :]])

    def unsqueeze(self, dim: int) -> Tensor:
        """A new dim of size 1 at `dim`."""
        d, shape = resolve_dim(dim, self.ndim + 1, "unsqueeze"), self.shape
        return view_as_shape(self, [*shape[:d], 1, *shape[d:]])

    def squeeze(self, dim: int | Sequence[int] | None = None) -> Tensor:
        """Without dims of size 1 (all, or those named)."""
        if dim is None:
            named = set(range(self.ndim))
        else:
            dims = dim if isinstance(dim, (list, tuple)) else [dim]
            named = {resolve_dim(d, self.ndim, "squeeze") for d in dims}
        return view_as_shape(
            self, [n for d, n in enumerate(self.shape) if n != 1 or d not in named]
        )

    def permute(self, *dims: Any) -> Tensor:
        """Dims in another order."""
        order = [resolve_dim(d, self.ndim, "permute") for d in flatten_ints(dims, "permute")]
        if sorted(order) != list(range(self.ndim)):
            raise fail(
                ValueError,
                f"permute: dims must name each of the {self.ndim} dims once, got {order}",
            )
        if order == sorted(order):
            return same(self)
        return record("permute", [self], dims=order)

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Dims `dim0` and `dim1` exchanged."""
        a = resolve_dim(dim0, self.ndim, "transpose")
        b = resolve_dim(dim1, self.ndim, "transpose")
        order = list(range(self.ndim))
        if order:
            order[a], order[b] = order[b], order[a]
        return self.permute(order)

    def t(self) -> Tensor:
        """The transpose of a tensor of at most 2 dims."""
        if self.ndim > 2:
            raise fail(ValueError, f"t: ndim must be at most 2, got {self.ndim}")
        return self.transpose(0, 1) if self.ndim == 2 else same(self)

    @property
    def T(self) -> Tensor:  # noqa: N802
        """All dims in reverse order."""
        return self.permute(list(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """The last two dims exchanged."""
        return self.transpose(-2, -1)

    def expand(self, *sizes: Any) -> Tensor:
        """Dims of size 1 repeated, new dims in front; -1 keeps a size."""
        wanted, shape = flatten_ints(sizes, "expand"), self.shape
        extra = len(wanted) - len(shape)
        problem = f"expand: sizes {wanted} do not fit shape {shape}"
        if extra < 0:
            raise fail(ValueError, f"{problem}: fewer dims")
        result = []
        for d, size in enumerate(wanted):
            have = shape[d - extra] if d >= extra else None
            if size == -1 and have is not None:
                size = have
            if size < 0 or have not in (None, 1, size):
                raise fail(ValueError, f"{problem}: at dim {d}")
            result.append(size)
        return same(self) if tuple(result) == shape else record("expand", [self], shape=result)

    def expand_as(self, other: TensorBase) -> Tensor:
        return self.expand(other.shape)

    def contiguous(self) -> Tensor:
        """Itself: elements always lie in row-major order."""
        return same(self)

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        """Elements start … start + length - 1 of a dim."""
        d = resolve_dim(dim, self.ndim, "narrow")
        size = self.shape[d]
        if not -size <= start <= size:
            raise fail(IndexError, f"narrow: start must be in [{-size}, {size}], got {start}")
        first = start + size if start < 0 else start
        if length < 0 or first + length > size:
            raise fail(
                ValueError,
                f"narrow: start ({first}) + length ({length}) exceeds dimension size ({size})",
            )
        return _slice_of(self, d, first, first + length)

    def split(
        self, split_size_or_sections: int | Sequence[int], dim: int = 0
    ) -> tuple[Tensor, ...]:
        """Pieces of one size (the last may be smaller), or of given sizes."""
        d = resolve_dim(dim, self.ndim, "split")
        n = self.shape[d]
        if isinstance(split_size_or_sections, int):
            step = split_size_or_sections
            if step < 1 and not (step == 0 and n == 0):
                raise fail(ValueError, f"split: the size must be at least 1, got {step}")
            sizes = [min(step, n - i) for i in range(0, n, step)] if n else [0]
        else:
            sizes = list(split_size_or_sections)
            if sum(sizes) != n or any(s < 0 for s in sizes):
                raise fail(ValueError, f"split: sizes {sizes} must add up to {n}")
        pieces, start = [], 0
        for size in sizes:
            pieces.append(_slice_of(self, d, start, start + size))
            start += size
        return tuple(pieces)

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces of ceil(n / chunks), as in PyTorch (this is a
        split of the global value, not the shard law)."""
        if chunks < 1:
            raise fail(ValueError, f"chunk: chunks must be at least 1, got {chunks}")
        n = self.shape[resolve_dim(dim, self.ndim, "chunk")]
        return self.split([0] * chunks if n == 0 else -(-n // chunks), dim)

    def repeat_interleave(self, repeats: int, dim: int | None = None) -> Tensor:
        """Each element (or each index of a dim) `repeats` times in a row."""
        x = self.flatten() if dim is None else same(self)
        d = resolve_dim(0 if dim is None else dim, x.ndim, "repeat_interleave")
        shape = x.shape
        wide = [*shape[: d + 1], repeats, *shape[d + 1 :]]
        return x.unsqueeze(d + 1).expand(wide).flatten(d, d + 1)


def _slice_of(x: TensorBase, dim: int, start: int, stop: int) -> Tensor:
    starts, stops = [0] * x.ndim, list(x.shape)
    starts[dim], stops[dim] = start, stop
    return slice_dims(x, starts, stops, [1] * x.ndim)
