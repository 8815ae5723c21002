"""Which function computes the divergence of which distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from flambeau import Tensor
from flambeau._values import brief
from flambeau.distributions.distribution import Distribution

Divergence = Callable[[Any, Any], Tensor]
F = TypeVar("F", bound=Divergence)
Pair = tuple[type[Distribution], type[Distribution]]

_registered: dict[Pair, Divergence] = {}
_found: dict[Pair, Divergence | None] = {}


def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[[F], F]:
    """A decorator for a function of p and q that computes KL(p || q) for these classes.

    A pair of subclasses takes the function of the nearest classes that have one; where the nearest
    for p and for q are different ones, that of p, with a warning.

    Args:
        type_p, type_q: classes of distributions.

    Raises:
        TypeError: a type is no class of distributions.

    Example:
        >>> from flambeau.distributions import Normal, kl_divergence, register_kl
        >>> class Mine(Normal):
        ...     pass
        >>> @register_kl(Mine, Mine)
        ... def _mine(p, q):
        ...     return flambeau.zeros(())
        >>> kl_divergence(Mine(0., 1.), Mine(1., 1.))
        tensor(0.)
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"register_kl: expected classes of distributions, got {brief(kind)}")

    def register(function: F) -> F:
        _registered[type_p, type_q] = function
        _found.clear()
        return function

    return register


def _find(type_p: type[Distribution], type_q: type[Distribution]) -> Divergence | None:
    """The function of the nearest classes."""
    matches = [
        (type_p.__mro__.index(p), type_q.__mro__.index(q), function)
        for (p, q), function in _registered.items()
        if issubclass(type_p, p) and issubclass(type_q, q)
    ]
    if not matches:
        return None
    by_p = min(matches, key=lambda m: (m[0], m[1]))
    by_q = min(matches, key=lambda m: (m[1], m[0]))
    if by_p is not by_q:
        warnings.warn(
            f"kl_divergence({type_p.__name__}, {type_q.__name__}) is ambiguous: register_kl of "
            "these classes decides",
            RuntimeWarning,
            stacklevel=3,
        )
    return by_p[2]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence, the mean of log(p(x) / q(x)) under p, of shape
    `batch_shape`; infinite where q is 0 at values that p has.

    Raises:
        NotImplementedError: no function is registered for the classes.

    Example:
        >>> from flambeau.distributions import Normal, kl_divergence
        >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
        tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _found:
        _found[pair] = _find(*pair)
    function = _found[pair]
    if function is None:
        raise NotImplementedError(
            f"kl_divergence({pair[0].__name__}, {pair[1].__name__}) is not registered"
        )
    return function(p, q)
