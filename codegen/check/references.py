"""What can be seen of files of references without calling them."""

from __future__ import annotations

from flambeau.codegen.check.report import Context
from flambeau.codegen.references.files import references_of
from flambeau.codegen.text.source import Diagnostic


def check_references(context: Context) -> list[Diagnostic]:
    """Mistakes in the references of the files whose operators are checked."""
    files = dict.fromkeys(operator.span.file for operator in context.checked)
    found = [references for file in files if (references := references_of(file)) is not None]
    return [mistake for references in found for mistake in references.mistakes]
