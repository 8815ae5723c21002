"""How states are divided into entries: by names, each tensor whole, in the file of one process."""

from __future__ import annotations

import io
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.distributed.checkpoint.flat import flattened, nested, put
from flambeau.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from flambeau.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]


class DefaultSavePlanner(SavePlanner):
    """The way that states are saved. What several processes have under one name is written once.

    Args:
        flatten_state_dict: whether the values of nested dicts and lists are entries; False: those
            of the outer dict.
        flatten_sharded_tensors: accepted.
        dedup_replicated_tensors, enable_plan_caching: accepted.
        dedup_save_to_lowest_rank: whether the first process that has a tensor writes it; False: the
            one that has least to write.

    Example:
        >>> from flambeau.distributed.checkpoint import DefaultSavePlanner
        >>> planner = DefaultSavePlanner()
        >>> planner.set_up_planner({"model": {"x": flambeau.ones(2)}})
        >>> [item.index.fqn for item in planner.create_local_plan().items]
        ['model.x']
    """

    mappings: dict[str, tuple[Any, ...]]
    state_dict: dict[str, Any]
    is_coordinator: bool

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings = {}

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Takes the state, and flattens it."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        """All entries; the keys that their names stand for are noted."""
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        return replace(plan, planner_data=self.mappings) if self.flatten_state_dict else plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Each entry in one plan."""
        plans = _once(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(plans)
        if self.flatten_state_dict:
            noted = [plan.planner_data for plan in plans]
            metadata = replace(metadata, planner_data=dict(ChainMap(*reversed(noted))))
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """The plan itself."""
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The tensor, or what `flambeau.save` writes of another value."""
        value = self.lookup_object(write_item.index)
        return self.transform_object(write_item, value)

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of a name."""
        return self.state_dict[index.fqn]

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """A value as it is written."""
        if write_item.type is not WriteItemType.BYTE_IO:
            return object
        buffer = io.BytesIO()
        flambeau.save(object, buffer)
        return buffer


class DefaultLoadPlanner(LoadPlanner):
    """The way that states are loaded: tensors are written into, other values replaced.

    Args:
        flatten_state_dict: as it was saved.
        flatten_sharded_tensors: accepted.
        allow_partial_load: whether what the checkpoint lacks stays as it is.

    Example:
        >>> from flambeau.distributed.checkpoint import DefaultLoadPlanner
        >>> DefaultLoadPlanner(allow_partial_load=True).allow_partial_load
        True
    """

    original_state_dict: dict[str, Any]
    mappings: dict[str, tuple[Any, ...]]
    state_dict: dict[str, Any]
    metadata: Metadata | None
    is_coordinator: bool

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict, self.mappings = {}, {}

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Takes the state, and flattens it."""
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.metadata = metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """All entries of the state."""
        if self.metadata is None:
            raise RuntimeError("create_local_plan(): call set_up_planner() with metadata first")
        return create_default_local_load_plan(
            self.state_dict, self.metadata, not self.allow_partial_load
        )

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plans themselves."""
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """The plan itself."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Puts the value into the state."""
        name = read_item.dest_index.fqn
        found = flambeau.load(value, weights_only=True)
        if self.flatten_state_dict:
            put(self.original_state_dict, self.mappings[name], found)
        else:
            self.state_dict[name] = found

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The part of the state's tensor that is read."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Nothing: the tensor is the state's."""

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """The tensor of a name."""
        found: Tensor = self.state_dict[index.fqn]
        return found

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """The part of a tensor that is read."""
        return box(tensor, read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Makes the state of what the checkpoint holds.

    Args:
        keys: names, or beginnings of names up to a dot; None: all.
    """

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if state_dict:
            raise ValueError("set_up_planner(): the state must be empty")
        if metadata is None:
            raise ValueError("set_up_planner(): metadata must say what the checkpoint holds")
        paths = metadata.planner_data or {}
        entries = {
            name: (paths.get(name, (name,)), _empty(kept))
            for name, kept in metadata.state_dict_metadata.items()
            if self._wants(name)
        }
        state_dict.update(nested(entries))
        super().set_up_planner(state_dict, metadata, is_coordinator)

    def _wants(self, name: str) -> bool:
        parts = name.split(".")
        starts = (".".join(parts[:i]) for i in range(1, len(parts) + 1))
        return self.keys is None or any(start in self.keys for start in starts)


def _empty(kept: TensorStorageMetadata | BytesStorageMetadata) -> Any:
    if isinstance(kept, TensorStorageMetadata):
        return flambeau.empty(kept.size, dtype=kept.properties.dtype)
    return kept


def flatten_state_dict(
    state_dict: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, tuple[Any, ...]]]:
    """A state by names, and the keys that names stand for.

    Example:
        >>> from flambeau.distributed.checkpoint.default_planner import flatten_state_dict
        >>> flatten_state_dict({"model": {"size": 2}})
        ({'model.size': 2}, {'model.size': ('model', 'size')})
    """
    entries = flattened(state_dict)
    return {n: v for n, (_, v) in entries.items()}, {n: path for n, (path, _) in entries.items()}


