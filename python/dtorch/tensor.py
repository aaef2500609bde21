"""`Tensor`: one global value, recorded lazily, wherever its parts lie."""

from __future__ import annotations

from typing import Any, NoReturn

from dtorch import _dtorch, arrays, dtypes
from dtorch._base import TensorBase, check_device, host_input, resolve_dim, same, wrap
from dtorch._elementwise import Elementwise, cast
from dtorch._hot import hot
from dtorch._indexing import getitem
from dtorch._inplace import InPlace
from dtorch._methods import Methods
from dtorch._placing import Placing
from dtorch._reading import Reading
from dtorch._shaping import Shaping
from dtorch.dtypes import dtype as DType
from dtorch.dtypes import to_dtype
from dtorch.errors import fail

__all__ = ["Tensor", "from_numpy", "frombuffer"]


class Tensor(Elementwise, Shaping, Methods, InPlace, Placing, Reading):
    """A value of shape `shape`, on the host or on a device mesh.

    `Tensor(data)` copies a PyTorch tensor, NumPy array, DLPack producer, nested
    list or number into a host tensor, which joins any mesh as replicated. Every
    op gives what PyTorch gives on one device, for every mesh and placement.
    An op is recorded when called and computed when looked at. Values never change;
    in-place forms and `x[i] = v` give the tensor another one.

    >>> t = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> t + 1
    dtorch.Tensor(shape=(2, 2), dtype=float32, lazy)
    >>> (t + 1).tolist()
    [[2.0, 3.0], [4.0, 5.0]]
    """

    __slots__ = ()
    __array_priority__ = 1000
    __array_ufunc__ = None  # NumPy's operators leave mixed operands to ours

    def __init__(
        self,
        data: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> None:
        check_device(device)
        self._host = None
        if isinstance(data, Tensor):
            self._node = (data if dtype is None else data.to(dtype))._node
        else:
            value = arrays.from_any(data)
            if dtype is not None:
                value = arrays.cast(value, to_dtype(dtype))
            self._node = host_input(value)
        self._requires_grad = False
        self.requires_grad = requires_grad

    def size(self, dim: int | None = None) -> Any:
        """All global sizes, or one."""
        if dim is None:
            return self.shape
        if not self.ndim:
            raise fail(IndexError, "size: a 0-dim tensor has no sizes")
        return self.shape[resolve_dim(dim, self.ndim, "size")]

    @hot("getitem")
    def __getitem__(self, index: Any) -> Tensor:
        return getitem(self, index)

    # -- element type ---------------------------------------------------------

    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: Any = False,
        copy: Any = False,
        memory_format: Any = None,
    ) -> Tensor:
        """To a dtype, a device ("cpu"), or the dtype of another tensor. Values never
        change and elements lie in one order only: the rest makes no difference."""
        for arg in args:
            if isinstance(arg, TensorBase):
                dtype = arg.dtype
            elif arg is True or arg is False:  # non_blocking, copy
                continue
            elif _is_device(arg):
                device = arg
            else:
                dtype = arg
        check_device(device)
        return same(self) if dtype is None else cast(self, to_dtype(dtype))

    def type_as(self, other: TensorBase) -> Tensor:
        return cast(self, other.dtype)

    def float(self, memory_format: Any = None) -> Tensor:
        return cast(self, dtypes.float32)

    def double(self, memory_format: Any = None) -> Tensor:
        return cast(self, dtypes.float64)

    def half(self, memory_format: Any = None) -> Tensor:
        return cast(self, dtypes.float16)

    def bfloat16(self, memory_format: Any = None) -> Tensor:
        return cast(self, dtypes.bfloat16)

    def int(self, memory_format: Any = None) -> Tensor:
        return cast(self, dtypes.int32)

    def long(self, memory_format: Any = None) -> Tensor:
        return cast(self, dtypes.int64)

    def bool(self, memory_format: Any = None) -> Tensor:
        return cast(self, dtypes.bool_)

    def is_floating_point(self) -> Any:
        return self.dtype.is_floating_point

    def cpu(self) -> Tensor:
        return same(self)

    def cuda(self) -> NoReturn:
        check_device("cuda")
        raise AssertionError("unreachable")

    # -- gradients: accepted, not computed ------------------------------------

    @property
    def requires_grad(self) -> Any:
        """Kept for state dicts; gradients are not computed."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: Any) -> None:
        if value and not self.dtype.is_floating_point:
            raise fail(ValueError, f"requires_grad: needs a floating dtype, got {self.dtype.name}")
        self._requires_grad = bool(value)

    def requires_grad_(self, requires_grad: Any = True) -> Tensor:
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> None:
        return None

    def backward(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: dtorch computes forward only."""
        raise fail(NotImplementedError, "backward: gradients are not available yet")

    def detach(self) -> Tensor:
        """The same value, without `requires_grad`."""
        return wrap(self._node)

    def clone(self, *, memory_format: Any = None) -> Tensor:
        """The same value (values never change, so nothing is copied)."""
        return wrap(self._node)

    def __copy__(self) -> Tensor:
        return wrap(self._node)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        return wrap(self._node)


_dtorch.set_tensor_class(Tensor)


def _is_device(value: Any) -> bool:
    if type(value).__module__ == "torch" and hasattr(value, "type") and hasattr(value, "index"):
        return True
    return isinstance(value, str) and value.partition(":")[0] in ("cpu", "cuda")


def from_numpy(array: arrays.Array) -> Tensor:
    """A host tensor on the array's own memory, which must not change any more."""
    return wrap(host_input(arrays.from_any(array), borrow=True))


def frombuffer(
    buffer: Any,
    *,
    dtype: Any,
    count: int = -1,
    offset: int = 0,
    shape: tuple[int, ...] | None = None,
) -> Tensor:
    """A host tensor on a buffer's own memory, which must not change any more:
    `count` elements from byte `offset` on, under `shape`. Takes bfloat16, which
    NumPy lacks."""
    import numpy as np

    d: DType = to_dtype(dtype)
    try:
        array = np.frombuffer(buffer, arrays.numpy_dtype(d), count, offset)
        array = array if shape is None else array.reshape(shape)
    except (TypeError, ValueError) as error:
        raise fail(type(error), f"frombuffer: {error}") from None
    return wrap(host_input(arrays.HostArray(array, d), borrow=True))
