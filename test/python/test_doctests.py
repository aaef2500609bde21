"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import dtorch

# What a user has imported.
NAMES = {
    "dtorch": dtorch,
    "Replicate": dtorch.Replicate,
    "Shard": dtorch.Shard,
    "init_device_mesh": dtorch.init_device_mesh,
}
SKIPPED = ("dtorch.models", "dtorch.test", "dtorch.testing", "dtorch._dtorch")
MODULES = ["dtorch"] + [
    info.name
    for info in pkgutil.walk_packages(dtorch.__path__, "dtorch.")
    if not info.name.startswith(SKIPPED) and info.name != "dtorch.src"
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs=NAMES)
    assert result.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(name) for name in MODULES]
    assert sum(len(test.examples) for m in modules for test in finder.find(m)) >= 30


def test_every_public_function_is_documented() -> None:
    for name in MODULES:
        module = importlib.import_module(name)
        assert module.__doc__, name
        for attribute in getattr(module, "__all__", []):
            value = getattr(module, attribute)
            own = getattr(value, "__module__", None) == name
            if own and callable(value) and name != "dtorch.functions":
                assert value.__doc__, f"{name}.{attribute}"
