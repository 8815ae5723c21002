"""Whether sparse tensors are asked for their order when they are made."""

from __future__ import annotations

from typing import Any

_checks = False


class check_sparse_tensor_invariants:
    """Whether what makes sparse tensors checks that places are in order, too, unless its argument
    `check_invariants` says. That places are inside of the size is checked in any case.

    A context, and a decorator of functions; `enable()` and `disable()` say it for all that follows.

    Args:
        enable: whether it does.

    Example:
        >>> from flambeau.sparse import check_sparse_tensor_invariants
        >>> check_sparse_tensor_invariants.is_enabled()
        False
        >>> with check_sparse_tensor_invariants():
        ...     flambeau.sparse_csr_tensor([0, 2], [1, 0], [1., 2.])
        Traceback (most recent call last):
            ...
        RuntimeError: sparse_csr_tensor(): col_indices must ascend in each row or column
    """

    def __init__(self, enable: bool = True) -> None:
        self._state, self._before = enable, False

    @staticmethod
    def is_enabled() -> bool:
        """Whether the order is checked."""
        return _checks

    @staticmethod
    def enable() -> None:
        """The order is checked from now on."""
        _set(True)

    @staticmethod
    def disable() -> None:
        """The order is not checked any more."""
        _set(False)

    def __enter__(self) -> None:
        self._before = _checks
        _set(self._state)

    def __exit__(self, *problem: object) -> None:
        _set(self._before)

    def __call__(self, function: Any) -> Any:
        """A function in whose calls it holds."""

        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._state):
                return function(*args, **kwargs)

        return call


def _set(checks: bool) -> None:
    global _checks
    _checks = checks


def checks(given: bool | None) -> bool:
    """What an argument `check_invariants` means."""
    return _checks if given is None else given
