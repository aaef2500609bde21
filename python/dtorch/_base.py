"""What every part of `Tensor` stands on: the node, and recording an op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dtorch import _dtorch, arrays
from dtorch.dtypes import dtype
from dtorch.errors import as_int, fail, shown
from dtorch.mesh import HOST, DeviceMesh, wrap_mesh
from dtorch.placement import Placement, from_native

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

Number = bool | int | float


class device(str):
    """A device type; compares with strings: `t.device == "cpu"`."""

    @property
    def type(self) -> str:
        return str(self)


def check_device(value: Any) -> str | None:
    """The device type asked for, or an error if this process does not have it."""
    if value is None:
        return None
    kind = str(getattr(value, "type", value)).partition(":")[0]
    if kind == "cuda":
        raise fail(
            RuntimeError,
            "device: CUDA is not available in this build",
            'use "cpu" devices: init_device_mesh("cpu", …) has virtual ones',
        )
    if kind != "cpu":
        raise fail(ValueError, f'device: must be "cpu" or "cuda", got {value!r}')
    return kind


def check_mesh(mesh: DeviceMesh) -> DeviceMesh:
    """The mesh, or an error if this process does not have its devices."""
    if not isinstance(mesh, DeviceMesh):
        raise fail(TypeError, f"device_mesh: needs a DeviceMesh, got {mesh!r}")
    check_device(mesh.device_type)
    needed = mesh._native.required_world_size
    if needed > _dtorch.num_devices():
        raise fail(
            RuntimeError,
            f"device_mesh: needs {needed} devices, this process has {_dtorch.num_devices()}",
            f"set DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE={needed}",
        )
    return mesh


class TensorBase(_dtorch.TensorBase):
    """A value: the node that stands for it, and its properties."""

    __slots__ = ()

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh it lies on; the zero-axis host mesh for host tensors."""
        native = self._node.mesh
        return HOST if native.is_host else wrap_mesh(native)

    @property
    def placements(self) -> list[Placement]:
        """One placement per mesh axis; `[]` for host tensors."""
        return [from_native(p) for p in self._node.placements]

    @property
    def device(self) -> device:
        return device(self.device_mesh.device_type)


wrap = _dtorch.wrap
"""A tensor for a node."""
record = _dtorch.record
"""Records an op of the op table; see `dtorch._dtorch.op_table()`."""


def same(x: TensorBase) -> Tensor:
    """x itself, where an op changes nothing."""
    return cast("Tensor", x)


def host_input(value: arrays.HostArray, borrow: bool = False) -> _dtorch.Node:
    """An input node on the host mesh; `borrow` uses the memory as it is."""
    shape = value.array.shape
    owned = value if borrow and value.array.flags.c_contiguous else arrays.own(value)
    return _dtorch.input(owned.array, shape, value.dtype.name, HOST._native, [])


def scalar(value: Number, d: dtype) -> _dtorch.Node:
    """A number as a runtime operand: never part of a program's key."""
    if as_number(value) is None:
        raise fail(TypeError, f"number: must be a Python or NumPy number, got {shown(value)}")
    if d.category == 2:
        return _dtorch.scalar(float(value), d.name)
    return _dtorch.scalar(bool(value) if d.category == 0 else int(value), d.name)


def as_number(value: Any) -> Number | None:
    """A Python number for a number of Python or NumPy, else None."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (bool, int, float)) else None


def as_tensor(value: Any, subject: str) -> Tensor:
    """A tensor for an operand that is no number: ours, or a copy of host memory."""
    if isinstance(value, TensorBase):
        return same(value)
    if arrays.is_torch(value) or isinstance(value, np.ndarray) or hasattr(value, "__dlpack__"):
        return wrap(host_input(arrays.from_any(value)))
    raise fail(TypeError, f"{subject}: operands must be tensors or numbers, got {shown(value)}")


def resolve_dim(dim: Any, ndim: int, subject: str) -> int:
    """A dim counted from the front; 0-dim tensors allow 0 and -1."""
    span = max(ndim, 1)
    index: int = dim if type(dim) is int else as_int(dim, f"{subject}: dim")
    if not -span <= index < span:
        raise fail(
            IndexError,
            f"{subject}: dimension out of range (expected to be in range of "
            f"[{-span}, {span - 1}], but got {index})",
        )
    return index % span


def flatten_ints(sizes: Sequence[Any], subject: str) -> list[int]:
    """Sizes given one by one or as one sequence."""
    if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)):
        sizes = sizes[0]
    return [as_int(s, f"{subject}: sizes") for s in sizes]
