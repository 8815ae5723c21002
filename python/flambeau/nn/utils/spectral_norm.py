"""Weights divided by their largest singular values, by hooks."""

# mypy: implicit-reexport
from flambeau.nn.utils.weight_hooks import SpectralNorm, remove_spectral_norm, spectral_norm

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]
