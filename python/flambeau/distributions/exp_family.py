"""Exponential families."""

from __future__ import annotations

import flambeau
from flambeau import Tensor
from flambeau.distributions.distribution import Distribution
from flambeau.distributions.utils import sum_rightmost


class ExponentialFamily(Distribution):
    """A distribution of density `exp(<t(x), theta> - F(theta) + k(x))`.

    `theta` are the natural parameters, F the log normalizer, k the carrier measure. Entropies and
    divergences of two of one family follow from F and its gradient (F. Nielsen, R. Nock, "Entropies
    and cross-entropies of exponential families", 2010). A family defines `_natural_params`,
    `_log_normalizer` and `_mean_carrier_measure`.

    Args:
        batch_shape: of independent distributions.
        event_shape: of one draw.
        validate_args: check arguments and values; None: as `set_default_validate_args` says.

    Example:
        >>> distribution = flambeau.distributions.Gamma(flambeau.tensor(2.), flambeau.tensor(1.))
        >>> isinstance(distribution, flambeau.distributions.ExponentialFamily)
        True
        >>> distribution.entropy()
        tensor(1.5772)
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """theta, a tensor per part."""
        raise self._lacks("natural parameters")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """F, of shape `batch_shape`."""
        raise self._lacks("log normalizer")

    @property
    def _mean_carrier_measure(self) -> Tensor | float:
        """The mean of k."""
        raise self._lacks("mean of the carrier measure")

    def _mean_statistics(self) -> tuple[tuple[Tensor, ...], Tensor, tuple[Tensor, ...]]:
        """theta, F, and F's gradient, which is the mean of t; gradients flow through them to
        parameters that require them."""
        natural = self._natural_params
        records = flambeau.is_grad_enabled() and any(p.requires_grad for p in natural)
        with flambeau.enable_grad():
            inputs = tuple(
                p if records and p.requires_grad else p.detach().requires_grad_() for p in natural
            )
            normalizer = self._log_normalizer(*inputs)
            means = flambeau.autograd.grad(normalizer.sum(), inputs, create_graph=records)
        return natural, normalizer if records else normalizer.detach(), means

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape `batch_shape`: F(theta) - <theta, F'(theta)> less the mean
        of the carrier measure."""
        natural, normalizer, means = self._mean_statistics()
        result = normalizer - self._mean_carrier_measure
        for parameter, mean in zip(natural, means, strict=True):
            product = parameter * mean
            result = result - sum_rightmost(product, product.dim() - len(self._batch_shape))
        return result
