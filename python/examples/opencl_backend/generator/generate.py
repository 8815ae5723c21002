"""Writes the backend's generated C++; pyproject.toml names the function.

Per family of declarations, the sources of its kernels in OpenCL C and their registration; and the
files of kernels/ as texts, since they are compiled when they are used.
"""

from __future__ import annotations

from pathlib import Path

import jinja2
from kernel_text import KERNELS, Fold, Map, Missing, fold_of, maps_of

from flambeau.codegen.model.entries import Declarations, Operator
from flambeau.codegen.write.files import Output

TEMPLATES = Path(__file__).resolve().parent / "templates"


def generate(declarations: Declarations, output: Output) -> None:
    """Writes a unit per family of the library's operators; the package declares none."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    template = environment.get_template("family.cpp.jinja")
    families: dict[str, list[Operator]] = {}
    for operator in declarations.operators:
        families.setdefault(operator.family, []).append(operator)
    for family, operators in families.items():
        maps = [m for o in operators for m in maps_of(o, declarations)]
        folds = [f for o in operators if (f := fold_of(o, declarations)) is not None]
        if maps or folds:
            text = template.render(
                family=family,
                maps=[m for m in maps if isinstance(m, Map)],
                folds=[f for f in folds if isinstance(f, Fold)],
                missing=[m for m in (*maps, *folds) if isinstance(m, Missing)],
            )
            output.write(f"backend/{family}.cpp", text)
    texts = {p.stem: p.read_text(encoding="utf-8") for p in sorted(KERNELS.glob("*.cl"))}
    text = environment.get_template("texts.cpp.jinja").render(texts=texts)
    output.write("backend/texts.cpp", text)
