"""Chains of steps over samples: `IterableWrapper(files).map(read).shuffle().batch(8)`.

`iter` has those that are iterated over, `map` those that are indexed.
"""

from __future__ import annotations

from flambeau.utils.data.datapipes import iter as iter
from flambeau.utils.data.datapipes import map as map

__all__ = ["iter", "map"]
