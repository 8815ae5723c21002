"""Checks of what is declared by computing, before any compiler runs.

Results are compared with the entry's independent reference, shapes and views too, derivatives with
finite differences, examples with what they print; errors are violated where they are to be. What
cannot be evaluated in NumPy is left to the generated tests.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from flambeau.codegen.check.derivatives import check_derivatives, check_extremes
from flambeau.codegen.check.example_values import check_example_values
from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.check.results import check_results
from flambeau.codegen.check.shapes import (
    check_accepted,
    check_flops,
    check_rejects,
    check_shape,
)
from flambeau.codegen.check.trial import Library, Trial, check_sources, is_evaluated, sampled
from flambeau.codegen.formula.evaluate import UnavailableError
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.text.source import Diagnostic, Diagnostics

_SAMPLES_DIFFERENTIATED = 2


def check_mathematics(context: Context) -> list[Diagnostic]:
    """Every disagreement that can be found without compiling."""
    library = Library(load_functions(), OperatorIndex(context.declarations.operators))
    found = Diagnostics()
    for operator in context.checked:
        # One operator's mistakes are told once, not once for each sample that shows them.
        own = Diagnostics()
        report = Report(operator, own)
        try:
            # Without SciPy its functions are missing, like those that NumPy lacks.
            with suppress(UnavailableError):
                _check(report, library, own)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            report.error(f"cannot be evaluated: {type(error).__name__}: {error}")
        found.extend(own.first_of_each())
    for partial in context.partial:
        if "test" not in partial.flawed:
            report = Report(partial.operator, found)
            check_sources(report)
            for index, sample in enumerate(partial.operator.test.samples):
                sampled(report, sample, index, "test", "samples", str(index))
    return found.sorted()


def _check(report: Report, library: Library, found: Diagnostics) -> None:
    operator = report.operator
    has_reference = check_sources(report)
    differentiated = 0
    first: Trial | None = None
    for index, sample in enumerate(operator.test.samples):
        values = sampled(report, sample, index, "test", "samples", str(index))
        if values is None:
            continue
        trial = Trial(report, library, index, values)
        first = first or trial
        if not check_accepted(trial):
            continue
        if not has_reference or not check_results(trial):
            has_reference = has_reference and operator.test.reference is None
            continue
        if operator.test.reference is not None:
            check_shape(trial)
            check_flops(trial)
        sizes = [v.size for v in values.values() if isinstance(v, np.ndarray)]
        if operator.test.gradient and 0 not in sizes:
            if differentiated < _SAMPLES_DIFFERENTIATED and found.are_asides:
                check_derivatives(trial)
            differentiated += 1
    if first is not None and is_evaluated(operator) and found.are_asides:
        check_extremes(first)
    check_rejects(report, library)
    check_example_values(report, library)
