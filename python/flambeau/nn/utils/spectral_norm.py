"""Weights divided by their largest singular values, by hooks."""

# mypy: implicit-reexport
from flambeau.nn.utils.weight_hooks import SpectralNorm as SpectralNorm
from flambeau.nn.utils.weight_hooks import remove_spectral_norm, spectral_norm

__all__ = ["remove_spectral_norm", "spectral_norm"]
