"""What a folder with operators, or with a backend, asks the build for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flambeau._build.compiler import BuildError
from flambeau._build.cuda import NATIVE
from flambeau.codegen.references.files import FOLDER
from flambeau.codegen.text.folders import yaml_files

CONFIGURATION = "pyproject.toml"
KEYS = {
    "module": str,
    "declarations": str,
    "kernels": str,
    "libraries": list,
    "include-folders": list,
    "compile-flags": list,
    "link-flags": list,
    "generate": str,
    "cuda": bool,
    "cuda-architectures": list,
}
_KINDS = {str: "a string", list: "a list of strings", bool: "true or false"}


@dataclass(frozen=True)
class Project:
    """A folder that is built into a Python package with an extension module `_C`.

    Everything is found by its place: Python sources in `MODULE/` (or `src/MODULE/`), declarations
    in `declarations/**/*.yaml`, functions that their references call in `references/` beside these,
    C++ and CUDA in `kernels/**/*.cpp` and `*.cu`. The table `[tool.flambeau]` of the folder's
    pyproject.toml, where there is one, changes that:

    - `module`: the name that Python imports; default: the project's name, or the folder's
    - `declarations`, `kernels`: other folders
    - `libraries`: names of libraries to link (`["OpenCL"]`)
    - `include-folders`: of headers, beside `kernels`
    - `compile-flags`, `link-flags`: further options of the compiler
    - `generate`: `FILE.py:FUNCTION`, called before compiling with the package's declarations
      (`flambeau.codegen.model.entries.Declarations`) and the generated folder
      (`flambeau.codegen.write.files.Output`). What it writes to `ops/`, `cpu/`, `backend/` and
      `python/` is compiled, what it writes to `package/` goes into the Python package.
    - `cuda`: whether to compile kernels for CUDA, with nvcc; default: where Flambeau has its CUDA
      backend
    - `cuda-architectures`: what for (`["sm_90"]`); default: the GPUs of this machine
    """

    root: Path
    module: str
    declarations_folder: Path
    declarations: tuple[Path, ...]
    references: tuple[Path, ...]
    kernels: Path
    libraries: tuple[str, ...] = ()
    include_folders: tuple[Path, ...] = ()
    compile_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    generate: str = ""
    cuda: bool | None = None
    cuda_architectures: tuple[str, ...] = (NATIVE,)
    sources: tuple[Path, ...] = ()  # of C++, those of `kernels`
    cuda_sources: tuple[Path, ...] = ()

    @property
    def kernel_files(self) -> frozenset[str]:
        """Names of kernel files, as entries give them."""
        files = (*self.sources, *self.cuda_sources)
        return frozenset(str(file.relative_to(self.kernels)) for file in files)

    @property
    def python(self) -> Path:
        """The folder of the package's Python sources, which need not exist."""
        inside = self.root / "src" / self.module
        return inside if inside.is_dir() else self.root / self.module


def read_project(root: Path) -> Project:
    """The project in a folder.

    Raises:
        BuildError: where the folder holds nothing to build, or its configuration is wrong.
    """
    project = read_settings(root)
    if not project.declarations and not project.sources and not project.generate:
        raise BuildError(
            f"There is nothing to build in {project.root}: no "
            f"{project.declarations_folder.name}/*.yaml and no {project.kernels.name}/*.cpp."
        )
    return project


def read_settings(root: Path) -> Project:
    """The same for a folder that may hold nothing yet."""
    root = root.resolve()
    if not root.is_dir():
        raise BuildError(f"There is no folder {root}.")
    name, table = _configuration(root)
    module = table.get("module", name)
    if not re.fullmatch(r"[A-Za-z_]\w*", module):
        raise BuildError(f"{root / CONFIGURATION}: '{module}' is no name of a Python module.")
    declarations = root / table.get("declarations", "declarations")
    kernels = root / table.get("kernels", "kernels")
    return Project(
        root=root,
        module=module,
        declarations_folder=declarations,
        declarations=tuple(yaml_files(declarations)),
        references=tuple(sorted(declarations.rglob(f"{FOLDER}/*.py"))),
        kernels=kernels,
        libraries=_strings(root, table, "libraries"),
        include_folders=tuple(root / path for path in _strings(root, table, "include-folders")),
        compile_flags=_strings(root, table, "compile-flags"),
        link_flags=_strings(root, table, "link-flags"),
        generate=table.get("generate", ""),
        cuda=table.get("cuda"),
        cuda_architectures=_strings(root, table, "cuda-architectures") or (NATIVE,),
        sources=tuple(sorted(kernels.rglob("*.cpp"))),
        cuda_sources=tuple(sorted(kernels.rglob("*.cu"))),
    )


def _configuration(root: Path) -> tuple[str, dict[str, Any]]:
    """The default name of the module, and the table [tool.flambeau]."""
    path = root / CONFIGURATION
    if not path.exists():
        return _module_name(root.name), {}
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BuildError(f"{path}: {error}") from None
    table = document.get("tool", {}).get("flambeau", {})
    for key, value in table.items():
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise BuildError(f"{path}: [tool.flambeau] has no key '{key}' (there are {known}).")
        if not isinstance(value, KEYS[key]):
            raise BuildError(f"{path}: '{key}' of [tool.flambeau] must be {_KINDS[KEYS[key]]}.")
    return _module_name(document.get("project", {}).get("name", root.name)), table


def _module_name(name: str) -> str:
    return re.sub(r"[-.]+", "_", name)


def _strings(root: Path, table: dict[str, Any], key: str) -> tuple[str, ...]:
    values: Sequence[Any] = table.get(key, ())
    if not all(isinstance(value, str) for value in values):
        raise BuildError(f"{root / CONFIGURATION}: '{key}' of [tool.flambeau] must list strings.")
    return tuple(values)
