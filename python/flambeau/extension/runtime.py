"""Compiles the operators of `flambeau.ops.load` into one file."""

from __future__ import annotations

from pathlib import Path

from flambeau import _C
from flambeau._build.cuda import NATIVE
from flambeau._build.ending import ending
from flambeau._build.instruction_sets import flags_of
from flambeau.codegen.model.entries import Declarations
from flambeau.codegen.read.loader import declaration_files, load_texts, read_files
from flambeau.codegen.text.folders import default_folder
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Span
from flambeau.codegen.write.everything import emit_package
from flambeau.extension.compilation import (
    Compilation,
    Cuda,
    included_headers,
    start_ninja,
    write_ninja,
)
from flambeau.extension.errors import compile_error
from flambeau.extension.generating import check_formulas, checked
from flambeau.ops._cache import Made
from flambeau.ops._source import Source


def compile_source(source: Source, folder: Path, with_formulas: bool, cuda: bool) -> Made:
    """Compiles for this processor, and with `cuda` for the GPUs of this machine: the extension
    module and the library of its kernels for CUDA.

    Raises:
        flambeau.codegen.text.source.DeclarationError: for mistakes in declarations.
        flambeau.extension.errors.CompileError: where a compiler reports errors.
        flambeau._build.compiler.BuildError: where something is missing that is needed.
    """
    declarations = _checked(source)
    level = _C._cpu_capability()
    parents = tuple(dict.fromkeys(kernel.parent for kernel in source.kernels))
    by_nvcc = tuple(kernel for kernel in source.kernels if kernel.suffix == ".cu")
    compilation = Compilation(
        folder=folder,
        generated=folder / "generated",
        target=folder / f"{source.name}.so",
        sources=tuple(kernel for kernel in source.kernels if kernel not in by_nvcc),
        bases=parents,
        include_folders=parents,
        instruction_sets={level: flags_of()[level]},
        cuda=Cuda((NATIVE,), by_nvcc) if cuda else None,
    )
    module = f"flambeau.ops.loaded.{source.name}"
    emit_package(declarations, compilation.generated, module)
    script = write_ninja(compilation)
    process = start_ninja(script)
    with ending(process):
        if with_formulas and any(o.test.samples for o in declarations.own):
            check_formulas(declarations)  # while the compilers work
        said, _ = process.communicate()
    if process.returncode != 0:
        raise compile_error(declarations, said)
    return Made(compilation.targets, included_headers(script, source.kernels))


def _checked(source: Source) -> Declarations:
    """The declarations of the source and of the library."""
    diagnostics = Diagnostics()
    texts = read_files(declaration_files(default_folder()), diagnostics)
    loaded = load_texts(texts, diagnostics, source.name, {source.file: source.text})
    kernels = frozenset(kernel.name for kernel in source.kernels)
    declarations = checked(loaded, kernels, False, diagnostics)
    if not declarations.own:
        raise DeclarationError.at(Span(source.file, 1, 1), "declares no operator")
    return declarations
