"""The gradients that pages show of operators made of others agree with finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from flambeau.codegen.check.derivatives import check_derivatives
from flambeau.codegen.check.report import Report
from flambeau.codegen.check.trial import Library, Trial, sampled
from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.model.entries import Derivative, Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.plan.composed_gradient import ComposedGradients
from flambeau.codegen.plan.coverage import COMPOSED, reverse_of
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.text.source import Diagnostics
from flambeau.codegen.write.docs import pages

DECLARATIONS = library_declarations()
LIBRARY = Library(load_functions(), OperatorIndex(DECLARATIONS.operators))
WRITER = ComposedGradients(DECLARATIONS)
FAMILIES = sorted({o.family for o in DECLARATIONS.own if o.kind is Kind.COMPOSITE})


def trials(operator: Operator, said: Diagnostics) -> Iterator[Trial]:
    """The operator, as if its gradient were declared, on samples that differences can judge."""
    found = WRITER.of(operator)
    assert found is not None
    cut_off = {a.name for a in operator.tensor_arguments} - set(found.formulas)
    derivative = Derivative(found.in_full(), excluded=frozenset(cut_off))
    declared = replace(operator, derivative=derivative)
    report = Report(declared, said)
    for index, sample in enumerate(declared.test.samples):
        values = sampled(report, sample, index, "test", "samples", str(index))
        assert values is not None
        sizes = [v.size for v in values.values() if isinstance(v, np.ndarray)]
        at_defaults = all(
            values[n] is v or str(values[n]) == str(v) for n, v in found.assumed.items()
        )
        is_complex = any("complex" in str(v.dtype) for v in values.values() if hasattr(v, "dtype"))
        fits = at_defaults and not (found.only_real and is_complex)
        if fits and 0 not in sizes and operator.test.gradient:
            yield Trial(report, LIBRARY, index, values)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients(family: str) -> None:
    """Of composites that have one of their own, whatever it is that they are made of."""
    said = Diagnostics()
    for operator in DECLARATIONS.own:
        if operator.family == family and WRITER.of(operator) is not None:
            for trial in trials(operator, said):
                check_derivatives(trial)
    # The check has floats in place of integers, which do not count repeats.
    wrong = [str(one) for one in said.sorted() if "a count is an integer" not in one.message]
    assert not wrong, "\n".join(wrong)


def test_common_ones_are_written() -> None:
    for name in ("softmax", "log_softmax", "outer", "group_norm", "mse_loss", "var.unbiased"):
        (operator,) = (o for o in DECLARATIONS.own if o.full_name == name)
        found = WRITER.of(operator)
        assert found is not None
        assert all(nodes.reads(formula, {"grad"}) for formula in found.in_full().values())


def test_the_way_back_is_told_where_no_formula_is() -> None:
    """By operators with a page, or those inside of the library that have a gradient."""
    (operator,) = DECLARATIONS.by_name["cross_entropy"]
    assert WRITER.of(operator) is None
    assert WRITER.way(operator) == ("cross_entropy_rows", "nll_loss", "log_softmax")
    without = [
        o.full_name
        for o in DECLARATIONS.own
        if reverse_of(o) == COMPOSED and not o.internal and WRITER.of(o) is None
        if not WRITER.way(o)
    ]
    # Filled with other numbers, or of integers: no gradient arrives.
    assert len(without) <= 12, without


def test_pages_say_the_gradient_of_what_has_no_page() -> None:
    """`norm_two` is inside of the library."""
    (page,) = (p for p in pages(DECLARATIONS) if p.name == "cosine_similarity")
    (overload,) = page.overloads
    assert ("norm_two", None) in overload.way and ("sum", "sum") in overload.way
    (inner,) = overload.inner
    assert inner[0] == "norm_two" and len(inner[1]) == 1
