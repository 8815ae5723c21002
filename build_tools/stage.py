"""Lays out the importable package: Python sources, generator, declarations, headers, libraries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from build_tools.ninja_file import abi_header


def package_files(root: Path, build: Path, generated: Path) -> Iterator[tuple[Path, str]]:
    """(source, path inside the wheel) of what the wheel carries beside python/flambeau."""
    yield build / "lib" / "_C.so", "flambeau/_C.so"
    for library in ("libflambeau.so", "libflambeau_python.so"):
        yield build / "lib" / library, f"flambeau/lib/{library}"
    for file in sorted((root / "codegen").rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file, f"flambeau/codegen/{file.relative_to(root / 'codegen')}"
    for file in sorted((root / "build_tools" / "shared").glob("*.py")):
        yield file, f"flambeau/_build/{file.name}"
    for file in sorted((root / "tests" / "operators").glob("*.py")):
        yield file, f"flambeau/_operator_tests/{file.name}"
    declarations = root / "declarations"
    for suffix in ("*.yaml", "*.json", "*.py"):
        for file in sorted(declarations.rglob(suffix)):
            yield file, f"flambeau/declarations/{file.relative_to(declarations)}"
    guide = root / "python" / "docs"
    for file in sorted(guide.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file, f"flambeau/docs/source/{file.relative_to(guide)}"
    for base in (root / "native", generated, abi_header(root).parent):
        for suffix in ("*.h", "*.cuh"):
            for file in sorted(base.rglob(suffix)):
                yield file, f"flambeau/include/{file.relative_to(base)}"
    # With all docstrings, where the library could be asked for them.
    completed = build / "stubs"
    for file in sorted((generated / "stubs").rglob("*.pyi")):
        name = file.relative_to(generated / "stubs")
        yield (completed / name if (completed / name).exists() else file), f"flambeau/{name}"
    for file in sorted((generated / "package").rglob("*")):
        if file.is_file():
            yield file, f"flambeau/{file.relative_to(generated / 'package')}"


def stage_links(root: Path, build: Path, generated: Path) -> Path:
    """A folder of links for `import flambeau` from the tree; returns what to put on sys.path."""
    package = build / "package"
    target = package / "flambeau"
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for file in sorted((root / "python" / "flambeau").rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            _link(file, target / file.relative_to(root / "python" / "flambeau"))
    for source, name in package_files(root, build, generated):
        _link(source, package / name)
    return package


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
