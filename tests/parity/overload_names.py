"""What overloads of operators are called, `ops.aten.NAME.OVERLOAD`, in both libraries.

    python tests/parity/overload_names.py --torch PYTHON

PYTHON: an interpreter of the same version that has PyTorch and PyYAML. An overload that takes
arguments of the same types as one of PyTorch's operator of that name must have its name: others are
printed, and the exit status is then 1. What one of the libraries alone has is counted.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from declared_names import tell, with_torch

Kinds = tuple[str, ...]
# Arguments of PyTorch's by which overloads do not differ here.
UNSEEN = {"dtype", "layout", "device", "pin_memory", "memory_format", "generator"}


def main() -> int:
    torch = with_torch(__doc__, __file__)

    def verdict(operator: str, overload: str, kinds: Kinds) -> str | None:
        packet = getattr(torch.ops.aten, operator, None)
        theirs = {} if packet is None else overloads_of(packet)
        same = sorted(name for name, taken in theirs.items() if taken == kinds)
        if not same or overload in same:
            return "" if same else None
        return f"{operator}.{overload}({', '.join(kinds)}): PyTorch's is {' or '.join(same)}"

    return tell("overloads called", (verdict(*declared) for declared in overloads()))


def overloads() -> list[tuple[str, str, Kinds]]:
    """Those of Flambeau: operator, overload, types of arguments."""
    from flambeau import _C
    from flambeau.codegen.plan.overload_names import kinds
    from flambeau.codegen.read.loader import library_declarations
    from flambeau.func._batching_table import called_in, functions_in

    declared = {o.full_name: o for o in library_declarations().operators}
    found: dict[tuple[str, str, Kinds], None] = {}
    for function in functions_in(_C):
        called = called_in(_C, function)
        if called is None:
            continue
        operator = declared[called.overload.name]
        last = len(called.aten_overloads) - 1
        for place, (name, _, when) in enumerate(called.aten_overloads):
            if when != "" or place == 0 or called.aten_overloads[0][2] == "tensor":
                by_operand = place == last and called.aten_overloads[0][2] == "tensor"
                is_number = by_operand or when == "also"
                found[called.aten, name, kinds(operator, is_number)] = None
    return list(found)


def overloads_of(packet: Any) -> dict[str, Kinds]:
    """Those of an operator of PyTorch, but for those with `out`."""
    from torch._C import _dispatch_has_kernel as dispatches

    found = {}
    for name in packet.overloads():
        schema = getattr(packet, name)._schema
        arguments = schema.arguments
        # Others are Python's functions of numbers, for its compiler.
        if not dispatches(name_of(schema)):
            continue
        if not any(a.is_out for a in arguments):
            found[name] = tuple(kind(str(a.type)) for a in arguments if a.name not in UNSEEN)
    return found


def name_of(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def kind(type: str) -> str:
    """A type of PyTorch's, without its length and without None."""
    name = re.sub(r"Optional\[(.*)\]", r"\1", type)
    if inner := re.fullmatch(r"List\[(.*)\]", name):
        return f"{kind(inner[1])}[]"
    return {"number": "Scalar"}.get(name, name)


if __name__ == "__main__":
    sys.exit(main())
