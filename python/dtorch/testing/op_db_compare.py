"""Compares a result with PyTorch's."""

from __future__ import annotations

from typing import Any

import torch

from dtorch.testing.op_db_table import is_random

__all__ = ["Mismatch", "compare"]

_TOLERANCES = {
    torch.float64: (1e-10, 1e-12),
    torch.float32: (2e-5, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-3),
}
_SUMS = {
    "addcmul",
    "addmm",
    "baddbmm",
    "bmm",
    "cumsum",
    "dot",
    "einsum",
    "inner",
    "index_add",
    "linspace",
    "log_softmax",
    "matmul",
    "__rmatmul__",
    "mean",
    "mm",
    "mv",
    "nn.functional.linear",
    "nn.functional.layer_norm",
    "nn.functional.group_norm",
    "nn.functional.scaled_dot_product_attention",
    "prod",
    "scatter_add",
    "std",
    "sum",
    "var",
    "vdot",
}
"""Sums of terms that may cancel: the error is relative to the largest element."""

_ORDERS = {"argsort": "indices", "max": "pair", "min": "pair", "sort": "pair", "topk": "pair"}
"""Ops that leave open which of several equal elements they name."""


class Mismatch(Exception):  # noqa: N818
    """A result that is not PyTorch's."""


def compare(name: str, sample: Any, expected: Any, actual: Any) -> None:
    """Raises Mismatch where the results differ."""
    if name in _ORDERS and _same_order(name, sample, expected, actual):
        return
    _compare(name, sample, expected, actual)


def _compare(name: str, sample: Any, expected: Any, actual: Any) -> None:
    if isinstance(expected, (list, tuple)) and not isinstance(expected, torch.Size):
        if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
            raise Mismatch(f"expected {len(expected)} results, got {actual!r:.200}")
        for e, a in zip(expected, actual, strict=True):
            _compare(name, sample, e, a)
    elif isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            raise Mismatch(f"expected a tensor, got {actual!r:.200}")
        _compare_tensors(name, sample, expected, actual)
    elif expected != actual and expected == expected:
        raise Mismatch(f"expected {expected!r:.200}, got {actual!r:.200}")


def _compare_tensors(name: str, sample: Any, expected: torch.Tensor, actual: torch.Tensor) -> None:
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise Mismatch(
            f"expected {tuple(expected.shape)} {expected.dtype}, "
            f"got {tuple(actual.shape)} {actual.dtype}"
        )
    if name == "nn.functional.dropout":
        _check_dropout(sample, actual)
    if is_random(name) or sample.kwargs.get("dropout_p") or torch.equal(expected, actual):
        return
    rtol, atol = _TOLERANCES.get(expected.dtype, (0.0, 0.0))
    if name in _SUMS and atol:
        finite = expected[expected.isfinite()]
        largest = float(finite.abs().max()) if finite.numel() else 1.0
        atol = max(atol, rtol * largest)
    try:
        torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as error:
        lines = [line for line in str(error).splitlines() if line]
        raise Mismatch(" ".join(lines)[:300] + _excerpt(expected, actual)) from None


def _excerpt(expected: torch.Tensor, actual: torch.Tensor) -> str:
    if expected.numel() > 8:
        return ""
    return f" (expected {expected.tolist()}, got {actual.tolist()})"


def _check_dropout(sample: Any, actual: torch.Tensor) -> None:
    """Each element is 0 or the input's, scaled."""
    p = sample.kwargs.get("p", sample.args[0] if sample.args else 0.5)
    training = sample.kwargs.get("training", True)
    scale = 1.0 if not training else 0.0 if p == 1 else 1.0 / (1.0 - p)
    kept = (sample.input.float() * scale).to(actual.dtype)
    close = torch.isclose(actual.float(), kept.float(), rtol=1e-2, atol=1e-6)
    if not (close | ((actual == 0) & torch.tensor(training and p > 0))).all():
        raise Mismatch("an element is neither 0 nor the scaled input's")


def _same_order(name: str, sample: Any, expected: Any, actual: Any) -> bool:
    """Whether the elements that the indices name are the expected ones."""
    pair = _ORDERS[name] == "pair"
    if pair and not (isinstance(expected, tuple) and isinstance(actual, tuple)):
        return False
    wanted, indices = (expected[1], actual[1]) if pair else (expected, actual)
    if not isinstance(indices, torch.Tensor) or indices.shape != wanted.shape:
        return False
    if sample.kwargs.get("stable") or indices.dtype != torch.int64:
        return False
    x = sample.input
    dim = _dim_of(name, sample)
    if x.ndim == 0:
        return False
    if indices.ndim < x.ndim:  # max and min without keepdim
        indices, wanted = indices.unsqueeze(dim), wanted.unsqueeze(dim)
    inside = (indices >= 0) & (indices < x.shape[dim])
    if not inside.all():
        return False
    try:
        taken, right = (torch.gather(x, dim, i) for i in (indices, wanted))
        torch.testing.assert_close(taken, right, rtol=0, atol=0, equal_nan=True)
        if pair:
            _compare(name, sample, expected[0], actual[0])
    except (AssertionError, RuntimeError):
        return False
    return True


def _dim_of(name: str, sample: Any) -> int:
    if "dim" in sample.kwargs:
        return int(sample.kwargs["dim"])
    place = 1 if name == "topk" else 0
    given = sample.args[place] if len(sample.args) > place else -1
    return given if isinstance(given, int) else -1
