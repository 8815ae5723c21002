"""The first lines of an operator that autocast knows: the call again, on converted arguments."""

from __future__ import annotations

from flambeau.codegen.model.entries import Autocast, Operator, Policy
from flambeau.codegen.plan.cpp_types import cpp_name


def casting_lines(operator: Operator) -> list[str]:
    """No lines where the entry has no policy."""
    policies = operator.autocast
    if policies is None or policies == Autocast():
        return []
    arguments = operator.signature.arguments
    tensors = ", ".join(cpp_name(a.name) for a in operator.tensor_arguments)
    given = ", ".join(
        f"cast({cpp_name(a.name)})" if a in operator.tensor_arguments else cpp_name(a.name)
        for a in arguments
    )
    chosen = f"{{{_cpp(policies.cpu)}, {_cpp(policies.others)}}}"
    return [
        "if (FLAMBEAU_UNLIKELY(autocast::is_on())) {",
        f"  const autocast::Region cast({chosen}, forms::tracked({tensors}));",
        f"  if (cast) return ops::{operator.identifier}({given});",
        "}",
    ]


def _cpp(policy: Policy) -> str:
    return f"Policy::{policy.value}"
