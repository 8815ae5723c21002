"""Compiles the operators of `flambeau.ops.load` into one file."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from flambeau import _C
from flambeau._build.compiling import INSTRUCTION_SETS
from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.emit.everything import emit_package
from flambeau.codegen.loader import declaration_files, default_folder, load_texts, read_files
from flambeau.codegen.model import Declarations
from flambeau.codegen.source import Diagnostics
from flambeau.extension.compilation import Compilation, start_ninja, write_ninja
from flambeau.extension.errors import compile_error
from flambeau.extension.generating import check_formulas


class Source(Protocol):
    """What is compiled: see flambeau.ops._load."""

    @property
    def name(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def kernels(self) -> tuple[Path, ...]: ...


def compile_source(source: Source, folder: Path, with_formulas: bool) -> Path:
    """Compiles for this processor alone; returns the extension module.

    Raises:
        flambeau.codegen.source.DeclarationError: for mistakes in declarations.
        flambeau.extension.errors.CompileError: where a compiler reports errors.
        flambeau._build.compiler.BuildError: where something is missing that is needed.
    """
    declarations = _checked(source)
    generated = folder / "generated"
    level = _C._cpu_capability()
    module = f"flambeau.ops.loaded.{source.name}"
    emit_package(declarations, generated, module, [level]).remove_stale()
    target = folder / f"{source.name}.so"
    parents = tuple(dict.fromkeys(kernel.parent for kernel in source.kernels))
    compilation = Compilation(
        folder=folder,
        generated=generated,
        target=target,
        sources=source.kernels,
        bases=parents,
        include_folders=parents,
        instruction_sets={level: INSTRUCTION_SETS[level]},
    )
    process = start_ninja(write_ninja(compilation))
    try:
        if with_formulas and any(o.test.samples for o in declarations.own):
            check_formulas(declarations)  # while the compilers work
    except BaseException:
        process.terminate()
        process.communicate()
        raise
    said, _ = process.communicate()
    if process.returncode != 0:
        raise compile_error(declarations, said)
    return target


def _checked(source: Source) -> Declarations:
    """The declarations of the source and of the library."""
    diagnostics = Diagnostics()
    texts = read_files(declaration_files(default_folder()), diagnostics)
    loaded = load_texts(texts, diagnostics, source.name, {source.file: source.text})
    kernels = frozenset(kernel.name for kernel in source.kernels)
    context = Context(
        loaded.declarations,
        loaded.incomplete,
        partial=loaded.partial,
        kernels=kernels,
        documented=False,
    )
    diagnostics.extend(run_checks(context, computing=False))
    diagnostics.raise_if_any()
    return loaded.declarations
