"""Host memory in and out: PyTorch, NumPy, DLPack, lists, numbers.

NumPy has no bfloat16, so a value in host memory is a pair: an array and a
dtype, where a bfloat16 array holds the 16 bits as uint16.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dtorch import dtypes
from dtorch.dtypes import dtype, to_dtype
from dtorch.errors import fail, shown

Array = npt.NDArray[Any]

MAX_DIMS = 64
"""NumPy's limit of dims."""


class HostArray(NamedTuple):
    """A value in host memory; `array` is uint16 bits if dtype is bfloat16."""

    array: Array
    dtype: dtype

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for two views of the same elements of the same memory."""
        a = self.array
        return a.__array_interface__["data"][0], a.shape, a.strides, self.dtype.name


def numpy_dtype(d: dtype) -> np.dtype[Any]:
    """The NumPy dtype that holds `d`."""
    return np.dtype("uint16" if d is dtypes.bfloat16 else d.name)


def is_torch(value: object) -> bool:
    """Whether it is a PyTorch tensor, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def from_any(data: Any) -> HostArray:
    """Host memory of a PyTorch tensor, array, DLPack producer, number or nested
    list; not copied where it is an array already. Python floats become float32,
    ints int64."""
    if isinstance(data, HostArray):
        return data
    if hasattr(data, "_host_value"):  # a tensor of ours
        return data._host_value()  # type: ignore[no-any-return]
    if is_torch(data):
        return _from_torch(data)
    if isinstance(data, (np.ndarray, np.generic)):
        return _from_numpy(np.asarray(data))
    if hasattr(data, "__dlpack__"):
        return _from_numpy(np.from_dlpack(data))
    if hasattr(data, "__array__"):
        return _from_numpy(np.asarray(data))
    return _from_python(data)


def _from_torch(tensor: Any) -> HostArray:
    tensor = tensor.detach()
    d = to_dtype(tensor.dtype)
    if str(tensor.layout) != "torch.strided":
        raise fail(
            TypeError,
            f"Tensor: PyTorch tensors must be dense, got {tensor.layout}",
            "use tensor.to_dense()",
        )
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    if d is dtypes.bfloat16:
        import torch

        return HostArray(tensor.view(torch.uint16).numpy(), d)
    return HostArray(tensor.numpy(), d)


def _from_numpy(array: Array) -> HostArray:
    if array.dtype.name == "bfloat16":  # a dtype of the package ml_dtypes
        return HostArray(array.view(np.uint16), dtypes.bfloat16)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return HostArray(array, to_dtype(array.dtype))


def _from_python(data: Any) -> HostArray:
    plain = _plain(data)
    try:
        array = np.array(plain)
    except ValueError:
        raise fail(ValueError, f"Tensor: nested lists must form a box, got {shown(data)}") from None
    if array.size == 0 and array.dtype == np.float64:
        return HostArray(array.astype(np.float32), dtypes.float32)
    if array.dtype.kind == "f" and not _holds_numpy(data):
        return HostArray(array.astype(np.float32), dtypes.float32)
    if array.dtype.kind not in "bif":
        raise fail(TypeError, f"Tensor: cannot be made from {type(data).__name__}: {shown(data)}")
    return HostArray(array, to_dtype(array.dtype))


def _plain(data: Any, depth: int = 0) -> Any:
    """Nested lists whose leaves NumPy understands (tensors inside are read)."""
    if depth > MAX_DIMS:
        raise fail(
            ValueError,
            f"Tensor: lists must be nested at most {MAX_DIMS} deep, got more (or a list that "
            "holds itself)",
        )
    if isinstance(data, (list, tuple)):
        return [_plain(d, depth + 1) for d in data]
    if is_torch(data):
        return data.tolist()
    return data.tolist() if hasattr(data, "_host_value") else data


def _holds_numpy(data: Any) -> bool:
    """Whether the first leaf is a NumPy value, whose dtype counts."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic))


def cast(value: HostArray, d: dtype) -> HostArray:
    """The value in another dtype, rounded to nearest even; itself if equal."""
    if value.dtype is d:
        return value
    array = value.array
    if value.dtype is dtypes.bfloat16:
        array = widen_bfloat16(array)
    if d is dtypes.bfloat16:
        return HostArray(narrow_to_bfloat16(array), d)
    if d.category == 1 and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise fail(ValueError, f"Tensor: NaN and infinity cannot become {d.name}")
    return HostArray(array.astype(numpy_dtype(d)), d)


def widen_bfloat16(bits: Array) -> Array:
    """float32 values of bfloat16 bits."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def narrow_to_bfloat16(array: Array) -> Array:
    """bfloat16 bits, rounded to nearest even; NaN stays NaN."""
    wide = np.ascontiguousarray(array, dtype=np.float32)
    bits = wide.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    nan = (bits >> np.uint32(16)) | np.uint32(0x40)
    result: Array = np.where(np.isnan(wide), nan, rounded).astype(np.uint16)
    return result.reshape(array.shape)


def own(value: HostArray) -> HostArray:
    """Contiguous memory that nobody else will write to.

    Read-only memory (a mapped file) is borrowed, all else copied: a later
    change of the source must not change a tensor silently.
    """
    array = value.array
    if array.flags.c_contiguous and not _writeable(array):
        return value
    return HostArray(np.array(array, order="C", copy=True), value.dtype)


def _writeable(array: Array) -> bool:
    """Whether the array or any array it is a view of may be written to."""
    view: Any = array
    while isinstance(view, np.ndarray):
        if view.flags.writeable:
            return True
        view = view.base
    if view is None:
        return False
    if isinstance(view, memoryview):
        return not view.readonly
    return not isinstance(view, bytes) and not _readonly_buffer(view)


def _readonly_buffer(owner: Any) -> bool:
    try:
        return memoryview(owner).readonly
    except TypeError:
        return False


def from_bytes(data: Array, d: dtype, shape: tuple[int, ...]) -> HostArray:
    """A value from its bytes (uint8, 1-D), not copied."""
    return HostArray(data.view(numpy_dtype(d)).reshape(shape), d)


def to_numpy(value: HostArray, subject: str = "numpy") -> Array:
    """The array; NumPy lacks bfloat16, so that is an error."""
    if value.dtype is dtypes.bfloat16:
        raise fail(
            TypeError,
            f"{subject}: NumPy has no bfloat16",
            "convert first: tensor.float().numpy()",
        )
    return value.array


def to_torch(value: HostArray) -> Any:
    """A PyTorch tensor on a copy of the memory."""
    try:
        import torch
    except ImportError:
        raise fail(RuntimeError, "to_torch: PyTorch is not installed", "use numpy()") from None
    copy = np.array(value.array, order="C", copy=True)
    tensor = torch.from_numpy(copy)
    return tensor.view(torch.bfloat16) if value.dtype is dtypes.bfloat16 else tensor
