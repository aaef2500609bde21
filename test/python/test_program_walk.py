"""The communicator counts what a walk over the printed program expects.

The walk knows the shard law (`local_box`) and what a device must receive; it
shares no code with the communicator or the planner.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import pytest

import dtorch
from dtorch import Partial, Replicate, Shard, _dtorch
from dtorch.models.llama import LlamaConfig, LlamaForCausalLM

ITEM_SIZES = {"f32": 4, "f64": 8, "i64": 8, "i32": 4, "bf16": 2, "f16": 2, "i1": 1}


class Walk:
    """Counts and bytes per kind of collective of a `6-program.mlir`."""

    def __init__(self, text: str) -> None:
        self.meshes = {
            name: self._mesh(body)
            for name, body in re.findall(r"^(#\w+) = #dtorch\.mesh<(.*)>$", text, re.M)
        }
        self.shardings = {
            name: (mesh, re.findall(r"R|P|S\([\d:]+\)", placements))
            for name, mesh, placements in re.findall(
                r"^(#\w+) = #dtorch\.sharding<([^\[]*), \[(.*)\]>$", text, re.M
            )
        }
        self.functions = dict(
            re.findall(r"dtorch\.program_func (?:private )?@(\w+)(.*?)\n  \}", text, re.S)
        )
        self.totals: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.visit("main")

    @staticmethod
    def _mesh(body: str) -> _dtorch.Mesh:
        if "host" in body:
            return _dtorch.Mesh.host()
        axes = re.findall(r'"(\w+)" = (\d+)', body)
        start = int(re.search(r"start = (\d+)", body).group(1))
        assert start == 0, "the walk reads meshes that begin at device 0"
        return _dtorch.Mesh.regular("cpu", [a for a, _ in axes], [int(n) for _, n in axes])

    def visit(self, name: str) -> None:
        body = self.functions[name]
        types = dict(re.findall(r"(%\w+) = dtorch\.buffer .*?: !dtorch\.buffer<(.*?)>", body))
        for line in body.splitlines():
            if call := re.search(r"dtorch\.invoke @(\w+)", line):
                self.visit(call.group(1))
            step = re.search(
                r'communicate "(\w+)" \((%\w+)\) -> \((%\w+)\)(?: over \[(.*?)\])?', line
            )
            if step and step.group(1) not in ("slice", "mask", "from_host"):
                kind, source, target, axes = step.groups()
                self.totals[kind] += 1
                self.bytes[kind] += self.received(
                    kind,
                    types[source],
                    types[target],
                    [int(a) for a in (axes or "").split(",") if a],
                )

    def received(self, kind: str, source: str, target: str, axes: list[int]) -> int:
        shape, dtype, mesh, held = self.parse(source)
        if kind == "to_host":
            return math.prod(shape) * ITEM_SIZES[dtype]
        wanted = self.parse(target)[3]
        group = math.prod(mesh.shape[a] for a in axes)
        elements = 0
        for device in range(mesh.num_devices):
            have = self.box(shape, mesh, held, device)
            want = self.box(shape, mesh, wanted, device)
            size = math.prod(n for _, n in want)
            if kind == "reduce_scatter":
                elements += (group - 1) * size
            elif kind == "all_reduce":  # each element: k - 1 in, and k - 1 out of k again
                elements += 2 * (group - 1) * size / group
            else:
                elements += size - math.prod(
                    max(0, min(a + n, b + m) - max(a, b))
                    for (a, n), (b, m) in zip(have, want, strict=True)
                )
        assert elements == int(elements)
        return int(elements) * ITEM_SIZES[dtype]

    def parse(self, text: str) -> tuple[list[int], str, _dtorch.Mesh, list[str]]:
        kind, sharding = text.rsplit(", ", 1)
        *dims, dtype = kind.split("x")
        if sharding == "#host":
            return [int(d) for d in dims], dtype, _dtorch.Mesh.host(), []
        mesh, placements = self.shardings[sharding]
        return [int(d) for d in dims], dtype, self.meshes[mesh], placements

    @staticmethod
    def box(shape, mesh, placements: list[str], device: int) -> list[tuple[int, int]]:
        def placement(text: str) -> _dtorch.Placement:
            if text == "R":
                return _dtorch.Placement.replicate()
            if text == "P":
                return _dtorch.Placement.partial()
            dim, _, unit = text[2:-1].partition(":")
            return _dtorch.Placement.shard(int(dim), int(unit or 1))

        box = _dtorch.local_box(shape, mesh, [placement(p) for p in placements], device)
        return list(zip(*box, strict=True))


def check(folder: Path, run) -> Walk:
    """Runs with a dump; the counters must say what the walk says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DTORCH_DUMP", str(folder))
        dtorch.reset_counters()
        run()
    counters = {kind: c for kind, c in dtorch.counters().items() if c.count}
    walks = [Walk(path.read_text()) for path in sorted(folder.glob("*/6-program.mlir"))]
    assert walks
    for kind in set(counters) | {kind for walk in walks for kind in walk.totals}:
        assert counters[kind].count == sum(walk.totals[kind] for walk in walks), kind
        assert counters[kind].bytes == sum(walk.bytes[kind] for walk in walks), kind
    return walks[-1]


@pytest.mark.parametrize(("dp", "tp"), [(1, 1), (2, 1), (1, 2), (2, 2), (2, 3), (1, 4), (1, 8)])
def test_llama_communicates_as_its_program_says(tmp_path, dp, tp):
    config = LlamaConfig(
        vocab_size=61,
        hidden_size=36,
        intermediate_size=88,
        num_hidden_layers=3,
        num_attention_heads=9,
        num_key_value_heads=3,
    )
    mesh = dtorch.init_device_mesh("cpu", (dp, tp), mesh_dim_names=["dp", "tp"])
    model = LlamaForCausalLM(config, device_mesh=mesh)
    model.load_state_dict({name: value.numpy() for name, value in model.state_dict().items()})
    ids = dtorch.Tensor([[index % 61 for index in range(start, start + 7)] for start in range(3)])
    walk = check(tmp_path, lambda: model(ids).to_torch())
    expected = {"to_host": 1}
    if tp > 1:
        # Two a layer and the embedding's; K/V heads move with no collective.
        expected |= {"all_gather": 1, "all_reduce": 2 * config.num_hidden_layers}
    assert dict(walk.totals) == expected


@pytest.mark.parametrize("shape", [(4, 6), (5, 7), (1, 3)])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([Shard(0), Shard(0)], [Replicate(), Replicate()]),
        ([Shard(0), Shard(1)], [Shard(1), Shard(0)]),
        ([Shard(0), Replicate()], [Shard(1), Replicate()]),
        ([Replicate(), Shard(1)], [Shard(1), Replicate()]),
        ([Partial(), Shard(1)], [Shard(0), Replicate()]),
    ],
)
def test_redistributes_receive_what_devices_lack(tmp_path, shape, source, target):
    mesh = dtorch.init_device_mesh("cpu", (2, 3))
    t = dtorch.ones(*shape).redistribute(mesh, source)
    check(tmp_path, lambda: t.redistribute(placements=target).to_torch())
