"""Parameters: tensors that belong to a module and are made late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dtorch import _dtorch, arrays
from dtorch._base import check_mesh
from dtorch._reading import read
from dtorch._tracing import note_read
from dtorch.arrays import HostArray
from dtorch.dtypes import dtype as DType
from dtorch.graph import Graph
from dtorch.mesh import DeviceMesh, get_default_device_mesh
from dtorch.placement import Placement, Replicate
from dtorch.tensor import Tensor

__all__ = ["Parameter"]

Make = Callable[[], HostArray]
"""Computes a first value on the host."""


class _Cell:
    """What a parameter and its detached views share: a value, made when first
    needed. Creating a model and loading its weights runs no initialisation."""

    __slots__ = ("dtype", "make", "mesh", "name", "node", "placements", "shape")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DType,
        mesh: DeviceMesh,
        placements: list[Placement],
        make: Make | None,
        name: str = "",
    ) -> None:
        self.shape, self.dtype = shape, dtype
        self.mesh, self.placements = mesh, placements
        self.make, self.name = make, name
        self.node: _dtorch.Node | None = None

    def get(self) -> _dtorch.Node:
        """The node, made now if it is not there yet."""
        if self.node is None:
            assert self.make is not None
            with Graph():  # whatever is being recorded stays as it is
                self.put(self.place(self.make()))
        assert self.node is not None
        return self.node

    def place(self, value: HostArray) -> _dtorch.Node:
        """A node of this cell's type for a host value, cut by the shard law."""
        value = arrays.own(arrays.cast(value, self.dtype))
        native = [p._native for p in self.placements]
        return _dtorch.input(value.array, self.shape, self.dtype.name, self.mesh._native, native)

    def put(self, node: _dtorch.Node) -> None:
        """Takes the value of a node of equal type; its memory is shared."""
        if self.node is None:
            node.parameter, node.name = True, self.name
            self.node, self.make = node, None
        else:
            _dtorch.assign(self.node, node)

    def value(self) -> HostArray:
        """The global value, without a program; pending axes add up."""
        return arrays.from_bytes(_dtorch.assemble(self.get()), self.dtype, self.shape)

    def copy(self, dtype: DType) -> _Cell:
        """A cell of its own with the same value, rounded to `dtype`."""
        cell = _Cell(self.shape, dtype, self.mesh, self.placements, None, self.name)
        if self.node is not None:
            cell.put(cell.place(self.value()))
        else:
            make, own = self.make, self.dtype
            assert make is not None
            cell.make = lambda: arrays.cast(make(), own)
        return cell

    @property
    def layout(self) -> tuple[Any, ...]:
        """Equal for cells whose equal values can share memory."""
        return self.shape, self.dtype.name, self.mesh, tuple(self.placements)


class CellTensor(Tensor):
    """A tensor whose value lives in a cell: a parameter, or `detach()` of one."""

    __slots__ = ("_cell",)
    _cell: _Cell

    @property
    def _node(self) -> _dtorch.Node:  # type: ignore[override]
        node = self._cell.get()
        note_read(self, node)
        return node

    @property
    def shape(self) -> tuple[int, ...]:
        return self._cell.shape

    @property
    def dtype(self) -> DType:
        return self._cell.dtype

    @property
    def device_mesh(self) -> DeviceMesh:
        return self._cell.mesh

    @property
    def placements(self) -> list[Placement]:
        return list(self._cell.placements)

    @property
    def is_host(self) -> bool:
        return self._cell.mesh._native.is_host

    def detach(self) -> Tensor:
        """A view of the same cell: it follows the parameter, as in PyTorch."""
        view: CellTensor = CellTensor.__new__(CellTensor)
        view._cell, view._host, view._requires_grad = self._cell, None, False
        return view

    def __copy__(self) -> CellTensor:
        view: CellTensor = type(self).__new__(type(self))
        view._cell, view._host, view._requires_grad = self._cell, None, self._requires_grad
        return view

    def _host_value(self) -> HostArray:
        return self._cell.value()

    def _rebind(self, value: Tensor) -> None:
        """In-place forms compute a parameter's next value at once: it is held by
        the cell, as the value of an input."""
        self._cell.get()
        self._cell.put(self._cell.place(value._host_value()))

    def _state(self) -> list[str]:
        return []


class Parameter(CellTensor):
    """A tensor that `Module` registers when it is assigned as an attribute.

    `data` keeps its mesh and placements; host data inside a `device_mesh_guard`
    goes to the guard's mesh, replicated.
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        tensor = data if isinstance(data, Tensor) else Tensor(data)
        mesh, placements = tensor.device_mesh, tensor.placements
        if tensor.is_host:
            mesh = check_mesh(get_default_device_mesh())
            placements = [Replicate() for _ in range(mesh.ndim)]
        make = _later(tensor, Graph.default_graph())
        self._setup(_Cell(tensor.shape, tensor.dtype, mesh, placements, make), requires_grad)

    def _setup(self, cell: _Cell, requires_grad: bool) -> None:
        self._cell, self._host, self._requires_grad = cell, None, False
        self.requires_grad = requires_grad and cell.dtype.is_floating_point

    @classmethod
    def lazy(
        cls,
        shape: Sequence[int],
        dtype: DType,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement],
        make: Make,
    ) -> Parameter:
        """A parameter whose first value `make` computes on the host, if it is
        ever asked for. Errors: placements that do not fit (PlacementError)."""
        parameter: Parameter = cls.__new__(cls)
        mesh = check_mesh(device_mesh)
        parameter._setup(_Cell(tuple(shape), dtype, mesh, list(placements), make), True)
        return parameter

    def _set_name(self, name: str) -> None:
        """Names the argument in dumps: "model.norm.weight"."""
        cell = self._cell
        if cell.name != name:
            cell.name = name
            if cell.node is not None:
                cell.node.name = name

    def _set_init(self, make: Make) -> None:
        """Replaces the value by what `make` computes, now or when needed."""
        if self._cell.node is None:
            self._cell.make = make
        else:
            with Graph():
                self._cell.put(self._cell.place(make()))

    def _convert(self, dtype: DType) -> None:
        """Changes the element type; views made before keep the old value."""
        if self._cell.dtype is not dtype:
            self._cell = self._cell.copy(dtype)

    def __repr__(self) -> str:
        return "dtorch.nn." + super().__repr__().replace("dtorch.Tensor(", "Parameter(", 1)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            copy: Parameter = Parameter.__new__(Parameter)
            copy._setup(self._cell.copy(self._cell.dtype), self._requires_grad)
            memo[id(self)] = copy
        return memo[id(self)]  # type: ignore[no-any-return]


def _later(tensor: Tensor, graph: Graph) -> Make:
    """Reads the tensor when asked, in the graph that it was recorded in."""
    if isinstance(tensor, CellTensor):
        return tensor._cell.value
    node = tensor._node

    def make() -> HostArray:
        with graph:
            return read(node)

    return make
