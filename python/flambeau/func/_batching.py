"""What functions do with batches: from a call to the rule that computes it."""

from __future__ import annotations

import functools
from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau._C import _taken
from flambeau._torch_function import DisableTorchFunction
from flambeau.func import _batch_rules as rules
from flambeau.func._batch_members import MEMBERS
from flambeau.func._batch_plans import planned
from flambeau.func._batch_precision import in_dtype_of_policy
from flambeau.func._batch_shells import ask_of_slice
from flambeau.func._batched import Batched, Level, batched_copy, batches, engine
from flambeau.func._batching_table import Overload, bound, called_as, key_of, overloads_of


def interpret(level: Level, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives for all slices of a level."""
    key = key_of(func)
    if not level.is_among(args, kwargs):
        if not _may_draw(func, len(_C._packages)):
            return func(*args, **kwargs)
        return _by_entry(level, func, key, args, kwargs, False)
    member = MEMBERS.get(key)
    if member is not None:
        return member(level, func, args, kwargs)
    if level.bodies:
        return _by_entry(level, func, key, args, kwargs, True)
    compute = functools.partial(_by_entry, level, func, key, args, kwargs, True)
    return planned(level, func, args, kwargs, compute)


@functools.cache
def _may_draw(func: Any, packages: int) -> bool:
    """Whether a function draws random numbers, as its entry says, or that of one of `packages`."""
    return any(o.entry.get("random") for o in overloads_of(func) or ())


def _by_entry(level: Level, func: Any, key: str, args: Any, kwargs: Any, has_batch: bool) -> Any:
    """By the rule of the overload that takes these arguments."""
    found = bound(func, args, kwargs)
    if found is None:
        raise RuntimeError(f"vmap(): {key} cannot be computed for a batch")
    overload, place, given = found
    if overload is None:  # of nobody's declarations
        return rules.loop(level, func, key, args, kwargs)
    if has_batch and not level.bodies:
        ask_of_slice(func, (key, place), overload, given, args, kwargs)
    return _Call(level, func, key, overload, given, args, kwargs).run(has_batch)


class _Call:
    """A call of an operator, some of whose arguments are batches."""

    def __init__(
        self,
        level: Level,
        func: Any,
        key: str,
        overload: Overload,
        given: dict[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.level = level
        self.func = func
        self.key = key
        self.overload = overload
        self.given = given
        self.args = args
        self.kwargs = kwargs
        self.is_inplace = overload.writes or bool(given.get("inplace"))

    def run(self, has_batch: bool) -> Any:
        if self.given.get("out") is not None:
            raise RuntimeError(f"vmap(): {self.key}: out= is not supported; use the result")
        if self.overload.entry.get("random"):
            if self.overload.entry["rule"] == "body":  # its operators draw
                return self._computed(has_batch)
            if rules.draws(self.level, self.overload, self.given):
                return self._drawn(has_batch)
        if not has_batch:
            return self.func(*self.args, **self.kwargs)
        return self._computed(True)

    def _computed(self, has_batch: bool) -> Any:
        written = self._written() if has_batch else None
        if written is not None and not self.level.has(written):
            if not self.level.bodies:
                raise RuntimeError(
                    f"vmap(): {self.key} would write a batch into a tensor that has none: it is "
                    "the same for all slices; use the form that is not in place"
                )
            written = self._as_own(written)
        result = self._by_rule()
        if not self.level.bodies and has_batch:
            result = self._batched(result)
        if written is None:
            return result
        if self.is_inplace and result is not written:
            _write(self.level, written, result, self.key)
        return written

    def _as_own(self, tensor: Tensor) -> Tensor:
        """What a body made for itself, as a batch that can be written into."""
        own = self.level.wrap(self.level.unwrap(tensor).clone())
        first = next(name for name, value in self.given.items() if value is tensor)
        self.given[first] = own
        self._rebind()
        return own

    def _written(self) -> Tensor | None:
        names = self.overload.entry.get("written") or (
            [next(iter(self.given))] if self.is_inplace else []
        )
        return self.given[names[0]] if names else None

    def _by_rule(self) -> Any:
        given = {n: v for n, v in self.given.items() if n not in ("inplace", "out")}
        with in_dtype_of_policy(self.overload, given) as given:
            return self._of(given)

    def _of(self, given: dict[str, Any]) -> Any:
        by_position = not self.kwargs and len(given) == len(self.args)
        rule, text, moved = rules.case_of(self.level, self.overload, given)
        if rule == "body":
            return rules.body(self.level, self.overload, self.key, given)
        if rule == "loop":
            return rules.loop(self.level, self.func, self.key, self.args, self.kwargs)
        if text is not None:
            return rules.formula(self.level, self.overload, moved, text)
        if rule == "broadcast" and self.is_inplace:
            return self._inplace_broadcast(self.func, given, by_position)
        if rule == "broadcast":
            return rules.broadcast(self.level, self.func, self.overload, given, by_position)
        compute = rules.leading if rule == "leading" else rules.joined
        result = compute(self.level, self.func, self.overload, given, moved, by_position)
        return self._as_written() if self.is_inplace else result

    def _as_written(self) -> Tensor:
        """What was written in the memory of all slices; a view of itself has another shape now."""
        written: Tensor = next(iter(self.given.values()))
        value = self.level.unwrap(written)
        with DisableTorchFunction():
            if written.shape != value.shape[1:] or written.stride() != value.stride()[1:]:
                self.func(*self.args, **self.kwargs)
        return written

    def _inplace_broadcast(self, func: Any, given: dict[str, Any], by_position: bool) -> Any:
        if self.given.get("inplace"):
            given = {**given, "inplace": True}
        rules.broadcast(self.level, func, self.overload, given, by_position)
        return next(iter(self.given.values()))

    def _batched(self, result: Any) -> Any:
        """New tensors are batches: they may be written into."""
        if isinstance(result, Tensor) and not self.level.has(result):
            return self.level.wrap(self.level.unwrap(result).clone())
        if isinstance(result, tuple | list):
            return type(result)(self._batched(item) for item in result)
        return result

    # --- random numbers ---

    def _drawn(self, has_batch: bool) -> Any:
        level = self.level
        if level.randomness == "error":
            called = [*level.bodies, self.key][0]
            raise RuntimeError(
                f"vmap(): {called} draws random numbers; say by randomness='different' or 'same' "
                "which ones slices get"
            )
        if level.randomness == "same":
            if not has_batch:
                return self.func(*self.args, **self.kwargs)
            return self._drawn_alike()
        if not has_batch and not level.bodies and self._written() is not None:
            raise RuntimeError(
                f"vmap(): {self.key} would write different numbers into a tensor that is the same "
                "for all slices"
            )
        rule = self.overload.entry["rule"]
        tensors = [name for name, value in self.given.items() if isinstance(value, Tensor)]
        if not has_batch and tensors and rule != "body":
            first = tensors[0]
            own = level.wrap(level.unwrap(self.given[first]).clone())
            self.given[first] = own
            self._rebind()
        if rule == "loop" and self._written() is None:
            return rules.loop(level, self.func, self.key, self.args, self.kwargs, warn=False)
        if rule == "loop":
            return self._written_into()
        return self._computed(True)

    def _written_into(self) -> Any:
        """Fills the memory of all slices at once."""
        written = self._written()
        assert written is not None
        name = next(iter(self.given))
        rules.call(self.func, {**self.given, name: self.level.unwrap(written)}, False)
        return written

    def _rebind(self) -> None:
        """The call is that of the bound arguments."""
        receiver, *_ = self.given
        self.args = (self.given[receiver],)
        self.kwargs = {n: v for n, v in self.given.items() if n != receiver}

    def _drawn_alike(self) -> Any:
        """Each slice begins with the same state of the generator."""
        generator = self.given.get("generator") or flambeau.default_generator
        state = generator.get_state()

        def again(*args: Any, **kwargs: Any) -> Any:
            generator.set_state(state)
            return self.func(*args, **kwargs)

        result = rules.loop(self.level, again, self.key, self.args, self.kwargs, warn=False)
        return self._written() if self._written() is not None else result


def _write(level: Level, target: Tensor, result: Any, key: str) -> None:
    value, made = level.unwrap(target), level.unwrap(result)
    if not flambeau.can_cast(made.dtype, value.dtype):
        raise RuntimeError(
            f"{key}: the result of {made.dtype} cannot be written into {value.dtype}"
        )
    if not _fits(made.shape, value.shape):
        raise RuntimeError(f"vmap(): {key} changes the shape; use the form that is not in place")
    if made.shape != value.shape:
        made = made.expand(value.shape)
    value.copy_(made)


def _fits(made: Any, target: Any) -> bool:
    """Whether a result can be written into a tensor of a shape."""
    pairs = zip(reversed(made), reversed(target), strict=False)
    return len(made) <= len(target) and all(a in (1, b) for a, b in pairs)


def computed(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What an operator gives that C++ calls, in derivatives above all: its results in order.

    Args:
        name: of the function in C++.
        values: all arguments.
    """
    called = called_as(name)
    if called is None:
        raise NotImplementedError(
            f"vmap(): {name}, an operator of another package, has no rule for batches of "
            "gradients; compute them one by one"
        )
    args, kwargs = called.call(values)
    given = {**dict(zip(called.arguments, args, strict=False)), **kwargs}
    if not batches(values):
        return (_made_beside(called.function, args, kwargs),)
    level = max((b.batch_level for b in batches(values)), key=lambda level: level.depth)
    if not level.is_active:
        raise level.has_ended()
    call = _Call(level, called.function, called.key, called.overload, given, args, kwargs)
    compute = functools.partial(call.run, True)
    result = planned(level, (name, called.function), args, kwargs, compute)
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def _made_beside(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """What C++ makes on the device of a batch, which seems to have no elements: a new tensor is a
    batch, too, for batches may be written into it.
    """
    running = engine()

    def placed(value: Any) -> Any:
        is_meta = isinstance(value, flambeau.device) and value.type == "meta"
        return running.device if is_meta else value

    _taken.take_batches(False)
    try:
        args = tuple(placed(a) for a in args)
        made: Tensor = func(*args, **{n: placed(v) for n, v in kwargs.items()})
        is_new = not any(isinstance(a, Tensor) for a in (*args, *kwargs.values()))
        return batched_copy(made, running.levels) if is_new else made
    finally:
        _taken.take_batches(True)


_taken.set_batches(Batched, computed)


def level_of(size: int, randomness: str) -> Level:
    """A level of `vmap`."""
    return Level(size, randomness, interpret)


__all__ = ["Batched", "interpret", "level_of"]
