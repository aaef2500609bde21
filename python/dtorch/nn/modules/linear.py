"""`Linear` and the presets that shard it over the tensor-parallel axis.

Only the axis `tp_dim` shards the weight; over every other axis it is replicated.

  tp_shard_type   weight     bias        input wanted      output
  "col"           Shard(0)   Shard(0)    Replicate()       Shard(-1)
  "row"           Shard(1)   Partial()   Shard(-1)         Partial()
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from dtorch import dtypes
from dtorch._base import check_device
from dtorch.dtypes import to_dtype
from dtorch.errors import PlacementError, as_int, fail, shown
from dtorch.mesh import DeviceMesh, get_default_device_mesh, resolve_axis
from dtorch.nn import functional as F
from dtorch.nn import init
from dtorch.nn.modules.module import Module
from dtorch.nn.parameter import Parameter
from dtorch.placement import Partial, Placement, Replicate, Shard
from dtorch.tensor import Tensor

__all__ = [
    "ColumnParallelLinear",
    "ColumnParallelLinearWithReplicateInputOutput",
    "ColumnParallelLinearWithReplicateOutput",
    "Linear",
    "ReplicateParallelLinear",
    "RowParallelLinear",
    "RowParallelLinearWithReplicateOutput",
]

TpDim = str | int | None
ShardType = Literal["col", "row"] | None


def find_tp_dim(device_mesh: DeviceMesh, tp_dim: TpDim) -> int | None:
    """Index of the axis; None if it is None or the mesh lacks the name."""
    if tp_dim is None:
        return None
    if isinstance(tp_dim, str):
        return device_mesh.dim_name_index(tp_dim)
    return resolve_axis(device_mesh, tp_dim)


def check_sizes(owner: Module, **sizes: int) -> None:
    """Raises TypeError for what is no int, ValueError for a size below 0."""
    for name, size in sizes.items():
        if as_int(size, f"{type(owner).__name__}: {name}") < 0:
            raise fail(ValueError, f"{type(owner).__name__}: {name} must be at least 0, got {size}")


def lift(owner: Module, input: Tensor, weight: Tensor) -> Tensor:
    """A host input on the mesh of the weight, replicated; others as they are.
    Raises PlacementError for an input on another mesh."""
    mesh = weight.device_mesh
    if not isinstance(input, Tensor):
        raise fail(TypeError, f"{type(owner).__name__}: input must be a tensor, got {shown(input)}")
    if weight.is_host or input.device_mesh == mesh:
        return input
    if not input.is_host:
        raise fail(
            PlacementError,
            f"{type(owner).__name__}: input must be on the mesh of the weight, {mesh}, "
            f"got {input.device_mesh}",
            "redistribute it to first_param_device_mesh()",
        )
    return input.redistribute(mesh, [Replicate() for _ in range(mesh.ndim)])


def convert(x: Tensor, tp_dim: int | None, placement: Placement | None) -> Tensor:
    """x with another placement on the axis, the other axes unchanged."""
    if tp_dim is None or placement is None:
        return x
    return x.redistribute_by_dict(
        placements_dict={tp_dim: placement}, default_placement_mode="keep"
    )


def check_input(owner: Module, input: Tensor, tp_dim: int | None, expected: Placement) -> None:
    """Raises PlacementError unless the input lies on the axis as expected."""
    if tp_dim is None or input.check_placement(tp_dim, expected):
        return
    raise fail(
        PlacementError,
        f"{type(owner).__name__}: input must be {expected!r} on axis "
        f"{input.device_mesh.dim_names[tp_dim]!r}, got {input.placements[tp_dim]!r}",
        f"redistribute it, or pass input_placement={expected!r}",
    )


class Linear(Module):
    """input @ weight.T + bias: [..., in_features] to [..., out_features].

    On a mesh with an axis `tp_dim` (a name, an index, or None for no sharding)
    the weight is sharded by output features ("col", also by default) or by
    input features ("row"). `tp_unit` keeps blocks of that many features on one
    device (`tp_unit=head_dim`: whole heads).

    Errors: an input that does not lie as the weight's sharding needs it
    (PlacementError).

    >>> mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    >>> layer = Linear(4, 6, device_mesh=mesh, tp_shard_type="row")
    >>> layer.weight.placements, layer.bias.placements
    ([Replicate(), Shard(1)], [Replicate(), Partial()])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        device_mesh: DeviceMesh | None = None,
        *,
        tp_dim: TpDim = "tp",
        tp_shard_type: ShardType = None,
        tp_unit: int | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if tp_shard_type not in (None, "col", "row"):
            raise fail(
                ValueError,
                f'{name}: tp_shard_type must be "col", "row" or None, got {tp_shard_type!r}',
            )
        check_sizes(self, in_features=in_features, out_features=out_features)
        check_device(device)
        device_mesh = get_default_device_mesh(device_mesh)
        self.in_features = in_features
        self.out_features = out_features
        self.tp_dim = find_tp_dim(device_mesh, tp_dim)
        self.tp_shard_type = tp_shard_type
        self.tp_unit = 1 if tp_unit is None else as_int(tp_unit, f"{name}: tp_unit")
        sharded = in_features if tp_shard_type == "row" else out_features
        if self.tp_unit < 1 or sharded % self.tp_unit:
            raise fail(
                PlacementError,
                f"{name}: tp_unit must divide the sharded features, got {tp_unit} of {sharded}",
            )
        self._make_parameters(device_mesh, bias, dtype)

    def _make_parameters(self, device_mesh: DeviceMesh, bias: bool, dtype: Any) -> None:
        weight_placements: list[Placement] = [Replicate() for _ in range(device_mesh.ndim)]
        bias_placements = list(weight_placements)
        if self.tp_dim is not None:
            row = self.tp_shard_type == "row"
            weight_placements[self.tp_dim] = Shard(1 if row else 0, unit=self.tp_unit)
            bias_placements[self.tp_dim] = Partial() if row else Shard(0, unit=self.tp_unit)
        d = dtypes.float32 if dtype is None else to_dtype(dtype)
        bound = 1.0 / math.sqrt(self.in_features) if self.in_features else 0.0
        shape = self.out_features, self.in_features
        self.weight = Parameter.lazy(
            shape, d, device_mesh, weight_placements, init.uniform(shape, d, -bound, bound)
        )
        if not bias:
            self.register_parameter("bias", None)
            return
        self.bias = Parameter.lazy(
            shape[:1], d, device_mesh, bias_placements, init.uniform(shape[:1], d, -bound, bound)
        )

    def redistribute_input(
        self, input: Tensor, input_placement: Placement | None = None
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """Lifts a host input to the weight's mesh, converts it on the axis
        `tp_dim` to `input_placement` if given, and checks it."""
        input = lift(self, input, self.weight)
        input = convert(input, self.tp_dim, self._with_unit(input_placement))
        row = self.tp_shard_type == "row"
        check_input(self, input, self.tp_dim, Shard(input.dim() - 1) if row else Replicate())
        return [input], {}

    def _with_unit(self, placement: Placement | None) -> Placement | None:
        """A shard of a row layer's input, in the blocks of its weight."""
        if self.tp_shard_type == "row" and isinstance(placement, Shard) and placement.unit == 1:
            return Shard(placement.dim, unit=self.tp_unit)
        return placement

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def redistribute_output(
        self, output: Tensor, output_placement: Placement | None = None
    ) -> Tensor:
        """Converts the output on the axis `tp_dim`, if a placement is given."""
        return convert(output, self.tp_dim, output_placement)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class ColumnParallelLinear(Linear):
    """Sharded by output features; the input must be replicated on the axis, the
    output is sharded by features."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        device_mesh: DeviceMesh | None = None,
        *,
        tp_dim: TpDim = "tp",
        tp_unit: int | None = None,
    ) -> None:
        super().__init__(
            in_features,
            out_features,
            bias,
            device,
            dtype,
            device_mesh,
            tp_dim=tp_dim,
            tp_shard_type="col",
            tp_unit=tp_unit,
        )


class ColumnParallelLinearWithReplicateOutput(ColumnParallelLinear):
    """As `ColumnParallelLinear`; the output is gathered to `Replicate()`."""

    def redistribute_output(
        self, output: Tensor, output_placement: Placement | None = None
    ) -> Tensor:
        return super().redistribute_output(output, output_placement or Replicate())


class ColumnParallelLinearWithReplicateInputOutput(ColumnParallelLinearWithReplicateOutput):
    """As `ColumnParallelLinear`; input and output are converted to `Replicate()`."""

    def redistribute_input(
        self, input: Tensor, input_placement: Placement | None = None
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        return super().redistribute_input(input, input_placement or Replicate())


class RowParallelLinear(Linear):
    """Sharded by input features; the input must be sharded by features on the
    axis, the output is a pending sum. The bias is pending too, so it is added
    once."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        device_mesh: DeviceMesh | None = None,
        *,
        tp_dim: TpDim = "tp",
        tp_unit: int | None = None,
    ) -> None:
        super().__init__(
            in_features,
            out_features,
            bias,
            device,
            dtype,
            device_mesh,
            tp_dim=tp_dim,
            tp_shard_type="row",
            tp_unit=tp_unit,
        )


class RowParallelLinearWithReplicateOutput(RowParallelLinear):
    """As `RowParallelLinear`; the output is reduced to `Replicate()`."""

    def redistribute_output(
        self, output: Tensor, output_placement: Placement | None = None
    ) -> Tensor:
        return super().redistribute_output(output, output_placement or Replicate())


class ReplicateParallelLinear(Linear):
    """Not sharded: every device holds the whole weight; nothing is checked."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device, dtype, device_mesh, tp_dim=None)
