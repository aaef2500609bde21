"""lit: tests of IR, of program translation, and executable ones."""

# lit runs this file with `config` defined.
# ruff: noqa: F821

import os

import lit.formats

config.name = "dtorch"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "python"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.dtorch_build, "test")
config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.dtorch_build, "bin"),
        config.llvm_tools,
        os.environ["PATH"],
    ]
)
# Tests say how many devices they use; nothing comes from the caller's shell.
for name in [key for key in os.environ if key.startswith("DTORCH_")]:
    config.environment.pop(name, None)
config.substitutions.append(("%python", config.python))
config.environment["DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE"] = "8"
