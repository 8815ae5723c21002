"""Classes that transformers imports."""

from __future__ import annotations

from flambeau._absent_classes import Absent

_WHY = "models are whole in each process; flambeau.save in one of them writes all of it"

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class HuggingFaceStorageReader(Absent):
    """NotImplementedError for who makes one.

    Example:
        >>> from flambeau.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
        >>> HuggingFaceStorageReader("folder")
        Traceback (most recent call last):
            ...
        NotImplementedError: HuggingFaceStorageReader is not available: models are whole in each ...
    """

    why = _WHY


class HuggingFaceStorageWriter(Absent):
    """NotImplementedError for who makes one.

    Example:
        >>> from flambeau.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
        >>> HuggingFaceStorageWriter("folder")
        Traceback (most recent call last):
            ...
        NotImplementedError: HuggingFaceStorageWriter is not available: models are whole in each ...
    """

    why = _WHY
