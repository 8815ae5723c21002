"""Which folder may know which: imports and includes point one way.

`python -m build_tools.arrows` names every arrow that points up, and every circle of Python modules.
A name imported from the front door of a package (`from flambeau import Tensor`) counts as imported
from where it is defined.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# From the ground up: a room of the generator knows those before it.
GENERATOR = (
    *(
        "text",
        "formula",
        "references",
        "model",
        "tensor",
        "read",
        "plan",
        "write",
        "check",
        "tools",
    ),
)
# Rooms of the native code from the ground up: each knows those before it that are named, and all
# of a folder's rooms where the folder is named. `kernels`, `ops` and headers without a folder are
# generated; so are `formulas`, which generated units alone include.
CORE = (
    *("base", "profiling", "threads", "types", "backends", "geometry", "memory", "tensor", "files"),
    *("random", "math", "iteration"),
)
AUTOGRAD = ("graph", "views", "engine", "recording")
# A type needs calls to be made, and calls need types: in the Python module, headers point one way.
PYTHON = ("base", "objects", "interop", "calls", "autograd", "module")
FOLDERS: Mapping[str, frozenset[str]] = {
    "core": frozenset(),
    "autograd": frozenset({"core"}),
    "operators": frozenset({"autograd", "core", "ops"}),
    "any": frozenset({"core", "kernels"}),
    "cpu": frozenset({"core", "kernels"}),
    "cuda": frozenset({"core", "kernels"}),
    "python": frozenset({"core", "autograd", "operators", "ops"}),
    "portable": frozenset(),
}
PRECOMPILED = "precompiled.h"  # stands for headers of every room
ROOMS: Mapping[str, tuple[str, ...]] = {"core": CORE, "autograd": AUTOGRAD, "python": PYTHON}


def main() -> int:
    generator = Package(ROOT / "codegen", "flambeau.codegen")
    library = Package(ROOT / "python" / "flambeau", "flambeau")
    tools = Package(ROOT / "build_tools", "build_tools")
    wrong = [*upward(generator), *native_arrows()]
    for package in (generator, library, tools):
        wrong += package.circles()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if not wrong:
        print("All arrows point one way.")
    return 1 if wrong else 0


def native_arrows() -> Iterator[str]:
    """Every include of a folder, or of a room of the same folder, that must not be known."""
    for path in sorted((ROOT / "native").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".cu", ".cuh"):
            continue
        folder, *rooms = path.relative_to(ROOT / "native").parts[:-1]
        if path.name == PRECOMPILED:
            continue
        if folder in ROOMS and (not rooms or rooms[0] not in ROOMS[folder]):
            yield f"{path.relative_to(ROOT)}: in no room of {folder}"
            continue
        includes = re.findall(r'^#include "(\w+)/(\w+)?', path.read_text(encoding="utf-8"), re.M)
        for known, room in includes:
            if known != folder:
                wrong = known not in FOLDERS[folder]
            elif folder == "python" and path.suffix == ".cpp":
                wrong = False
            else:
                wrong = folder in ROOMS and _is_above(ROOMS[folder], room, rooms[0])
            if wrong:
                yield f"{path.relative_to(ROOT)}: must not know {known}/{room}"


def _is_above(order: tuple[str, ...], room: str, here: str) -> bool:
    return order.index(room) > order.index(here)


class Package:
    """The modules below a folder, and what each imports when it is loaded."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.files: dict[str, Path] = {}
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            self.files[".".join((name, *parts))] = path
        self._trees = {
            module: ast.parse(path.read_text(encoding="utf-8"))
            for module, path in self.files.items()
        }
        self.imports = {module: set(self._imported(module)) for module in self.files}

    def circles(self) -> list[str]:
        try:
            TopologicalSorter(self.imports).prepare()
        except CycleError as error:
            return [f"modules import each other: {' -> '.join(reversed(error.args[1]))}"]
        return []

    def _imported(self, module: str) -> Iterator[str]:
        for node in loaded(self._trees[module]):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name in self.files]
                # `import flambeau` asks for nothing yet.
                yield from (name for name in names if not self._is_package(name))
            elif node.level == 0 and node.module:
                for alias in node.names:
                    yield from self._origin(node.module, alias.name, module)

    def _origin(self, source: str, name: str, module: str) -> Iterator[str]:
        """The module that an imported name is defined in."""
        full = f"{source}.{name}"
        if full in self.files:
            if full != module and not self._is_package(full):
                yield full
        elif source in self.files and self._is_package(source):
            for node in loaded(self._trees[source]):
                if isinstance(node, ast.ImportFrom) and node.module not in (None, source):
                    for alias in node.names:
                        if (alias.asname or alias.name) == name:
                            yield from self._origin(str(node.module), alias.name, module)
        elif source in self.files and source != module:
            yield source

    def _is_package(self, module: str) -> bool:
        return self.files[module].name == "__init__.py"


def loaded(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run with the module: not those in functions, nor those for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif isinstance(node, ast.stmt) and not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            yield from loaded(node)


def upward(generator: Package) -> Iterator[str]:
    """Arrows between rooms of the generator that do not point down."""

    def room(module: str) -> str | None:
        parts = module.removeprefix(f"{generator.name}.").split(".")
        return parts[0] if parts[0] in GENERATOR else None

    for module, imported in generator.imports.items():
        here = room(module)
        if here is None and module not in (generator.name, f"{generator.name}.__main__"):
            yield f"{generator.files[module].relative_to(ROOT)}: lies in no room of GENERATOR"
        for other in sorted(imported):
            there = room(other)
            if here and there and GENERATOR.index(there) > GENERATOR.index(here):
                yield f"{generator.files[module].relative_to(ROOT)}: {here} must not know {there}"


if __name__ == "__main__":
    sys.exit(main())
