"""Progress bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tqdm import tqdm

import flambeau
from flambeau import Tensor


class Progress:
    """A bar over steps, with the mean of what was reported lately beside it."""

    def __init__(self, steps: int, name: str) -> None:
        self._bar: Any = tqdm(range(steps), desc=name, unit="step", dynamic_ncols=True)
        self._means: dict[str, float] = {}

    def __iter__(self) -> Iterator[int]:
        yield from self._bar

    def report(self, **values: float) -> None:
        """Shows values, each averaged over about twenty steps."""
        for name, value in values.items():
            self._means[name] = value + 0.95 * (self._means.get(name, value) - value)
        self._bar.set_postfix({name: f"{mean:.4g}" for name, mean in self._means.items()})

    def close(self) -> None:
        """Ends the line of the bar, where its steps are not all taken by one loop."""
        self._bar.close()


def batches(size: int, *tensors: Tensor) -> Iterator[Sequence[Tensor]]:
    """The rows of tensors in random order, for ever, `size` at a time."""
    while True:
        for chosen in flambeau.randperm(len(tensors[0])).split(size):
            if len(chosen) == size:
                yield [tensor[chosen] for tensor in tensors]
