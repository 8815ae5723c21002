"""Weights as lengths and directions, by hooks."""

# mypy: implicit-reexport
from flambeau.nn.utils.weight_hooks import WeightNorm as WeightNorm
from flambeau.nn.utils.weight_hooks import remove_weight_norm, weight_norm

__all__ = ["remove_weight_norm", "weight_norm"]
