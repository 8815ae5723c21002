"""Which operators give a named tuple, `return_types.NAME`, or a plain one, in both libraries.

    python tests/parity/result_names.py --torch PYTHON

PYTHON: an interpreter of the same version that has PyTorch and PyYAML. Every declared operator with
several results that PyTorch has too must give what PyTorch's does, with the same fields: others are
printed, and the exit status is then 1. What Flambeau alone has is counted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import reduce
from typing import Any

from declared_names import tell, with_torch

Fields = tuple[str, ...]  # (): a plain tuple


def main() -> int:
    torch = with_torch(__doc__, __file__)

    def verdict(path: str, result: str, fields: Fields) -> str | None:
        if not is_there(torch, path):
            return None
        theirs = getattr(getattr(torch.return_types, result, None), "__match_args__", ())
        alike = fields == theirs
        return "" if alike else f"{path}: {shown(fields)}, PyTorch's is {shown(theirs)}"

    return tell("several results", (verdict(*declared) for declared in operators()))


def operators() -> Iterator[tuple[str, str, Fields]]:
    """Those with several results: where the function is, what a named result would be called, and
    its fields. Overloads of one number of results are one."""
    from flambeau.codegen.plan.python_signature import named_result, result_name
    from flambeau.codegen.read.loader import library_declarations

    found: dict[tuple[str, str, Fields], None] = {}
    for operator in library_declarations().operators:
        if len(operator.signature.visible_results) > 1 and not operator.internal:
            path = f"{operator.namespace}.{operator.name}".lstrip(".")
            name = result_name(operator.namespace, operator.name)
            found[path, name, named_result(operator)] = None
    yield from found


def is_there(torch: Any, path: str) -> bool:
    """Whether PyTorch has a function there that does not say that it was removed."""
    try:
        function = reduce(getattr, path.split("."), torch)
    except AttributeError:
        return False
    try:
        function(torch.ones(2, 2))
    except (RuntimeError, TypeError, KeyError, IndexError, ValueError) as error:
        return "is now removed" not in str(error)
    return True


def shown(fields: Fields) -> str:
    return f"named ({', '.join(fields)})" if fields else "a plain tuple"


if __name__ == "__main__":
    sys.exit(main())
