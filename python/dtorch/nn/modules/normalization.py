"""`RMSNorm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dtorch import dtypes
from dtorch._base import check_device
from dtorch.dtypes import to_dtype
from dtorch.mesh import DeviceMesh, get_default_device_mesh
from dtorch.nn import functional as F
from dtorch.nn import init
from dtorch.nn.modules.linear import lift
from dtorch.nn.modules.module import Module
from dtorch.nn.parameter import Parameter
from dtorch.placement import Replicate
from dtorch.tensor import Tensor

__all__ = ["RMSNorm"]


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
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
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
