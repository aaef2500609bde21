"""Helpers for tests of modules, and the models that they test."""

from __future__ import annotations

from typing import Any

import numpy as np

from dtorch.arrays import HostArray, cast, from_any
from dtorch.dtypes import float64
from dtorch.graph import Graph
from dtorch.mesh import DeviceMesh

__all__ = ["assert_tensor_allclose", "is_graph_satisfy"]


def is_graph_satisfy(graph: Graph, device_mesh: DeviceMesh) -> bool:
    """Whether the graph's process has the devices of the mesh."""
    return graph.satisfy(device_mesh)


def assert_tensor_allclose(
    test_case: Any, expected: Any, actual: Any, rtol: float = 1e-5, atol: float = 1e-8
) -> None:
    """Fails `test_case` (a unittest.TestCase, or None to assert) unless both
    tensors have one shape and |actual - expected| <= atol + rtol * |expected|.
    Tensors may be dtorch's, PyTorch's or NumPy's."""
    want, got = _float64(expected), _float64(actual)
    problem = None
    if want.shape != got.shape:
        problem = f"shapes differ: expected {want.shape}, got {got.shape}"
    elif not np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
        problem = f"values differ by up to {np.nanmax(np.abs(got - want)):.3g}"
    if problem is None:
        return
    if test_case is not None:
        test_case.fail(problem)
    raise AssertionError(problem)


def _float64(value: Any) -> Any:
    host: HostArray = from_any(value)
    return cast(host, float64).array
