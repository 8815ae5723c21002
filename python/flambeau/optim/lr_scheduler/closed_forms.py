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
    """initial_lr * lr_lambda(epoch).

    Args:
        lr_lambda: a function of the epoch, or one per group.
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
    """The rate before times lr_lambda(epoch)."""

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
    """initial_lr * gamma ** (epoch // step_size)."""

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
    """initial_lr * gamma ** (number of milestones reached)."""

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
    """initial_lr * gamma ** epoch."""

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
    """initial_lr * factor until epoch total_iters, then initial_lr."""

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
    epochs and stays there."""

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
    """initial_lr * (1 - epoch / total_iters) ** power, 0 from total_iters on."""

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
    """eta_min + (initial_lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2 (I. Loshchilov, F.
    Hutter, SGDR, 2016, without restarts)."""

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
    """CosineAnnealingLR that starts over after T_0 epochs, then after T_0 * T_mult, ... (SGDR,
    2016)."""

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

    def get_lr(self) -> list[float]:
        start, length = 0.0, float(self.T_0)
        if self.T_mult == 1:
            start = self.last_epoch // self.T_0 * self.T_0
        else:
            while start + length <= self.last_epoch:
                start += length
                length *= self.T_mult
        self.T_i, self.T_cur = length, self.last_epoch - start
        level = (1 + math.cos(math.pi * self.T_cur / length)) / 2
        return [self.eta_min + (base - self.eta_min) * level for base in self.base_lrs]
