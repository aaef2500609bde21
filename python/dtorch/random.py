"""The process's random state: a seed, and one offset per random tensor.

Numbers are counter-based (Philox) and keyed by the global element index, so a
seed gives the same tensor on every mesh.
"""

from __future__ import annotations

import secrets

from dtorch.errors import fail, shown

__all__ = ["initial_seed", "manual_seed", "next_key"]

_seed = secrets.randbits(63)
_offset = 0


def manual_seed(seed: int) -> None:
    """Starts the random numbers afresh: equal seeds, equal tensors."""
    global _seed, _offset
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise fail(TypeError, f"manual_seed: seed must be an int, got {shown(seed)}")
    if not -(2**63) <= seed < 2**64:
        raise fail(ValueError, f"manual_seed: seed must fit 64 bits, got {shown(seed)}")
    _seed, _offset = seed & (2**63 - 1), 0


def initial_seed() -> int:
    """The seed in use."""
    return _seed


def next_key() -> tuple[int, int]:
    """Seed and offset of the next random tensor."""
    global _offset
    _offset += 1
    return _seed, _offset - 1


def state() -> tuple[int, int]:
    """Seed and offset of what comes next."""
    return _seed, _offset


def restart(at: tuple[int, int]) -> None:
    """Goes back to a state."""
    global _seed, _offset
    _seed, _offset = at


def take_keys(count: int) -> tuple[int, int]:
    """Seed and first offset of `count` random tensors."""
    global _offset
    _offset += count
    return _seed, _offset - count
