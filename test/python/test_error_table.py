"""A table of bad calls: each is one clear error, and changes nothing.

A row is the call, its exception, and what the first line must say: the subject,
the rule, and what was found. The line begins with the user's file and line.
"""

from __future__ import annotations

import gc
import re
from typing import Any

import numpy as np
import pytest
import torch

import dtorch
import dtorch.nn.functional as F
from dtorch import DeviceMesh, Partial, PlacementError, Replicate, Shard, init_device_mesh, nn

Row = tuple[str, type[Exception], str, str, str]

PLACEMENTS: list[Row] = [
    ("t.redistribute(m, [Shard(5)])", PlacementError, "placements", "must be in", "Shard(5)"),
    ("t.redistribute(m, [Shard(-3)])", PlacementError, "placements", "must be in", "Shard(-3)"),
    ("t.redistribute(m, ['S(0)'])", TypeError, "placements", "each must be", "'S(0)'"),
    ("t.redistribute(m, [None])", TypeError, "placements", "each must be", "None"),
    ("t.redistribute(m, Shard(0))", TypeError, "placements", "must be a list", "Shard(0)"),
    ("t.redistribute(m, 5)", TypeError, "placements", "must be a list", "5"),
    ("t.redistribute(m, 'S')", TypeError, "placements", "must be a list", "'S'"),
    ("t.redistribute(m, [Shard(1, unit=2)])", PlacementError, "", "divide dim 1", "2"),
    ("t.redistribute(m, [Partial('max')])", PlacementError, "redistribute", "a sum", "P(max)"),
    ("t.redistribute()", ValueError, "redistribute", "needs device_mesh", ""),
    ("Shard('a')", TypeError, "Shard", "must be an int", "'a'"),
    ("Shard(1.5)", TypeError, "Shard", "must be an int", "1.5"),
    ("Shard(True)", TypeError, "Shard", "must be an int", "True"),
    ("Shard(2**70)", ValueError, "Shard", "must fit 64 bits", str(2**70)),
    ("Shard(0, unit=0)", PlacementError, "Shard", "unit must be at least 1", "0"),
    ("Shard(0, unit='x')", TypeError, "Shard", "unit must be an int", "'x'"),
    ("Partial('avg')", PlacementError, "Partial", "reduce_op must be", "'avg'"),
    ("s.check_placement('zz', Replicate())", ValueError, "check_placement", "no axis", "'zz'"),
    ("s.check_placement(3, Replicate())", IndexError, "mesh", "axis must be in", "3"),
    ("s.check_placement(0, 'R')", TypeError, "placements", "each must be", "'R'"),
    ("s.redistribute_by_dict(m, placements_dict=[1])", TypeError, "", "must be a dict", "[1]"),
    ("s.redistribute_by_dict(m, placements_dict={7: Shard(0)})", IndexError, "mesh", "axis", "7"),
    (
        "s.redistribute_by_dict(m, placements_dict={}, default_placement_mode='x')",
        ValueError,
        "redistribute_by_dict",
        "default_placement_mode must be",
        "'x'",
    ),
    (
        "dtorch.zeros(2, placements=[Shard(0)])",
        PlacementError,
        "",
        "needs one placement",
        "Shard(0)",
    ),
    ("dtorch.zeros(2, device_mesh=m, placements=5)", TypeError, "placements", "a list", "5"),
]

