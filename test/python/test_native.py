"""The native module alone: recording, compiling, running, against NumPy."""

import gc
import json
import re
import threading

import numpy as np
import pytest

from dtorch import _dtorch as native

R = native.Placement.replicate()
P = native.Placement.partial()
S = native.Placement.shard
HOST = native.Mesh.host()


@pytest.fixture
def mesh():
    return native.Mesh.regular("cpu", ["dp", "tp"], [2, 2])


@pytest.fixture
def graph():
    return native.Graph()


def put(array, mesh=HOST, placements=()):
    array = np.ascontiguousarray(array)
    return native.input(array, array.shape, str(array.dtype), mesh, list(placements))


def look(graph, node):
    """The value of a node as an array."""
    node = graph.redistribute(node, HOST, [])
    native.flush([node])
    return native.host_array(node).view(node.dtype).reshape(node.shape)


def binary(graph, kind, a, b, location=None):
    return graph.record("binary", [a, b], {"kind": kind}, location)


def unary(graph, kind, a):
    return graph.record("unary", [a], {"kind": kind})


def draw(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


class MLP:
    """Layers of relu(x @ up.T) @ down.T + bias: up by columns, down by rows."""

    def __init__(self, mesh, layers=2, features=4, hidden=5):
        up, down, bias = draw(hidden, features), draw(features, hidden), draw(features)
        self.arrays = [(up + i, down - i, bias * i) for i in range(layers)]
        placements = [R, S(0)], [R, S(1)], [R, P]
        self.weights = []
        for i, arrays in enumerate(self.arrays):
            nodes = [put(a, mesh, p) for a, p in zip(arrays, placements, strict=True)]
            for node, name in zip(nodes, ("up", "down", "bias"), strict=True):
                node.name = f"mlp.layers.{i}.{name}"
                node.parameter = True
            self.weights.append(nodes)

    def __call__(self, graph, x):
        for i, (up, down, bias) in enumerate(self.weights):
            graph.push_scope(f"mlp.layers.{i}")
            h = unary(graph, "relu", graph.record("linear", [x, up], {}, ("mlp.py", 1)))
            y = graph.record("linear", [h, down], {}, ("mlp.py", 2))
            x = binary(graph, "add", y, bias, ("mlp.py", 3))
            graph.pop_scope()
        return x

    def reference(self, x):
        for up, down, bias in self.arrays:
            x = np.maximum(x @ up.T, 0) @ down.T + bias
        return x


def test_mlp_on_dp_and_tp(graph, mesh):
    model, x = MLP(mesh), draw(3, 4)
    native.reset_counters()
    y = model(graph, graph.redistribute(put(x), mesh, [S(0), R]))
    assert y.shape == (3, 4)
    assert y.placements == [S(0), P]
    assert not y.computed
    np.testing.assert_allclose(look(graph, y), model.reference(x), rtol=1e-5, atol=1e-5)
    counters = native.counters()
    # The first layer's output is reduced where the second needs it whole; the
    # second's goes to the host, so each device reduces a part of it only.
    assert counters["all_reduce"][0] == 1
    assert counters["reduce_scatter"][0] == 1
    assert counters["to_host"] == (1, x.nbytes)


def test_scalars_and_data_do_not_compile_again(graph, mesh):
    p = put(np.float32([1, 2]), mesh, [S(0), R])
    p = graph.record("reduce", [p], {"kind": "sum", "dims": [0], "keepdim": False})
    assert p.placements == [P, R]
    native.flush([p])  # or the first look would store it too
    before = native.compile_counters()
    factors = [1, 2, 3, -5]
    values = [look(graph, binary(graph, "mul", p, native.scalar(f, "float32"))) for f in factors]
    np.testing.assert_array_equal(values, np.float32(factors) * 3)
    after = native.compile_counters()
    assert after["programs"] == before["programs"] + 1
    assert after["cache_hits"] == before["cache_hits"] + 3


def test_a_factor_that_is_not_finite_reduces_first(graph, mesh):
    p = put(np.float32([1, 2]), mesh, [P, R])
    for factor in (np.inf, -np.inf):
        y = binary(graph, "mul", p, native.scalar(factor, "float32"))
        np.testing.assert_array_equal(look(graph, y), np.float32([1, 2]) * np.float32(factor))
    y = binary(graph, "div", p, native.scalar(0.0, "float32"))
    np.testing.assert_array_equal(look(graph, y), [np.inf, np.inf])


def test_repeated_layers_are_one_function(graph, mesh, tmp_path, monkeypatch):
    monkeypatch.setenv("DTORCH_DUMP", str(tmp_path))
    work = []
    for layers in (3, 6):
        model, x = MLP(mesh, layers), draw(3, 4)
        before = native.compile_counters()["ops"]
        y = model(graph, graph.redistribute(put(x), mesh, [S(0), R]))
        expected = model.reference(x.astype(np.float64))
        np.testing.assert_allclose(look(graph, y), expected, rtol=1e-4)
        work.append(native.compile_counters()["ops"] - before)
        folder = max(tmp_path.iterdir(), key=lambda f: int(f.name.split("-")[0]))
        assert folder.name.endswith("-mlp")
        text = (folder / "1-global.mlir").read_text()
        assert re.findall(r"func\.func (?:private )?@(\w+)", text) == ["layers", "main"]
        assert text.count("call @layers(") == layers
        assert 'dtorch.module = "mlp.layers.1"' in text
        assert '"mlp.py":3' in text
        assert text.count("dtorch.redistribute") == 2  # the user's
        # The first layer gets a whole input, all others a pending one.
        text = (folder / "2-placed.mlir").read_text()
        assert re.findall(r"func\.func private @(\w+)", text) == ["layers", "layers_1"]
        assert text.count("call @layers_1(") == layers - 1
    assert work[0] == work[1]


def test_dumped_inputs(graph, mesh, tmp_path, monkeypatch):
    safetensors = pytest.importorskip("safetensors.numpy")
    monkeypatch.setenv("DTORCH_DUMP", str(tmp_path))
    weight, x = put(draw(3, 4), mesh, [R, S(0)]), draw(3, 4)
    weight.name, weight.parameter = 'odd "name"', True
    y = binary(graph, "mul", graph.redistribute(put(x), mesh, [S(0), R]), weight)
    look(graph, binary(graph, "mul", y, native.scalar(7, "float32")))
    (folder,) = tmp_path.iterdir()
    names = {f.name for f in folder.iterdir()}
    assert names == {
        "1-global.mlir",
        "2-placed.mlir",
        "4-local.mlir",
        "6-program.mlir",
        "inputs.safetensors",
    }
    inputs = safetensors.load_file(folder / "inputs.safetensors")
    assert set(inputs) == {"input0", "scalar0"}
    np.testing.assert_array_equal(inputs["input0"], x)
    assert inputs["scalar0"] == 7
    # The header is JSON at an aligned length.
    raw = (folder / "inputs.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    assert length % 8 == 0
    json.loads(raw[8 : 8 + length])


def test_recording_and_passes_infer_the_same_for_every_node(graph, mesh):
    """Every node is wanted, so that each one's place is compared."""
    x = put(draw(3, 6), mesh, [S(0), S(1)])
    w = put(draw(5, 6), mesh, [R, S(1)])
    nodes = [graph.record("linear", [x, w], {})]
    nodes.append(binary(graph, "add", nodes[-1], put(draw(5))))
    nodes.append(graph.record("softmax", [nodes[-1]], {"dim": 1}))
    nodes.append(graph.record("permute", [nodes[-1]], {"dims": [1, 0]}))
    nodes.append(
        graph.record("reduce", [nodes[-1]], {"kind": "amax", "dims": [1], "keepdim": True})
    )
    nodes.append(binary(graph, "sub", nodes[-2], nodes[-1]))
    nodes.append(graph.redistribute(nodes[-1], mesh, [S(1), S(0)]))
    native.flush(nodes)
    assert all(node.computed for node in nodes)
    a = draw(3, 6) @ draw(5, 6).T + draw(5)
    a = np.exp(a - a.max(1, keepdims=True))
    a = (a / a.sum(1, keepdims=True)).T
    a -= a.max(1, keepdims=True)
    np.testing.assert_allclose(
        native.assemble(nodes[-1]).view(np.float32).reshape(5, 3), a, rtol=1e-5, atol=1e-6
    )


def test_values_nobody_holds_cost_nothing(graph):
    gc.collect()
    start = graph.num_live_nodes()
    x = put(draw(4))
    y = x
    for _ in range(100):
        y = unary(graph, "neg", y)
    assert graph.num_live_nodes() == start + 100
    native.flush([y])
    assert graph.num_live_nodes() == start + 1
    del y
    assert graph.num_live_nodes() == start


def test_sync_computes_what_is_held(graph):
    x = put(draw(4))
    a = unary(graph, "neg", x)
    b = unary(graph, "exp", unary(graph, "abs", a))
    graph.sync()
    assert a.computed and b.computed
    np.testing.assert_allclose(
        native.host_array(b).view(np.float32), np.exp(np.abs(draw(4))), rtol=1e-6
    )
    hits = native.compile_counters()
    graph.sync()
    assert native.compile_counters() == hits


def test_memory_of_an_input_is_borrowed(graph):
    array = draw(4, 2)
    node = put(array)
    held = native.host_array(node)
    assert held.__array_interface__["data"][0] == array.__array_interface__["data"][0]
    assert not held.flags.writeable
    expected = array.copy()
    del array, node
    gc.collect()
    np.testing.assert_array_equal(held.view(np.float32).reshape(4, 2), expected)


def test_assign_leaves_recorded_programs_alone(graph):
    w = put(np.float32([1, 2]))
    w.name, w.parameter = "w", True
    y = unary(graph, "neg", w)
    native.assign(w, put(np.float32([3, 4])))
    assert (w.name, w.parameter, w.version) == ("w", True, 1)
    z = unary(graph, "neg", w)
    np.testing.assert_array_equal(look(graph, y), [-1, -2])
    np.testing.assert_array_equal(look(graph, z), [-3, -4])
    with pytest.raises(ValueError, match="types must be equal"):
        native.assign(w, put(np.float32([3])))


def test_pending_and_uneven_inputs(mesh):
    array = draw(3, 5)
    node = put(array, mesh, [S(0), P])
    pieces = [native.local_array(node, i).view(np.float32) for i in range(4)]
    np.testing.assert_array_equal(pieces[0], array[:2].ravel())
    np.testing.assert_array_equal(pieces[2], array[2:].ravel())
    assert not pieces[1].any() and not pieces[3].any()
    np.testing.assert_array_equal(native.assemble(node).view(np.float32).reshape(3, 5), array)


def test_errors_are_python_exceptions_with_a_place(graph, mesh):
    assert issubclass(native.PlacementError, ValueError)
    assert issubclass(native.PlacementError, AssertionError)
    x = put(draw(4, 8))
    with pytest.raises(ValueError, match=r"^model\.py:17: error: linear"):
        graph.record("linear", [x, put(draw(5, 9))], {}, ("model.py", 17))
    with pytest.raises(TypeError, match="no attribute 'color'"):
        graph.record("linear", [x, x], {"color": 1})
    with pytest.raises(native.PlacementError, match=r"^model\.py:3: error: redistribute"):
        graph.redistribute(x, mesh, [native.Placement.partial("max"), R], ("model.py", 3))
    strict = native.Graph("strict")
    sharded = put(draw(4, 8), mesh, [S(1), R])
    with pytest.raises(native.PlacementError, match="strict"):
        strict.record("softmax", [sharded], {"dim": 1})
    big = native.Mesh.regular("cpu", ["x"], [native.num_devices() + 1])
    for make in (lambda: put(draw(4), big, [R]), lambda: graph.redistribute(x, big, [R])):
        with pytest.raises(ValueError, match="DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE"):
            make()
    with pytest.raises(RuntimeError, match="not computed"):
        native.host_array(unary(graph, "neg", x))


def test_errors_of_a_run_name_their_own_line(graph):
    """Also when the program was compiled for other lines."""
    table = put(draw(4, 2))
    for line, last in [(1, 3), (2, 9), (3, 9), (4, 3)]:
        rows = put(np.array([0, last]))
        y = graph.record("embedding", [table, rows], {}, ("rows.py", line))
        if last < 4:
            np.testing.assert_array_equal(look(graph, y), draw(4, 2)[[0, last]])
            continue
        with pytest.raises(IndexError, match=rf"^rows\.py:{line}: error: embedding: index 9"):
            look(graph, y)


def test_redistribute_to_the_same_place_is_the_node_itself(graph, mesh):
    x = put(draw(4, 8), mesh, [S(0), R])
    assert graph.redistribute(x, mesh, [S(0), R]) is x
    assert graph.redistribute(x, mesh, [R, S(0)]) is not x


def test_threads_record_and_run_at_once(graph, mesh):
    results, errors = {}, []

    def work(number):
        try:
            model, x = MLP(mesh), draw(3, 4) + number
            for _ in range(5):
                y = model(graph, graph.redistribute(put(x), mesh, [S(0), R]))
                results[number] = (look(graph, y), model.reference(x))
        except Exception as error:  # shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for value, expected in results.values():
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4)
    assert len(results) == 4


def test_bfloat16_scalars_round_to_nearest_even():
    for value, bits in [(1.0, 0x3F80), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82)]:
        assert native.host_array(native.scalar(value, "bfloat16")).view(np.uint16) == bits
    assert native.host_array(native.scalar(2**62 + 1, "int64")).view(np.int64) == 2**62 + 1
    with pytest.raises(ValueError, match="does not fit int32"):
        native.scalar(2**31, "int32")
