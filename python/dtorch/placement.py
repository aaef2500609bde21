"""How a tensor lies on one axis of a mesh: `Shard`, `Replicate`, `Partial`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from dtorch import _dtorch
from dtorch.errors import PlacementError, as_int, as_list, fail, shown

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """Base class of the three placements; equal placements hash equally."""

    __slots__ = ("_native",)
    _native: _dtorch.Placement

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether this is a `Shard` (of that dim, if one is given)."""
        return self._native.kind == "S" and dim in (None, self._native.dim)

    def is_replicate(self) -> bool:
        return self._native.kind == "R"

    def is_partial(self) -> bool:
        return self._native.kind == "P"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and _key(self._native) == _key(other._native)

    def __hash__(self) -> int:
        return hash(_key(self._native))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, _key(self._native)


class Shard(Placement):
    """Dim `dim` is split over the axis by the balanced law, earlier devices
    getting one element more; with `unit=u` the blocks of u elements are split,
    never a block.

    >>> Shard(0), Shard(0, unit=64)
    (Shard(0), Shard(0, unit=64))
    """

    __slots__ = ()

    def __init__(self, dim: int, *, unit: int = 1) -> None:
        unit = as_int(unit, "Shard: unit")
        if unit < 1:
            raise fail(PlacementError, f"Shard: unit must be at least 1, got {unit}")
        self._native = _dtorch.Placement.shard(as_int(dim, "Shard: dim"), unit)

    @property
    def dim(self) -> int:
        return self._native.dim

    @property
    def unit(self) -> int:
        return self._native.unit

    def __repr__(self) -> str:
        unit = f", unit={self.unit}" if self.unit != 1 else ""
        return f"Shard({self.dim}{unit})"


class Replicate(Placement):
    """Every device of the axis holds the same value."""

    __slots__ = ()

    def __init__(self) -> None:
        self._native = _dtorch.Placement.replicate()

    def __repr__(self) -> str:
        return "Replicate()"


class Partial(Placement):
    """The value is the sum over the axis of what the devices hold.

    The compiler also makes pending maxima and minima; a user can only see them.
    """

    __slots__ = ()

    def __init__(self, reduce_op: str = "sum") -> None:
        if reduce_op not in ("sum", "max", "min"):
            raise fail(
                PlacementError,
                f'Partial: reduce_op must be "sum", "max" or "min", got {reduce_op!r}',
            )
        self._native = _dtorch.Placement.partial(reduce_op)

    @property
    def reduce_op(self) -> str:
        return self._native.reduce

    def __repr__(self) -> str:
        return "Partial()" if self.reduce_op == "sum" else f"Partial({self.reduce_op!r})"


def _key(native: _dtorch.Placement) -> tuple[str, int, int, str]:
    kind = native.kind
    if kind == "S":
        return "S", native.dim, native.unit, ""
    return kind, 0, 1, native.reduce if kind == "P" else ""


def _rebuild(kind: str, dim: int, unit: int, reduce_op: str) -> Placement:
    if kind == "S":
        return Shard(dim, unit=unit)
    return Partial(reduce_op) if kind == "P" else Replicate()


@cache
def from_native(native: _dtorch.Placement) -> Placement:
    """The public object for a native placement."""
    return _rebuild(*_key(native))


def resolve(placement: Placement, ndim: int) -> Placement:
    """The placement with a shard dim counted from the front.

    >>> resolve(Shard(-1, unit=2), 3)
    Shard(2, unit=2)
    """
    if not isinstance(placement, Placement):
        raise fail(
            TypeError,
            f"placements: each must be Shard, Replicate or Partial, got {shown(placement)}",
        )
    if not isinstance(placement, Shard):
        return placement
    if not -ndim <= placement.dim < ndim:
        rule = (
            f"a shard dim must be in [{-ndim}, {ndim - 1}]" if ndim else "there is no dim to shard"
        )
        raise fail(
            PlacementError,
            f"placements: {rule}, got {placement!r} for a tensor of {ndim} dims",
        )
    return placement if placement.dim >= 0 else Shard(placement.dim + ndim, unit=placement.unit)


def resolve_all(placements: Iterable[Placement], ndim: int) -> list[Placement]:
    """Each placement resolved for a tensor of `ndim` dims."""
    return [resolve(p, ndim) for p in as_list(placements, "placements:")]
