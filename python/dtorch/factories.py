"""Functions that make tensors.

Each takes `device_mesh` and `placements`; without a mesh the tensor lies on the
mesh of the innermost `device_mesh_guard`, replicated, or else on the host.
Shapes are global.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dtorch import _dtorch, dtypes, random
from dtorch._base import (
    TensorBase,
    as_number,
    check_device,
    check_mesh,
    flatten_ints,
    record,
    same,
    scalar,
    wrap,
)
from dtorch._elementwise import cast, checked_scalar
from dtorch._pointwise import where
from dtorch.dtypes import dtype as DType
from dtorch.dtypes import scalar_dtype, to_dtype
from dtorch.errors import PlacementError, as_int, fail, location
from dtorch.graph import Graph
from dtorch.mesh import DeviceMesh, get_default_device_mesh
from dtorch.placement import Placement, Replicate, Shard, resolve_all
from dtorch.tensor import Tensor

__all__ = [
    "arange",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "tensor",
    "zeros",
    "zeros_like",
]


def _target(
    subject: str,
    ndim: int,
    device: Any,
    device_mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
) -> tuple[DeviceMesh, list[Placement]]:
    """Where a new tensor of `ndim` dims goes."""
    check_device(device)
    mesh = check_mesh(get_default_device_mesh(device_mesh))
    if placements is None:
        return mesh, [Replicate() for _ in range(mesh.ndim)]
    chosen = resolve_all(placements, ndim)
    if len(chosen) != mesh.ndim:
        raise fail(
            PlacementError,
            f"{subject}: each of the {mesh.ndim} mesh axes needs one placement, got {chosen}",
            None if mesh.ndim else "give device_mesh",
        )
    return mesh, chosen


def _make(
    op: str,
    operands: list[_dtorch.Node],
    target: tuple[DeviceMesh, list[Placement]],
    requires_grad: bool,
    **attrs: Any,
) -> Tensor:
    """Records a factory op where its 0-dim operands are, on every device of the
    mesh, and cuts the result (a local slice)."""
    mesh, placements = target
    native, place = Graph.default_graph()._native, location()
    everywhere = [_dtorch.Placement.replicate() for _ in range(mesh.ndim)]
    if not mesh._native.is_host:
        operands = [native.redistribute(x, mesh._native, everywhere, place) for x in operands]
    result = record(op, operands, **attrs)._place(mesh, placements)
    result.requires_grad = requires_grad
    return result


def full(
    size: int | Sequence[int],
    fill_value: bool | int | float,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> Tensor:
    """A tensor of one value, whose Python type gives the dtype by default."""
    sizes = flatten_ints([size], "full")
    _check_sizes("full", sizes)
    value = as_number(fill_value)
    if value is None and isinstance(fill_value, TensorBase):
        value = same(fill_value).item()
    if value is None:
        raise fail(TypeError, f"full: fill_value must be a number, got {fill_value!r:.80}")
    d = scalar_dtype(value) if dtype is None else to_dtype(dtype)
    target = _target("full", len(sizes), device, device_mesh, placements)
    return _make(
        "full", [checked_scalar(value, d)], target, requires_grad, shape=sizes, dtype=d.name
    )


def zeros(*size: Any, dtype: Any = dtypes.float32, **where: Any) -> Tensor:
    """Zeros: `zeros(2, 3)`; keywords as in `full`.

    >>> zeros(2, 3).shape
    (2, 3)
    """
    return full(flatten_ints(size, "zeros"), 0, dtype=_or_float32(dtype), **where)


def ones(*size: Any, dtype: Any = dtypes.float32, **where: Any) -> Tensor:
    """Ones; keywords as in `full`."""
    return full(flatten_ints(size, "ones"), 1, dtype=_or_float32(dtype), **where)


def empty(*size: Any, dtype: Any = dtypes.float32, **where: Any) -> Tensor:
    """Zeros: nothing here is ever uninitialised. Keywords as in `full`."""
    return full(flatten_ints(size, "empty"), 0, dtype=_or_float32(dtype), **where)


def arange(
    start: int | float,
    end: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> Tensor:
    """start, start + step, … below `end`; `arange(n)` counts from 0.

    >>> arange(2, 8, 2).tolist()
    [2, 4, 6]
    """
    if end is None:
        start, end = 0, start
    numbers = [_number(n) for n in (start, end, step)]
    if any(n is None for n in numbers):
        raise fail(TypeError, f"arange: bounds must be numbers, got {(start, end, step)}")
    first, last, by = (n for n in numbers if n is not None)
    if not all(math.isfinite(n) for n in (first, last, by)):
        raise fail(ValueError, f"arange: bounds must be finite, got {(first, last, by)}")
    if dtype is not None and to_dtype(dtype).category == 1:
        first, last, by = int(first), int(last), int(by)
    if by == 0 or (last - first) * by < 0:
        raise fail(ValueError, f"arange: step {by} does not lead from {first} to {last}")
    floating = any(isinstance(n, float) for n in (first, last, by))
    counting = dtypes.float64 if floating else dtypes.int64
    d = to_dtype(dtype) if dtype is not None else dtypes.float32 if floating else dtypes.int64
    count = math.ceil((last - first) / by) if floating else -((first - last) // by)
    count = as_int(int(count), "arange: the number of elements")
    target = _target("arange", 1, device, device_mesh, placements)
    operands = [scalar(first, counting), scalar(by, counting)]
    return _make("arange", operands, target, requires_grad, size=count, dtype=d.name)


def _number(value: Any) -> bool | int | float | None:
    """A bound: a number, or a tensor that is looked at."""
    return value.item() if isinstance(value, Tensor) else as_number(value)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> Tensor:
    """`steps` numbers from start to end, both included, at equal distances.

    >>> linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    first, last = _number(start), _number(end)
    if first is None or last is None:
        raise fail(TypeError, f"linspace: bounds must be numbers, got {(start, end)}")
    count = flatten_ints([steps], "linspace")[0]
    if count < 0:
        raise fail(ValueError, f"linspace: steps must not be negative, got {count}")
    d = _or_float32(dtype)
    if d.category == 1:
        first, last = int(first), int(last)
    wide = dtypes.float32 if d.is_floating_point and d.itemsize < 8 else dtypes.float64
    i = arange(count, device=device, device_mesh=device_mesh, placements=placements)
    step = (last - first) / max(count - 1, 1)
    # Counted from the nearer end, so that both ends are exact.
    from_start = cast(i, wide) * step + first
    from_end = last - cast(count - 1 - i, wide) * step
    result = cast(where(i < count // 2, from_start, from_end if count > 1 else from_start), d)
    result.requires_grad = requires_grad
    return result


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> Tensor:
    """The matrix [n, m] with ones on its diagonal; m is n by default."""
    sizes = flatten_ints([n, n if m is None else m], "eye")
    _check_sizes("eye", sizes)
    mesh, chosen = _target("eye", 2, device, device_mesh, placements)
    rows, columns = (
        arange(size, device_mesh=mesh)._place(mesh, [_along(p, d) for p in chosen])
        for d, size in enumerate(sizes)
    )
    result = cast(rows.unsqueeze(1) == columns, _or_float32(dtype))._place(mesh, chosen)
    result.requires_grad = requires_grad
    return result


def _along(placement: Placement, dim: int) -> Placement:
    """Where positions along a dim lie, so that each device makes its part."""
    if isinstance(placement, Shard) and placement.dim == dim:
        return Shard(0, unit=placement.unit)
    return Replicate()


def randint(low: int, high: Any = None, size: Any = None, **options: Any) -> Tensor:
    """Random integers in [low, high), int64 by default: `randint(high, size)` or
    `randint(low, high, size)`; keywords as in `full`."""
    if size is None and not isinstance(high, int):
        low, high, size = 0, low, high
    if size is None:
        raise fail(TypeError, "randint: needs size")
    return _randint("randint", low, high, size, **options)


def _randint(
    subject: str,
    low: Any,
    high: Any,
    size: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> Tensor:
    sizes, bounds = flatten_ints([size], subject), flatten_ints([low, high], subject)
    _check_sizes(subject, sizes)
    if bounds[0] >= bounds[1]:
        raise fail(ValueError, f"{subject}: low must be below high, got {bounds}")
    d = dtypes.int64 if dtype is None else to_dtype(dtype)
    counted = d if d.category == 1 else dtypes.int64
    target = _target(subject, len(sizes), device, device_mesh, placements)
    operands = [scalar(n, dtypes.int64) for n in (*random.next_key(), *bounds)]
    drawn = _make("randint", operands, target, False, shape=sizes, dtype=counted.name)
    result = cast(drawn, d)
    result.requires_grad = requires_grad
    return result


def randint_like(input: Tensor, low: Any, high: Any = None, **options: Any) -> Tensor:
    """Random integers in [low, high), or [0, low), where `input` lies."""
    if high is None:
        low, high = 0, low
    return _randint("randint_like", low, high, input.shape, **_like(input, options))


def randn(*size: Any, **options: Any) -> Tensor:
    """Normal random numbers of mean 0 and variance 1; keywords as in `full`."""
    return _random("normal", "randn", size, **options)


def rand(*size: Any, **options: Any) -> Tensor:
    """Uniform random numbers in [0, 1); keywords as in `full`."""
    return _random("uniform", "rand", size, **options)


def _random(
    kind: str,
    subject: str,
    size: Sequence[Any],
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    key: tuple[int, int] | None = None,
) -> Tensor:
    sizes = flatten_ints(size, subject)
    _check_sizes(subject, sizes)
    d = _or_float32(dtype)
    if not d.is_floating_point:
        raise fail(TypeError, f"{subject}: needs a floating dtype, got {d.name}")
    target = _target(subject, len(sizes), device, device_mesh, placements)
    seed, offset = key or random.next_key()
    operands = [scalar(seed, dtypes.int64), scalar(offset, dtypes.int64)]
    return _make("random", operands, target, requires_grad, kind=kind, shape=sizes, dtype=d.name)


def _or_float32(dtype: Any) -> DType:
    return dtypes.float32 if dtype is None else to_dtype(dtype)


def _check_sizes(subject: str, sizes: list[int]) -> None:
    if any(n < 0 for n in sizes):
        raise fail(ValueError, f"{subject}: sizes must not be negative, got {sizes}")


def _like(input: TensorBase, options: dict[str, Any]) -> dict[str, Any]:
    """Options for a tensor that lies as `input` does (pending axes: R)."""
    options.setdefault("dtype", input.dtype)
    if "device_mesh" not in options:
        options["device_mesh"] = input.device_mesh
        options.setdefault(
            "placements", [Replicate() if p.is_partial() else p for p in input.placements]
        )
    return options


def zeros_like(input: Tensor, **options: Any) -> Tensor:
    """Zeros of the shape, dtype, mesh and placements of `input`."""
    return full(input.shape, 0, **_like(input, options))


def ones_like(input: Tensor, **options: Any) -> Tensor:
    """Ones of the shape, dtype, mesh and placements of `input`."""
    return full(input.shape, 1, **_like(input, options))


def empty_like(input: Tensor, **options: Any) -> Tensor:
    """Zeros of the shape, dtype, mesh and placements of `input`."""
    return full(input.shape, 0, **_like(input, options))


def full_like(input: Tensor, fill_value: bool | int | float, **options: Any) -> Tensor:
    """One value in the shape, dtype, mesh and placements of `input`."""
    return full(input.shape, fill_value, **_like(input, options))


def randn_like(input: Tensor, **options: Any) -> Tensor:
    """Normal random numbers where `input` lies."""
    return randn(*input.shape, **_like(input, options))


def rand_like(input: Tensor, **options: Any) -> Tensor:
    """Uniform random numbers where `input` lies."""
    return rand(*input.shape, **_like(input, options))


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> Tensor:
    """A copy of data, placed like every factory's result (`dtorch.Tensor(data)`
    always stays on the host).

    >>> tensor([1, 2]).dtype, tensor([1.0]).dtype
    (dtorch.int64, dtorch.float32)
    """
    value = Tensor(data, dtype=dtype, device=device)
    mesh, chosen = _target("tensor", value.ndim, device, device_mesh, placements)
    result = wrap(value._place(mesh, chosen)._node)
    result.requires_grad = requires_grad
    return result
