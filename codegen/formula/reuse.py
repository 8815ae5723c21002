"""Gradient formulas that read the result instead of computing it again.

exp's gradient `grad * exp(self)` becomes `grad * result`: less work, and often the argument need
not be saved.
"""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression, Name
from flambeau.codegen.formula.saved import reads_of


def reuse_results(formula: Expression, results: Mapping[str, Expression]) -> Expression:
    """Replace every occurrence of a result's own expression by the result's name.

    Nothing changes where that would save a tensor more: the result next to everything that was read
    before.
    """
    candidates = {
        expression: Name(name)
        for name, expression in results.items()
        if expression.children and not _draws(expression)
    }
    rewritten = nodes.replace_subtrees(formula, candidates)
    if rewritten is formula:
        return formula
    before, after = reads_of(formula).names, reads_of(rewritten).names
    still_needed = before <= after
    # A cheap expression is not worth a saved tensor; one with a function call is.
    worthwhile = any(nodes.calls(e) for e, n in candidates.items() if n.identifier in after)
    return formula if still_needed and not worthwhile else rewritten


def _draws(expression: Expression) -> bool:
    """Whether a new evaluation would give another value."""
    return any(isinstance(n, nodes.Call) and not n.arguments for n in nodes.walk(expression))
