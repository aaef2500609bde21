"""Errors come at the call that makes them, with the user's file and line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import dtorch
import dtorch.nn.functional as F
from dtorch import Partial, PlacementError, Replicate, Shard, init_device_mesh, nn


def line_of(function: Callable[..., Any], text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def check_place(error: BaseException, line: int) -> None:
    """The message starts with this file and that line, once."""
    found = re.match(r"(\S+):(\d+): error: ", str(error))
    assert found, str(error)
    assert found[1] == __file__ and int(found[2]) == line
    assert str(error).count(": error: ") == 1


def test_recording_errors_name_the_line() -> None:
    a, b = dtorch.zeros(2, 3), dtorch.zeros(4, 3)
    with pytest.raises(ValueError) as caught:
        a + b  # the add
    check_place(caught.value, line_of(test_recording_errors_name_the_line, "# the add"))
    assert "add" in str(caught.value) or "binary" in str(caught.value)


def test_python_errors_name_the_line() -> None:
    with pytest.raises(IndexError) as caught:
        dtorch.zeros(2)[3]  # the index
    check_place(caught.value, line_of(test_python_errors_name_the_line, "# the index"))


def test_errors_inside_layers_name_the_callers_line() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
    layer = nn.ColumnParallelLinear(4, 4, device_mesh=mesh)
    x = dtorch.zeros(2, 4).redistribute(mesh, [Shard(1)])
    with pytest.raises(PlacementError) as caught:
        layer(x)  # the call
    check_place(
        caught.value, line_of(test_errors_inside_layers_name_the_callers_line, "# the call")
    )
    message = str(caught.value)
    assert "ColumnParallelLinear: input must be Replicate() on axis 'tp', got Shard(1)" in message
    assert "\n  note: " in message


def test_errors_of_a_user_module_name_its_line() -> None:
    class Model(nn.Module):
        def forward(self, x: dtorch.Tensor) -> dtorch.Tensor:
            return F.softmax(x, dim=5)  # inside forward

    with pytest.raises(IndexError) as caught:
        Model()(dtorch.zeros(2, 2))
    check_place(caught.value, line_of(test_errors_of_a_user_module_name_its_line, "# inside"))


def test_running_errors_name_the_recording_line() -> None:
    """A bad index is found when the value is computed; the op's line is named,
    and the process goes on."""
    rows = F.embedding(dtorch.Tensor([[0, 7]]), dtorch.zeros(4, 2))  # the look-up
    with pytest.raises(IndexError, match="embedding") as caught:
        rows.tolist()
    check_place(caught.value, line_of(test_running_errors_name_the_recording_line, "# the look-up"))
    assert (dtorch.ones(2) * 2).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.view(4), ValueError, "shape '\\[4\\]' is invalid for input of size 6"),
        (lambda t: t.view(-1, -1), ValueError, "at most one size may be -1"),
        (lambda t: t.view(-1, 4), ValueError, "invalid for input of size 6"),
        (lambda t: t.permute(0, 0), ValueError, "each of the 2 dims once"),
        (lambda t: t.transpose(0, 2), IndexError, "dimension out of range"),
        (lambda t: t.sum(2), IndexError, "dimension out of range"),
        (lambda t: t.sum((0, 0)), ValueError, "more than once"),
        (lambda t: t.expand(2, 4), ValueError, "do not fit shape"),
        (lambda t: t.expand(3), ValueError, "fewer dims"),
        (lambda t: t.unsqueeze(4), IndexError, "dimension out of range"),
        (lambda t: t.flatten(1, 0), ValueError, "comes after"),
        (lambda t: t @ t, ValueError, "matmul"),
        (lambda t: t @ t.double(), TypeError, "one dtype, got float32 and float64"),
        (lambda t: t + "a", TypeError, "unsupported operand"),
        (lambda t: t.long().mean(), TypeError, "floating dtype"),
        (lambda t: t.bool() - t.bool(), TypeError, "not defined for bool"),
        (lambda t: dtorch.zeros(0, 2).amax(0), IndexError, "non-zero size"),
        (lambda t: bool(t), ValueError, "ambiguous"),
        (lambda t: t.item(), ValueError, "one element"),
        (lambda t: t.sum().backward(), NotImplementedError, "gradients are not available"),
        (lambda t: t.bfloat16().numpy(), TypeError, "NumPy has no bfloat16"),
        (lambda t: t.redistribute(), ValueError, "needs device_mesh, placements or both"),
        (lambda t: dtorch.cat([t, dtorch.zeros(2, 2)]), ValueError, "cat"),
        (lambda t: dtorch.cat([]), ValueError, "at least one"),
        (lambda t: dtorch.stack([t, t.t()]), ValueError, "must be equal"),
        (lambda t: F.linear(t, dtorch.zeros(4, 4)), ValueError, "last dim must be weight's 4"),
        (lambda t: F.linear(t, t.double()), TypeError, "one dtype"),
        (lambda t: F.embedding(t, t), TypeError, "indices must be integers"),
        (lambda t: F.softmax(t), ValueError, "needs dim"),
        (lambda t: F.softmax(t.long(), 0), TypeError, "floating"),
        (lambda t: F.rms_norm(t, (2,)), ValueError, "last dims must be \\(2,\\)"),
        (lambda t: dtorch.Tensor([[1.0], [2.0, 3.0]]), ValueError, "box"),
        (lambda t: dtorch.Tensor("abc"), TypeError, "cannot be made"),
        (lambda t: dtorch.Tensor([1], requires_grad=True), ValueError, "floating"),
        (lambda t: dtorch.zeros(2, dtype="int8"), TypeError, "must be one of"),
        (lambda t: dtorch.zeros(-1), ValueError, "not be negative"),
        (lambda t: dtorch.arange(0, 5, 0), ValueError, "step 0"),
        (lambda t: dtorch.arange(5, 0), ValueError, "does not lead"),
        (lambda t: dtorch.mode("eager"), ValueError, '"auto" or "strict"'),
        (lambda t: nn.Module()(t), NotImplementedError, "has no forward"),
        (lambda t: nn.Linear(4, 4, tp_shard_type="both"), ValueError, "tp_shard_type"),
        (lambda t: nn.Linear(4, 6, tp_unit=4), PlacementError, "tp_unit must divide"),
        (lambda t: t.check_placement("tp", Replicate()), ValueError, "no axis 'tp'"),
        (lambda t: t.check_placement(0, Replicate()), IndexError, "axis must be in"),
    ],
)
def test_messages(
    call: Callable[[dtorch.Tensor], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(dtorch.zeros(2, 3))


@pytest.mark.parametrize("axis", ["ulysess_cp", "ulysses_cp", "ring_cp"])
def test_context_parallel_attention_is_absent(axis: str) -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=[axis])
    q = dtorch.zeros(1, 2, 4, 2, device_mesh=mesh, placements=[Shard(2)])
    with pytest.raises(NotImplementedError, match=f"context parallelism.*'{axis}'"):
        F.scaled_dot_product_attention(q, q, q)
    one = init_device_mesh("cpu", (1,), mesh_dim_names=[axis])
    q = dtorch.zeros(1, 2, 4, 2, device_mesh=one, placements=[Shard(2)])
    assert F.scaled_dot_product_attention(q, q, q).shape == (1, 2, 4, 2)


def test_attention_arguments() -> None:
    q, kv = dtorch.zeros(1, 4, 3, 2), dtorch.zeros(1, 2, 3, 2)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        F.scaled_dot_product_attention(q, kv, kv)
    with pytest.raises(ValueError, match="multiple of K/V heads"):
        F.scaled_dot_product_attention(dtorch.zeros(1, 3, 3, 2), kv, kv, enable_gqa=True)
    with pytest.raises(ValueError, match="exclude each other"):
        F.scaled_dot_product_attention(q, q, q, dtorch.zeros(3, 3), is_causal=True)
    with pytest.raises(ValueError, match="dropout"):
        F.scaled_dot_product_attention(q, q, q, dropout_p=1.5)


def test_two_meshes_do_not_mix() -> None:
    a = init_device_mesh("cpu", (2,), mesh_dim_names=["x"])
    b = init_device_mesh("cpu", (4,), mesh_dim_names=["x"])
    x = dtorch.zeros(4).redistribute(a)
    y = dtorch.zeros(4).redistribute(b)
    with pytest.raises(ValueError):
        x + y
    with pytest.raises(NotImplementedError):
        x.redistribute(b)
    c = init_device_mesh("cpu", (2,), mesh_dim_names=["y"])
    with pytest.raises(ValueError, match="share an axis name"):
        x.redistribute(c)


def test_pending_by_maximum_is_the_compilers_own() -> None:
    mesh = init_device_mesh("cpu", (2,))
    with pytest.raises(PlacementError):
        dtorch.zeros(4).redistribute(mesh, [Partial("max")])


def test_tensors_too_large_to_count() -> None:
    with pytest.raises(ValueError, match=r"at most 2\^48 elements") as caught:
        dtorch.zeros(2**31, 2**31)
    check_place(caught.value, line_of(test_tensors_too_large_to_count, "zeros"))
    with pytest.raises(ValueError, match=r"at most 2\^48 elements"):
        dtorch.zeros(1).expand(2**62)


def test_an_error_leaves_the_module_path_clean() -> None:
    """A failed call does not leave its module's scope open."""
    layer = nn.Sequential(nn.Linear(3, 3), nn.SiLU())
    for _ in range(3):
        with pytest.raises(ValueError):
            layer(dtorch.zeros(2, 4))
    assert layer(dtorch.zeros(2, 3)).shape == (2, 3)
