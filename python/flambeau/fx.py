"""Graphs of modules: Flambeau makes none. Marks for a tracer leave what they mark as it is."""

from __future__ import annotations

from typing import Any

from flambeau import _lazy

__path__: list[str] = []  # of parts that are not there: _absent_modules
__all__ = ["GraphModule", "Proxy", "wrap"]


class Proxy:
    """What a tracer passes through a program in place of tensors: nothing is one.

    Example:
        >>> isinstance(flambeau.ones(2), flambeau.fx.Proxy)  # what programs ask
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("fx.Proxy: Flambeau does not trace programs")


class GraphModule:
    """A module made of a graph: nothing is one.

    Example:
        >>> flambeau.fx.GraphModule(flambeau.nn.Linear(2, 2), None)
        Traceback (most recent call last):
            ...
        TypeError: fx.GraphModule: Flambeau does not trace programs
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("fx.GraphModule: Flambeau does not trace programs")


def wrap(fn_or_name: Any) -> Any:
    """What it is given: a function, or the name of one, that a tracer would not look into.

    Args:
        fn_or_name: a function, or a name.

    Example:
        >>> flambeau.fx.wrap(len) is len
        True
    """
    return fn_or_name


__getattr__ = _lazy.unavailable(__name__, "Flambeau does not trace programs")
