"""What a checkpoint's folder says of its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flambeau

__all__ = ["BytesStorageMetadata", "Metadata", "TensorStorageMetadata"]


@dataclass(frozen=True)
class TensorStorageMetadata:
    """A tensor in a file.

    Args:
        size, dtype: its own.
        file: the file's name.

    Example:
        >>> from flambeau.distributed.checkpoint import TensorStorageMetadata
        >>> TensorStorageMetadata(flambeau.Size([2]), flambeau.float32, "a").size
        flambeau.Size([2])
    """

    size: flambeau.Size
    dtype: flambeau.dtype
    file: str


@dataclass(frozen=True)
class BytesStorageMetadata:
    """Something else in a file.

    Args:
        file: the file's name.

    Example:
        >>> from flambeau.distributed.checkpoint import BytesStorageMetadata
        >>> BytesStorageMetadata("a").file
        'a'
    """

    file: str


@dataclass(frozen=True)
class Metadata:
    """Everything in a checkpoint.

    Args:
        state_dict_metadata: by names, "model.0.weight".
        planner_data: the keys that names stand for, ("model", "0.weight").

    Example:
        >>> from flambeau.distributed.checkpoint import Metadata
        >>> list(Metadata({}, {}).state_dict_metadata)
        []
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: dict[str, tuple[Any, ...]]
