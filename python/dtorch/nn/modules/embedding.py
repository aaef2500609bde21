"""`Embedding`, sharded by features over the tensor-parallel axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dtorch import dtypes
from dtorch._base import check_device
from dtorch.dtypes import to_dtype
from dtorch.errors import fail
from dtorch.mesh import DeviceMesh, get_default_device_mesh
from dtorch.nn import functional as F
from dtorch.nn import init
from dtorch.nn.modules.linear import (
    TpDim,
    check_input,
    check_sizes,
    convert,
    find_tp_dim,
    lift,
)
from dtorch.nn.modules.module import Module
from dtorch.nn.parameter import Parameter
from dtorch.placement import Placement, Replicate, Shard
from dtorch.tensor import Tensor

__all__ = ["Embedding", "EmbeddingWithReplicateOutput"]


class Embedding(Module):
    """Rows of weight [num_embeddings, embedding_dim] at integer ids [...].

    On a mesh with an axis `tp_dim` the weight is `Shard(1)` there, so the output
    is sharded by features. Ids must be replicated on that axis (PlacementError).
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        device: Any = None,
        dtype: Any = None,
        device_mesh: DeviceMesh | None = None,
        *,
        tp_dim: TpDim = "tp",
    ) -> None:
        super().__init__()
        check_sizes(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise fail(
                IndexError,
                f"{type(self).__name__}: padding_idx must be within num_embeddings "
                f"{num_embeddings}, got {padding_idx}",
            )
        check_device(device)
        device_mesh = get_default_device_mesh(device_mesh)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.tp_dim = find_tp_dim(device_mesh, tp_dim)
        placements: list[Placement] = [Replicate() for _ in range(device_mesh.ndim)]
        if self.tp_dim is not None:
            placements[self.tp_dim] = Shard(1)
        d = dtypes.float32 if dtype is None else to_dtype(dtype)
        shape = num_embeddings, embedding_dim
        self.weight = Parameter.lazy(
            shape, d, device_mesh, placements, init.normal(shape, d, 0.0, 1.0, padding_idx)
        )

    def redistribute_input(self, input: Tensor) -> tuple[Sequence[Any], dict[str, Any]]:
        """Lifts host ids to the weight's mesh and checks them."""
        input = lift(self, input, self.weight)
        check_input(self, input, self.tp_dim, Replicate())
        return [input], {}

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def redistribute_output(
        self, output: Tensor, output_placement: Placement | None = None
    ) -> Tensor:
        """Converts the output on the axis `tp_dim`, if a placement is given."""
        return convert(output, self.tp_dim, output_placement)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class EmbeddingWithReplicateOutput(Embedding):
    """As `Embedding`; the output is gathered to `Replicate()`."""

    def redistribute_output(
        self, output: Tensor, output_placement: Placement | None = None
    ) -> Tensor:
        return super().redistribute_output(output, output_placement or Replicate())
