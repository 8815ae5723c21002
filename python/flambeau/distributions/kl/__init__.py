"""Kullback-Leibler divergences of pairs of distributions."""

# ruff: noqa: F401
# The modules that register divergences.
from flambeau.distributions.kl import cross as _cross
from flambeau.distributions.kl import same as _same
from flambeau.distributions.kl.registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
