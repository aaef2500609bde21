"""Device meshes: named arrangements of devices."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from dtorch import _dtorch
from dtorch.errors import as_int, as_list, fail, shown

__all__ = [
    "DeviceMesh",
    "assign_layers_to_stages",
    "get_default_device_mesh",
    "init_device_mesh",
]

_DEVICE_TYPES = ("cpu", "cuda")
_MAX_PRINTED_DEVICES = 64


class DeviceMesh:
    """Devices `ids` (nested lists or an array of any shape) along named axes.

    Axes without names are called `dim_0`, `dim_1`, … A mesh may be larger than
    the world; `Graph.satisfy` tells, and putting a tensor on it is an error.

    >>> mesh = DeviceMesh("cpu", [[0, 1], [2, 3]], ["dp", "tp"])
    >>> mesh.shape, mesh.dim_name_index("tp"), mesh.dim_name_index("pp")
    ((2, 2), 1, None)
    """

    __slots__ = ("_native",)
    _native: _dtorch.Mesh

    def __init__(
        self,
        device_type: str,
        ids: Any,
        dim_names: Sequence[str] | None = None,
    ) -> None:
        try:
            array = np.asarray(ids)
        except (ValueError, RecursionError):  # no box
            array = np.empty(0)
        if array.size == 0 or array.dtype.kind not in "iu":
            raise fail(ValueError, f"DeviceMesh: ids must be device numbers, got {shown(ids)}")
        names = _checked_names("DeviceMesh", device_type, array.shape, dim_names)
        numbers = [int(i) for i in array.reshape(-1)]
        self._native = _native_mesh(
            "DeviceMesh", _dtorch.Mesh.from_ids, device_type, names, array.shape, numbers
        )

    @property
    def device_type(self) -> str:
        """ "cpu" or "cuda"."""
        return self._native.device_type

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._native.shape)

    @property
    def ndim(self) -> int:
        return self._native.ndim

    @property
    def dim_names(self) -> list[str]:
        return list(self._native.dim_names)

    mesh_dim_names = dim_names

    def size(self, axis: int | None = None) -> int:
        """Number of devices, or the size of one axis."""
        return math.prod(self.shape) if axis is None else self.shape[resolve_axis(self, axis)]

    def dim_name_index(self, name: str) -> int | None:
        """Index of the axis of that name; None if there is none."""
        if not isinstance(name, str):
            raise fail(TypeError, f"mesh: an axis name must be a string, got {shown(name)}")
        return self._native.dim_name_index(name)

    def has_dim_name(self, name: str) -> bool:
        return self.dim_name_index(name) is not None

    def check_all_dim_names_in_set(self, names: Collection[str]) -> None:
        """Raises ValueError if an axis has a name outside `names`."""
        unknown = [n for n in self.dim_names if n not in names]
        if unknown:
            raise fail(
                ValueError,
                f"mesh: axis names must be among {sorted(names)}, got {unknown}",
            )

    def unbind(self, dim: str | int) -> list[DeviceMesh]:
        """One mesh per index of an axis, that axis removed.

        A name that the mesh does not have gives `[self]`: a mesh without "pp"
        is a single stage.
        """
        if isinstance(dim, str):
            axis = self.dim_name_index(dim)
            if axis is None:
                return [self]
        else:
            axis = resolve_axis(self, dim)
        return [wrap_mesh(m) for m in self._native.unbind(axis)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._native == other._native

    def __hash__(self) -> int:
        return hash(self._native)

    def __repr__(self) -> str:
        return (
            f"DeviceMesh({self.device_type!r}, dim_name: {self.dim_names}, "
            f"shape: {self.shape}, data: {self._data()})"
        )

    def _data(self) -> str:
        if self._native.is_host:
            return "host"
        if self._native.num_devices > _MAX_PRINTED_DEVICES:
            return f"{self._native.num_devices} devices"
        return str(np.array(self._native.ids).reshape(self.shape).tolist())


def _checked_names(
    subject: str, device_type: str, shape: Sequence[int], names: Sequence[str] | None
) -> list[str]:
    if device_type not in _DEVICE_TYPES:
        raise fail(
            ValueError, f'{subject}: device_type must be "cpu" or "cuda", got {device_type!r}'
        )
    if names is None:
        return [f"dim_{i}" for i in range(len(shape))]
    given = as_list(names, f"{subject}: mesh_dim_names")
    if len(given) != len(shape):
        raise fail(
            ValueError, f"{subject}: each of the {len(shape)} axes needs one name, got {given}"
        )
    if not all(isinstance(n, str) and n for n in given):
        raise fail(TypeError, f"{subject}: axis names must be strings, not empty, got {given}")
    return given


def _native_mesh(subject: str, make: Any, *args: Any) -> _dtorch.Mesh:
    """Calls a native constructor; its errors get the user's place in front."""
    try:
        mesh: _dtorch.Mesh = make(*args)
    except ValueError as error:
        raise fail(ValueError, f"{subject}: {error}") from None
    except TypeError:  # an integer of more than 64 bits
        raise fail(ValueError, f"{subject}: sizes and device numbers must be below 2^40") from None
    return mesh


