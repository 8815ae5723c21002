"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import flambeau
from flambeau import Tensor
from flambeau.distributions import constraints
from flambeau.distributions.gamma import Gamma
from flambeau.distributions.utils import Value


class Chi2(Gamma):
    """The distribution of a sum of `df` squared standard normal numbers: Gamma(df / 2, 1 / 2).

    Args:
        df: degrees of freedom, positive.
        validate_args: see `Distribution`.

    Example:
        >>> from flambeau.distributions import Chi2
        >>> distribution = Chi2(flambeau.tensor(3.))
        >>> distribution.mean
        tensor(3.)
        >>> distribution.log_prob(flambeau.tensor(2.))
        tensor(-1.5724)
    """

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    df: Tensor

    def __init__(self, df: Value, validate_args: bool | None = None) -> None:
        self._start(validate_args, df=df)

    @property
    def concentration(self) -> Tensor:  # type: ignore[override]
        """df / 2."""
        return 0.5 * self.df

    @property
    def rate(self) -> Tensor:  # type: ignore[override]
        """1 / 2."""
        return flambeau.full_like(self.df, 0.5)
