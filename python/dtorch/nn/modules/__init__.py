"""Layers and containers."""

from dtorch.nn.modules.activation import (
    ELU,
    GELU,
    Dropout,
    Identity,
    LeakyReLU,
    LogSoftmax,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from dtorch.nn.modules.container import ModuleList, Sequential
from dtorch.nn.modules.embedding import Embedding, EmbeddingWithReplicateOutput
from dtorch.nn.modules.linear import (
    ColumnParallelLinear,
    ColumnParallelLinearWithReplicateInputOutput,
    ColumnParallelLinearWithReplicateOutput,
    Linear,
    ReplicateParallelLinear,
    RowParallelLinear,
    RowParallelLinearWithReplicateOutput,
)
from dtorch.nn.modules.module import Module
from dtorch.nn.modules.normalization import GroupNorm, LayerNorm, RMSNorm

__all__ = [
    "GELU",
    "ColumnParallelLinear",
    "ColumnParallelLinearWithReplicateInputOutput",
    "ColumnParallelLinearWithReplicateOutput",
    "Embedding",
    "EmbeddingWithReplicateOutput",
    "Identity",
    "Linear",
    "Module",
    "ModuleList",
    "RMSNorm",
    "ReLU",
    "ReplicateParallelLinear",
    "RowParallelLinear",
    "RowParallelLinearWithReplicateOutput",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Tanh",
    "ELU",
    "Dropout",
    "LeakyReLU",
    "LogSoftmax",
    "Softmax",
    "Softplus",
    "GroupNorm",
    "LayerNorm",
]
