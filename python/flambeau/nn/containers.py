"""Modules that hold modules."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from flambeau._values import elements
from flambeau.nn.module import Module


def position(index: Any, length: int) -> int:
    """An index counted from the front.

    Raises:
        IndexError: if it is out of range.
    """
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range for {length} elements")
    return index % length


class Container(Module):
    """The base of modules in the first releases, given its members by name.

    Args:
        kwargs: modules by name.

    Shapes: as a subclass defines.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     pair = flambeau.nn.Container(first=flambeau.nn.ReLU(), second=flambeau.nn.Tanh())
        >>> pair.second
        Tanh()
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "nn.Container is a former name: derive from nn.Module", DeprecationWarning, stacklevel=2
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(Module):
    """Calls modules one after the other: `Sequential(a, b)`, or of an OrderedDict of names.

    Args:
        args: modules, or one OrderedDict of them.

    Shapes: input as the first module takes it, output as the last one gives it.

    Example:
        >>> model = flambeau.nn.Sequential(flambeau.nn.Linear(4, 3), flambeau.nn.ReLU())
        >>> model(flambeau.ones(2, 4)).shape
        flambeau.Size([2, 3])
        >>> model[1]
        ReLU()
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return list(self._modules.values())[position(index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[position(index, len(self))], module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        chosen = names[index] if isinstance(index, slice) else [names[position(index, len(self))]]
        for name in chosen:
            del self._modules[name]
        self._renumber()

    def _renumber(self) -> None:
        """After a removal all modules have numbers, in PyTorch too: they are keys of state_dict."""
        modules = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(modules))

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Puts a module in front of position `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules.clear()
        for i, each in enumerate(modules):
            self.add_module(str(i), each)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        for module in elements("Sequential.extend", sequential):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Removes and returns a module."""
        module = self[key]
        del self[key]
        return module

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(other)


class ModuleList(Module):
    """A list of modules that are registered; it has no forward.

    Args:
        modules: the first members.

    Example:
        >>> layers = flambeau.nn.ModuleList(flambeau.nn.Linear(2, 2) for _ in range(3))
        >>> layers
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
        >>> len(list(layers.parameters()))
        6
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: int | slice) -> Any:
        modules = list(self._modules.values())
        if isinstance(index, slice):
            return type(self)(modules[index])
        return modules[position(index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(position(index, len(self))), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self._modules.values())
        del modules[index]
        self._fill(modules)

    def _fill(self, modules: list[Module]) -> None:
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Puts a module in front of position `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._fill(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList: expected modules, got {type(modules).__name__}")
        for module in elements("ModuleList", modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Removes and returns a module."""
        module = self[key]
        del self[key]
        return module

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(itertools.chain(self, other))

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __repr__(self) -> str:
        """Neighbours that print alike are printed once, with their number."""
        if not len(self):
            return f"{self._get_name()}()"
        lines = []
        start = 0
        for text, same in itertools.groupby(map(repr, self)):
            count = len(list(same))
            name = f"{start}-{start + count - 1}): {count} x " if count > 1 else f"{start}): "
            lines.append(f"({name}{text}".replace("\n", "\n  "))
            start += count
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules that are registered; it has no forward.

    Args:
        modules: the first members.

    Example:
        >>> activations = flambeau.nn.ModuleDict({"relu": flambeau.nn.ReLU()})
        >>> activations["tanh"] = flambeau.nn.Tanh()
        >>> activations["tanh"]
        Tanh()
        >>> list(activations)
        ['relu', 'tanh']
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def clear(self) -> None:
        """Removes every module."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Removes and returns a module."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Module]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """(name, module) pairs."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Adds or replaces modules: a mapping or (name, module) pairs."""
        pairs = modules.items() if isinstance(modules, Mapping | ModuleDict) else modules
        for name, module in pairs:
            self[name] = module
