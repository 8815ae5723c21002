"""The gradients that pages show of operators made of others agree with finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from flambeau.codegen.check.derivatives import check_derivatives
from flambeau.codegen.check.report import Report
from flambeau.codegen.check.trial import Library, Trial, sampled
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.model.entries import Derivative, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.composed_gradient import ComposedGradients
from flambeau.codegen.read.loader import load_declarations
from flambeau.codegen.text.source import Diagnostics

DECLARATIONS = load_declarations()
LIBRARY = Library(load_functions(), OperatorIndex(DECLARATIONS.operators))
WRITER = ComposedGradients(DECLARATIONS)
WRITTEN = [o for o in DECLARATIONS.own if WRITER.of(o) is not None]


def trials(operator: Operator, said: Diagnostics) -> Iterator[Trial]:
    """The operator, as if its gradient were declared, on samples that differences can judge."""
    found = WRITER.of(operator)
    assert found is not None
    declared = replace(operator, derivative=Derivative(dict(found.formulas)))
    report = Report(declared, said)
    for index, sample in enumerate(declared.test.samples):
        values = sampled(report, sample, index, "test", "samples", str(index))
        assert values is not None
        sizes = [v.size for v in values.values() if isinstance(v, np.ndarray)]
        at_defaults = all(
            values[n] is v or str(values[n]) == str(v) for n, v in found.assumed.items()
        )
        if at_defaults and 0 not in sizes and operator.test.gradient:
            yield Trial(report, LIBRARY, index, values)


@pytest.mark.parametrize("operator", WRITTEN, ids=lambda o: o.full_name)
def test_gradient(operator: Operator) -> None:
    said = Diagnostics()
    for trial in trials(operator, said):
        check_derivatives(trial)
    assert not said.sorted(), "\n".join(str(one) for one in said.sorted())


def test_common_ones_are_written() -> None:
    """Those with a formula of their own, whatever it is that they are made of."""
    for name in ("softmax", "log_softmax", "outer"):
        (operator,) = (o for o in WRITTEN if o.full_name == name)
        found = WRITER.of(operator)
        assert found is not None and "grad" in str(next(iter(found.formulas.values())))
