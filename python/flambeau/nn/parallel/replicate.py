"""Copies of a module on several devices."""

# mypy: implicit-reexport
from flambeau.nn.parallel.data_parallel import replicate

__all__ = ["replicate"]
