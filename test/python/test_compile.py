"""`dtorch.compile`: recorded once a signature, replayed without the function."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import dtorch
from dtorch import Replicate, Shard, init_device_mesh, nn
from dtorch.models.llama import LlamaConfig, LlamaForCausalLM


def tensor(*shape: int, seed: int = 0) -> dtorch.Tensor:
    return dtorch.Tensor(np.random.default_rng(seed).standard_normal(shape, np.float32))


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


def test_records_once_a_signature() -> None:
    function = Counted(lambda x, k=2: (x * k).sum(0))
    compiled = dtorch.compile(function)
    for seed in range(3):
        x = tensor(3, 4, seed=seed)
        np.testing.assert_array_equal(compiled(x).numpy(), (x * 2).sum(0).numpy())
    assert function.calls == compiled.recordings == 1
    calls: list[Any] = [
        (tensor(2, 4),),
        (tensor(3, 4).double(),),
        (tensor(3, 4), 3),
        (tensor(3, 4), 3.0),
        (tensor(3, 4), True),
        (tensor(3, 4), tensor(4)),
        (tensor(3, 4).redistribute(init_device_mesh("cpu", (2,)), [Shard(0)]),),
        (tensor(3, 4).redistribute(init_device_mesh("cpu", (2,)), [Replicate()]),),
    ]
    for number, call in enumerate(calls, 2):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(*call).numpy(), function.function(*call).numpy())
        assert function.calls == number
    compiled(tensor(3, 4), k=2)
    with dtorch.mode("strict"):
        compiled(tensor(3, 4))
    assert function.calls == len(calls) + 3


def test_other_values_compile_nothing() -> None:
    compiled = dtorch.compile(lambda x, k: x * k + 1)
    compiled(tensor(5), 2.0).numpy()
    programs = dtorch.compile_counters()["programs"]
    for k in (3.0, 4.0):
        x = tensor(5, seed=int(k))
        np.testing.assert_array_equal(compiled(x, k).numpy(), (x * k + 1).numpy())
    assert dtorch.compile_counters()["programs"] == programs


def test_is_lazy() -> None:
    compiled = dtorch.compile(lambda x: (x.exp(), x + 1))
    dtorch.default_graph.sync()
    before = dtorch.default_graph.num_live_nodes
    e, p = compiled(tensor(3))
    assert repr(e).endswith("lazy)") and repr(p).endswith("lazy)")
    assert dtorch.default_graph.num_live_nodes == before + 2
    # What is recorded after it is one program with it.
    programs = dtorch.compile_counters()["programs"]
    (e * p).numpy()
    assert dtorch.compile_counters()["programs"] == programs + 1
    del e, p
    assert dtorch.default_graph.num_live_nodes == before


class Pair(NamedTuple):
    left: Any
    right: Any


def test_structures() -> None:
    def function(pair: Pair, *, more: dict[str, Any]) -> Any:
        x, (y, z) = pair.left, pair.right
        total = x + y + more["a"][0]
        return OrderedDict(first=[total, total, x], second=Pair((), {"z": z}), n=None, k="text")

    compiled = dtorch.compile(function)
    for seed in range(2):
        x, y, z, a = (tensor(3, seed=seed * 4 + i) for i in range(4))
        result = compiled(Pair(x, [y, z]), more={"a": (a,), "b": 1})
        assert type(result) is OrderedDict and list(result) == ["first", "second", "n", "k"]
        first, second = result["first"], result["second"]
        assert first[0] is first[1] and first[2] is x
        np.testing.assert_array_equal(first[0].numpy(), (x + y + a).numpy())
        assert type(second) is Pair and second.left == () and second.right["z"] is z
        assert result["n"] is None and result["k"] == "text"
    assert compiled.recordings == 1


def test_looking_inside_is_an_error() -> None:
    scale = tensor(1)
    scale.numpy()
    layer = nn.Linear(2, 2)
    for look in (
        lambda x: x.item(),
        lambda x: bool(x.sum() > 0),
        lambda x: str(x),
        lambda x: (x + 1).numpy(),
        lambda x: scale.item(),
        lambda x: layer.weight.numpy(),
        lambda x: dtorch.default_graph.sync(),
        lambda x: x[dtorch.Tensor([True])],
    ):
        with pytest.raises(RuntimeError, match=r"test_compile\.py:\d+: error: compile: no value"):
            dtorch.compile(look)(tensor(1))
    # Nothing of it is left.
    assert (tensor(1) + scale).numpy().shape == (1,)


def test_what_leaks_has_no_value() -> None:
    leaked: list[Any] = []
    dtorch.compile(lambda x: leaked.append(x + 1) or x)(tensor(2))
    with pytest.raises(RuntimeError, match="return it from the function"):
        leaked[0].numpy()


def test_errors_of_the_function_pass() -> None:
    compiled = dtorch.compile(lambda x, y: x @ y)
    with pytest.raises(ValueError, match="matmul"):
        compiled(tensor(2, 3), tensor(2, 3))
    assert compiled.recordings == 0
    assert compiled(tensor(2, 3), tensor(3, 2)).shape == (2, 2)


@pytest.mark.parametrize(
    "argument", [{1}, np.ones(3), object.__new__(type("A", (), {"__eq__": 0}))]
)
def test_arguments_that_cannot_be_told_apart(argument: Any) -> None:
    with pytest.raises(TypeError, match=r"test_compile\.py:\d+: error: compile: "):
        dtorch.compile(lambda x: x)(argument)
    with pytest.raises(TypeError, match="compile: needs a function"):
        dtorch.compile(3)  # type: ignore[arg-type]


# -- what a function reads --------------------------------------------------------


def test_parameters_are_read_anew() -> None:
    layer = nn.Linear(4, 3)
    for compiled in (dtorch.compile(layer), dtorch.compile(lambda x: layer(x))):
        x = tensor(2, 4)
        np.testing.assert_array_equal(compiled(x).numpy(), layer(x).numpy())
        state = {k: v * 2 + 1 for k, v in layer.state_dict().items()}
        layer.load_state_dict(state)
        layer.weight.add_(1)
        np.testing.assert_array_equal(compiled(x).numpy(), layer(x).numpy())
        assert compiled.recordings == 1
        layer.double()
        x = x.double()
        np.testing.assert_array_equal(compiled(x).numpy(), layer(x).numpy())
        layer.float()
        np.testing.assert_array_equal(compiled(tensor(2, 4)).numpy(), layer(tensor(2, 4)).numpy())


def test_other_parameters_of_a_module() -> None:
    layer = nn.Linear(4, 3)
    compiled = dtorch.compile(layer)
    compiled(tensor(2, 4))
    layer.weight = nn.Parameter(tensor(3, 4, seed=1))
    np.testing.assert_array_equal(compiled(tensor(2, 4)).numpy(), layer(tensor(2, 4)).numpy())
    assert compiled.in_features == 4  # as the module


class Averages(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", dtorch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.total.add_(x)
        return self.total / 2 if self.training else self.total * 1


def test_buffers_change() -> None:
    module, twin = Averages(), Averages()
    compiled = dtorch.compile(module)
    for seed in range(3):
        x = tensor(3, seed=seed)
        np.testing.assert_array_equal(compiled(x).numpy(), twin(x).numpy())
    np.testing.assert_array_equal(module.total.numpy(), twin.total.numpy())
    assert compiled.recordings == 1
    module.eval(), twin.eval()
    x = tensor(3, seed=9)
    np.testing.assert_array_equal(compiled(x).numpy(), twin(x).numpy())
    module.total = dtorch.ones(3)
    twin.total = dtorch.ones(3)
    np.testing.assert_array_equal(compiled(x).numpy(), twin(x).numpy())


def test_arguments_change() -> None:
    def function(x: Any, y: Any) -> Any:
        old = x * 1
        x.mul_(2)
        x[0] = y
        return old

    compiled = dtorch.compile(function)
    for seed in range(2):
        x, y = tensor(3, seed=seed), tensor(seed=7)
        values, number = x.numpy(), y.item()
        np.testing.assert_array_equal(compiled(x, y).numpy(), values)
        np.testing.assert_array_equal(x.numpy(), [number, *(values[1:] * 2)])


def test_closures_stay_as_recorded() -> None:
    kept = tensor(3) + 1  # not computed yet
    compiled = dtorch.compile(lambda x: x + kept)
    expected = (tensor(3) + (tensor(3) + 1)).numpy()
    for _ in range(2):
        np.testing.assert_array_equal(compiled(tensor(3)).numpy(), expected)


def test_random_numbers_are_those_of_the_function() -> None:
    mesh = init_device_mesh("cpu", (2,))

    def function(x: Any) -> Any:
        dtorch.rand(5)  # drawn, though nobody needs it
        noise = dtorch.randn(4, device_mesh=mesh, placements=[Shard(0)])
        return nn.functional.dropout(x, 0.5) + noise, dtorch.randint(0, 9, (3,))

    compiled = dtorch.compile(function)
    results = []
    for call in (function, compiled):
        dtorch.manual_seed(3)
        results.append([t.numpy() for _ in range(3) for t in call(tensor(4))])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(results[1][0], results[1][2])


# -- models -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 2)])
def test_llama(shape: tuple[int, int]) -> None:
    config = LlamaConfig(
        vocab_size=61,
        hidden_size=36,
        intermediate_size=88,
        num_hidden_layers=3,
        num_attention_heads=9,
        num_key_value_heads=3,
    )
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=["dp", "tp"])
    model = LlamaForCausalLM(config, device_mesh=mesh)
    compiled = dtorch.compile(model)
    ids = [dtorch.Tensor((np.arange(14).reshape(2, 7) * n) % 61) for n in (1, 3, 5)]
    expected = [model(i).numpy() for i in ids]
    programs = dtorch.compile_counters()["programs"]
    dtorch.reset_counters()
    for i, values in zip(ids, expected, strict=True):
        np.testing.assert_array_equal(compiled(i).numpy(), values)
    assert compiled.recordings == 1
    assert dtorch.compile_counters()["programs"] == programs  # of the same structure
    ran = {k: c.count for k, c in dtorch.counters().items() if c.count}
    dtorch.reset_counters()
    model(ids[0]).numpy()
    assert ran == {k: 3 * c.count for k, c in dtorch.counters().items() if c.count}


def test_compiled_functions_in_compiled_functions() -> None:
    layer = nn.Linear(3, 3)
    inner = dtorch.compile(lambda x: layer(x) + dtorch.rand(3))
    outer = dtorch.compile(lambda x: inner(inner(x)) * 2)
    results = []
    for _ in range(2):
        for call in (outer, lambda x: inner(inner(x)) * 2):
            dtorch.manual_seed(1)
            results.append(call(tensor(2, 3)).numpy())
            layer.weight.mul_(1)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_methods_and_threads() -> None:
    class Scaler:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @dtorch.compile
        def scale(self, x: Any) -> Any:
            """Scales."""
            return x * self.factor

    assert Scaler.scale.__name__ == "scale" and Scaler.scale.__doc__ == "Scales."
    scalers = [Scaler(2.0), Scaler(3.0)]
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            x = tensor(3, seed=seed)
            for scaler in scalers:
                expected = x.numpy() * np.float32(scaler.factor)
                np.testing.assert_array_equal(scaler.scale(x).numpy(), expected)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert Scaler.scale.recordings == 2
