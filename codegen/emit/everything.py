"""All that is generated from declarations."""

from __future__ import annotations

from pathlib import Path

from flambeau.codegen.emit.bindings import emit_bindings
from flambeau.codegen.emit.cuda import emit_cuda
from flambeau.codegen.emit.docs import emit_docs
from flambeau.codegen.emit.dtypes import emit_dtypes
from flambeau.codegen.emit.files import Output, Sink
from flambeau.codegen.emit.native import emit_native
from flambeau.codegen.emit.stubs import emit_stubs
from flambeau.codegen.model import Declarations


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
    emit_native(declarations, sink)
    emit_cuda(declarations, sink)
    emit_bindings(declarations, sink)
    emit_stubs(declarations, sink)
    emit_docs(declarations, sink)
