"""Looking at a value: what computes a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dtorch import _dtorch, arrays, dtypes
from dtorch._base import TensorBase
from dtorch.arrays import HostArray
from dtorch.errors import fail, location
from dtorch.graph import Graph
from dtorch.mesh import HOST

if TYPE_CHECKING:
    from dtorch.tensor import Tensor


def read(node: _dtorch.Node) -> HostArray:
    """The global value of a node in host memory: a redistribute to the host
    mesh, and one program for whatever is not computed yet."""
    if not node.mesh.is_host:
        node = Graph.default_graph()._native.redistribute(node, HOST._native, [], location())
    if not node.computed:
        _dtorch.flush([node])
    return arrays.from_bytes(
        _dtorch.host_array(node), dtypes.to_dtype(node.dtype), tuple(node.shape)
    )


class Reading(TensorBase):
    """Methods of `Tensor` that look at its value."""

    __slots__ = ()
    _host: tuple[int, HostArray] | None

    def _host_value(self) -> HostArray:
        """The value in host memory, not to be written to; read once a version."""
        _dtorch.check_looking()
        node = self._node
        version = node.version
        if self._host is None or self._host[0] != version:
            self._host = version, read(node)
        return self._host[1]

    def numpy(self) -> arrays.Array:
        """The global value as an array of its own memory."""
        return np.array(arrays.to_numpy(self._host_value()), order="C", copy=True)

    def to_torch(self) -> Any:
        """The global value as a PyTorch tensor of its own memory."""
        return arrays.to_torch(self._host_value())

    def tolist(self) -> Any:
        """The global value as nested lists of Python numbers."""
        return _readable(self._host_value()).tolist()

    def item(self) -> bool | int | float:
        """The value of a tensor with one element."""
        if self.numel() != 1:
            raise fail(ValueError, f"item: needs one element, got shape {self.shape}")
        value: bool | int | float = _readable(self._host_value()).reshape(()).item()
        return value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> arrays.Array:
        array = arrays.to_numpy(self._host_value(), "__array__")
        if copy is False and dtype in (None, array.dtype):
            view = array.view()
            view.flags.writeable = False
            return view
        return np.array(array, dtype=dtype, order="C", copy=True)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise fail(
                ValueError,
                f"bool: ambiguous for a tensor of {self.numel()} elements",
                "reduce it first, or compare .numpy()",
            )
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.numel() != 1:
            raise fail(TypeError, "index: needs an integer tensor with one element")
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise fail(TypeError, "len: a 0-dim tensor has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise fail(TypeError, "iter: a 0-dim tensor cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))  # type: ignore[index]

    def __str__(self) -> str:
        text = np.array2string(
            _readable(self._host_value()), separator=", ", prefix="dtorch.Tensor("
        )
        return f"dtorch.Tensor({text}, {', '.join(describe(self)[1:])})"

    def __repr__(self) -> str:
        return f"dtorch.Tensor({', '.join([*describe(self), *self._state()])})"

    def _state(self) -> list[str]:
        return [] if self._node.computed else ["lazy"]

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.numel() == 1 else str(self)


def describe(x: TensorBase) -> list[str]:
    """shape, dtype, and where it lies, as repr shows them."""
    mesh = x.device_mesh
    parts = [f"shape={x.shape}", f"dtype={x.dtype.name}"]
    if mesh == HOST:
        return parts
    axes = ", ".join(f"{name}={n}" for name, n in zip(mesh.dim_names, mesh.shape, strict=True))
    short = ", ".join(str(p._native) for p in x.placements)
    return [*parts, f"mesh=({axes})", f"placements=[{short}]"]


def _readable(value: HostArray) -> arrays.Array:
    """An array that NumPy can print: bfloat16 as float32."""
    return (
        arrays.cast(value, dtypes.float32).array if value.dtype is dtypes.bfloat16 else value.array
    )
