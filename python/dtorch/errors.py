"""Errors and the place in the user's code that they name.

Every error reads `file:line: error: subject: rule, got found`, and where there
is a remedy a second line `  note: remedy`. The place is the innermost frame of
code written against dtorch: the package's own frames are skipped, its models
(`dtorch.models`) and test models (`dtorch.test`) are not.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

from dtorch._dtorch import PlacementError

__all__ = ["PlacementError", "fail", "location"]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_USER_PARTS = tuple(_PACKAGE + part + os.sep for part in ("models", "test"))
_internal: dict[str, bool] = {}
"""Whether a file's frames are skipped; by co_filename, asked once a file."""


def _is_internal(filename: str) -> bool:
    if filename.startswith("<"):  # typed in: "<stdin>", "<string>"
        return False
    path = os.path.abspath(filename)
    return path.startswith(_PACKAGE) and not path.startswith(_USER_PARTS)


def location() -> tuple[str, int]:
    """File and line of the user's call that led here."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        internal = _internal.get(filename)
        if internal is None:
            internal = _internal[filename] = _is_internal(filename)
        if not internal:
            return filename, frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0


def fail(kind: type[Exception], message: str, note: str | None = None) -> Exception:
    """The exception to raise: `message` with the user's place in front.

    >>> print(str(fail(ValueError, "t: ndim must be 2, got 1")).partition(" error: ")[2])
    t: ndim must be 2, got 1
    """
    filename, line = location()
    text = f"{filename}:{line}: error: {message}"
    return kind(text if note is None else f"{text}\n  note: {note}")
