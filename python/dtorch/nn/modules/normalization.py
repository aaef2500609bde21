"""`LayerNorm`, `GroupNorm` and `RMSNorm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dtorch import dtypes
from dtorch._base import check_device
from dtorch.dtypes import to_dtype
from dtorch.errors import as_list, fail
from dtorch.mesh import DeviceMesh, get_default_device_mesh
from dtorch.nn import functional as F
from dtorch.nn import init
from dtorch.nn.modules.linear import check_sizes, lift
from dtorch.nn.modules.module import Module
from dtorch.nn.parameter import Parameter
from dtorch.placement import Placement, Replicate
from dtorch.tensor import Tensor

__all__ = ["GroupNorm", "LayerNorm", "RMSNorm"]


class _Affine(Module):
    """A norm with a weight of ones and a bias of zeros, both replicated."""

    weight: Parameter | None
    bias: Parameter | None

    def _set_affine(
        self,
        shape: tuple[int, ...],
        weight: bool,
        bias: bool,
        device: Any,
        dtype: Any,
        device_mesh: DeviceMesh | None,
    ) -> None:
        check_device(device)
        mesh = get_default_device_mesh(device_mesh)
        d = dtypes.float32 if dtype is None else to_dtype(dtype)
        for name, wanted, value in (("weight", weight, 1.0), ("bias", bias, 0.0)):
            if not wanted:
                self.register_parameter(name, None)
                continue
            whole: list[Placement] = [Replicate() for _ in range(mesh.ndim)]
            make = init.constant(shape, d, value)
            self.register_parameter(name, Parameter.lazy(shape, d, mesh, whole, make))

    def redistribute_input(self, input: Tensor) -> tuple[Sequence[Any], dict[str, Any]]:
        """Lifts a host input to the weight's mesh."""
        return [input if self.weight is None else lift(self, input, self.weight)], {}


def checked_shape(owner: Module, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """The sizes of the last dims, as a tuple."""
    single = not isinstance(normalized_shape, (list, tuple))
    sizes = [normalized_shape] if single else as_list(normalized_shape, "normalized_shape")
    for size in sizes:
        check_sizes(owner, normalized_shape=size)
    return tuple(sizes)


class LayerNorm(_Affine):
    """(x - mean) / sqrt(variance + eps) over the last dims, times a weight, plus a
    bias (both replicated). fp32 inside."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = checked_shape(self, normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine, elementwise_affine and bias
        self._set_affine(self.normalized_shape, *affine, device, dtype, device_mesh)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class GroupNorm(_Affine):
    """`LayerNorm` over each of `num_groups` groups of channels of x [n, c, …], with
    a weight and a bias per channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            raise fail(
                ValueError,
                f"GroupNorm: num_channels must be a multiple of num_groups, "
                f"got {num_channels} and {num_groups}",
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._set_affine((num_channels,), affine, affine, device, dtype, device_mesh)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) over the last dims, times a weight (replicated).

    Zhang and Sennrich, 2019. fp32 inside; `eps` defaults to the dtype's.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        check_device(device)
        mesh = get_default_device_mesh(device_mesh)
        self.normalized_shape = checked_shape(self, normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if not elementwise_affine:
            self.register_parameter("weight", None)
            return
        d = dtypes.float32 if dtype is None else to_dtype(dtype)
        self.weight = Parameter.lazy(
            self.normalized_shape,
            d,
            mesh,
            [Replicate() for _ in range(mesh.ndim)],
            init.constant(self.normalized_shape, d, 1.0),
        )

    def redistribute_input(self, input: Tensor) -> tuple[Sequence[Any], dict[str, Any]]:
        """Lifts a host input to the weight's mesh."""
        return [input if self.weight is None else lift(self, input, self.weight)], {}

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"
