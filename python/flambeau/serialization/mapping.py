"""Whether files that `load(mmap=True)` maps are written to."""

from __future__ import annotations

from mmap import MAP_PRIVATE, MAP_SHARED

_options = MAP_PRIVATE


def get_default_mmap_options() -> int:
    """How `load(mmap=True)` maps files: mmap.MAP_PRIVATE or mmap.MAP_SHARED.

    Example:
        >>> import mmap
        >>> flambeau.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
        True
    """
    return _options


def is_shared() -> bool:
    """Whether what is written to mapped files reaches them."""
    return _options == MAP_SHARED


class set_default_mmap_options:
    """From now on, or inside `with`, `load(mmap=True)` maps files in that way.

    Args:
        flags: mmap.MAP_PRIVATE: what is written to loaded tensors stays in this process;
            mmap.MAP_SHARED: it goes to the file, whose checksums are then no longer right, so
            that `load` takes it only with mmap=True.

    Raises:
        ValueError: other flags.

    Example:
        >>> import mmap, tempfile
        >>> from flambeau.serialization import set_default_mmap_options
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     flambeau.save(flambeau.zeros(2), file.name)
        ...     with set_default_mmap_options(mmap.MAP_SHARED):
        ...         _ = flambeau.load(file.name, mmap=True).fill_(5)
        ...     flambeau.load(file.name, mmap=True)
        tensor([5., 5.])
    """

    def __init__(self, flags: int) -> None:
        global _options
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "set_default_mmap_options(): expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, got "
                f"{flags!r}"
            )
        self._before = _options
        _options = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        global _options
        _options = self._before
