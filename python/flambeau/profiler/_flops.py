"""Floating-point operations of calls, which what is recorded of them does not tell: a mode counts
them, and writes them down as ranges among the events."""

from __future__ import annotations

from typing import Any

from flambeau._C import _profiler
from flambeau.profiler._events import COMPUTING, COUNTED
from flambeau.utils._python_dispatch import TorchDispatchMode
from flambeau.utils.flop_counter import flops_of


class CountFlops(TorchDispatchMode):
    """Counts calls while a profile records."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        computing = _profiler.begin(COMPUTING)
        try:
            result = func(*args, **kwargs)
            if computing is not None:
                count = flops_of(func, args, kwargs, result)
                if count:
                    _profiler.end(_profiler.begin(f"{COUNTED}{count}"))
        finally:
            _profiler.end(computing)
        return result
