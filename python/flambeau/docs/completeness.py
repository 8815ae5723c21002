"""What docstrings of the library leave out: `flambeau docs check`.

What modules hand on from elsewhere, as `multiprocessing` does Python's locks, is left to those who
wrote it. Of operators `flambeau ops check` judges the rest; here they need an example.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.write.docs import pages
from flambeau.docs.arguments import undescribed
from flambeau.docs.examples import shown_by
from flambeau.docs.library import described, public_names
from flambeau.nn import Module

PARTS = ("summary", "arguments", "shapes", "example")
_SHAPES = re.compile(r"\bshapes?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """A public class or function."""

    name: str  # flambeau.nn.Linear
    missing: tuple[str, ...]  # of PARTS


def rows() -> list[Row]:
    """Every class and function once, under its first name; every page of operators."""
    operators = pages(library_declarations())
    library = described(operators)
    seen: set[int] = set(library.operators)
    found = []
    for name, module in library.modules.items():
        for member in public_names(module):
            value = getattr(module, member)
            if callable(value) and is_ours(value) and id(value) not in seen:
                seen.add(id(value))
                found.append(Row(f"{name}.{member}", missing(member, module)))
    for page in operators:
        has_example = any(overload.doc.example for overload in page.overloads)
        found.append(Row(page.title, () if has_example else ("example",)))
    return found


def is_ours(value: Any) -> bool:
    """Whether a class or function is of the library, and not handed on."""
    return str(getattr(value, "__module__", "")).startswith("flambeau")


def missing(name: str, module: ModuleType) -> tuple[str, ...]:
    """What the docstring of a class or function of a module leaves out."""
    value = getattr(module, name)
    text = inspect.cleandoc(value.__doc__ or "")
    says = {
        "summary": bool(text),
        "arguments": not undescribed(value, module),
        "shapes": not _is_layer(value) or _SHAPES.search(text) is not None,
        "example": shown_by(name, module) is not None,
    }
    return tuple(part for part in PARTS if not says[part])


def _is_layer(value: Any) -> bool:
    """Whether it computes tensors from tensors, whose shapes readers ask for."""
    if not inspect.isclass(value) or not issubclass(value, Module):
        return False
    return value.forward is not Module.forward


def report(found: list[Row]) -> str:
    """A table of modules, and the names that leave something out."""
    counts: dict[str, list[int]] = {}
    for row in found:
        of_module = counts.setdefault(row.name.rpartition(".")[0], [0] * (len(PARTS) + 1))
        of_module[0] += 1
        for part in row.missing:
            of_module[1 + PARTS.index(part)] += 1
    width = max(map(len, counts))
    lines = [f"{'without':{width}} {'of':>5} " + " ".join(f"{part:>9}" for part in PARTS)]
    for module, (total, *lacking) in counts.items():
        cells = " ".join(f"{number or '-':>9}" for number in lacking)
        lines.append(f"{module:{width}} {total:5} {cells}")
    lines += ["", *(f"{row.name}: {', '.join(row.missing)}" for row in found if row.missing)]
    return "\n".join(lines)
