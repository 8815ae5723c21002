"""What type checkers see of calls of modules: those of `forward`, arguments and result alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Computes(Protocol[P, R_co]):
    """What has a `forward`."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class ForwardCall:
    """As the attribute `__call__` of a class: the instance is called as its `forward` is."""

    def __get__(self, instance: Computes[P, R_co], owner: object) -> Callable[P, R_co]:
        raise NotImplementedError("for type checkers only")
