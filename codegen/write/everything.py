"""All that is generated from declarations: for the library, and for a package outside it."""

from __future__ import annotations

from pathlib import Path

from flambeau._build import instruction_sets
from flambeau.codegen.model.entries import Declarations
from flambeau.codegen.write.batching import emit_batching
from flambeau.codegen.write.bindings import emit_bindings, emit_package_bindings
from flambeau.codegen.write.cuda import emit_cuda
from flambeau.codegen.write.docs import emit_docs, pages
from flambeau.codegen.write.dtypes import emit_dtypes
from flambeau.codegen.write.files import Output, Sink
from flambeau.codegen.write.functions import emit_functions
from flambeau.codegen.write.native import emit_native
from flambeau.codegen.write.stubs import emit_package_stubs, emit_stubs


def emit_everything(declarations: Declarations, folder: Path) -> Output:
    """Brings the generated folder up to date; the result says which files changed."""
    output = Output(folder)
    emit_into(declarations, output)
    output.remove_stale()
    return output


def emit_into(declarations: Declarations, sink: Sink) -> None:
    """Every generated file."""
    for name, text in emit_dtypes(declarations).items():
        sink.write(name, text)
    sink.write("instruction_sets.h", instruction_sets.header())
    emit_functions(sink)
    emit_native(declarations, sink)
    emit_cuda(declarations, sink)
    emit_bindings(declarations, sink)
    emit_batching(declarations, sink)
    emit_stubs(declarations, sink)
    emit_docs(pages(declarations), declarations, sink)


def emit_package(declarations: Declarations, folder: Path, module: str) -> Output:
    """The same for the package whose declarations these are (`declarations.own`).

    `module` is the full name of the extension module that its functions come in.
    """
    output = Output(folder, declarations.package)
    emit_native(declarations, output)
    emit_cuda(declarations, output)
    emit_package_bindings(declarations, module, output)
    emit_package_stubs(declarations, output)
    emit_docs(pages(declarations), declarations, output)
    return output
