"""Calls of batches that come again: what a rule does with the slices is written down, and done.

Rules read shapes and dtypes, never elements. What one calls for tensors of some shapes it calls for
all such tensors, so that a loop over batches asks formulas of declarations nothing after its second
turn. A plan is a function of Python, one line for each call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor, nn
from flambeau._C import _overrides
from flambeau._torch_dispatch import modes_off
from flambeau._torch_function import DisableTorchFunction
from flambeau.func._batch_members import REFLECTED, TOLD_BY_KIND
from flambeau.func._batch_precision import Precision, for_shells, precision_of, switch
from flambeau.func._batch_rules import draws
from flambeau.func._batch_shells import shell
from flambeau.func._batched import Batched, Level, kind_of
from flambeau.func._batching_table import bound, key_of
from flambeau.overrides import TorchFunctionMode

Plan = Callable[[Any, list[Tensor], list[Any]], Any]
Compute = Callable[[], Any]

_MOST = 4096  # plans that are kept
_ONCE, _NEVER = object(), object()  # what is kept of calls that have no plan: yet, or at all
_plans: dict[Any, Any] = {}


def planned(level: Level, func: Any, args: Any, kwargs: Any, compute: Compute) -> Any:
    """What a call gives: by the plan of such calls, otherwise by `compute`.

    From the second call on it is written down what `compute` does, which must not depend on
    anything but the arguments.
    """
    call = _Signature(level)
    call.add(args)
    call.add(kwargs)
    if not call.is_plain:
        return compute()
    precision = precision_of(call.devices)
    key = (func, level.size, _overrides.default_dtype(), precision, *call.parts)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= _MOST:
            _plans.clear()
        _plans[key] = _ONCE
        return compute()
    if plan is _NEVER:
        return compute()
    if plan is _ONCE:
        recorder = _Recorder(level, call)
        with recorder:
            result = compute()
        _plans[key] = recorder.plan(result) or _NEVER
        return result
    return plan(level.wrap, call.tensors, call.given)


class _Signature:
    """What rules can know of the arguments of a call, and the tensors in them."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.parts: list[Any] = []
        self.tensors: list[Tensor] = []  # those of batches: all slices
        self.given: list[Any] = []  # the same as they were passed
        self._places: dict[int, int] = {}
        self.devices: set[str] = set()
        self.is_plain = True  # whether there is nothing else

    def add(self, value: Any) -> None:
        kind = type(value)
        if kind in _TENSORS:
            is_batch = kind is Batched and value.batch_level is self.level
            self._add_tensor(value.batch_value if is_batch else value, is_batch)
            self.given.append(value)
        elif kind in _CONSTANTS:
            self.parts.append(kind)
            self.parts.append(value)
        elif kind is float:  # also of zeros the sign counts
            self.parts.append(value.hex())
        elif kind in (tuple, list):
            self.parts.append((kind, len(value)))
            for item in value:
                self.add(item)
        elif kind is dict:
            self.parts.append((kind, *value))
            for item in value.values():
                self.add(item)
        else:
            self.is_plain = False

    def _add_tensor(self, tensor: Tensor, is_batch: bool) -> None:
        # Which of them are the same tensor: a plan knows tensors by who they are.
        place = self._places.setdefault(id(tensor), len(self.tensors))
        (sizes, strides, dtype, device), dims = kind_of(tensor)
        self.parts += (is_batch, sizes[dims:], strides[dims:], dtype, device, place)
        self.devices.add(device.type)
        self.tensors.append(tensor)


_TENSORS = frozenset((Tensor, Batched, nn.Parameter))
_CONSTANTS = frozenset(
    {int, bool, str, type(None), type(...), flambeau.dtype, flambeau.device}
    | {flambeau.memory_format, flambeau.layout, flambeau.Size}
)


class _Unknown(Exception):
    """Something that no plan can name."""


