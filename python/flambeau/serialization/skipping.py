"""Files whose tensors have no content yet, and tensors of files whose content is not read."""

from __future__ import annotations

import mmap
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any

import flambeau

_active: ContextVar[bool] = ContextVar("flambeau_skip_data", default=False)


class skip_data(ContextDecorator):
    """In this context `save` writes zeros in the place of what tensors hold, and `load` gives
    tensors of zeros without reading what they hold.

    The files have room for the content, which another program may write there.

    Args:
        materialize_fake_tensors: False: there are none.

    Raises:
        NotImplementedError: for True.

    Example:
        >>> import io
        >>> from flambeau.serialization import skip_data
        >>> file = io.BytesIO()
        >>> with skip_data():
        ...     flambeau.save(flambeau.ones(3), file)
        >>> _ = file.seek(0)
        >>> flambeau.load(file)
        tensor([0., 0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        if materialize_fake_tensors:
            raise NotImplementedError(
                "skip_data(): materialize_fake_tensors must be False: there are no fake tensors, "
                "and those of the device meta have no content to write"
            )
        self._tokens: list[Any] = []

    def __enter__(self) -> None:
        self._tokens.append(_active.set(True))

    def __exit__(self, *details: object) -> None:
        _active.reset(self._tokens.pop())


def active() -> bool:
    """Whether contents are skipped here."""
    return _active.get()


def zeros(nbytes: int) -> Any:
    """Zeros that take no memory while they are read."""
    return memoryview(mmap.mmap(-1, nbytes)) if nbytes else memoryview(b"")


def nothing(nbytes: int) -> Any:
    """A storage of zeros."""
    return flambeau.zeros(nbytes, dtype=flambeau.uint8).untyped_storage()
