"""Kullback-Leibler divergences of pairs of distributions."""

from flambeau.distributions.kl import cross, same
from flambeau.distributions.kl.registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