MESHES: list[Row] = [
    ("t.redistribute('cpu', [Shard(0)])", TypeError, "device_mesh", "needs a DeviceMesh", "'cpu'"),
    ("t.redistribute(large, [Shard(0)])", RuntimeError, "device_mesh", "needs 64 devices", "8"),
    ("dtorch.zeros(2, device_mesh='m')", TypeError, "device_mesh", "needs a DeviceMesh", "'m'"),
    ("s.redistribute(other, [Shard(0)])", NotImplementedError, "redistribute", "two meshes", '"y"'),
    ("s + t.redistribute(other, [Shard(0)])", PlacementError, "add", "on one mesh", '"y"'),
    ("init_device_mesh('cpu', (0,))", ValueError, "", "sizes must be at least 1", "(0,)"),
    ("init_device_mesh('cpu', (-1,))", ValueError, "", "sizes must be at least 1", "(-1,)"),
    ("init_device_mesh('cpu', (2.5,))", TypeError, "", "must be an int", "2.5"),
    ("init_device_mesh('cpu', (True,))", TypeError, "", "must be an int", "True"),
    ("init_device_mesh('cpu', 5)", TypeError, "", "must be a list", "5"),
    ("init_device_mesh('tpu', (2,))", ValueError, "", "device_type must be", "'tpu'"),
    ("init_device_mesh('cpu', (2**40, 2**40))", ValueError, "", "2^40 devices", "1099511627776"),
    ("init_device_mesh('cpu', (2**63,))", ValueError, "", "must fit 64 bits", str(2**63)),
    ("init_device_mesh('cpu', (2,), mesh_dim_names=['a', 'b'])", ValueError, "", "one name", "'b'"),
    ("init_device_mesh('cpu', (2, 2), mesh_dim_names=['a', 'a'])", ValueError, "", "twice", "'a'"),
    ("init_device_mesh('cpu', (2,), mesh_dim_names='a')", TypeError, "", "must be a list", "'a'"),
    ("init_device_mesh('cpu', (2,), mesh_dim_names=[5])", TypeError, "", "must be strings", "5"),
    ("DeviceMesh('cpu', [])", ValueError, "DeviceMesh", "must be device numbers", "[]"),
    ("DeviceMesh('cpu', [0, 0])", ValueError, "DeviceMesh", "is used twice", "0"),
    ("DeviceMesh('cpu', [-1])", ValueError, "DeviceMesh", "at least 0", "-1"),
    ("DeviceMesh('cpu', [[0, 1], [2]])", ValueError, "DeviceMesh", "device numbers", "[2]"),
    ("DeviceMesh('cpu', loop)", ValueError, "DeviceMesh", "device numbers", "..."),
    ("m.unbind(5)", IndexError, "mesh", "axis must be in", "5"),
    ("m.unbind(None)", TypeError, "mesh", "axis must be an int", "None"),
    ("m.size(9)", IndexError, "mesh", "axis must be in", "9"),
    ("m.dim_name_index(5)", TypeError, "mesh", "must be a string", "5"),
    ("dtorch.get_default_device_mesh('x')", TypeError, "device_mesh", "DeviceMesh", "'x'"),
    ("dtorch.default_graph.device_mesh_guard('x')", TypeError, "", "needs a DeviceMesh", "'x'"),
    ("dtorch.default_graph.satisfy(5)", TypeError, "satisfy", "needs a DeviceMesh", "5"),
    ("dtorch.assign_layers_to_stages(2, 0)", ValueError, "", "num_stages >= 1", "0"),
]

SIZES: list[Row] = [
    ("dtorch.zeros(-1)", ValueError, "", "must not be negative", "-1"),
    ("dtorch.zeros(2.0)", TypeError, "zeros", "must be an int", "2.0"),
    ("dtorch.zeros('a')", TypeError, "zeros", "must be an int", "'a'"),
    ("dtorch.zeros(True)", TypeError, "zeros", "must be an int", "True"),
    ("dtorch.zeros(2**63)", ValueError, "zeros", "must fit 64 bits", str(2**63)),
    ("dtorch.zeros(2**62)", ValueError, "tensor", "2^48 elements", str(2**62)),
    ("dtorch.zeros(2**40, 2**40)", ValueError, "tensor", "2^48 elements", str(2**40)),
    ("dtorch.zeros(0, 2**62, 2**62)", ValueError, "tensor", "2^48 elements", str(2**62)),
    ("dtorch.eye(2**40)", ValueError, "tensor", "2^48 elements", str(2**40)),
    ("t.expand(2**62, 2, 3)", ValueError, "tensor", "2^48 elements", str(2**62)),
    ("t.repeat(2**40, 2**40)", ValueError, "tensor", "2^48 elements", ""),
    ("F.pad(t, (2**62, 2**62))", ValueError, "pad", "64 bits", str(2**62)),
    ("t.view(2**32, 2**32)", ValueError, "view", "is invalid for input of size 6", str(2**32)),
    ("dtorch.arange(float('nan'))", ValueError, "arange", "must be finite", "nan"),
    ("dtorch.arange(0, 1, 1e-300)", ValueError, "arange", "must fit 64 bits", "1"),
    ("dtorch.arange(0, 5, 0)", ValueError, "arange", "step 0", "0"),
    ("dtorch.full((2,), float('nan'), dtype='int64')", ValueError, "number", "int64", "nan"),
    ("dtorch.full((2,), 2**40, dtype='int32')", ValueError, "number", "int32", str(2**40)),
    ("t.long() + 2**70", ValueError, "number", "must fit int64", str(2**70)),
    ("dtorch.manual_seed('a')", TypeError, "manual_seed", "must be an int", "'a'"),
    ("dtorch.manual_seed(2**70)", ValueError, "manual_seed", "64 bits", str(2**70)),
]

