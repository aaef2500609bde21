"""`Module`: PyTorch's, plus hooks that redistribute inputs and outputs."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from dtorch._base import check_device
from dtorch.dtypes import bfloat16, dtype, float16, float32, float64, to_dtype
from dtorch.errors import fail, shown
from dtorch.graph import Graph
from dtorch.mesh import DeviceMesh, get_default_device_mesh
from dtorch.nn.parameter import Parameter
from dtorch.nn.state import IncompatibleKeys, load
from dtorch.tensor import Tensor

__all__ = ["Module"]

Self = TypeVar("Self", bound="Module")

_local = threading.local()
_structure_version = 0
_named: tuple[Callable[[], Any], int] = (lambda: None, 0)
"""The root whose modules and parameters carry their paths, and the structure
version at that time: names are given again only when something changed."""


class _Tables(NamedTuple):
    parameters: dict[str, Parameter | None]
    buffers: dict[str, Tensor | None]
    modules: dict[str, Module | None]
    non_persistent: set[str]


class Module:
    """Base class of layers and models.

    Attributes that are `Parameter` or `Module` are registered. A call runs
    `redistribute_input`, `forward`, `redistribute_output`; ops recorded meanwhile
    carry the module's path ("model.layers.0").
    """

    training: bool
    _tables: _Tables
    _path: str

    def __init__(self) -> None:
        object.__setattr__(self, "_tables", _Tables({}, {}, {}, set()))
        object.__setattr__(self, "_path", "")
        object.__setattr__(self, "training", True)

    # -- hooks and the call ---------------------------------------------------

    def redistribute_input(self, *args: Any, **kwargs: Any) -> tuple[Sequence[Any], dict[str, Any]]:
        """May be overridden; gets the call's arguments, returns (args, kwargs)."""
        return args, kwargs

    def redistribute_output(self, output: Any) -> Any:
        """May be overridden; returns the redistributed output."""
        return output

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise fail(NotImplementedError, f"{type(self).__name__}: has no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        depth = getattr(_local, "depth", 0)
        if depth == 0:
            _name_tree(self)
        _local.depth = depth + 1
        graph, path = Graph.default_graph()._native, self._path
        if path:
            graph.push_scope(path)
        try:
            new_args, new_kwargs = _checked_pair(self, self.redistribute_input(*args, **kwargs))
            return self.redistribute_output(self.forward(*new_args, **new_kwargs))
        finally:
            _local.depth = depth
            if path:
                graph.pop_scope()

    def first_param_device_mesh(self) -> DeviceMesh:
        """The mesh of the first parameter; the default mesh if there is none."""
        for parameter in self.parameters():
            return parameter.device_mesh
        return get_default_device_mesh()

    # -- registration ---------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__.get("_tables")
        if tables is None:
            if isinstance(value, (Parameter, Module)):
                raise fail(AttributeError, f"{type(self).__name__}: call super().__init__() first")
            object.__setattr__(self, name, value)
        elif isinstance(value, Parameter):
            self._register(tables.parameters, name, value)
        elif isinstance(value, Module):
            self._register(tables.modules, name, value)
        elif value is None and name in tables.parameters:
            self._register(tables.parameters, name, None)
        elif value is None and name in tables.modules:
            self._register(tables.modules, name, None)
        elif name in tables.buffers and (value is None or isinstance(value, Tensor)):
            tables.buffers[name] = value
        elif name in tables.parameters:
            kind = type(value).__name__
            raise fail(
                TypeError,
                f"{type(self).__name__}.{name}: is a parameter, cannot become {kind}",
                "assign an nn.Parameter or None",
            )
        else:
            object.__setattr__(self, name, value)

    def _register(self, table: dict[str, Any], name: str, value: Any) -> None:
        global _structure_version
        _structure_version += 1
        for other in self._tables[:3]:
            if other is not table:
                other.pop(name, None)
        self.__dict__.pop(name, None)
        table[name] = value

    def __getattr__(self, name: str) -> Any:
        tables = self.__dict__.get("_tables")
        if tables is not None:
            for table in tables[:3]:
                if name in table:
                    return table[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        global _structure_version
        for table in self._tables[:3]:
            if name in table:
                _structure_version += 1
                del table[name]
                return
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter, or None for one that is left out (a bias)."""
        self._register(self._tables.parameters, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that is no parameter; `persistent` ones are saved."""
        self._register(self._tables.buffers, name, tensor)
        if not persistent:
            self._tables.non_persistent.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers a child under a name."""
        if module is not None and not isinstance(module, Module):
            raise fail(
                TypeError,
                f"{type(self).__name__}: '{name}' must be a module or None, got {shown(module)}",
            )
        self._register(self._tables.modules, name, module)

    register_module = add_module

    # -- walking --------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Direct children, each once."""
        seen = set()
        for name, module in self._tables.modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, by path, parents first."""
        memo = set() if memo is None else memo
        if remove_duplicate and id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name, module in self._tables.modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def _named_members(
        self, table: int, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in module._tables[table].items():  # type: ignore[union-attr]
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters by path; a tied one appears once, under its first name."""
        return self._named_members(0, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named_members(1, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module at a path; "" is this one."""
        module = self
        for name in target.split(".") if target else []:
            child = module._tables.modules.get(name)
            if child is None:
                raise fail(AttributeError, f"{type(self).__name__}: has no module {target!r}")
            module = child
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path."""
        path, _, name = target.rpartition(".")
        parameter = self.get_submodule(path)._tables.parameters.get(name)
        if parameter is None:
            raise fail(AttributeError, f"{type(self).__name__}: has no parameter {target!r}")
        return parameter

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Calls `fn` on every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- state ----------------------------------------------------------------

    def state_dict(self, *, prefix: str = "") -> OrderedDict[str, Tensor]:
        """Parameters and persistent buffers by path, both names of a tied one.

        Looked at, each is the full value, whatever its placements; nothing is
        gathered or computed before.
        """
        result: OrderedDict[str, Tensor] = OrderedDict()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=False):
            start = f"{path}." if path else ""
            for name, parameter in module._tables.parameters.items():
                if parameter is not None:
                    result[start + name] = parameter.detach()
            for name, buffer in module._tables.buffers.items():
                if buffer is not None and name not in module._tables.non_persistent:
                    result[start + name] = buffer.detach()
        return result

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Takes the values of PyTorch, NumPy or dtorch tensors by path.

        Each value is converted to the parameter's dtype and cut by the shard
        law; values that lie in the same memory share it here too. One error names
        every missing and unexpected key (if `strict`) and every wrong shape; the
        module then is unchanged. A tied parameter needs one of its names.
        """
        return load(self, state_dict, strict)

    # -- modes and dtypes -----------------------------------------------------

    def train(self: Self, mode: bool = True) -> Self:
        """Sets `training` here and below."""
        for module in self.modules():
            object.__setattr__(module, "training", bool(mode))
        return self

    def eval(self: Self) -> Self:
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def to(self: Self, *args: Any, dtype: Any = None, device: Any = None) -> Self:
        """Floating parameters and buffers to a dtype; the device can be "cpu"."""
        for arg in args:
            if isinstance(arg, str) and arg.partition(":")[0] in ("cpu", "cuda"):
                device = arg
            elif isinstance(arg, Tensor):
                dtype = arg.dtype
            else:
                dtype = arg
        check_device(device)
        return self if dtype is None else self._convert(to_dtype(dtype))

    def _convert(self: Self, to: dtype) -> Self:
        if not to.is_floating_point:
            raise fail(TypeError, f"Module.to: needs a floating dtype, got {to.name}")
        for parameter in self.parameters():
            if parameter.dtype.is_floating_point:
                parameter._convert(to)
        for module in self.modules():
            buffers = module._tables.buffers
            for name, buffer in buffers.items():
                if buffer is not None and buffer.dtype.is_floating_point:
                    buffers[name] = buffer.to(to)
        return self

    def float(self: Self) -> Self:
        return self._convert(float32)

    def double(self: Self) -> Self:
        return self._convert(float64)

    def half(self: Self) -> Self:
        return self._convert(float16)

    def bfloat16(self: Self) -> Self:
        return self._convert(bfloat16)

    def cpu(self: Self) -> Self:
        return self

    # -- printing -------------------------------------------------------------

    def extra_repr(self) -> str:
        """Arguments that `repr` shows."""
        return ""

    def __repr__(self) -> str:
        lines = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._tables.modules.items()
        ]
        head = f"{type(self).__name__}({self.extra_repr()}"
        return head + "".join(f"\n  {line}" for line in lines) + ("\n)" if lines else ")")


def _checked_pair(owner: Module, pair: Any) -> Any:
    """What `redistribute_input` returned, or an error that says what it should."""
    if isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[1], Mapping):
        return pair
    raise fail(
        TypeError,
        f"{type(owner).__name__}.redistribute_input: must return (args, kwargs), got {pair!r:.80}",
    )


def _name_tree(root: Module) -> None:
    """Gives modules and parameters below `root` their paths."""
    global _named
    if _named[0]() is root and _named[1] == _structure_version:
        return
    for path, module in root.named_modules():
        object.__setattr__(module, "_path", path)
    for path, parameter in root.named_parameters():
        parameter._set_name(path)
    _named = weakref.ref(root), _structure_version
