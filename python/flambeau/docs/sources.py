"""The source folder of the site: the guide, as written, and the pages that are generated."""

from __future__ import annotations

import html
import json
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import YamlLexer

from flambeau.codegen.plan.coverage import as_json, coverage_of
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.text.folders import default_folder, function_files, yaml_files
from flambeau.codegen.write.docs import emit_docs, pages
from flambeau.codegen.write.files import Output
from flambeau.docs.formula_functions import function_tables, helper_table
from flambeau.docs.library import described, layers_of_operators, library_pages

GUIDE = Path(__file__).parent / "source"
ROOT = "docs"  # below the sources: where the generator puts its pages


class _Sources(Output):
    """The folder; pages that the generator writes get what the library adds to them."""

    def __init__(self, folder: Path, added: dict[str, str]) -> None:
        super().__init__(folder)
        self._added = added

    def write(self, name: str, text: str) -> None:
        super().write(name, text + self._added.get(name.removeprefix(f"{ROOT}/"), ""))


def write_sources(work: Path) -> Path:
    """Brings the sources up to date; returns the folder that Sphinx reads."""
    declarations = library_declarations()
    operators = pages(declarations)
    library = described(operators)
    output = _Sources(work / "sources", layers_of_operators(library))
    emit_docs(operators, declarations, output)
    for name, text in library_pages(library).items():
        output.write(f"{ROOT}/{name}", text)
    folder = default_folder()
    for file in yaml_files(folder):
        page = _declarations_page(file, f"declarations/{file.relative_to(folder)}")
        output.write(f"{ROOT}/declarations/{file.stem}.md", page)
    for file in function_files(folder):
        name = f"declarations/{file.relative_to(folder)}"
        output.write(f"{ROOT}/{Path(name).with_suffix('.md')}", _declarations_page(file, name))
    for file in sorted(GUIDE.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            output.write_bytes(f"{ROOT}/{file.relative_to(GUIDE)}", file.read_bytes())
    output.write(f"{ROOT}/guide/formula_functions.inc", function_tables())
    output.write(f"{ROOT}/guide/formula_helpers.inc", helper_table(declarations))
    output.write(f"{ROOT}/_static/operators.js", _operators_script())
    output.remove_stale()
    return output.folder / ROOT


def _declarations_page(file: Path, name: str) -> str:
    """A file of declarations with an anchor at every line."""
    text = highlight(
        file.read_text(encoding="utf-8"), YamlLexer(), HtmlFormatter(nowrap=True)
    ).rstrip("\n")
    lines = "".join(
        f'<span class="line" id="L{number}">{line}\n</span>'
        for number, line in enumerate(text.split("\n"), start=1)
    )
    title = html.escape(name)
    body = f'<div class="highlight source"><pre>{lines}</pre></div>'
    return f"---\norphan: true\nhide-toc: true\n---\n# {title}\n\n```{{raw}} html\n{body}\n```\n"


def _operators_script() -> str:
    """What the explorer filters: the coverage of the public operators and where their pages are."""
    coverage = as_json(coverage_of(library_declarations()))
    coverage["operators"] = [
        {**row, "page": f"operators/{row['name'].partition('.')[0]}.html"}
        for row in coverage["operators"]
        if row["forms"] and not row["internal"]
    ]
    del coverage["gaps"]
    return f"window.flambeauOperators = {json.dumps(coverage, separators=(',', ':'))};\n"
