"""Modules made of modules."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dtorch.errors import fail
from dtorch.nn.modules.module import Module

__all__ = ["ModuleList", "Sequential"]


class _Listed(Module):
    """Children named "0", "1", …"""

    def _children(self) -> list[Module]:
        return [m for m in self._tables.modules.values() if m is not None]

    def __len__(self) -> int:
        return len(self._tables.modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._children())

    def _index(self, index: Any) -> int:
        i = operator.index(index)
        if not -len(self) <= i < len(self):
            raise fail(
                IndexError, f"{type(self).__name__}: index {i} is out of range, length {len(self)}"
            )
        return i % len(self)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._of(self._children()[index])
        return self._children()[self._index(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        name = list(self._tables.modules)[self._index(index)]
        self.add_module(name, module)

    def __delitem__(self, index: int | slice) -> None:
        """Later modules move up."""
        children = self._children()
        del children[index if isinstance(index, slice) else self._index(index)]
        self._replace(children)

    def _replace(self, children: list[Module]) -> None:
        for name in list(self._tables.modules):
            delattr(self, name)
        self.extend(children)

    def _of(self, modules: list[Module]) -> Module:
        raise NotImplementedError

    def append(self, module: Module) -> Any:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Adds modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Adds a module before an index; later ones move up."""
        children = self._children()
        children.insert(index, module)
        self._replace(children)
        return self


class ModuleList(_Listed):
    """A list of modules, each registered; it has no forward of its own."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or [])

    def _of(self, modules: list[Module]) -> Module:
        return ModuleList(modules)


class Sequential(_Listed):
    """Modules that run one after the other; names come from a mapping if given."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def _of(self, modules: list[Module]) -> Module:
        return Sequential(*modules)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input
