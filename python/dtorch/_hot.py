"""Functions with a short way through C."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar, cast

from dtorch import _dtorch

F = TypeVar("F", bound=Callable[..., Any])


def hot(name: str) -> Callable[[F], F]:
    """Puts the short way `name` in front of a function or method.

    It records the usual calls (tensors of one dtype, Python numbers, ints as
    dims and sizes) without running Python. All other calls, and all errors, are
    left to the function, which defines what a call means; `__wrapped__` is the
    function itself.
    """

    def decorate(function: F) -> F:
        return cast(F, update_wrapper(_dtorch.hot_function(name, function), function))

    return decorate
