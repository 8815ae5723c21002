"""Gradients of every operator for several cotangents at once are those of one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from operator_calls import to_array, to_tensor
from operator_cases import Case
from operator_compare import difference
from operator_gradients import directions, is_differentiable
from test_operator_gradients import DIFFERENTIATED, seed, split

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad

# Operators of other packages have no rules for batches of gradients, and say so.
CASES = [c for c in DIFFERENTIATED if c.index < 2 and not c.operator.package]


def rows_of(outputs: Sequence[Tensor], count: int, first: int) -> list[Tensor]:
    """Cotangents of each output, `count` of them along the first dim."""
    random = np.random.default_rng(first)
    found = []
    for output in outputs:
        rows = [directions(random, [to_array(output)])[0] for _ in range(count)]
        found.append(flambeau.from_numpy(np.stack(rows)).to(output.dtype))
    return found


@pytest.mark.parametrize("create_graph", [False, True], ids=["once", "recorded"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_at_once(case: Case, create_graph: bool) -> None:
    found = split(case)
    leaves = [to_tensor(a).requires_grad_() for a in found.inputs]
    outputs = [o for o in found.function()(leaves) if is_differentiable(o) and o.requires_grad]
    if not outputs:
        return
    rows = rows_of(outputs, 3, seed(case))
    options: dict[str, Any] = {"create_graph": create_graph, "retain_graph": True}
    wanted = [
        grad(outputs, leaves, [r[i] for r in rows], allow_unused=True, **options) for i in range(3)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few gradients have no rule
        got = grad(outputs, leaves, rows, allow_unused=True, is_grads_batched=True, **options)
    for i, gradient in enumerate(got):
        assert (gradient is None) == (wanted[0][i] is None)
        if gradient is None:
            continue
        target = np.stack([to_array(row[i].detach()) for row in wanted])
        wrong = difference(case.operator, [gradient.detach()], [target], 1e-9)
        assert wrong is None, f"{case.operator.full_name}, gradient of input {i}: {wrong}"
