"""What was measured, epoch by epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping


class History:
    """A row of numbers per epoch: "epoch", "learning_rate", "loss", metrics by name, and the same
    with "validation_" in front.

    Args:
        rows: to begin with.

    Example:
        >>> history = History([{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}])
        >>> history["loss"]
        [0.5, 0.25]
        >>> history.last["epoch"], history.names
        (2, ['epoch', 'loss'])
    """

    def __init__(self, rows: list[dict[str, float]] | None = None) -> None:
        self.rows: list[dict[str, float]] = [] if rows is None else rows

    def __len__(self) -> int:
        """How many epochs are over."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, float]]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> list[float]:
        """The numbers of a name, one per epoch; NaN for epochs that lack it.

        Raises:
            KeyError: for a name that no epoch has.
        """
        if name not in self.names:
            raise KeyError(f"History: there is no {name!r}, only {', '.join(self.names)}")
        return [row.get(name, math.nan) for row in self.rows]

    @property
    def last(self) -> Mapping[str, float]:
        """The row of the last epoch."""
        return self.rows[-1]

    @property
    def names(self) -> list[str]:
        """What rows hold, in order."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def __repr__(self) -> str:
        return f"History({len(self)} epochs: {', '.join(self.names)})"
