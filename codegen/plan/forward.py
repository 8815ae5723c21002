"""Forward mode: the tangents of an operator's results."""

from __future__ import annotations

from flambeau.codegen.model import Operator
from flambeau.codegen.plan.backward import BackwardPlan
from flambeau.codegen.plan.translate import Translator


def forward_lines(
    operator: Operator, backward: BackwardPlan | None, translator: Translator
) -> list[str]:
    """The body of forward_OP, which sets the tangents of the results; empty where there are none."""
    return []
