"""Programs that say `import torch` run on Flambeau.

    python -m flambeau.run_as_torch train.py --epochs 3
    python -m flambeau.run_as_torch -m package.train

or `flambeau.run_as_torch.install()` in Python, before anything imports torch. Then `torch` and
every `torch.X` is the module of Flambeau of that name, the same object. What Flambeau does not have
is an error that names it.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
import runpy
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import flambeau
from flambeau._torch_classes import name_as_torch
from flambeau._version import __version__
from flambeau.torch_version import TorchVersion

__all__ = ["API_VERSION", "install", "run"]

API_VERSION = "2.13.0"
"""The release of PyTorch whose names and semantics these are: what `torch.__version__` begins with.
"""

_VERSION = TorchVersion(f"{API_VERSION}+flambeau.{__version__}")
# Holds a package `torch` that installs the names: processes that a program starts find it there.
_FOLDER = Path(__file__).parent / "_torch_for_children"


class _Finder(MetaPathFinder, Loader):
    """Finds our modules under the names of PyTorch's, and a distribution "torch"."""

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, _ = fullname.partition(".")
        if root not in ("torch", "functorch") or find_spec(_ours(fullname)) is None:
            return None
        return spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_ours(spec.name))
        spec.loader_state = module.__spec__
        # What is loaded already is not imported again, which would put a module in the place of a
        # function of its name: `torch.nn.utils.weight_norm`.
        for name, loaded in list(sys.modules.items()):
            if name.startswith(f"{_ours(spec.name)}."):
                sys.modules.setdefault(re.sub("^flambeau", "torch", name), loaded)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # It ran when it was imported. The import has just said that its name is torch.X.
        spec = module.__spec__
        assert spec is not None
        module.__spec__ = spec.loader_state

    def get_code(self, fullname: str) -> CodeType | None:
        """What `python -m torch.X` runs."""
        ours = find_spec(_ours(fullname))
        loader: Any = ours.loader if ours else None
        code: CodeType | None = loader.get_code(_ours(fullname))
        return code

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008
    ) -> Iterable[Distribution]:
        """What `importlib.metadata` finds: libraries ask for the version of "torch"."""
        return [_Distribution()] if context.name in (None, "torch") else []


class _Distribution(Distribution):
    """The metadata of "torch"."""

    _FILES = {  # noqa: RUF012
        "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {_VERSION}\n"
        "Summary: Flambeau, under the name of PyTorch\n",
        "top_level.txt": "torch\n",
    }

    def read_text(self, filename: str) -> str | None:
        return self._FILES.get(filename)

    def locate_file(self, path: Any) -> Path:
        return _FOLDER / path


def _ours(name: str) -> str:
    return re.sub("^torch", "flambeau", re.sub("^functorch", "flambeau._functorch", name))


def install() -> None:
    """Makes `torch` a name of Flambeau in this process: for imports and for importlib.metadata.

    `torch.__version__` is then "2.13.0+flambeau.VERSION". A second call does nothing.

    Raises:
        RuntimeError: PyTorch was imported already.

    Example:
        >>> import subprocess, sys
        >>> program = '''
        ... from flambeau import run_as_torch
        ... run_as_torch.install()
        ... import torch.nn
        ... print(torch.nn.Linear(2, 3))
        ... '''
        >>> print(subprocess.check_output([sys.executable, "-c", program], text=True).strip())
        Linear(in_features=2, out_features=3, bias=True)
    """
    present = sys.modules.get("torch")
    if present is flambeau:
        return
    if present is not None and present.__spec__ is not None and not _is_ours(present.__spec__):
        raise RuntimeError(
            "run_as_torch.install(): torch was imported already, from "
            f"{present.__spec__.origin}; call this first"
        )
    sys.meta_path.insert(0, _Finder())
    sys.modules["torch"] = flambeau
    vars(flambeau)["torch"] = flambeau  # PyTorch imports itself, and programs say torch.torch.X
    vars(flambeau)["__version__"] = vars(flambeau.version)["__version__"] = _VERSION
    name_as_torch()


def _is_ours(spec: ModuleSpec) -> bool:
    return spec.origin is not None and Path(spec.origin).is_relative_to(_FOLDER)


def run(arguments: Sequence[str]) -> None:
    """Runs a program as Python would, with `import torch` standing for `import flambeau`.

    Args:
        arguments: a path and the program's arguments; or "-m", a module and its arguments.

    Processes that the program starts have the same names, if they are of Python.

    Example:
        >>> import subprocess, sys, tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        ...     _ = script.write("import sys, torch; print(torch.ones(int(sys.argv[1])))")
        ...     script.flush()
        ...     program = f"from flambeau.run_as_torch import run; run(['{script.name}', '2'])"
        ...     print(subprocess.check_output([sys.executable, "-c", program], text=True).strip())
        tensor([1., 1.])
    """
    install()
    _tell_children()
    try:
        if arguments[0] == "-m":
            sys.argv = list(arguments[1:])
            sys.path[0] = os.getcwd()
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = list(arguments)
            sys.path[0] = str(Path(arguments[0]).resolve().parent)
            runpy.run_path(arguments[0], run_name="__main__")
    except ImportError as error:
        for note in _near(error):
            error.add_note(note)
        raise


def _tell_children() -> None:
    present = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(_FOLDER) not in present:
        # The package itself may have been found by a path of this process.
        ours = str(Path(__file__).parents[1])
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_FOLDER), *present, ours]))
    if str(_FOLDER) not in sys.path:
        # Processes that multiprocessing spawns have the path of this one, whatever was told them.
        sys.path.insert(1, str(_FOLDER))


def _near(error: ImportError) -> Iterator[str]:
    """What to say of `from torch import foo` where there is no foo."""
    found = re.match(r"cannot import name '(\w+)' from '(flambeau[\w.]*)'", error.msg)
    if not found:
        return
    name, module = found.groups()
    near = difflib.get_close_matches(name, dir(importlib.import_module(module)))
    shown = module.replace("flambeau", "torch", 1)
    yield f"{shown}.{name} is not in Flambeau yet" + (f"; near: {', '.join(near)}" * bool(near))


def main() -> None:
    """The command `python -m flambeau.run_as_torch`."""
    parser = argparse.ArgumentParser(
        prog="python -m flambeau.run_as_torch",
        description="Run a program that imports torch on Flambeau.",
        usage="%(prog)s (SCRIPT | -m MODULE) [ARGUMENT ...]",
    )
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") or sys.argv[1:] == ["-m"]:
        parser.print_help()
        sys.exit(0 if len(sys.argv) > 1 and sys.argv[1] != "-m" else 2)
    run(sys.argv[1:])


if __name__ == "__main__":
    main()
