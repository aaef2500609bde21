"""Drawn chains of ops on drawn meshes and placements against PyTorch."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dtorch
from dtorch import DeviceMesh, Partial, Placement, PlacementError, Replicate, Shard

MESHES = [(2,), (3,), (4,), (2, 2), (2, 3), (1, 4), (2, 2, 2)]
Pair = tuple[torch.Tensor, dtorch.Tensor]


class Draw:
    """A pool of values that exist in both libraries, and ways to make more."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        torch.manual_seed(seed)
        self.shape = self.rng.choice(MESHES)
        ids = np.arange(math.prod(self.shape))
        if self.rng.random() < 0.3:
            ids = np.array(self.rng.sample(range(8), len(ids)))
        self.mesh = DeviceMesh("cpu", ids.reshape(self.shape))
        b, n, d = (self.rng.choice(c) for c in ([1, 2, 3], [1, 3, 4, 5], [2, 3, 6]))
        self.pool = [self.value(*s) for s in ((b, n, d), (b, n, d), (d,), (n, 1), (1, n, d))]
        self.weight = self.value(4, d)

    def placements(self, ndim: int) -> list[Placement]:
        options: list[Placement] = [Replicate(), Partial(), *[Shard(d) for d in range(ndim)] * 2]
        return [self.rng.choice(options) for _ in self.shape]

    def value(self, *shape: int) -> Pair:
        x = torch.randn(shape, dtype=torch.float64)
        t = dtorch.Tensor(x)
        if self.rng.random() < 0.85:
            t = t.redistribute(self.mesh, self.placements(len(shape)))
        return x, t

    def step(self) -> None:
        x, t = self.rng.choice([p for p in self.pool if p[0].ndim])
        make = self.rng.choice(STEPS)
        function = make(self, x)
        if function is None:
            return
        try:
            expected = function(torch, x)
        except RuntimeError:  # shapes that do not go together
            return
        if expected.numel() < 5000:
            actual = function(dtorch, t)
            assert actual.shape == tuple(expected.shape)
            self.pool.append((expected, actual))


def choose_dim(draw: Draw, x: torch.Tensor) -> int:
    return draw.rng.randrange(-x.ndim, x.ndim)


def binary(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    name = draw.rng.choice(["add", "sub", "mul", "maximum", "minimum"])
    other, mine = draw.rng.choice(draw.pool)
    return lambda api, a: getattr(api, name)(a, other if api is torch else mine)


def number(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    c, name = draw.rng.choice([2, 0.5, -3, 0]), draw.rng.choice(["add", "sub", "mul"])
    return lambda api, a: getattr(a, name)(c)


def unary(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    name = draw.rng.choice(["tanh", "neg", "sigmoid", "square", "relu", "cos"])
    return lambda api, a: getattr(api, name)(a)


def reduction(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    name = draw.rng.choice(["sum", "mean", "amax", "amin"])
    dim, keep = choose_dim(draw, x), draw.rng.random() < 0.5
    return lambda api, a: getattr(a, name)(dim, keepdim=keep)


def softmax(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    dim = choose_dim(draw, x)
    return lambda api, a: api.nn.functional.softmax(a, dim)


def permute(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    order = draw.rng.sample(range(x.ndim), x.ndim)
    return lambda api, a: a.permute(order)


def reshape(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    first = draw.rng.choice([n for n in range(1, x.numel() + 1) if x.numel() % n == 0])
    return lambda api, a: a.reshape(first, -1)


def index(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    a, b = draw.rng.randrange(x.shape[0]), draw.rng.randrange(x.shape[-1])
    choice = draw.rng.choice([a, (..., slice(b, None)), (None, slice(a, None, 2)), (..., -1)])
    return lambda api, t: t[choice]


def cat(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    dim = choose_dim(draw, x)
    return lambda api, a: api.cat([a, a], dim)


def linear(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    other, mine = draw.weight
    return lambda api, a: api.nn.functional.linear(a, other if api is torch else mine)


def move(draw: Draw, x: torch.Tensor) -> Callable[..., Any]:
    placements = draw.placements(x.ndim)
    return lambda api, a: a if api is torch else a.redistribute(draw.mesh, placements)


STEPS = [
    binary,
    binary,
    number,
    unary,
    reduction,
    softmax,
    permute,
    reshape,
    index,
    cat,
    linear,
    move,
]


def check(pair: Pair) -> None:
    torch.testing.assert_close(pair[1].to_torch(), pair[0], rtol=1e-7, atol=1e-8, equal_nan=True)


@pytest.mark.parametrize("block", range(20))
def test_auto_gives_the_single_device_result(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        draw = Draw(seed)
        for _ in range(draw.rng.randint(3, 9)):
            draw.step()
        for pair in draw.pool if seed % 3 == 0 else draw.pool[-1:]:
            check(pair)


@pytest.mark.parametrize("block", range(8))
def test_strict_gives_it_too_or_an_error(block: int) -> None:
    raised = 0
    for seed in range(block * 15, block * 15 + 15):
        draw = Draw(seed)
        with dtorch.mode("strict"):
            for _ in range(draw.rng.randint(2, 5)):
                try:
                    draw.step()
                except PlacementError:
                    raised += 1
        for pair in draw.pool[5:]:
            check(pair)
    assert raised > 0
