"""Weights from safetensors files, without PyTorch.

A checkpoint is read one tensor at a time, when a parameter asks for it: the
parameter keeps its shards and the rest is freed, so a process never holds more
than its own share plus one tensor.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dtorch import dtypes
from dtorch.arrays import HostArray, from_any, numpy_dtype
from dtorch.nn import Module
from dtorch.tensor import Tensor

INDEX_NAME = "model.safetensors.index.json"
SINGLE_NAME = "model.safetensors"

# Names of element types in the file format.
_TYPES = {
    "F64": dtypes.float64,
    "F32": dtypes.float32,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "I64": dtypes.int64,
    "I32": dtypes.int32,
    "BOOL": dtypes.bool_,
}


class CheckpointError(ValueError):
    """A checkpoint that is incomplete or does not fit; names file and tensor."""


@dataclass(frozen=True)
class _Entry:
    file: Path
    dtype: dtypes.dtype
    shape: tuple[int, ...]
    offset: int


class Checkpoint(Mapping[str, HostArray]):
    """The tensors of a safetensors file, or of a folder with one or with an index.

    Keys are tensor names. A value is read from its file each time it is asked
    for, as read-only host memory.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._entries: dict[str, _Entry] = {}
        if not self.path.exists():
            raise CheckpointError(f"{self.path}: no such file or folder")
        if self.path.is_file() and self.path.suffix != ".json":
            self._entries = _read_header(self.path)
        elif self.path.is_file():
            self._read_index(self.path)
        elif (self.path / INDEX_NAME).exists():
            self._read_index(self.path / INDEX_NAME)
        elif (self.path / SINGLE_NAME).exists():
            self._entries = _read_header(self.path / SINGLE_NAME)
        else:
            raise CheckpointError(
                f"{self.path}: the folder holds neither {INDEX_NAME} nor {SINGLE_NAME}"
            )

    def _read_index(self, index: Path) -> None:
        weight_map: dict[str, str] = json.loads(index.read_text())["weight_map"]
        headers = {}
        for name in dict.fromkeys(weight_map.values()):
            file = index.parent / name
            if not file.exists():
                raise CheckpointError(f"{file}: missing, though {index.name} names it")
            headers[name] = _read_header(file)
        for key, name in weight_map.items():
            if key not in headers[name]:
                raise CheckpointError(
                    f"{index.parent / name}: holds no tensor {key!r}, though {index.name} says so"
                )
            self._entries[key] = headers[name][key]

    def __getitem__(self, name: str) -> HostArray:
        entry = self._entries[name]
        count = math.prod(entry.shape)
        data = np.fromfile(
            entry.file, dtype=numpy_dtype(entry.dtype), count=count, offset=entry.offset
        )
        if data.size != count:
            raise CheckpointError(f"{entry.file}: ends inside tensor {name!r}")
        # Read-only: a parameter may keep it instead of a copy.
        data.flags.writeable = False
        return HostArray(data.reshape(entry.shape), entry.dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor, from the header alone."""
        return self._entries[name].shape

    def file(self, name: str) -> Path:
        """The file that holds a tensor."""
        return self._entries[name].file


def load_pretrained(model: Module, path: str | os.PathLike[str]) -> None:
    """Loads every parameter of `model` from a safetensors file or folder.

    Raises CheckpointError naming the file and the tensor when a file is missing,
    a parameter is absent, a tensor belongs to no parameter, or shapes differ;
    the model is then left as it was.
    """
    checkpoint = Checkpoint(path)
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    for name in checkpoint:
        if name in wanted and checkpoint.shape(name) != wanted[name]:
            raise CheckpointError(
                f"{checkpoint.file(name)}: tensor {name!r} has shape "
                f"{checkpoint.shape(name)}, the model needs {wanted[name]}"
            )
    try:
        model.load_state_dict(checkpoint)
    except (KeyError, RuntimeError, ValueError) as error:
        raise CheckpointError(f"{checkpoint.path}: {error}") from error


def save_file(
    tensors: Mapping[str, Any],
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes tensors (dtorch, NumPy or PyTorch) as one safetensors file.

    dtorch tensors are written whole, whatever their placements.
    """
    from safetensors import TensorSpec, serialize_file

    # The arrays must outlive the specs, which hold addresses.
    values = {name: _host_memory(value) for name, value in tensors.items()}
    arrays = {name: np.ascontiguousarray(value.array) for name, value in values.items()}
    serialize_file(
        {
            name: TensorSpec(
                dtype=values[name].dtype.name,
                shape=values[name].array.shape,
                data_ptr=array.ctypes.data,
                data_len=array.nbytes,
            )
            for name, array in arrays.items()
        },
        os.fspath(path),
        metadata=dict(metadata) if metadata else None,
    )


def _host_memory(value: Any) -> HostArray:
    return value._host_value() if isinstance(value, Tensor) else from_any(value)


def _read_header(file: Path) -> dict[str, _Entry]:
    """Names, types, shapes and places of a file's tensors.

    The format: 8 bytes of header size (little endian), a JSON header, the data.
    The safetensors package checks it first; we read the bytes ourselves because
    its NumPy side has no bfloat16.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np", backend="pread"):
            pass
    except SafetensorError as error:
        raise CheckpointError(f"{file}: not a valid safetensors file: {error}") from error
    with open(file, "rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))
    header.pop("__metadata__", None)
    entries = {}
    for name, info in header.items():
        if info["dtype"] not in _TYPES:
            raise CheckpointError(
                f"{file}: tensor {name!r} has type {info['dtype']}, "
                f"expected one of {', '.join(_TYPES)}"
            )
        offset = 8 + size + info["data_offsets"][0]
        entries[name] = _Entry(file, _TYPES[info["dtype"]], tuple(info["shape"]), offset)
    return entries
