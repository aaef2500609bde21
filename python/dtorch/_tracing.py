"""What a recording for `compile` reads besides its arguments."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dtorch import _dtorch

_local = threading.local()

Reads = dict[int, Any]
"""Parameters by the number of the node that they had."""


@contextmanager
def reads() -> Iterator[Reads]:
    """Collects the parameters that this thread reads in the block."""
    outer = getattr(_local, "reads", None)
    _local.reads = found = Reads()
    try:
        yield found
    finally:
        _local.reads = outer


def note_read(tensor: Any, node: _dtorch.Node) -> None:
    """Says that a parameter gives its node to somebody."""
    found: Reads | None = getattr(_local, "reads", None)
    if found is not None:
        found[_dtorch.node_id(node)] = tensor
