"""The categorical distribution of one-hot vectors."""

from __future__ import annotations

from flambeau import Size, Tensor
from flambeau.distributions import constraints
from flambeau.distributions.categorical import Categorical, CategoricalOdds
from flambeau.nn.functional import one_hot


class OneHotCategorical(CategoricalOdds):
    """The categorical distribution of vectors with a 1 at the category and zeros.

    Args:
        probs: `[..., K]`, weights of the categories, not negative, or
        logits: logarithms of weights.
        validate_args: see `Distribution`.

    Raises:
        ValueError: neither or both are given, or one without dims.

    Example:
        >>> from flambeau.distributions import OneHotCategorical
        >>> distribution = OneHotCategorical(flambeau.tensor([0.25, 0.75]))
        >>> distribution.mean
        tensor([0.2500, 0.7500])
        >>> distribution.log_prob(flambeau.tensor([0., 1.]))
        tensor(-0.2877)
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._start(validate_args, **self._normalized(probs, logits))

    @property
    def _categorical(self) -> Categorical:
        """The distribution of the indices."""
        given = "probs" if "probs" in self.__dict__ else "logits"
        return Categorical(**{given: self._given_parameter}, validate_args=False)

    def _vector(self, index: Tensor) -> Tensor:
        return one_hot(index, self._num_events).to(self._given_parameter.dtype)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vector(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _draw(self, shape: Size) -> Tensor:
        return self._vector(self._categorical._draw(Size(shape[:-1])))

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._categorical._log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._vector(self._categorical.enumerate_support(expand))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose draws have the gradient of the probabilities (Y. Bengio, N. Léonard, A.
    Courville, "Estimating or propagating gradients through stochastic neurons", 2013).

    Args:
        probs: of the categories, along the last dim; they are divided by their sum.
        logits: their logarithms, instead; up to a constant.
        validate_args: check these and values; None: as `set_default_validate_args` says.

    Example:
        >>> from flambeau.distributions import OneHotCategoricalStraightThrough
        >>> distribution = OneHotCategoricalStraightThrough(
        ...     flambeau.tensor([0.25, 0.75])
        ... )
        >>> distribution.rsample().sum()
        tensor(1.)
    """

    has_rsample = True

    def _draw(self, shape: Size) -> Tensor:
        drawn = super()._draw(shape).detach()
        return drawn + (self.probs - self.probs.detach())
