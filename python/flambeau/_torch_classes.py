"""Classes under PyTorch's names: what `print(type(x))` says in programs that import torch.

Programs also read `type(m).__module__`, which is where PyTorch keeps a class: torch.nn.modules.conv
of a convolution. Every name given here can be imported; pickles name classes so.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

OURS = "flambeau"
# Packages of ours that are one module there: their classes are where the package is.
_ONE_MODULE = ("optim.lr_scheduler",)


def name_as_torch() -> None:
    """Names the classes of all modules that are loaded, and of those that will be."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] == OURS:
            _name_classes(name, module)
    sys.meta_path.insert(0, _AfterLoading())


class _AfterLoading(MetaPathFinder, Loader):
    """Loads our modules as they are loaded without it, and then names their classes."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(f"{OURS}."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Naming(spec.loader)
        return spec


class _Naming(Loader):
    """A loader, and the naming of classes after it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _name_classes(module.__name__, module)


def _name_classes(name: str, module: ModuleType) -> None:
    place = _torch(name)
    # `inspect` looks for the source of a class in the module that it says.
    if module.__spec__ is not None:
        sys.modules.setdefault(place, module)
    for package in _ONE_MODULE:
        if place.startswith(f"torch.{package}."):
            place = f"torch.{package}"
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == name:
            # Of a sparse tensor it is printed that it is a Tensor.
            is_tensor = value.__name__ == "Tensor"
            value.__module__ = "torch" if is_tensor else place
    if name == f"{OURS}._C":
        _name_compiled(module)
    if name == f"{OURS}.nn":
        _name_layers()


def _name_compiled(module: ModuleType) -> None:
    """The compiled classes say in which module a program finds them."""
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__.partition(".")[0] == OURS:
            value.__module__ = _torch(value.__module__)
            # Python's messages have the name with which a compiled type was made.
            value.__name__ = value.__name__


def _name_layers() -> None:
    """Layers are where PyTorch keeps them: `nn.modules.linear`."""
    modules = importlib.import_module(f"{OURS}.nn.modules")
    homes: dict[type, list[str]] = {}
    for place, (files, _) in modules._PLACES.items():
        sys.modules.setdefault(f"torch.nn.modules.{place}", getattr(modules, place))
        sources = {f"torch.nn.{file}" for file in files.split() if file != "parameter"}
        for attribute, value in vars(getattr(modules, place)).items():
            is_here = isinstance(value, type) and value.__module__ in sources
            if is_here and value.__name__ == attribute:
                homes.setdefault(value, []).append(place)
    for layer, places in homes.items():
        # A file of ours may hold what several of theirs do: Flatten, ChannelShuffle, ZeroPad2d.
        likely = [place for place in places if place[:3] in layer.__name__.lower()]
        layer.__module__ = f"torch.nn.modules.{(likely or places)[0]}"


def _torch(name: str) -> str:
    return "torch" + name.removeprefix(OURS)
