"""A sample of PyTorch's databases, for both libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import torch
from db_carry import Carrier, Unportable
from db_compare import shown
from db_public import NoSuch

MOST = 2000  # samples that are looked at, of which some are taken


class Sample:
    """Arguments of a call. What Flambeau lacks for them is said when they are used."""

    def __init__(self, first: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> None:
        self.theirs = (first, *args)
        self.keywords = kwargs
        self.process: Callable[[Any], Any] | None = None
        self.carry = Carrier()
        self._error: Exception | None = None
        try:
            self._mine = self.carry(self.theirs)
            self._own_keywords = self.carry(kwargs)
        except (NoSuch, Unportable) as error:
            self._error = error

    @property
    def mine(self) -> tuple[Any, ...]:
        """Flambeau's arguments."""
        if self._error is not None:
            raise self._error
        return self._mine

    @property
    def own_keywords(self) -> dict[str, Any]:
        if self._error is not None:
            raise self._error
        return self._own_keywords

    def call_theirs(self, function: Callable[..., Any], **more: Any) -> Any:
        return function(*self.theirs, **self.keywords, **more)

    def call_mine(self, function: Callable[..., Any], **more: Any) -> Any:
        return function(*self.mine, **self.own_keywords, **more)

    def text(self, name: str, *more: str) -> str:
        """The call in one line."""
        said = [shown(value) for value in self.theirs]
        said += [f"{key}={shown(value)}" for key, value in self.keywords.items()]
        return f"{name}({', '.join([*said, *more])})"


def sample_of(found: Any) -> Sample:
    """From PyTorch's own object of a sample. `process` makes of the result what can be derived: of
    vectors with any sign, their absolute values.
    """
    sample = Sample(found.input, found.args, found.kwargs)
    sample.process = found.output_process_fn_grad
    return sample


def some(found: Iterable[Any], count: int) -> list[Any]:
    """At most so many, spread over all."""
    listed = list(islice(found, MOST))
    if len(listed) <= count:
        return listed
    return [listed[i * len(listed) // count] for i in range(count)]


def is_tensor(value: Any) -> bool:
    """Whether it has methods."""
    return isinstance(value, torch.Tensor)
