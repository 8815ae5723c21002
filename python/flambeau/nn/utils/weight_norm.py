"""Weights as lengths and directions, by hooks."""

# mypy: implicit-reexport
from flambeau.nn.utils.weight_hooks import WeightNorm, remove_weight_norm, weight_norm

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]
