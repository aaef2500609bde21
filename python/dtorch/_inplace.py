"""In-place forms: `x.add_(y)` gives x a new value.

A value never changes; a tensor may be given another one. What was made from the
tensor before keeps the old value, views included: `x[0].zero_()` leaves x as it
was, `x[0] = 0` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dtorch import _gathering, _ordering, _pointwise, _products, _setting
from dtorch._base import TensorBase, as_number, as_tensor, same
from dtorch._elementwise import binary, cast
from dtorch._gathering import filled
from dtorch.errors import fail
from dtorch.placement import Placement, Replicate, Shard

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

_CATEGORIES = ("bool", "integer", "floating")


def rebind(x: TensorBase, value: Tensor, subject: str) -> Tensor:
    """Gives x a value of its shape, in its dtype, where it lies."""
    if value.shape != x.shape:
        raise fail(
            ValueError,
            f"{subject}: the result must have the tensor's shape {x.shape}, got {value.shape}",
        )
    if value.dtype.category > x.dtype.category:
        raise fail(
            TypeError,
            f"{subject}: result type {value.dtype.name} cannot be cast to the tensor's "
            f"{x.dtype.name}",
        )
    tensor = same(x)
    tensor._rebind(_placed_as(x, cast(value, x.dtype)))
    return tensor


def _placed_as(x: TensorBase, value: Tensor) -> Tensor:
    """A value where x lies; axes that are pending on either side stay as they are,
    and a host tensor moves to the mesh of what it met."""
    if x.device_mesh != value.device_mesh:
        # What comes from the host is whole: nothing of it is pending.
        whole = [Replicate() if p.is_partial() else p for p in x.placements]
        return value if x.is_host else value.redistribute(x.device_mesh, whole)
    pairs = zip(value.placements, x.placements, strict=True)
    wanted = _one_unit([p if p.is_partial() or q.is_partial() else q for p, q in pairs])
    return value if wanted == value.placements else value.redistribute(placements=wanted)


def _one_unit(placements: list[Placement]) -> list[Placement]:
    """The placements without shards whose unit is not that of an earlier axis."""
    units: dict[int, int] = {}
    return [
        Replicate() if isinstance(p, Shard) and units.setdefault(p.dim, p.unit) != p.unit else p
        for p in placements
    ]


def _in_place(function: Callable[..., Tensor], name: str | None = None) -> Callable[..., Tensor]:
    """The in-place form of a function of a tensor."""
    subject = f"{name or function.__name__}_"

    def method(self: TensorBase, *args: Any, **kwargs: Any) -> Tensor:
        return rebind(self, function(self, *args, **kwargs), subject)

    method.__name__ = method.__qualname__ = subject
    method.__doc__ = f"In place: {function.__doc__}"
    return method


def _shaped(name: str) -> Callable[..., Tensor]:
    """The in-place form of a view."""

    def method(self: TensorBase, *args: Any, **kwargs: Any) -> Tensor:
        tensor = same(self)
        tensor._rebind(getattr(self, name)(*args, **kwargs))
        return tensor

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"In place: see `{name}`."
    return method


class InPlace(TensorBase):
    """In-place methods of `Tensor`, and assignment to parts."""

    __slots__ = ()

    def _rebind(self, value: Tensor) -> None:
        """Takes the value of another tensor."""
        self._node = value._node
        self._host = None

    def __setitem__(self, index: Any, value: Any) -> None:
        rebind(self, _setting.setitem(self, index, value), "setitem")

    def index_put_(self, indices: tuple[Any, ...], values: Any, accumulate: bool = False) -> Tensor:
        """self[indices] = values, or with `accumulate` += values, where a place
        named twice gets both."""
        value = _setting.setitem(self, tuple(indices), values, accumulate)
        return rebind(self, value, "index_put_")

    def copy_(self, src: Any, non_blocking: bool = False) -> Tensor:
        """Takes the values of src, which is expanded and converted."""
        value = as_tensor(src, "copy_")
        if value.ndim > self.ndim:
            raise fail(ValueError, f"copy_: src must expand to {self.shape}, got {value.shape}")
        return rebind(self, cast(value.expand(self.shape), self.dtype), "copy_")

    def fill_(self, value: Any) -> Tensor:
        """One value everywhere."""
        if as_number(value) is not None:
            d = self.dtype
            number = _pointwise._truncated("fill_", value, d) if d.category == 1 else value
            return rebind(self, filled(self, number, self.shape), "fill_")
        tensor = as_tensor(value, "fill_")
        if tensor.ndim:
            raise fail(ValueError, f"fill_: value must have 0 dims, got {tensor.ndim}")
        return rebind(self, cast(tensor, self.dtype).expand(self.shape), "fill_")

    def zero_(self) -> Tensor:
        """0 everywhere."""
        return self.fill_(0)

    def normal_(self, mean: float = 0.0, std: float = 1.0) -> Tensor:
        """Normal random numbers."""
        from dtorch.factories import randn_like

        value = binary("add", binary("mul", randn_like(same(self)), std), mean)
        return rebind(self, value, "normal_")

    def uniform_(self, a: float = 0.0, b: float = 1.0) -> Tensor:
        """Uniform random numbers in [a, b)."""
        from dtorch.factories import rand_like

        value = binary("add", binary("mul", rand_like(same(self)), b - a), a)
        return rebind(self, value, "uniform_")

    abs_ = _in_place(_pointwise.abs)
    add_ = _in_place(_pointwise.add)
    addcdiv_ = _in_place(_pointwise.addcdiv)
    addcmul_ = _in_place(_pointwise.addcmul)
    addmm_ = _in_place(_products.addmm)
    asin_ = _in_place(_pointwise.asin)
    baddbmm_ = _in_place(_products.baddbmm)
    bitwise_and_ = _in_place(_pointwise.bitwise_and)
    bitwise_not_ = _in_place(_pointwise.bitwise_not)
    bitwise_or_ = _in_place(_pointwise.bitwise_or)
    bitwise_xor_ = _in_place(_pointwise.bitwise_xor)
    ceil_ = _in_place(_pointwise.ceil)
    clamp_ = clip_ = _in_place(_pointwise.clamp)
    clamp_max_ = _in_place(_pointwise.clamp_max)
    clamp_min_ = _in_place(_pointwise.clamp_min)
    cos_ = _in_place(_pointwise.cos)
    cumsum_ = _in_place(_ordering.cumsum)
    div_ = divide_ = true_divide_ = _in_place(_pointwise.div)
    eq_ = _in_place(_pointwise.eq)
    erf_ = _in_place(_pointwise.erf)
    exp_ = _in_place(_pointwise.exp)
    expm1_ = _in_place(_pointwise.expm1)
    floor_ = _in_place(_pointwise.floor)
    floor_divide_ = _in_place(_pointwise.floor_divide)
    fmod_ = _in_place(_pointwise.fmod)
    ge_ = _in_place(_pointwise.ge)
    gt_ = _in_place(_pointwise.gt)
    index_add_ = _in_place(_gathering.index_add)
    index_copy_ = _in_place(_gathering.index_copy)
    index_fill_ = _in_place(_gathering.index_fill)
    le_ = _in_place(_pointwise.le)
    lerp_ = _in_place(_pointwise.lerp)
    log_ = _in_place(_pointwise.log)
    log10_ = _in_place(_pointwise.log10)
    log1p_ = _in_place(_pointwise.log1p)
    log2_ = _in_place(_pointwise.log2)
    logical_and_ = _in_place(_pointwise.logical_and)
    logical_not_ = _in_place(_pointwise.logical_not)
    logical_or_ = _in_place(_pointwise.logical_or)
    logical_xor_ = _in_place(_pointwise.logical_xor)
    lt_ = _in_place(_pointwise.lt)
    masked_fill_ = _in_place(_pointwise.masked_fill)
    mul_ = multiply_ = _in_place(_pointwise.mul)
    ne_ = _in_place(_pointwise.ne)
    neg_ = negative_ = _in_place(_pointwise.neg)
    pow_ = _in_place(_pointwise.pow)
    reciprocal_ = _in_place(_pointwise.reciprocal)
    relu_ = _in_place(_pointwise.relu)
    remainder_ = _in_place(_pointwise.remainder)
    round_ = _in_place(_pointwise.round)
    rsqrt_ = _in_place(_pointwise.rsqrt)
    scatter_ = _in_place(_gathering.scatter)
    scatter_add_ = _in_place(_gathering.scatter_add)
    sigmoid_ = _in_place(_pointwise.sigmoid)
    sign_ = _in_place(_pointwise.sign)
    sin_ = _in_place(_pointwise.sin)
    sqrt_ = _in_place(_pointwise.sqrt)
    square_ = _in_place(_pointwise.square)
    sub_ = subtract_ = _in_place(_pointwise.sub)
    tanh_ = _in_place(_pointwise.tanh)
    tril_ = _in_place(_gathering.tril)
    triu_ = _in_place(_gathering.triu)
    trunc_ = _in_place(_pointwise.trunc)

    squeeze_ = _shaped("squeeze")
    t_ = _shaped("t")
    transpose_ = _shaped("transpose")
    unsqueeze_ = _shaped("unsqueeze")

    __iadd__ = add_
    __isub__ = sub_
    __imul__ = mul_
    __itruediv__ = div_
    __ifloordiv__ = floor_divide_
    __imod__ = remainder_
    __ipow__ = pow_
    __iand__ = bitwise_and_
    __ior__ = bitwise_or_
    __ixor__ = bitwise_xor_
