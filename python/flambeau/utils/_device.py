"""The device on which tensors are made, as a block: what `with flambeau.device(...)` does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

import flambeau


class DeviceContext(AbstractContextManager[None]):
    """A block in which tensors are made on a device, where nothing else is said.

    Args:
        device: it, or its name.

    Example:
        >>> from flambeau.utils._device import DeviceContext
        >>> with DeviceContext("meta"):
        ...     flambeau.ones(2).device
        device(type='meta')
    """

    def __init__(self, device: flambeau.device | str) -> None:
        self.device = flambeau.device(device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.device.__exit__(*error)


def set_device(device: flambeau.device | str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function run in such a block.

    Args:
        device: it, or its name.

    Example:
        >>> from flambeau.utils._device import set_device
        >>> set_device("meta")(flambeau.ones)(2).device
        device(type='meta')
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with DeviceContext(device):
                return function(*args, **kwargs)

        return run

    return decorated
