"""The native module: meshes, placements, graphs, programs.

Private; `dtorch` is the public face. dtypes are PyTorch's names as strings
("float32"), shapes are tuples of global sizes. Errors raise the exception
class named in `ErrorKind` (ValueError, TypeError, IndexError, PlacementError,
RuntimeError, NotImplementedError) with the user's "file:line: error: " in front
where an op was recorded or ran.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dtorch.dtypes import dtype
from dtorch.tensor import Tensor

AttrValue = bool | int | float | str | Sequence[int]
Location = tuple[str, int]
"""File name and line of the user's call."""

class PlacementError(ValueError, AssertionError): ...

class Mesh:
    @staticmethod
    def host() -> Mesh: ...
    @staticmethod
    def regular(device_type: str, dim_names: Sequence[str], shape: Sequence[int]) -> Mesh: ...
    @staticmethod
    def from_ids(
        device_type: str, dim_names: Sequence[str], shape: Sequence[int], ids: Sequence[int]
    ) -> Mesh: ...
    device_type: str
    dim_names: list[str]
    shape: tuple[int, ...]
    ndim: int
    is_host: bool
    num_devices: int
    required_world_size: int
    ids: list[int]
    """Device numbers in row-major order."""
    def dim_name_index(self, name: str) -> int | None: ...
    def unbind(self, axis: int) -> list[Mesh]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Placement:
    kind: Literal["R", "S", "P"]
    dim: int
    unit: int
    reduce: Literal["sum", "max", "min"]
    @staticmethod
    def replicate() -> Placement: ...
    @staticmethod
    def shard(dim: int, unit: int = 1) -> Placement: ...
    @staticmethod
    def partial(reduce: str = "sum") -> Placement: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __str__(self) -> str:
        """`S(0)`, `S(0:64)`, `R`, `P`."""

class Node:
    """A value: an input, a parameter or a recorded op's result."""

    shape: tuple[int, ...]
    dtype: str
    mesh: Mesh
    placements: list[Placement]
    """As written for inputs, factories and redistributes; as inferred for ops."""
    computed: bool
    """Whether its value is in memory (inputs and parameters always)."""
    name: str
    """Settable; names the argument of a dump: "model.norm.weight"."""
    parameter: bool
    """Settable on inputs."""
    integer: int | None
    """Of a scalar of int64, its number."""
    version: int
    """Goes up when `assign` replaces the value of an input."""

class TensorBase:
    """The base of `dtorch.Tensor`: holds a node."""

    _node: Node
    """Subclasses may keep it elsewhere and give it as a property."""
    _host: Any
    """What looking at the value leaves for the next look; None at first."""
    _requires_grad: bool
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> dtype: ...
    @property
    def ndim(self) -> int: ...
    @property
    def is_host(self) -> bool: ...
    def dim(self) -> int: ...
    def numel(self) -> int: ...

def set_tensor_class(cls: type[TensorBase]) -> None:
    """Says what ops and `wrap` make: instances without a call of `__init__`."""

def set_dtypes(by_name: Mapping[str, dtype]) -> None:
    """Says which objects `TensorBase.dtype` gives."""

def wrap(node: Node) -> Tensor:
    """A tensor for a node."""

def record(op: str, operands: Sequence[TensorBase | Node], **attrs: AttrValue) -> Tensor:
    """Records an op of the op table into this thread's graph, at the line of
    `location()`; see `Graph.record`."""

def set_process_graph(graph: Graph) -> None:
    """Says where threads record that have no graph of their own."""

def set_thread_graph(graph: Graph | None, replays: bool = False) -> None:
    """Says where this thread records, and whether to be replayed; the caller
    keeps the graph alive."""

def check_looking() -> None:
    """Raises if this thread records to be replayed: there are no values then."""

def set_is_internal(is_internal: Callable[[str], bool]) -> None:
    """Says which files' frames `location()` skips."""

def location() -> Location:
    """The innermost line of code that is not the package's own."""

