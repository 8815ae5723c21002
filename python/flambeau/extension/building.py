"""Builds a project: generate, compile, lay out the Python package."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flambeau._build.ending import ending
from flambeau._build.lock import exclusive
from flambeau._build.ninja_writer import write_if_changed
from flambeau.cuda import _library as cuda_library
from flambeau.extension.compilation import Compilation, Cuda, start_ninja, write_ninja
from flambeau.extension.errors import compile_error
from flambeau.extension.generating import check_formulas, generate, load_checked
from flambeau.extension.project import Project

GENERATED = "generated"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
# Found beside an installed Flambeau; one that is loaded already is taken from anywhere.
RUN_PATHS = ("$$ORIGIN/../flambeau/lib", "$$ORIGIN")


@dataclass(frozen=True)
class Built:
    """A finished build."""

    project: Project
    folder: Path
    libraries: tuple[Path, ...]  # the extension module, and its kernels for CUDA

    @property
    def generated(self) -> Path:
        """What was generated: C++, stubs, docs."""
        return self.folder / GENERATED

    @property
    def python(self) -> Path:
        """Python files that the project leaves to the build."""
        return self.folder / "python"

    def files(self) -> Iterator[tuple[Path, str]]:
        """(source, place on sys.path) of everything that the Python package is made of."""
        module, written = self.project.module, self.project.python
        for file in _files(written):
            yield file, f"{module}/{file.relative_to(written)}"
        for file in _files(self.python):
            if not (written / file.name).exists():
                yield file, f"{module}/{file.name}"
        for file in self.libraries:
            yield file, f"{module}/{file.name}"
        for file in (*self.project.declarations, *self.project.references):
            below = file.relative_to(self.project.declarations_folder)
            yield file, f"{module}/declarations/{below}"
        for part in ("stubs", "package"):
            for file in _files(self.generated / part):
                yield file, f"{module}/{file.relative_to(self.generated / part)}"


def _files(folder: Path) -> list[Path]:
    found = (f for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    return sorted(found) if folder.is_dir() else []


def build_folder(project: Project) -> Path:
    """Where a project is built."""
    return project.root / "build" / f"flambeau-{sys.implementation.cache_tag}"


def build(project: Project, jobs: int | None = None) -> Built:
    """Brings a project's build folder up to date.

    Raises:
        flambeau.codegen.text.source.DeclarationError: for mistakes in declarations.
        CompileError: where a compiler reports errors.
        BuildError: where something is missing that the build needs.
    """
    folder = build_folder(project)
    compilation = _compilation(project, folder)
    with exclusive(folder):
        declarations = load_checked(project)
        check_formulas(declarations)
        generate(project, declarations, compilation.generated, f"{project.module}._C")
        built = Built(project, folder, tuple(compilation.targets))
        write_if_changed(built.python / "__init__.py", _initial(project.module))
        write_if_changed(built.python / "py.typed", "\n")
        process = start_ninja(write_ninja(compilation), jobs)
        with ending(process):
            said, _ = process.communicate()
        if process.returncode != 0:
            raise compile_error(declarations, said)
    return built


def _compilation(project: Project, folder: Path) -> Compilation:
    with_cuda = cuda_library.path().exists() if project.cuda is None else project.cuda
    named = tuple(f"-l{name}" for name in project.libraries)
    return Compilation(
        folder=folder,
        generated=folder / GENERATED,
        target=folder / "lib" / f"_C{SUFFIX}",
        sources=project.sources,
        bases=(project.root, project.kernels),
        include_folders=(project.kernels, *project.include_folders),
        compile_flags=project.compile_flags,
        link_flags=(*named, *project.link_flags),
        run_paths=RUN_PATHS,
        cuda=Cuda(project.cuda_architectures, project.cuda_sources) if with_cuda else None,
    )


def _initial(module: str) -> str:
    """The package's __init__.py, where it has none of its own."""
    return (
        f'"""Operators of {module}."""\n\n'
        "import flambeau as _flambeau  # noqa: F401  loads the libraries that _C needs\n"
        f"from {module}._C import *  # noqa: F403\n"
    )