class _Recorder(TorchFunctionMode):
    """Writes down which functions are called of tensors that are no batches of a level."""

    def __init__(self, level: Level, call: _Signature) -> None:
        self._level = level
        self._names = {id(x): f"x[{n}]" for n, x in reversed([*enumerate(call.tensors)])}
        self._given = {id(x): f"given[{n}]" for n, x in enumerate(call.given)}
        self._kept: list[Any] = [call, *call.tensors]  # so that nobody else gets their ids
        self._lines: list[str] = []
        self._last_uses: dict[str, int] = {}  # of what lines made: the last line that reads it
        self._constants: dict[str, Any] = {}
        self._devices = call.devices
        self._precision = precision_of(call.devices)
        self._precision_inside: Precision | None = None  # of all lines
        self._is_possible = True

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if self._level.is_among(args, kwargs):
            with self:
                return self._level.interpret(func, args, kwargs)
        result = func(*args, **kwargs)
        told = isinstance(result, flambeau.dtype) or key_of(func) in TOLD_BY_KIND
        if self._is_possible and not told:
            try:
                self._write_down(func, args, kwargs, result)
            except _Unknown:
                self._is_possible = False
        return result

    def _write_down(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """One line, which names what the function gives."""
        is_pure = key_of(func) in REFLECTED or self._is_pure(func, args, kwargs)
        precision = precision_of(self._devices)
        if self._precision_inside is None:
            self._precision_inside = precision
        if not is_pure or precision != self._precision_inside:
            raise _Unknown
        with for_shells(precision):
            follows = _follows_from_kinds(func, args, kwargs, result)
        if not follows:
            raise _Unknown
        each = [self._text(a) for a in args]
        each += [f"{name}={self._text(value)}" for name, value in kwargs.items()]
        target = self._made(result)
        self._lines.append(f"{target} = {self._constant(func)}({', '.join(each)})")

    def _is_pure(self, func: Any, args: Any, kwargs: Any) -> bool:
        """Whether a declared function neither writes into its arguments nor draws numbers."""
        found = bound(func, args, kwargs)
        if found is None:
            return False
        overload, _, given = found
        if overload is None or overload.writes or overload.entry.get("written"):
            return False
        if given.get("inplace") or given.get("out") is not None:
            return False
        return not draws(self._level, overload, given)

    def _made(self, result: Any) -> str:
        """The names of tensors that a function gives."""
        if isinstance(result, tuple | list):
            return f"[{', '.join(self._made(item) for item in result)}]"
        self._kept.append(result)
        name = f"t{len(self._kept)}"
        self._last_uses[name] = len(self._lines)
        self._names.setdefault(id(result), name)
        return name

    def _text(self, value: Any) -> str:
        """What stands for an argument."""
        if isinstance(value, Tensor):
            name = self._names.get(id(value))
            if name is None:
                raise _Unknown
            if name in self._last_uses:
                self._last_uses[name] = len(self._lines)
            return name
        if type(value) in (tuple, list):
            items = ", ".join(self._text(item) for item in value)
            return f"[{items}]" if type(value) is list else f"({items},)" if value else "()"
        if type(value) in _CONSTANTS or type(value) is float:
            return self._constant(value)
        raise _Unknown

    def _constant(self, value: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants[name] = value
        return name

    def _result(self, value: Any) -> str:
        """What the call gives in the end."""
        if id(value) in self._given:
            return self._given[id(value)]
        if isinstance(value, Batched) and value.batch_level is self._level:
            return f"wrap({self._text(value.batch_value)})"
        if isinstance(value, tuple | list):
            items = ", ".join(self._result(item) for item in value)
            return f"{self._constant(type(value))}([{items}])"
        return self._text(value)

    def plan(self, result: Any) -> Plan | None:
        """The function that was written down; None where calls may do something else next time."""
        try:
            end = f"return {self._result(result)}"
        except _Unknown:
            return None
        if not self._is_possible:
            return None
        lines = [*self._lines, end]
        for name, place in self._last_uses.items():
            if place < len(self._lines):  # memory is not held for longer than by a formula
                lines[place] += f"; del {name}"
        source = "\n    ".join(["def plan(wrap, x, given):", *lines])
        exec(source, self._constants)
        plan: Plan = self._constants["plan"]
        if self._precision_inside in (None, self._precision):
            return plan
        return _without_autocast(plan, [device for device, _ in self._precision])


def _without_autocast(plan: Plan, devices: list[str]) -> Plan:
    """The plan of an operator that converted its arguments itself."""

    def run(wrap: Any, x: list[Tensor], given: list[Any]) -> Any:
        switch(devices, False)
        try:
            return plan(wrap, x, given)
        finally:
            switch(devices, True)

    return run


def _follows_from_kinds(func: Any, args: Any, kwargs: Any, result: Any) -> bool:
    """Whether a function gives tensors of the same kinds for arguments that have no elements."""
    with DisableTorchFunction(), modes_off():
        named = {name: shell(value) for name, value in kwargs.items()}
        try:
            found = func(*map(shell, args), **named)
        except Exception:  # of whatever kind: it reads elements, or it might
            return False
    kinds = _kinds(result)
    return kinds is not None and kinds == _kinds(found)


def _kinds(result: Any) -> Any:
    """Shapes and dtypes of tensors; None where there is something else."""
    if isinstance(result, tuple | list):
        each = [_kinds(item) for item in result]
        return None if None in each else each
    return (result.shape, result.dtype) if isinstance(result, Tensor) else None
