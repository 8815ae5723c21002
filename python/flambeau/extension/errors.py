"""What compilers say, led back to declarations and kernels."""

from __future__ import annotations

import re
from pathlib import Path

from flambeau._build.compiler import BuildError
from flambeau.codegen.model.entries import Declarations
from flambeau.codegen.plan.cpp_types import origin
from flambeau.codegen.text.excerpt import remember_source
from flambeau.codegen.text.source import Diagnostic, Span

# Of g++, `a.cpp:3:7: error: ...`, and of nvcc, `a.cu(3): error: ...`.
_MISTAKES = [
    re.compile(rf"^(?P<file>[^\s:][^:\n]*){place} (?:fatal )?error[^:\n]*: (?P<message>.*)$", re.M)
    for place in (r":(?P<line>\d+):(?:(?P<column>\d+):)?", r"\((?P<line>\d+)\):(?P<column>)")
]


class CompileError(BuildError):
    """C++ that does not compile: the package's kernels, or what its declarations became.

    `diagnostics` are the mistakes with their places, in kernel files or declarations; `output` is
    all that the compilers said.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     kernel = pathlib.Path(folder, "half.cpp")
        ...     _ = kernel.write_text("int half = wrong;")
        ...     try:
        ...         flambeau.ops.load('''
        ... - op: "half(Tensor self) -> Tensor result"
        ...   kind: structured
        ...   dtypes: {self: float}
        ...   shape: {result: "self.shape"}
        ...   kernel: {cpu: half.cpp}
        ...   derivative: none
        ... ''', [kernel])
        ...     except flambeau.ops.CompileError as error:
        ...         (mistake,) = error.diagnostics
        ...         print(f"{mistake.span.line}:{mistake.span.column}: {mistake.message}")
        1:12: ...wrong... was not declared in this scope
    """

    def __init__(self, package: str, diagnostics: tuple[Diagnostic, ...], output: str) -> None:
        self.diagnostics = diagnostics
        self.output = output
        shown = "\n".join(d.render() for d in diagnostics) or output
        super().__init__(f"{package} does not compile:\n{shown}")


def compile_error(declarations: Declarations, output: str) -> CompileError:
    """The exception for the output of a compilation that failed. Generated code names the file and
    the operator that it comes from: the mistake is shown at the entry.
    """
    entries = {origin(operator): operator.span for operator in declarations.own}
    found = [
        Diagnostic(
            entries.get(match["file"])
            or Span(match["file"], int(match["line"]), int(match["column"] or 1)),
            match["message"],
        )
        for pattern in _MISTAKES
        for match in pattern.finditer(output)
    ]
    for path in {Path(diagnostic.span.file) for diagnostic in found}:
        if path.is_file():
            remember_source(str(path), path.read_text(encoding="utf-8", errors="replace"))
    return CompileError(declarations.package, tuple(dict.fromkeys(found)), output)
