"""Ops that change the shape: views, permutations, expansions. Sizes are global."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dtorch._base import TensorBase, flatten_ints, record, resolve_dim, same
from dtorch._hot import hot
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


def broadcast_shape(subject: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all broadcast to, dims right-aligned."""
    ndim = max((len(s) for s in shapes), default=0)
    padded = [(1,) * (ndim - len(s)) + tuple(s) for s in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise fail(
                ValueError, f"{subject}: shapes must broadcast, got {[tuple(s) for s in shapes]}"
            )
        result.append(wide.pop() if wide else 1)
    return tuple(result)


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

    @hot("view")
    def view(self, *shape: Any) -> Tensor:
        """The same elements under another shape; one size may be -1."""
        sizes = flatten_ints(shape, "view")
        return view_as_shape(self, resolve_view("view", self.shape, sizes))

    @hot("reshape")
    def reshape(self, *shape: Any) -> Tensor:
        """As `view`: there are no strides that could make a difference."""
        sizes = flatten_ints(shape, "reshape")
        return view_as_shape(self, resolve_view("reshape", self.shape, sizes))

    def view_as(self, other: TensorBase) -> Tensor:
        return self.view(other.shape)

    @hot("flatten")
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

    @hot("unsqueeze")
    def unsqueeze(self, dim: int) -> Tensor:
        """A new dim of size 1 at `dim`."""
        d, shape = resolve_dim(dim, self.ndim + 1, "unsqueeze"), self.shape
        return view_as_shape(self, [*shape[:d], 1, *shape[d:]])

    @hot("squeeze")
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

    @hot("permute")
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

    @hot("transpose")
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

    def movedim(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
        """Dims moved to other places; the rest keep their order."""
        given = [[d] if isinstance(d, int) else list(d) for d in (source, destination)]
        sources, targets = ([resolve_dim(d, self.ndim, "movedim") for d in g] for g in given)
        if len(sources) != len(targets) or any(len({*s}) != len(s) for s in (sources, targets)):
            raise fail(
                ValueError,
                f"movedim: source and destination must name as many dims, each once, "
                f"got {source} and {destination}",
            )
        rest = iter(d for d in range(self.ndim) if d not in sources)
        moved = dict(zip(targets, sources, strict=True))
        order = [moved[d] if d in moved else next(rest) for d in range(self.ndim)]
        return self.permute(order) if order else same(self)

    @property
    def T(self) -> Tensor:  # noqa: N802
        """All dims in reverse order."""
        return self.permute(list(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """The last two dims exchanged."""
        return self.transpose(-2, -1)

    @hot("expand")
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

    def contiguous(self, memory_format: Any = None) -> Tensor:
        """Itself: elements always lie in row-major order."""
        return same(self)

    def repeat(self, *repeats: Any) -> Tensor:
        """Copies along each dim; new dims in front."""
        counts, shape = flatten_ints(repeats, "repeat"), self.shape
        if len(counts) < len(shape) or any(c < 0 for c in counts):
            raise fail(
                ValueError,
                f"repeat: needs one count of at least 0 for each of the {len(shape)} dims, "
                f"got {counts}",
            )
        shape = (1,) * (len(counts) - len(shape)) + shape
        paired = [n for pair in zip(counts, shape, strict=True) for n in pair]
        spread = view_as_shape(self, [n for size in shape for n in (1, size)])
        joined = [c * n for c, n in zip(counts, shape, strict=True)]
        return view_as_shape(spread.expand(paired), joined)

    def tile(self, *dims: Any) -> Tensor:
        """As `repeat`, where counts left out in front are 1."""
        counts = flatten_ints(dims, "tile")
        return self.repeat([1] * (self.ndim - len(counts)) + counts)

    def flip(self, *dims: Any) -> Tensor:
        """Dims in reversed order of elements."""
        given = flatten_ints(dims, "flip")
        reversed_ = sorted({resolve_dim(d, self.ndim, "flip") for d in given})
        if len(reversed_) != len(given):
            raise fail(ValueError, f"flip: a dim appears more than once in {given}")
        return record("flip", [self], dims=reversed_) if reversed_ and self.ndim else same(self)


def slice_of(x: TensorBase, dim: int, start: int, stop: int, step: int = 1) -> Tensor:
    """x[start:stop:step] along one dim."""
    starts, stops = [0] * x.ndim, list(x.shape)
    steps = [1] * x.ndim
    starts[dim], stops[dim], steps[dim] = start, stop, step
    return slice_dims(x, starts, stops, steps)
