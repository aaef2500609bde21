"""Case H2: what nobody holds is forgotten, in loops as users write them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dtorch
from dtorch import Shard, init_device_mesh, nn

MIB = 1 << 20


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def sums(i: int) -> None:
    x = dtorch.ones(2 * MIB)
    ((x + i).sum()).item()


def copies(i: int) -> None:
    mesh = init_device_mesh("cpu", (4,))
    dtorch.Tensor(np.full(MIB, i, np.float32)).redistribute(mesh, [Shard(0)]).sum().item()


def models(i: int) -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    layer = nn.ColumnParallelLinear(1024, 1024, device_mesh=mesh)
    layer.load_state_dict({"weight": np.ones((1024, 1024)), "bias": np.zeros(1024)})
    layer(dtorch.ones(4, 1024)).sum().item()


def never_computed(i: int) -> None:
    t = dtorch.ones(16)
    for _ in range(50):
        t = t * i


@pytest.mark.parametrize("body", [sums, copies, models, never_computed], ids=lambda f: f.__name__)
def test_loops_do_not_grow(body: Callable[[int], None]) -> None:
    for i in range(15):
        body(i)
    gc.collect()
    nodes, before = dtorch.default_graph.num_live_nodes, resident()
    for i in range(15, 60):
        body(i)
    gc.collect()
    assert dtorch.default_graph.num_live_nodes == nodes
    assert resident() - before < 48 * MIB


def test_a_long_chain_is_no_deep_recursion() -> None:
    """Ops that depend on one another: 3000 run, 100 000 are recorded and freed."""
    t = dtorch.zeros(2)
    for _ in range(3_000):
        t = t + 1
    assert t.tolist() == [3_000] * 2
    for _ in range(100_000):
        t = t + 1
    del t
    assert dtorch.ones(1).item() == 1