DATA: list[Row] = [
    ("dtorch.Tensor('abc')", TypeError, "Tensor", "cannot be made from", "'abc'"),
    ("dtorch.Tensor(None)", TypeError, "Tensor", "cannot be made from", "None"),
    ("dtorch.Tensor([[1.0], [2.0, 3.0]])", ValueError, "Tensor", "form a box", "[2.0, 3.0]"),
    ("dtorch.Tensor(loop)", ValueError, "Tensor", "nested at most", "itself"),
    ("dtorch.Tensor([float('nan')], dtype='int64')", ValueError, "Tensor", "NaN", "int64"),
    ("dtorch.Tensor(np.array([object()]))", TypeError, "dtype", "must be one of", "'O'"),
    ("dtorch.Tensor(np.array([1j]))", TypeError, "dtype", "must be one of", "complex128"),
    ("dtorch.Tensor(torch.zeros(2).to_sparse())", TypeError, "Tensor", "dense", "sparse"),
    ("dtorch.zeros(2, dtype='int8')", TypeError, "dtype", "must be one of", "'int8'"),
    ("dtorch.zeros(2, dtype=5)", TypeError, "dtype", "must be one of", "5"),
    ("dtorch.zeros(2, device='tpu')", ValueError, "device", "must be", "'tpu'"),
    ("dtorch.zeros(2, device='cuda')", RuntimeError, "device", "CUDA is not available", ""),
    ("dtorch.frombuffer(b'abc', dtype='float32')", ValueError, "frombuffer", "multiple", ""),
    ("t.to('cuda')", RuntimeError, "device", "CUDA is not available", ""),
    ("t.bfloat16().numpy()", TypeError, "numpy", "no bfloat16", ""),
]

SHAPES: list[Row] = [
    ("t.view(4)", ValueError, "view", "is invalid for input of size 6", "[4]"),
    ("t.view(-1, -1)", ValueError, "view", "at most one size may be -1", "[-1, -1]"),
    ("t.view(2.0, 3)", TypeError, "view", "must be an int", "2.0"),
    ("t.permute(0, 0)", ValueError, "permute", "once", "[0, 0]"),
    ("t.transpose(0, 2)", IndexError, "transpose", "out of range", "2"),
    ("t.transpose(0, True)", TypeError, "transpose", "must be an int", "True"),
    ("t.sum('a')", TypeError, "sum", "must be an int", "'a'"),
    ("t.sum((0, 0))", ValueError, "sum", "more than once", "[0, 0]"),
    ("t.expand(2, 4)", ValueError, "expand", "do not fit", "[2, 4]"),
    ("t.chunk('a')", TypeError, "chunk", "must be an int", "'a'"),
    ("t.split([1, 5])", ValueError, "split", "must add up to", "[1, 5]"),
    ("t.narrow(0, 0, 9)", ValueError, "narrow", "exceeds", "9"),
    ("t.topk(9)", IndexError, "topk", "k must be in", "9"),
    ("t.repeat_interleave(-1)", ValueError, "repeat_interleave", "at least 0", "-1"),
    ("dtorch.zeros(0, 2).amax(0)", IndexError, "amax", "non-zero size", "0"),
    ("dtorch.tril(t, 'a')", TypeError, "tril", "must be an int", "'a'"),
    ("t + dtorch.zeros(4, 3)", ValueError, "add", "must equal", "4"),
    ("t @ t", ValueError, "matmul", "must equal", "3 and 2"),
    ("t @ t.double()", TypeError, "matmul", "one dtype", "float64"),
    ("-t.bool()", TypeError, "neg", "not defined for bool", ""),
    ("t & t", TypeError, "bitwise_and", "integers or bools", "float32"),
    ("dtorch.cat([t, dtorch.zeros(2, 2)])", ValueError, "cat", "must be equal", "(2, 2)"),
    ("dtorch.stack([])", ValueError, "stack", "at least one", ""),
    ("F.softmax(t.long(), 0)", TypeError, "softmax", "floating", "int64"),
    ("F.linear(t, 5)", TypeError, "linear", "must be tensors", "5"),
    ("F.rms_norm(t, 3, eps='a')", TypeError, "number", "must be a Python", "'a'"),
    ("t[5]", IndexError, "index", "out of bounds", "5"),
    ("t[1.5]", IndexError, "index", "are indices", "float"),
    ("t[loop]", IndexError, "index", "must hold integers or bools", "[[...]]"),
    ("t.__setitem__(0, dtorch.zeros(7))", ValueError, "setitem", "must broadcast", "(7,)"),
    ("t.add_(dtorch.zeros(5, 2, 3))", ValueError, "add_", "shape (2, 3)", "(5, 2, 3)"),
    ("bool(t)", ValueError, "bool", "ambiguous", "6"),
    ("t.item()", ValueError, "item", "needs one element", "(2, 3)"),
    ("dtorch.mode('eager')", ValueError, "mode", '"auto" or "strict"', "'eager'"),
]

