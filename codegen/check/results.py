"""Results against the reference: element formulas, bodies, folds."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from flambeau.codegen.check.trial import Trial, reference_failure
from flambeau.codegen.check.values import close, reduction_rows, worst
from flambeau.codegen.formula.evaluate import EvaluationError
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.to_numpy import ElementEvaluator
from flambeau.codegen.model.entries import Kind, Reduce


def check_results(trial: Trial) -> bool:
    """Whether the reference serves for the values; what disagrees with it is reported."""
    if trial.operator.test.reference is None:
        return trial.operator.body is not None or trial.is_pointwise
    try:
        assert trial.expected is not None
    except EvaluationError as error:
        reference_failure(trial.report, error)
        return False
    try:
        with np.errstate(all="ignore"):
            if trial.is_pointwise:
                _check_elements(trial)
            elif trial.operator.kind is Kind.COMPOSITE:
                _check_body(trial)
            elif trial.operator.body is not None:
                with suppress(EvaluationError):  # the generated tests run what NumPy cannot
                    _check_body(trial)
            elif trial.operator.reduce is not None:
                _Fold(trial, trial.operator.reduce).check()
    except EvaluationError as error:
        trial.failure(error, "the formula")
    return True


def _compare(trial: Trial, formula: Expression, what: str, found: Any, expected: Any) -> None:
    if not close(found, expected, trial.operator.test.tolerance):
        got, wanted = worst(found, expected)
        message = f"{what} gives {got} where the reference gives {wanted}"
        trial.error(formula, message, f"reference: {trial.operator.test.reference}")


def _check_elements(trial: Trial) -> None:
    found = trial.results(trial.values)
    for name, formula in trial.operator.expressions.items():
        if name in trial.expected:
            _compare(trial, formula, "the formula", found[name], trial.expected[name])


def _check_body(trial: Trial) -> None:
    operator = trial.operator
    if operator.body is None:
        return
    evaluator = trial.evaluator(trial.values)
    for name, formula in operator.body_lets:
        evaluator.names[name] = evaluator(formula)
    value = evaluator(operator.body)
    several = value if len(trial.expected) != 1 else (value,)
    if not isinstance(several, list | tuple) or len(several) != len(trial.expected):
        return
    for found, expected in zip(several, trial.expected.values(), strict=True):
        if not isinstance(expected, list | tuple) and not isinstance(found, list | tuple):
            _compare(trial, operator.body, "the body", found, expected)


class _Fold:
    """A reduction of the sample's elements, all rows at once."""

    def __init__(self, trial: Trial, fold: Reduce) -> None:
        self.trial = trial
        self.fold = fold
        numbers = {k: v for k, v in trial.values.items() if not isinstance(v, np.ndarray)}
        self.numbers = numbers
        (self.name,) = (a.name for a in trial.operator.tensor_arguments)

    def check(self) -> None:
        """The fold gives what the reference gives, however it is split."""
        values = self.trial.promoted(self.trial.values)
        rows, _ = reduction_rows(np.asarray(values[self.name]), values.get("dim"))
        count = rows.shape[1]
        whole = self._part(rows)
        split = self._combine(self._part(rows[:, : count // 2]), self._part(rows[:, count // 2 :]))
        if not close(split, whole, 1e-5):
            got, wanted = worst(split, whole)
            self.trial.error(
                self.fold.combine,
                f"two parts combine to {got} where 'step' over both gives {wanted}",
                "combine takes the accumulators a and b of two parts, each of which began at init",
            )
            return
        found = np.asarray(self._evaluate(self.fold.finish, acc=whole, n=count))
        (expected,) = self.trial.expected.values()
        found = np.broadcast_to(found, rows.shape[:1])
        if found.size == np.size(expected):
            found = found.reshape(np.shape(expected))
        _compare(self.trial, self.fold.finish, "the fold", found, expected)

    def _part(self, rows: Any) -> Any:
        acc = np.broadcast_to(np.asarray(self._evaluate(self.fold.init)), rows.shape[:1])
        for column in rows.T:
            acc = self._evaluate(self.fold.step, acc=acc, x=column)
        return acc

    def _combine(self, a: Any, b: Any) -> Any:
        return self._evaluate(self.fold.combine, a=a, b=b)

    def _evaluate(self, formula: Expression, **values: Any) -> Any:
        return ElementEvaluator({**self.numbers, **values}, self.trial.library.table)(formula)
