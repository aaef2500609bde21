"""Errors and the place in the user's code that they name.

Every error reads `file:line: error: subject: rule, got found`, and where there
is a remedy a second line `  note: remedy`. The place is the innermost frame of
code written against dtorch: the package's own frames are skipped, its models
(`dtorch.models`) and test models (`dtorch.test`) are not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from dtorch import _dtorch
from dtorch._dtorch import PlacementError

__all__ = ["PlacementError", "as_int", "as_list", "fail", "location"]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_USER_PARTS = tuple(_PACKAGE + part + os.sep for part in ("models", "test"))


def _is_internal(filename: str) -> bool:
    if filename.startswith("<"):  # typed in: "<stdin>", "<string>"
        return False
    path = os.path.abspath(filename)
    return path.startswith(_PACKAGE) and not path.startswith(_USER_PARTS)


_dtorch.set_is_internal(_is_internal)  # asked once a line
location = _dtorch.location
"""File and line of the user's call that led here."""


def fail(kind: type[Exception], message: str, note: str | None = None) -> Exception:
    """The exception to raise: `message` with the user's place in front.

    >>> print(str(fail(ValueError, "t: ndim must be 2, got 1")).partition(" error: ")[2])
    t: ndim must be 2, got 1
    """
    filename, line = location()
    text = f"{filename}:{line}: error: {message}"
    return kind(text if note is None else f"{text}\n  note: {note}")


def as_int(value: Any, what: str) -> int:
    """A whole number of 64 bits; whatever has `__index__`, but for bools, is one.

    >>> as_int(3, "Shard: dim")
    3
    """
    if type(value) is not int:
        try:
            number = value.__index__()
        except (AttributeError, TypeError):
            number = None
        if number is None or isinstance(value, bool):
            raise fail(TypeError, f"{what} must be an int, got {shown(value)}")
        value = number
    if not -(2**63) <= value < 2**63:
        raise fail(ValueError, f"{what} must fit 64 bits, got {shown(value)}")
    return int(value)


def as_list(values: Any, what: str) -> list[Any]:
    """A list of what is iterable; text, mappings and sets are not meant."""
    if isinstance(values, (list, tuple)):
        return list(values)
    unmeant = isinstance(values, (str, bytes, dict, set))
    if unmeant or not isinstance(values, Iterable):
        raise fail(TypeError, f"{what} must be a list, got {shown(values)}")
    return list(values)


def shown(value: Any) -> str:
    """What was found, in at most 80 characters and one line."""
    try:
        text = repr(value)
    except Exception:  # a repr of its own, or too deep
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
