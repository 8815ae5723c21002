"""Contexts that see every operator: `TorchDispatchMode`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from flambeau import _torch_dispatch
from flambeau._C import _taken
from flambeau._modes import Mode, Stack, unchanged

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode"]


class TorchDispatchMode(Mode):
    """A context whose `__torch_dispatch__` is asked what an operator computes, below autograd.

    Subclasses define `__torch_dispatch__(self, func, types, args=(), kwargs=None)`, which returns
    the operator's results. While it runs the mode is off, and those around it are on.

    What it sees are the operators that compute: those that others are composed of, also in
    backward, where nothing else is recorded. `func` is an operator, such as
    `flambeau.ops.aten.add.Tensor`, and gets all arguments, also those that were left out. Where an
    operator is recorded, the mode's result takes the place of its result in the graph, and its
    gradient stays that of the operator.

    Not seen are operators whose results are no tensors (`item`, `equal`), copies and fills that the
    engine of autograd makes, and writes through `x[key] = value`. An operator that keeps results
    for backward which users do not get (`batch_norm`) is seen above autograd: its arguments may
    require grad.
    """

    _modes: ClassVar[Stack] = _torch_dispatch

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_dispatch__")


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    __torch_dispatch__ = unchanged


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode that is on."""
    modes = _taken.modes()
    return modes[-1] if modes else None


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """A context in which no mode is on; gives those that were."""
    before = list(_taken.modes())
    for _ in before:
        _taken.pop_mode()
    try:
        yield before
    finally:
        for mode in before:
            _taken.push_mode(mode)
