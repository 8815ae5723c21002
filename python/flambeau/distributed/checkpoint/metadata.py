"""What a checkpoint says of its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flambeau
from flambeau import Tensor

__all__ = [
    "STATE_DICT_TYPE",
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]

STATE_DICT_TYPE = dict[str, Any]


@dataclass
class TensorProperties:
    """What is the same in all of a tensor.

    Args:
        dtype, layout, requires_grad, memory_format, pin_memory: the tensor's.

    Example:
        >>> from flambeau.distributed.checkpoint.metadata import TensorProperties
        >>> TensorProperties.create_from_tensor(flambeau.ones(2)).dtype
        flambeau.float32
    """

    dtype: flambeau.dtype = field(default_factory=lambda: flambeau.get_default_dtype())
    layout: Any = flambeau.strided
    requires_grad: bool = False
    memory_format: Any = flambeau.contiguous_format
    pin_memory: bool = False

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(
            dtype=tensor.dtype, layout=tensor.layout, requires_grad=tensor.requires_grad
        )


@dataclass
class ChunkStorageMetadata:
    """A box of a tensor's elements.

    Args:
        offsets: where it begins.
        sizes: its extents.

    Example:
        >>> from flambeau.distributed.checkpoint import ChunkStorageMetadata
        >>> ChunkStorageMetadata(flambeau.Size([0]), flambeau.Size([2])).sizes
        flambeau.Size([2])
    """

    offsets: flambeau.Size
    sizes: flambeau.Size


@dataclass
class TensorStorageMetadata:
    """A tensor in a checkpoint.

    Args:
        properties: what is the same in all of it.
        size: its shape.
        chunks: the boxes in which it is kept.

    Example:
        >>> from flambeau.distributed.checkpoint import TensorStorageMetadata
        >>> from flambeau.distributed.checkpoint.metadata import TensorProperties
        >>> TensorStorageMetadata(TensorProperties(), flambeau.Size([2]), []).size
        flambeau.Size([2])
    """

    properties: TensorProperties
    size: flambeau.Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something else in a checkpoint.

    Example:
        >>> from flambeau.distributed.checkpoint import BytesStorageMetadata
        >>> BytesStorageMetadata()
        BytesStorageMetadata()
    """


@dataclass
class StorageMeta:
    """Which checkpoint it is.

    Args:
        checkpoint_id: the folder.
        save_id, load_id, modules: what a storage notes of a call.

    Example:
        >>> from flambeau.distributed.checkpoint.metadata import StorageMeta
        >>> StorageMeta("folder").checkpoint_id
        'folder'
    """

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """Everything in a checkpoint.

    Args:
        state_dict_metadata: by names, "model.0.weight".
        planner_data: what planners add; of the usual one the keys that names stand for,
            ("model", "0.weight").
        storage_data: where each part is, as storages note it.
        storage_meta: which checkpoint it is.
        version: None.

    Example:
        >>> from flambeau.distributed.checkpoint import Metadata
        >>> list(Metadata({}).state_dict_metadata)
        []
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """A value of the state, or a chunk of a tensor.

    Args:
        fqn: the name.
        offset: where the chunk begins; None: the value is not divided.
        index: which chunk of those in a list, to find it faster; does not count for equality.

    Example:
        >>> from flambeau.distributed.checkpoint.metadata import MetadataIndex
        >>> MetadataIndex("x", [0, 2]) == MetadataIndex("x", flambeau.Size([0, 2]), 3)
        True
    """

    fqn: str
    offset: flambeau.Size | None = None
    index: int | None = field(default=None, hash=False, compare=False)

    def __init__(
        self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
    ) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "offset", None if offset is None else flambeau.Size(offset))
