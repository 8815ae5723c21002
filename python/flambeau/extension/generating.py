"""From a project's declarations to the generated folder, by way of the checks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from flambeau._build.compiler import BuildError
from flambeau.codegen.check.registry import computing_checks, run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.model.entries import Declarations
from flambeau.codegen.read.loader import Loaded, Package, load_package
from flambeau.codegen.text.source import Diagnostics
from flambeau.codegen.write.everything import emit_package
from flambeau.codegen.write.files import Output
from flambeau.extension.project import Project


def load_checked(project: Project, documented: bool = True) -> Declarations:
    """The project's declarations, and those of the library, after the checks that only read.

    `documented` false lets operators be without a description.

    Raises:
        flambeau.codegen.text.source.DeclarationError: with every mistake that was found.
    """
    diagnostics = Diagnostics()
    loaded = load_package(Package(project.module, project.declarations), diagnostics)
    return checked(loaded, project.kernel_files, documented, diagnostics)


def checked(
    loaded: Loaded, kernels: frozenset[str], documented: bool, diagnostics: Diagnostics
) -> Declarations:
    """What was loaded, after the checks that only read. `kernels`: names of the files there are.

    Raises:
        flambeau.codegen.text.source.DeclarationError: with every mistake that was found.
    """
    context = Context(
        loaded.declarations,
        loaded.incomplete,
        partial=loaded.partial,
        kernels=kernels,
        documented=documented,
    )
    diagnostics.extend(run_checks(context, computing=False))
    diagnostics.raise_if_any()
    return loaded.declarations


def check_formulas(declarations: Declarations) -> None:
    """The checks that evaluate formulas: gradients against finite differences of the references.

    Raises:
        flambeau.codegen.text.source.DeclarationError: with every mistake that was found.
        BuildError: where SciPy is missing.
    """
    if importlib.util.find_spec("scipy") is None:
        raise BuildError("Checking formulas needs SciPy: install it with `pip install scipy`.")
    diagnostics = Diagnostics()
    for check in computing_checks():
        diagnostics.extend(check(Context(declarations)))
    diagnostics.raise_if_any()


def generate(project: Project, declarations: Declarations, folder: Path, extension: str) -> Output:
    """Writes everything that follows from the declarations; `extension` is the full name of the
    extension module.
    """
    output = emit_package(declarations, folder, extension)
    if project.generate:
        _call_generator(project, declarations, output)
    output.remove_stale()
    return output


def _call_generator(project: Project, declarations: Declarations, output: Output) -> None:
    """The project's own part of generation."""
    file, _, name = project.generate.partition(":")
    path = project.root / file
    if not path.is_file() or not name:
        raise BuildError(
            f"{project.root}: 'generate' must be FILE.py:FUNCTION, got '{project.generate}'."
        )
    spec = importlib.util.spec_from_file_location(f"_generate_{project.module}", path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
        function = getattr(module, name, None)
        if function is None:
            raise BuildError(f"{path} has no function '{name}'.")
        function(declarations, output)
    finally:
        sys.path.remove(str(path.parent))
