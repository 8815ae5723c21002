"""Processes as an array of several dims, with a group along each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.distributed.process_group import ProcessGroup
from flambeau.distributed.world import get_rank, get_world_size, is_initialized, new_group
from flambeau.distributed.world import init_process_group as _begin

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """An array of ranks. All processes make it; along each dim, those that differ only in it form
    a group.

    Args:
        device_type: "cpu".
        mesh: different ranks, of as many dims as wanted.
        mesh_dim_names: of the dims.
        backend_override: None; others are refused.

    Raises:
        RuntimeError: for devices that processes cannot exchange tensors of, or ranks that there
            are not, or twice.

    Example:
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> mesh = flambeau.distributed.DeviceMesh(
        ...     "cpu", [[0, 1]], mesh_dim_names=("replicate", "shard")
        ... )
        >>> mesh.shape, mesh["shard"].size(), mesh.get_local_rank("shard") == rank
        ((1, 2), 2, True)
        >>> x = flambeau.ones(1)
        >>> flambeau.distributed.all_reduce(x, group=mesh.get_group("shard"))
        >>> x
        tensor([2.])
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
    ) -> None:
        if device_type != "cpu":
            raise RuntimeError(
                "DeviceMesh: processes exchange tensors of the cpu, and device_type must be 'cpu', "
                f"got {brief(device_type)}"
            )
        if backend_override is not None:
            raise ValueError("DeviceMesh: backend_override must be None: there is only 'gloo'")
        if not is_initialized():
            _begin()
        ranks = flambeau.as_tensor(mesh).to(flambeau.int64)
        size = get_world_size()
        given = ranks.flatten().tolist()
        if len(set(given)) != len(given) or any(not 0 <= rank < size for rank in given):
            raise RuntimeError(
                f"DeviceMesh: mesh must have different ranks within [0, {size - 1}], got {given}"
            )
        names = _names(mesh_dim_names, ranks.dim())
        dims = range(ranks.dim()) if _init_backend else ()
        self._set(ranks, names, [_along(ranks, dim) for dim in dims])

    def _set(
        self,
        ranks: Tensor,
        names: tuple[str, ...] | None,
        groups: Sequence[ProcessGroup | None],
    ) -> None:
        self.device_type = "cpu"
        self.mesh = ranks
        self.mesh_dim_names = names
        self._groups = list(groups)
        self._flat: dict[str, DeviceMesh] = {}

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of processes along each dim."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of processes; along a dim, if one is given."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def get_rank(self) -> int:
        """Of this process, among all."""
        return get_rank()

    def get_coordinate(self) -> list[int] | None:
        """The place of this process; None: it has none here."""
        places = (self.mesh == get_rank()).nonzero()
        return [int(place) for place in places[0]] if len(places) else None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this process along a dim, which a mesh of one dim need not name.

        Raises:
            RuntimeError: it has no place here, or there are several dims.
        """
        place = self.get_coordinate()
        if place is None:
            raise RuntimeError(f"DeviceMesh.get_local_rank: rank {get_rank()} is not in {self!r}")
        return place[self._dim("get_local_rank", mesh_dim)]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this process along a dim, which a mesh of one dim need not name.

        Raises:
            RuntimeError: it has no place here, or there are several dims.
        """
        group = self._groups[self._dim("get_group", mesh_dim)] if self._groups else None
        if group is None:
            raise RuntimeError(f"DeviceMesh.get_group: rank {get_rank()} is not in {self!r}")
        return group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this process along all dims."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The mesh of some dims that this process is in."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if len(wanted) == 1 and wanted[0] in self._flat:
            return self._flat[wanted[0]]
        dims = [self._dim("__getitem__", name) for name in wanted]
        if not dims or dims != sorted(set(dims)):
            raise KeyError(
                f"DeviceMesh: expected names among {self.mesh_dim_names}, in this order, got "
                f"{wanted}"
            )
        place = self.get_coordinate()
        index = tuple(
            slice(None) if dim in dims or place is None else place[dim] for dim in range(self.ndim)
        )
        part = DeviceMesh.__new__(DeviceMesh)
        ranks = self.mesh[index] if place is not None else self.mesh.new_empty([0] * len(dims))
        part._set(ranks, wanted, [self._groups[dim] for dim in dims])
        return part

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """The same processes along one dim. All processes of the mesh call it."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        if name not in self._flat:
            flat = DeviceMesh.__new__(DeviceMesh)
            ranks = self.mesh.flatten()
            group = new_group(ranks.tolist(), use_local_synchronization=True, sort_ranks=False)
            mine = group if isinstance(group, ProcessGroup) else None
            flat._set(ranks, (name,) if name else None, [mine])
            self._flat[name] = flat
        return self._flat[name]

    @staticmethod
    def from_group(
        group: ProcessGroup | Sequence[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """A mesh of a group that there is, or of one for each dim of `mesh`."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if mesh is None and len(groups) != 1:
            raise ValueError("DeviceMesh.from_group: several groups need a mesh")
        ranks = groups[0].ranks if mesh is None else mesh
        made = DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _init_backend=False)
        if made.ndim != len(groups):
            raise ValueError(
                f"DeviceMesh.from_group: expected a group for each of {made.ndim} dims, got "
                f"{len(groups)}"
            )
        made._groups = list(groups)
        return made

    def _dim(self, method: str, dim: int | str | None) -> int:
        if dim is None:
            if self.ndim != 1:
                raise RuntimeError(
                    f"DeviceMesh.{method}: mesh_dim is needed: there are {self.ndim} dims"
                )
            return 0
        if isinstance(dim, str):
            names = self.mesh_dim_names or ()
            if dim not in names:
                raise KeyError(f"DeviceMesh.{method}: no dim {dim!r} among {names}")
            return names.index(dim)
        if not -self.ndim <= dim < self.ndim:
            raise IndexError(f"DeviceMesh.{method}: no dim {dim} among {self.ndim}")
        return dim % self.ndim

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceMesh):
            return NotImplemented
        mine, others = self.mesh.tolist(), other.mesh.tolist()
        return mine == others and self.mesh_dim_names == other.mesh_dim_names

    def __hash__(self) -> int:
        return hash((tuple(self.mesh.flatten().tolist()), self.shape, self.mesh_dim_names))

    def __repr__(self) -> str:
        if self.mesh_dim_names is None:
            return f"DeviceMesh('cpu', {self.mesh.tolist()})"
        dims = ", ".join(f"{n}={s}" for n, s in zip(self.mesh_dim_names, self.shape, strict=True))
        return f"DeviceMesh(({dims}), 'cpu')"


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """A mesh of all processes, in the order of their ranks; begins their group if there is none.

    Args:
        device_type: "cpu".
        mesh_shape: the number of processes along each dim; their product is that of all.
        mesh_dim_names: of the dims.
        backend_override: must be None.

    Raises:
        RuntimeError: names and shape do not fit each other, or shape and processes.

    Example:
        >>> mesh = flambeau.distributed.init_device_mesh(  # in each of two processes
        ...     "cpu", (2, 1), mesh_dim_names=("dp", "tp")
        ... )
        >>> mesh, mesh.mesh.tolist()
        (DeviceMesh((dp=2, tp=1), 'cpu'), [[0], [1]])
    """
    shape = tuple(mesh_shape)
    _names(mesh_dim_names, len(shape))
    if not is_initialized():
        _begin()
    if math.prod(shape) != get_world_size():
        raise RuntimeError(
            f"init_device_mesh: mesh_shape {shape} is of {math.prod(shape)} processes, and there "
            f"are {get_world_size()}"
        )
    ranks = flambeau.arange(math.prod(shape)).view(shape)
    return DeviceMesh(
        device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backend_override
    )


def _names(names: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if len(names) != count:
        raise RuntimeError(
            f"DeviceMesh: mesh_dim_names must have a name for each of {count} dims, got "
            f"{len(names)}"
        )
    if len(set(names)) != count:
        raise RuntimeError(f"DeviceMesh: each mesh_dim_name must be unique, got {tuple(names)}")
    return tuple(names)


def _along(ranks: Tensor, dim: int) -> ProcessGroup | None:
    """The group along a dim that this process is in."""
    mine = None
    for line in ranks.movedim(dim, -1).reshape(-1, ranks.size(dim)).tolist():
        group = new_group(line, sort_ranks=False)
        if isinstance(group, ProcessGroup):
            mine = group
    return mine
