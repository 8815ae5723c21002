"""What a package outside the library may not declare."""

from __future__ import annotations

from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.read.operator_reader import NAMESPACES
from flambeau.codegen.text.source import Diagnostic, Diagnostics


def check_package(context: Context) -> list[Diagnostic]:
    """Mistakes in the declarations of a package; none in those of the library."""
    diagnostics = Diagnostics()
    declarations = context.declarations
    if not declarations.package:
        return []
    for operator in declarations.own:
        report = Report(operator, diagnostics)
        if operator.operator is not None:
            message = "Python's operators belong to the library"
            report.error(message, "operator", hint="leave 'operator' out")
        _check_namespace(report)
    return diagnostics.sorted()


def _check_namespace(report: Report) -> None:
    """A function `nn` would hide the submodule of that name."""
    operator = report.operator
    if operator.name in {name.split(".")[0] for name in NAMESPACES}:
        report.at(operator.span, f"'{operator.name}' is the name of a submodule")
