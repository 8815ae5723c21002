"""Objects with a state of their own: `Stateful`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """What has `state_dict` and `load_state_dict`: `save` and `load` call them.

    Example:
        >>> from flambeau.distributed.checkpoint.stateful import Stateful
        >>> isinstance(flambeau.nn.Linear(1, 1), Stateful), isinstance({}, Stateful)
        (True, False)
    """

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Takes a state over."""
        ...
