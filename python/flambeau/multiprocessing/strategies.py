"""How memory is named to other processes."""

from __future__ import annotations

from flambeau._values import brief

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes.

    Example:
        >>> sorted(flambeau.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The name that was set; "file_descriptor" from the start.

    Example:
        >>> flambeau.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Takes a strategy's name, for programs that set one.

    Memory is passed by descriptor under both names. What "file_system" is for, many tensors with
    few descriptors, holds anyway: small ones share a descriptor. And a file with a name would
    outlive processes that are killed.

    Args:
        new_strategy: one of `get_all_sharing_strategies`.

    Raises:
        ValueError: if the name is none of `get_all_sharing_strategies`.

    Example:
        >>> flambeau.multiprocessing.set_sharing_strategy("file_system")
        >>> flambeau.multiprocessing.get_sharing_strategy()
        'file_system'
        >>> flambeau.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise ValueError(
            f"set_sharing_strategy: expected one of {sorted(_STRATEGIES)}, "
            f"got {brief(new_strategy)}"
        )
    _strategy = new_strategy
