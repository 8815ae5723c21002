"""Points that fill a cube more evenly than random ones do."""

from __future__ import annotations

import warnings
from typing import Any

import flambeau
from flambeau import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """Sobol's sequence in the unit cube, with the direction numbers of S. Joe and F. Kuo (2008),
    by `scipy.stats.qmc.Sobol`.

    Args:
        dimension: of the cube, up to 21201.
        scramble: whether the digits of points are mixed at random (J. Matousek, 1998).
        seed: of the mixing; None: as it happens.

    Example:
        >>> engine = flambeau.quasirandom.SobolEngine(2)
        >>> engine.draw(4)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500],
                [0.2500, 0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"SobolEngine(): argument 'dimension' must lie between 1 and {self.MAXDIM}, got "
                f"{dimension}"
            )
        from scipy.stats import qmc  # late: it takes long

        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self._points: Any = qmc.Sobol(dimension, scramble=scramble, bits=self.MAXBIT, rng=seed)

    @property
    def num_generated(self) -> int:
        """How many points were drawn or left out.

        Example:
            >>> flambeau.quasirandom.SobolEngine(1).fast_forward(3).num_generated
            3
        """
        return int(self._points.num_generated)

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: flambeau.dtype | None = None
    ) -> Tensor:
        """The next points, [n, dimension].

        Args:
            n: how many.
            out: a tensor that they are written into, resized.
            dtype: of the points; None: the default one.

        Example:
            >>> flambeau.quasirandom.SobolEngine(1).draw(3)
            tensor([[0.0000],
                    [0.5000],
                    [0.7500]])
        """
        found = flambeau.from_numpy(self._next(n)).to(dtype or flambeau.get_default_dtype())
        return found if out is None else out.resize_(found.shape).copy_(found)

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: flambeau.dtype | None = None
    ) -> Tensor:
        """The next 2**m points, of which as many lie in each part of the cube of that size.

        Args:
            m: the logarithm of their number.
            out: a tensor that they are written into, resized.
            dtype: of the points; None: the default one.

        Raises:
            ValueError: so many do not follow evenly on those that were drawn.

        Example:
            >>> flambeau.quasirandom.SobolEngine(2).draw_base2(2).mean(0)
            tensor([0.3750, 0.3750])
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                f"draw_base2(): {self.num_generated} points were drawn, and 2**{m} more are no "
                "power of 2 together; reset() the engine, or use draw()"
            )
        return self.draw(2**m, out, dtype)

    def _next(self, n: int) -> Any:
        with warnings.catch_warnings():
            # SciPy warns of numbers of points that are no powers of 2.
            warnings.simplefilter("ignore", UserWarning)
            return self._points.random(n)

    def reset(self) -> SobolEngine:
        """Begins again.

        Example:
            >>> engine = flambeau.quasirandom.SobolEngine(1)
            >>> engine.draw(5).shape, engine.reset().num_generated
            (flambeau.Size([5, 1]), 0)
        """
        self._points.reset()
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out the next points.

        Args:
            n: how many.

        Example:
            >>> flambeau.quasirandom.SobolEngine(1).fast_forward(2).draw()
            tensor([[0.7500]])
        """
        self._points.fast_forward(n)
        return self

    def __repr__(self) -> str:
        told = f"dimension={self.dimension}"
        if self.scramble:
            told += ", scramble=True"
        if self.seed is not None:
            told += f", seed={self.seed}"
        return f"SobolEngine({told})"
