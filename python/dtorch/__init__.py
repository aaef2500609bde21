"""dtorch: one PyTorch-style model, written for one device, run on a mesh of many.

>>> import dtorch
>>> from dtorch import Shard, init_device_mesh
>>> mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["dp"])
>>> x = dtorch.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).redistribute(mesh, [Shard(0)])
>>> y = x * 2 + 1
>>> y
dtorch.Tensor(shape=(3, 2), dtype=float32, mesh=(dp=2), placements=[S(0)], lazy)
>>> y.tolist()
[[3.0, 5.0], [7.0, 9.0], [11.0, 13.0]]
"""

from __future__ import annotations

import builtins
from typing import Any

from dtorch import dtypes
from dtorch._base import device
from dtorch.dtypes import (
    bfloat16,
    double,
    dtype,
    float16,
    float32,
    float64,
    half,
    int32,
    int64,
    long,
)
from dtorch.errors import PlacementError
from dtorch.factories import (
    arange,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    tensor,
    zeros,
    zeros_like,
)
from dtorch.functions import *  # noqa: F403
from dtorch.functions import __all__ as _functions
from dtorch.grad import inference_mode, is_grad_enabled, no_grad
from dtorch.graph import Counter, Graph, compile_counters, counters, mode, reset_counters
from dtorch.mesh import (
    DeviceMesh,
    assign_layers_to_stages,
    get_default_device_mesh,
    init_device_mesh,
)
from dtorch.placement import Partial, Placement, Replicate, Shard
from dtorch.random import initial_seed, manual_seed
from dtorch.tensor import Tensor, from_numpy, frombuffer

from dtorch import nn  # isort: skip
from dtorch._compile import compile  # isort: skip

bool = dtypes.bool_
float = float32
int = int32

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "default_graph":
        return Graph.default_graph()
    if name == "models":
        import importlib

        return importlib.import_module("dtorch.models")
    raise AttributeError(f"module 'dtorch' has no attribute {name!r}")


__all__ = [
    "Counter",
    "DeviceMesh",
    "Graph",
    "Partial",
    "Placement",
    "PlacementError",
    "Replicate",
    "Shard",
    "Tensor",
    "arange",
    "assign_layers_to_stages",
    "bfloat16",
    "compile",
    "compile_counters",
    "counters",
    "device",
    "double",
    "dtype",
    "empty",
    "empty_like",
    "eye",
    "float16",
    "float32",
    "float64",
    "frombuffer",
    "from_numpy",
    "full",
    "full_like",
    "get_default_device_mesh",
    "half",
    "inference_mode",
    "init_device_mesh",
    "initial_seed",
    "int32",
    "int64",
    "is_grad_enabled",
    "linspace",
    "long",
    "manual_seed",
    "mode",
    "nn",
    "no_grad",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "reset_counters",
    "tensor",
    "zeros",
    "zeros_like",
    # Names of builtins stay behind the dot: dtorch.sum, dtorch.float, …
    *(name for name in _functions if not hasattr(builtins, name)),
]
