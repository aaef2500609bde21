"""What a dump holds is what ran: dtorch-opt and dtorch-run go on from any phase."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import dtorch
from dtorch import _dtorch as native
from dtorch.models.llama import LlamaConfig, LlamaForCausalLM

safetensors = pytest.importorskip("safetensors.numpy")

PHASES = ["1-global", "2-placed", "4-local", "6-program"]


def tool(name: str) -> Path:
    """The tool of the build that the module comes from."""
    module = Path(native.__file__).resolve()
    for folder in (module.parents[2] / "bin", module.parents[2] / "build" / "bin"):
        if (folder / name).exists():
            return folder / name
    return pytest.skip(f"{name} is not built")


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """A Llama's dump, its weights file and its logits."""
    root = tmp_path_factory.mktemp("dump")
    config = LlamaConfig(
        vocab_size=61,
        hidden_size=36,
        intermediate_size=88,
        num_hidden_layers=3,
        num_attention_heads=9,
        num_key_value_heads=3,
        initializer_range=0.2,
    )
    mesh = dtorch.init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
    model = LlamaForCausalLM(config, device_mesh=mesh)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    safetensors.save_file(
        {name: np.ascontiguousarray(value) for name, value in weights.items()},
        root / "weights.safetensors",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DTORCH_DUMP", str(root))
        logits = model(dtorch.Tensor(np.arange(21).reshape(3, 7))).numpy()
    (folder,) = [path for path in root.iterdir() if path.is_dir()]
    return folder, root / "weights.safetensors", logits


def test_global_phase_holds_the_redistributes_of_the_code(dump):
    text = (dump[0] / "1-global.mlir").read_text()
    layer, main = text.split("func.func @main")
    assert layer.count("func.func private @layers") == 1
    assert layer.count("dtorch.redistribute") == 2  # after o_proj and down_proj
    # The ids, the embedding's result, start and step of the positions, the logits.
    assert main.count("dtorch.redistribute") == 5
    assert main.count("call @layers(") == 3
    assert "models/llama/model.py" in text
    # Weights are arguments, not constants.
    assert max(map(len, text.splitlines())) < 20_000
    assert "dense" not in text


@pytest.mark.parametrize("number", range(3))
def test_passes_give_the_same_text(dump, number):
    pipelines = ["dtorch-to-placed", "dtorch-to-local", "dtorch-to-program"]
    command = [
        str(tool("dtorch-opt")),
        "1-global.mlir",
        f"--{pipelines[number]}",
        "--mlir-print-debuginfo",
    ]
    result = subprocess.run(command, cwd=dump[0], capture_output=True, text=True, check=True)
    assert result.stdout == (dump[0] / f"{PHASES[number + 1]}.mlir").read_text()


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_runs_to_the_same_bits(dump, phase, tmp_path):
    folder, weights, logits = dump
    output = tmp_path / "out.safetensors"
    command = [str(tool("dtorch-run")), str(folder / f"{phase}.mlir")]
    command += ["--weights", str(weights), "--inputs", str(folder / "inputs.safetensors")]
    subprocess.run([*command, "--outputs", str(output)], check=True, capture_output=True)
    (value,) = safetensors.load_file(output).values()
    np.testing.assert_array_equal(value, logits)