def box(tensor: Tensor, offsets: Any, lengths: Any) -> Tensor:
    """A part of a tensor: itself where it is all."""
    if tuple(lengths) == tuple(tensor.shape):
        return tensor
    return tensor[tuple(slice(o, o + n) for o, n in zip(offsets, lengths, strict=True))]


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """A plan that writes all of a state.

    Args:
        state_dict: by names.
        is_coordinator: accepted.

    Example:
        >>> from flambeau.distributed.checkpoint import default_planner
        >>> len(default_planner.create_default_local_save_plan({"epoch": 3}, True).items)
        1
    """
    return SavePlan([_write_item(name, value) for name, value in state_dict.items()])


def _write_item(name: str, value: Any) -> WriteItem:
    if not isinstance(value, Tensor):
        return WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO)
    offsets = flambeau.Size([0] * value.ndim)
    chunk = ChunkStorageMetadata(offsets, value.shape)
    data = TensorWriteData(chunk, TensorProperties.create_from_tensor(value), value.shape)
    return WriteItem(MetadataIndex(name, offsets), WriteItemType.TENSOR, tensor_data=data)


def _once(plans: list[SavePlan], by_lowest_rank: bool) -> list[SavePlan]:
    """Each item in the plan of one of the processes that have it: what is no tensor in the first's,
    a tensor in that with fewest bytes so far.
    """
    having: dict[MetadataIndex, list[int]] = {}
    items: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            having.setdefault(item.index, []).append(rank)
            items.setdefault(item.index, item)
    loads = [0] * len(plans)
    owners = {}
    for index, item in items.items():
        size = item.tensor_storage_size()
        ranks = having[index]
        first = size is None or by_lowest_rank
        owners[index] = ranks[0] if first else min(ranks, key=lambda r: (loads[r], r))
        loads[owners[index]] += size or 0
    return [
        replace(plan, items=[item for item in plan.items if owners[item.index] == rank])
        for rank, plan in enumerate(plans)
    ]


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The plans, and what a checkpoint of them holds.

    Args:
        all_plans: of each process.
        rewrite_index_hints: whether the names of chunks say where they are in the list.

    Raises:
        ValueError: a value that is not divided is in two plans.

    Example:
        >>> from flambeau.distributed.checkpoint import default_planner
        >>> plan = default_planner.create_default_local_save_plan({"epoch": 3}, True)
        >>> list(default_planner.create_default_global_save_plan([plan])[1].state_dict_metadata)
        ['epoch']
    """
    found: dict[str, TensorStorageMetadata | BytesStorageMetadata] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name, data = item.index.fqn, item.tensor_data
            if item.type is not WriteItemType.SHARD and name in found:
                raise ValueError(f"create_default_global_save_plan(): {name!r} is in two plans")
            if data is None:
                found[name] = BytesStorageMetadata()
                items.append(item)
                continue
            kept = found.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
            chunks = kept.chunks  # type: ignore[union-attr]
            if rewrite_index_hints:
                item = replace(item, index=replace(item.index, index=len(chunks)))
            chunks.append(data.chunk)
            items.append(item)
        plans.append(replace(plan, items=items))
    return plans, Metadata(found)


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """A plan that fills all of a state.

    Args:
        state_dict: by names.
        metadata: what the checkpoint holds.
        strict: whether it must hold all; False: what it lacks is left out.

    Raises:
        RuntimeError: it lacks a name, or a tensor has another shape.

    Example:
        >>> from flambeau.distributed.checkpoint import BytesStorageMetadata, Metadata
        >>> from flambeau.distributed.checkpoint import default_planner
        >>> metadata = Metadata({"epoch": BytesStorageMetadata()})
        >>> len(default_planner.create_default_local_load_plan({"epoch": 0}, metadata).items)
        1
    """
    kept = metadata.state_dict_metadata
    where = metadata.storage_meta.checkpoint_id if metadata.storage_meta else "the checkpoint"
    missing = [name for name in state_dict if name not in kept]
    if missing and strict:
        more = ", ..." * (len(missing) > 5)
        raise RuntimeError(f"{where} lacks {', '.join(missing[:5])}{more}")
    items = []
    for name, value in state_dict.items():
        if name in missing:
            continue
        entry = kept[name]
        shape = tuple(entry.size) if isinstance(entry, TensorStorageMetadata) else "no tensor"
        mine = tuple(value.shape) if isinstance(value, Tensor) else "no tensor"
        if shape != mine:
            raise RuntimeError(f"{name} is {shape} in {where}, and {mine} here")
        items += _read_items(name, entry)
    return LoadPlan(items)


def _read_items(name: str, entry: TensorStorageMetadata | BytesStorageMetadata) -> list[ReadItem]:
    if isinstance(entry, BytesStorageMetadata):
        index, none = MetadataIndex(name), flambeau.Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, none, index, none, none)]
    whole = MetadataIndex(name, [0] * len(entry.size), 0)
    start = flambeau.Size([0] * len(entry.size))
    return [
        ReadItem(
            LoadItemType.TENSOR,
            whole,
            chunk.offsets,
            MetadataIndex(name, chunk.offsets, number),
            start,
            chunk.sizes,
        )
        for number, chunk in enumerate(entry.chunks)
    ]


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans themselves: what each process reads is its own affair.

    Args:
        all_plans: of each process.

    Example:
        >>> from flambeau.distributed.checkpoint import default_planner
        >>> default_planner.create_default_global_load_plan([])
        []
    """
    return all_plans
