"""Schedules that are a formula of the epoch. Most go from one rate to the next by a factor, so that
changes made to a rate in between stay."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from flambeau.optim.lr_scheduler.base import LRScheduler
from flambeau.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch.

    Args:
        optimizer: whose rates are set.
        lr_lambda: a function of the epoch, or one per group.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Equations:
        lr[t] = initial_lr * lr_lambda(t)

    Example:
        >>> from flambeau.optim.lr_scheduler import LambdaLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.5, 0.3333, 0.25, 0.2]
    """

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1
    ) -> None:
        self.lr_lambdas = _per_group(optimizer, lr_lambda, type(self).__name__)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * factor(self.last_epoch) for factor, base in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; functions are left out, callable objects give their
        state."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None
            if not hasattr(f, "__dict__") or isinstance(f, type(_per_group))
            else dict(f.__dict__)
            for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        for function, own in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if own is not None:
                function.__dict__.update(own)
        self.__dict__.update(state)


class MultiplicativeLR(LambdaLR):
    """The rate before times a function of the epoch.

    Args:
        optimizer: whose rates are set.
        lr_lambda: a function of the epoch, or one per group.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Equations:
        lr[t] = lr[t-1] * lr_lambda(t)

    Example:
        >>> from flambeau.optim.lr_scheduler import MultiplicativeLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = MultiplicativeLR(optimizer, lambda epoch: 0.5 if epoch > 1 else 1.)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 1.0, 0.5, 0.25, 0.125]
    """

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._rates()
        pairs = zip(self.lr_lambdas, self._rates(), strict=True)
        return [rate * factor(self.last_epoch) for factor, rate in pairs]


def _per_group(optimizer: Optimizer, given: Factor | list[Factor], name: str) -> list[Factor]:
    count = len(optimizer.param_groups)
    if not isinstance(given, list | tuple):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"{name}: expected {count} functions, got {len(given)}")
    return list(given)


class StepLR(LRScheduler):
    """Multiplies rates by gamma every step_size epochs.

    Args:
        optimizer: whose rates are set.
        step_size: epochs of one rate.
        gamma: factor.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Equations:
        lr[t] = initial_lr * gamma**floor(t / step_size)

    Example:
        >>> from flambeau.optim.lr_scheduler import StepLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = StepLR(optimizer, step_size=2, gamma=0.1)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 1.0, 0.1, 0.1, 0.01]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies rates by gamma at each milestone: initial_lr * gamma ** (milestones reached).

    Args:
        optimizer: whose rates are set.
        milestones: epochs.
        gamma: factor.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Example:
        >>> from flambeau.optim.lr_scheduler import MultiStepLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = MultiStepLR(optimizer, milestones=[1, 4], gamma=0.1)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.1, 0.1, 0.1, 0.01]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        factor = self.gamma ** self.milestones.get(self.last_epoch, 0)
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        reached = sum(n for epoch, n in self.milestones.items() if epoch <= self.last_epoch)
        return [base * self.gamma**reached for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies rates by gamma in every epoch.

    Args:
        optimizer: whose rates are set.
        gamma: factor.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Equations:
        lr[t] = initial_lr * gamma**t

    Example:
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = flambeau.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125, 0.0625]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """initial_lr * factor until epoch total_iters, then initial_lr.

    Args:
        optimizer: whose rates are set.
        factor: between 0 and 1.
        total_iters: the epoch in which the factor ends.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Example:
        >>> from flambeau.optim.lr_scheduler import ConstantLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.5, 0.5, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor must be within [0, 1], got {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch == self.total_iters:
            return [rate / self.factor for rate in self._rates()]
        return self._rates()

    def _get_closed_form_lr(self) -> list[float]:
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """initial_lr times a factor that goes evenly from start_factor to end_factor in total_iters
    epochs and stays there.

    Args:
        optimizer: whose rates are set.
        start_factor: of epoch 0, above 0.
        end_factor: from epoch total_iters on.
        total_iters: how many epochs it takes.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Equations:
        lr[t] = initial_lr * (start_factor + (end_factor - start_factor) * min(1, t / total_iters))

    Example:
        >>> from flambeau.optim.lr_scheduler import LinearLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = LinearLR(optimizer, start_factor=0.25, total_iters=3)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR: start_factor must be within (0, 1], got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor must be within [0, 1], got {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        share = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self.last_epoch > self.total_iters:
            return self._rates()
        factor = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self._factor(self.last_epoch) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """initial_lr times a power of what is left of total_iters epochs; 0 from there on.

    Args:
        optimizer: whose rates are set.
        total_iters: how many epochs it takes.
        power: 1: evenly.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Equations:
        lr[t] = initial_lr * (1 - min(1, t / total_iters))**power

    Example:
        >>> from flambeau.optim.lr_scheduler import PolynomialLR
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = PolynomialLR(optimizer, total_iters=4, power=2.)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.5625, 0.25, 0.0625, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return float((1.0 - min(epoch, self.total_iters) / self.total_iters) ** self.power)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates()
        factor = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self._factor(self.last_epoch) for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a wave of a cosine, from the first rate down to eta_min in T_max epochs.

    Args:
        optimizer: whose rates are set.
        T_max: half a period; later the rate rises again.
        eta_min: the lowest rate.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Equations:
        lr[t] = eta_min + (initial_lr - eta_min) * (1 + cos(pi * t / T_max)) / 2

    Source: I. Loshchilov, F. Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2016,
    without restarts.

    Example:
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = flambeau.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.8536, 0.5, 0.1464, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: float, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _level(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._rates()
        before = self._level(self.last_epoch - 1)
        if math.isclose(before, 0, abs_tol=1e-12):
            # At the lowest point there is nothing to scale.
            return self._get_closed_form_lr()
        factor = self._level(self.last_epoch) / before
        return [self.eta_min + (rate - self.eta_min) * factor for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        level = self._level(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * level for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """CosineAnnealingLR that starts over after T_0 epochs, then after T_0 * T_mult, ...

    Args:
        optimizer: whose rates are set.
        T_0: epochs of the first wave.
        T_mult: how many times longer each wave is than the one before.
        eta_min: the lowest rate.
        last_epoch: -1: a new schedule; else continue after that epoch.

    Equations:
        lr[t] = eta_min + (initial_lr - eta_min) * (1 + cos(pi * T_cur / T_i)) / 2

    T_i is the length of the wave that runs, T_cur how many epochs of it are over.

    Source: I. Loshchilov, F. Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2016.

    Example:
        >>> from flambeau.optim.lr_scheduler import CosineAnnealingWarmRestarts
        >>> optimizer = flambeau.optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
        >>> rates = []
        >>> for epoch in range(7):
        ...     rates.append(round(schedule.get_last_lr()[0], 4))
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.5, 1.0, 0.8536, 0.5, 0.1464, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"CosineAnnealingWarmRestarts: T_0 must be a positive int, got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(
                f"CosineAnnealingWarmRestarts: T_mult must be an int >= 1, got {T_mult}"
            )
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _enter(self, epoch: float) -> None:
        """Finds the wave that an epoch, or a moment in one, belongs to."""
        start, length = 0, self.T_0
        if self.T_mult == 1:
            start = int(epoch // self.T_0) * self.T_0
        else:
            while start + length <= epoch:
                start += length
                length *= self.T_mult
        self.T_i, self.T_cur = length, epoch - start
        self.last_epoch = math.floor(epoch)

    def get_lr(self) -> list[float]:
        level = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * level for base in self.base_lrs]