def wrap_mesh(native: _dtorch.Mesh) -> DeviceMesh:
    """The public object for a native mesh."""
    mesh = DeviceMesh.__new__(DeviceMesh)
    mesh._native = native
    return mesh


def resolve_axis(mesh: DeviceMesh, axis: int) -> int:
    """An axis index counted from the front; IndexError if there is none."""
    axis = as_int(axis, "mesh: axis")
    if not -mesh.ndim <= axis < mesh.ndim:
        raise fail(IndexError, f"mesh: axis must be in [{-mesh.ndim}, {mesh.ndim - 1}], got {axis}")
    return axis % mesh.ndim


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
) -> DeviceMesh:
    """A mesh of devices 0, 1, … in row-major order. It becomes no default.

    >>> init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    DeviceMesh('cpu', dim_name: ['dp', 'tp'], shape: (2, 2), data: [[0, 1], [2, 3]])
    """
    sizes = as_list(mesh_shape, "init_device_mesh: mesh_shape")
    shape = [as_int(n, "init_device_mesh: sizes") for n in sizes]
    names = _checked_names("init_device_mesh", device_type, shape, mesh_dim_names)
    return wrap_mesh(
        _native_mesh("init_device_mesh", _dtorch.Mesh.regular, device_type, names, shape)
    )


HOST = wrap_mesh(_dtorch.Mesh.host())
"""The zero-axis mesh of host tensors."""


def get_default_device_mesh(device_mesh: DeviceMesh | None = None) -> DeviceMesh:
    """`device_mesh` if given, else the mesh of the innermost
    `device_mesh_guard`, else the host mesh."""
    if device_mesh is not None:
        if not isinstance(device_mesh, DeviceMesh):
            raise fail(TypeError, f"device_mesh: needs a DeviceMesh, got {shown(device_mesh)}")
        return device_mesh
    from dtorch.graph import Graph

    return Graph.default_graph().guarded_mesh or HOST


def assign_layers_to_stages(num_layers: int, num_stages: int) -> list[int]:
    """The stage of each layer, as evenly as possible, earlier stages first.

    >>> assign_layers_to_stages(4, 2), assign_layers_to_stages(5, 4)
    ([0, 0, 1, 1], [0, 0, 1, 2, 3])
    """
    num_layers = as_int(num_layers, "assign_layers_to_stages: num_layers")
    num_stages = as_int(num_stages, "assign_layers_to_stages: num_stages")
    if num_layers < 0 or num_stages < 1:
        raise fail(
            ValueError,
            "assign_layers_to_stages: needs num_layers >= 0 and num_stages >= 1, "
            f"got {num_layers} and {num_stages}",
        )
    small, extra = divmod(num_layers, num_stages)
    return [s for s in range(num_stages) for _ in range(small + (s < extra))]
