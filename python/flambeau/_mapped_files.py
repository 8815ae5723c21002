"""Tensors whose elements are a file's."""

from __future__ import annotations

import os
from typing import Any

import flambeau
from flambeau import Tensor, _storage_methods


def from_file(
    filename: str | os.PathLike[str],
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: flambeau.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of the first elements of a file, read when they are touched.

    Args:
        filename: the file, elements one after the other without a header.
        shared: whether writes go to the file, which is made, or made longer, where need be;
            otherwise the file stays as it is.
        size: how many elements.
        dtype: of the elements; None: the default dtype.
        layout: accepted; the elements are strided.
        device: the CPU, or None.
        pin_memory: refused: a file's pages cannot be pinned.

    Returns:
        A tensor of shape [size].

    Raises:
        OSError: the file cannot be opened.
        RuntimeError: it is shorter and not shared, another device is asked for, or pinned memory.
        ValueError: size is negative.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(bytes([1, 2, 3]))
        ...     file.flush()
        ...     flambeau.from_file(file.name, size=3, dtype=flambeau.uint8)
        tensor([1, 2, 3], dtype=flambeau.uint8)
    """
    if device is not None and flambeau.device(device).type != "cpu":
        raise RuntimeError(f"from_file(): a file is mapped to the CPU, not to {device}")
    if pin_memory:
        raise RuntimeError("from_file(): a file's pages cannot be pinned")
    if size < 0:
        raise ValueError(f"from_file(): size must not be negative, got {size}")
    kind = flambeau.get_default_dtype() if dtype is None else dtype
    storage = _storage_methods.from_file(filename, bool(shared), size * kind.itemsize)
    return storage._view(kind, 0, [size], [1])