MODULES: list[Row] = [
    ("nn.Linear(-1, 2)", ValueError, "Linear", "at least 0", "-1"),
    ("nn.Linear('a', 2)", TypeError, "Linear", "must be an int", "'a'"),
    ("nn.Linear(4, 4, tp_unit='a')", TypeError, "Linear", "must be an int", "'a'"),
    ("nn.Linear(4, 6, tp_unit=4)", PlacementError, "Linear", "must divide", "4 of 6"),
    ("nn.Linear(2, 2)(dtorch.zeros(3))", ValueError, "linear", "last dim", "(3,)"),
    ("nn.RMSNorm(-1)", ValueError, "RMSNorm", "at least 0", "-1"),
    ("nn.Sequential(5)", TypeError, "Sequential", "must be a module", "5"),
    ("nn.Module()(t)", NotImplementedError, "Module", "has no forward", ""),
    ("nn.Linear(2, 2).to('cuda')", RuntimeError, "device", "CUDA is not available", ""),
    ("nn.Linear(2, 2).load_state_dict(5)", TypeError, "load_state_dict", "", "5"),
]

TABLE = [*PLACEMENTS, *MESHES, *SIZES, *DATA, *SHAPES, *MODULES]


def names() -> dict[str, Any]:
    """Fresh values for one call."""
    m = init_device_mesh("cpu", (2,), mesh_dim_names=["x"])
    t = dtorch.arange(6).float().view(2, 3)
    s = t.redistribute(m, [Shard(0)])
    assert t.tolist() == s.tolist()  # computed, so that looking adds nothing
    loop: list[Any] = []
    loop.append(loop)
    return {
        "dtorch": dtorch,
        "F": F,
        "nn": nn,
        "np": np,
        "torch": torch,
        "Shard": Shard,
        "Partial": Partial,
        "Replicate": Replicate,
        "DeviceMesh": DeviceMesh,
        "init_device_mesh": init_device_mesh,
        "m": m,
        "other": init_device_mesh("cpu", (2,), mesh_dim_names=["y"]),
        "large": init_device_mesh("cpu", (64,)),
        "t": t,
        "s": s,
        "loop": loop,
    }


def test_the_table_is_long_enough() -> None:
    assert len(TABLE) >= 80 and len({row[0] for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_a_bad_call_is_one_clear_error(row: Row) -> None:
    call, kind, subject, rule, found = row
    given, line = names(), 1 + TABLE.index(row)
    code = compile("\n" * (line - 1) + call, "table.py", "eval")
    before = dtorch.default_graph.num_live_nodes
    with pytest.raises(kind) as caught:
        eval(code, given)
    message = str(caught.value)
    first, *notes = message.split("\n")
    match = re.fullmatch(r"table\.py:(\d+): error: (.+?): (.+)", first)
    assert match, message
    assert int(match[1]) == line and message.count(" error: ") == 1
    assert subject in match[2] and rule in first and found in message
    assert all(note.startswith("  note: ") for note in notes), message
    del caught
    if dtorch.default_graph.num_live_nodes != before:
        gc.collect()  # a cycle through the traceback
    assert dtorch.default_graph.num_live_nodes == before
    unchanged(given)


def unchanged(given: dict[str, Any]) -> None:
    """Values, places, mode and the way of recording are as before the call."""
    assert dtorch.default_graph.mode == "auto"
    assert dtorch.default_graph.guarded_mesh is None
    assert given["s"].placements == [Shard(0)] and given["t"].is_host
    assert given["t"].tolist() == given["s"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (given["s"] + 1).sum().item() == 21


STRICT = [
    ("F.softmax(c, dim=1)", "softmax", "(S(0) -> S(0))"),
    ("a + c", "add", "(S(0), S(0) -> S(0))"),
    ("(c @ a).exp()", "exp", "(S(0) -> S(0))"),
    ("dtorch.cat([a, a])", "cat", "(S(1), S(1) -> S(1))"),
    ("c.view(16)", "view", "(S(0) -> S(0))"),
    ("a[1:3]", "slice", "(S(1) -> S(1))"),
]


@pytest.mark.parametrize("row", STRICT, ids=lambda row: row[0])
def test_strict_mode_lists_the_legal_rows(row: tuple[str, str, str]) -> None:
    call, subject, legal = row
    m = init_device_mesh("cpu", (2,))
    x = dtorch.arange(16).float().view(4, 4)
    given = {
        **names(),
        "a": x.redistribute(m, [Shard(0)]),
        "c": x.redistribute(m, [Shard(1)]),
    }
    expected = eval(call, given).tolist()
    with dtorch.mode("strict"), pytest.raises(PlacementError) as caught:
        eval(compile(call, "table.py", "eval"), given)
    message = str(caught.value)
    assert message.startswith(f"table.py:1: error: {subject}: "), message
    assert "note: legal rows" in message and legal in message
    assert 'use mode "auto"' in message
    assert eval(call, given).tolist() == expected