def hot_function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A callable with the short way `name` in front of the function. Attributes:
    `way`, its name, and `short_calls`, how many calls the function never saw."""

def has_short_way(name: str) -> bool: ...

class Replay:
    """The ops between outputs and what they start from, to be recorded again."""

    def __init__(self, outputs: Sequence[TensorBase | Node], first: int) -> None:
        """Nodes recorded before the sequence number `first` are inputs."""
    @property
    def inputs(self) -> list[Node]:
        """In order of first use; kept alive."""
    @property
    def random_keys(self) -> list[tuple[int, int]]:
        """Numbers of the inputs that are seed and offset, per random op."""
    def record(self, inputs: Sequence[TensorBase | Node]) -> list[Tensor]:
        """Records the ops on inputs of equal types; the outputs."""

def placeholder(like: TensorBase | Node) -> Tensor:
    """A tensor of equal type that never has a value."""

def next_sequence() -> int:
    """What `node_id` of the next node will be."""

def node_id(of: TensorBase | Node) -> int:
    """Grows with every node of the process."""

def type_id(of: TensorBase | Node) -> int:
    """Equal for values of equal shape, dtype and place, while one of them lives."""

class Graph:
    def __init__(self, mode: Literal["auto", "strict"] = "auto") -> None: ...
    mode: Literal["auto", "strict"]
    def record(
        self,
        op: str,
        inputs: Sequence[Node],
        attrs: dict[str, AttrValue],
        location: Location | None = None,
    ) -> Node:
        """Records a compute op of the op table (see ComputeOps.td).

        Shape, dtype and placements are inferred here by the code that the
        passes use; a bad combination raises here. Host inputs join the mesh of
        the others as replicated. Element types must agree already.
        """
    def redistribute(
        self,
        node: Node,
        mesh: Mesh,
        placements: Sequence[Placement],
        location: Location | None = None,
    ) -> Node:
        """Same global value elsewhere: same mesh, host to mesh, mesh to host.

        Between two different meshes with devices: NotImplementedError for now.
        Returns `node` itself only when mesh and placements are equal.
        """
    def push_scope(self, path: str) -> None:
        """Enters a module call: "model.layers.0". Nested paths are absolute."""
    def pop_scope(self) -> None: ...
    def sync(self) -> None:
        """Computes every recorded value that somebody holds."""
    def num_live_nodes(self) -> int: ...
    def live_nodes(self) -> list[Node]:
        """What was recorded and still exists, in no order."""

def input(
    array: np.ndarray[Any, Any],
    shape: Sequence[int],
    dtype: str,
    mesh: Mesh,
    placements: Sequence[Placement],
) -> Node:
    """An input from a C-contiguous array's memory (bfloat16 as its uint16 bits).

    The memory is borrowed and kept alive; boxes that are contiguous in it are
    not copied. On a mesh it is cut by the shard law at once; pending axes keep
    the value at coordinate 0. Errors: a mesh larger than the world (names
    DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE), bad placements.
    """

def scalar(value: bool | int | float, dtype: str) -> Node:
    """A 0-dim host input: a runtime operand, never part of a program's key."""

def assign(node: Node, source: Node) -> None:
    """Gives an input (parameter) the value of another input of equal type;
    pieces are shared, not copied. Programs recorded earlier keep the old one."""

def flush(nodes: Sequence[Node]) -> None:
    """Computes the nodes and whatever they need, in one program per graph."""

def host_array(node: Node) -> np.ndarray[Any, Any]:
    """The bytes (uint8, 1-D) of a computed node on the host mesh, no copy."""

def assemble(node: Node) -> np.ndarray[Any, Any]:
    """The bytes of a computed node's global value, without a program: for state
    dicts and tests. Pending axes are reduced."""

def local_array(node: Node, index: int) -> np.ndarray[Any, Any]:
    """The bytes of the piece of the index-th device of the node's mesh."""

def num_devices() -> int: ...
def last_run() -> tuple[int, int]:
    """When the first step of the last program began and its last one ended, on
    the clock of `time.perf_counter_ns`."""

def counters() -> dict[str, tuple[int, int]]:
    """Per kind of collective: count, bytes received summed over devices."""

def reset_counters() -> None: ...
def compile_counters() -> dict[str, int]:
    """ "programs" compiled, "cache_hits" (flushes served by a program of equal
    structure), and "ops" that passes worked on."""

# Shard law, rules and plans, for tests and messages.
def local_box(
    shape: Sequence[int], mesh: Mesh, placements: Sequence[Placement], index: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Offsets and sizes of the box that the index-th device holds."""

def same_layout(
    shape: Sequence[int], mesh: Mesh, a: Sequence[Placement], b: Sequence[Placement]
) -> bool: ...
def redistribute_plan(
    shape: Sequence[int],
    dtype: str,
    mesh: Mesh,
    source: Sequence[Placement],
    target: Sequence[Placement],
) -> list[dict[str, Any]]:
    """Steps: kind, axes, source, target, bytes."""

def op_table() -> list[dict[str, Any]]:
    """name, summary, kinds, operands, attrs (name to type), and rule (None where
    it depends on shapes or attributes) or rules by kind."""

def rule_rows(
    op: str, operands: Sequence[tuple[Sequence[int], str]], attrs: dict[str, AttrValue]
) -> list[tuple[list[Placement], list[Placement]]]:
    """Rows for one mesh axis: operand placements, result placements."""

def rule_matches(
    op: str,
    operands: Sequence[tuple[Sequence[int], str]],
    attrs: dict[str, AttrValue],
    mesh: Mesh,
    operand_placements: Sequence[Sequence[Placement]],
    result_placements: Sequence[Placement],
) -> bool: ...
def infer_type(
    op: str, operands: Sequence[tuple[Sequence[int], str]], attrs: dict[str, AttrValue]
) -> tuple[tuple[int, ...], str]: ...
def run_kernel(
    op: str,
    attrs: dict[str, AttrValue],
    inputs: Sequence[np.ndarray[Any, Any]],
    input_specs: Sequence[tuple[str, Sequence[int], Sequence[int], Sequence[int]]],
    output_spec: tuple[str, Sequence[int], Sequence[int], Sequence[int]],
) -> np.ndarray[Any, Any]:
    """Runs a kernel on one device's pieces. A spec is dtype, global shape, box
    offsets, box sizes; arrays are bytes. For the rule oracle."""
