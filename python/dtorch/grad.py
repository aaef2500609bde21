"""Gradient modes: accepted so that PyTorch code runs; gradients do not exist yet."""

from __future__ import annotations

from contextlib import nullcontext

__all__ = ["inference_mode", "is_grad_enabled", "no_grad"]


def no_grad() -> nullcontext[None]:
    """A context that changes nothing."""
    return nullcontext()


def inference_mode(mode: bool = True) -> nullcontext[None]:
    """A context that changes nothing."""
    return nullcontext()


def is_grad_enabled() -> bool:
    """False: dtorch computes forward only."""
    return False
