"""Calls of several modules at once."""

# mypy: implicit-reexport
from flambeau.nn.parallel.data_parallel import parallel_apply

__all__ = ["parallel_apply"]
