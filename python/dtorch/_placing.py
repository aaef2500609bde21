"""Redistributing: the same global value under another sharding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from dtorch._base import TensorBase, check_mesh, same, wrap
from dtorch.errors import PlacementError, fail, location, shown
from dtorch.graph import Graph
from dtorch.mesh import DeviceMesh, resolve_axis
from dtorch.placement import Placement, Replicate, Shard, resolve, resolve_all

if TYPE_CHECKING:
    from dtorch.tensor import Tensor

DefaultMode = Literal["replicate", "keep", "raise_error"]


def map_placements(x: TensorBase, target: DeviceMesh) -> list[Placement]:
    """x's placements on the axes of another mesh, by name.

    axis of the target        placement there
    x's mesh has the name     kept; P becomes R where the sizes differ
    new name                  R
    """
    source, placements = x.device_mesh, x.placements
    if source == target:
        return placements
    result: list[Placement] = []
    for name, size in zip(target.dim_names, target.shape, strict=True):
        axis = source.dim_name_index(name)
        kept = Replicate() if axis is None else placements[axis]
        resized = axis is not None and source.shape[axis] != size
        result.append(Replicate() if kept.is_partial() and resized else kept)
    return result


class Placing(TensorBase):
    """Methods of `Tensor` about placements."""

    __slots__ = ()

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
    ) -> Tensor:
        """The same global value on `device_mesh` with `placements`.

        Without a mesh it stays on its own. Without placements, axes map by name:
        the same name keeps its placement, new axes get `Replicate()`, vanished
        ones are gathered or reduced; a host tensor gets `Replicate()` on all.

        Errors: neither argument; two meshes with axes but no name in common;
        placements that do not fit the mesh or the shape (PlacementError).

        >>> mesh = init_device_mesh("cpu", (2,), mesh_dim_names=["tp"])
        >>> t = dtorch.arange(5).redistribute(mesh, [Shard(0)])
        >>> t.placements, t.redistribute(placements=[Replicate()]).tolist()
        ([Shard(0)], [0, 1, 2, 3, 4])
        """
        if device_mesh is None and placements is None:
            raise fail(ValueError, "redistribute: needs device_mesh, placements or both")
        target = self.device_mesh if device_mesh is None else check_mesh(device_mesh)
        if placements is None:
            self._check_shared_name(target)
            placements = map_placements(self, target)
        return self._place(target, resolve_all(placements, self.ndim))

    def _check_shared_name(self, target: DeviceMesh) -> None:
        source = self.device_mesh
        if source.ndim and target.ndim and not set(source.dim_names) & set(target.dim_names):
            raise fail(
                ValueError,
                f"redistribute: meshes must share an axis name, got {source.dim_names} "
                f"and {target.dim_names}",
                "give placements",
            )

    def _place(self, mesh: DeviceMesh, placements: list[Placement]) -> Tensor:
        if len(placements) != mesh.ndim:
            raise fail(
                PlacementError,
                f"redistribute: needs one placement per mesh axis, {mesh.ndim}, got {placements}",
            )
        held = self.placements
        if self.device_mesh != mesh:
            return self._record_move(mesh, placements)
        if held == placements:
            return same(self)
        # A pending maximum becomes a pending sum by way of its value.
        reduced: list[Placement] = [
            Replicate() if p.is_partial() and q.is_partial() and p != q else p
            for p, q in zip(held, placements, strict=True)
        ]
        start = same(self) if reduced == held else self._record_move(mesh, reduced)
        return start._record_move(mesh, placements)

    def _record_move(self, mesh: DeviceMesh, placements: list[Placement]) -> Tensor:
        native = Graph.default_graph()._native
        target = [p._native for p in placements]
        return wrap(native.redistribute(self._node, mesh._native, target, location()))

    def redistribute_by_dict(
        self,
        device_mesh: DeviceMesh | None = None,
        *,
        placements_dict: Mapping[str | int, Placement],
        default_placement_mode: DefaultMode = "replicate",
    ) -> Tensor:
        """`redistribute` with placements by axis name or index.

        Names that the mesh lacks are ignored; shard dims may be negative. Axes
        not in the dict get `Replicate()` ("replicate"), keep their placement by
        name ("keep"), or are an error ("raise_error").

        >>> mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=["dp", "tp"])
        >>> wanted = {"dp": Shard(0), "pp": Shard(1)}
        >>> dtorch.zeros(4, 4).redistribute_by_dict(mesh, placements_dict=wanted).placements
        [Shard(0), Replicate()]
        """
        target = self.device_mesh if device_mesh is None else check_mesh(device_mesh)
        named = _by_axis(target, placements_dict)
        if default_placement_mode == "keep":
            result = map_placements(self, target)
        elif default_placement_mode == "replicate":
            result = [Replicate() for _ in target.dim_names]
        elif default_placement_mode == "raise_error":
            absent = [n for i, n in enumerate(target.dim_names) if i not in named]
            if absent:
                raise fail(
                    ValueError,
                    f"redistribute_by_dict: placements_dict must name every axis, lacks {absent}",
                )
            result = [Replicate() for _ in target.dim_names]
        else:
            raise fail(
                ValueError,
                'redistribute_by_dict: default_placement_mode must be "replicate", "keep" '
                f'or "raise_error", got {default_placement_mode!r}',
            )
        for axis, placement in named.items():
            result[axis] = placement
        return self._place(target, resolve_all(result, self.ndim))

    def check_placement(self, dim: str | int, placement: Placement) -> bool:
        """Whether the placement on an axis (name or index) is of this kind and
        dim; units are not compared. True on an axis of size 1, where every
        placement is the same layout."""
        mesh = self.device_mesh
        axis = mesh.dim_name_index(dim) if isinstance(dim, str) else resolve_axis(mesh, dim)
        if axis is None:
            raise fail(
                ValueError, f"check_placement: mesh has no axis {dim!r}, only {mesh.dim_names}"
            )
        if mesh.shape[axis] == 1:
            return True
        held, wanted = self.placements[axis], resolve(placement, self.ndim)
        if isinstance(held, Shard) and isinstance(wanted, Shard):
            return held.dim == wanted.dim
        return held == wanted


def _by_axis(mesh: DeviceMesh, named: Mapping[str | int, Placement]) -> dict[int, Placement]:
    """The dict by axis index, without names that the mesh lacks."""
    if not isinstance(named, Mapping):
        raise fail(
            TypeError,
            "redistribute_by_dict: placements_dict must be a dict of placements by axis, "
            f"got {shown(named)}",
        )
    result: dict[int, Placement] = {}
    for key, placement in named.items():
        axis = mesh.dim_name_index(key) if isinstance(key, str) else resolve_axis(mesh, key)
        if axis is None:
            continue
        if axis in result:
            raise fail(
                ValueError, f"redistribute_by_dict: axis {mesh.dim_names[axis]!r} is named twice"
            )
        result[axis] = placement
    return result
