"""Modules that hold parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from flambeau import Tensor
from flambeau._values import elements
from flambeau.nn.containers import position
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters; other values are kept as they are."""
    return (
        Parameter(value)
        if isinstance(value, Tensor) and not isinstance(value, Parameter)
        else value
    )


def _shown(key: Any, value: Any, type_of: Callable[[Tensor], Any]) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {kind} containing: [{type_of(value)} of size {size}]"


class ParameterList(Module):
    """A list of parameters that are registered. Tensors that are added become parameters.

    Args:
        values: the first members.

    Example:
        >>> weights = flambeau.nn.ParameterList([flambeau.zeros(2)])
        >>> weights += [flambeau.ones(3)]
        >>> [name for name, _ in weights.named_parameters()]
        ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._size))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(self._size))])
        return getattr(self, str(position(index, self._size)))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(position(index, self._size)), _as_parameter(value))

    def append(self, value: Any) -> Self:
        """Adds a value at the end."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList: expected an iterable, got {type(values).__name__}")
        for value in elements("ParameterList", values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def extra_repr(self) -> str:
        return "\n".join(_shown(i, value, lambda x: x.dtype) for i, value in enumerate(self))


class ParameterDict(Module):
    """A dict of parameters that are registered. Tensors that are added become parameters.

    Args:
        parameters: the first members: a dict, pairs, or names, whose values are None.

    Example:
        >>> weights = flambeau.nn.ParameterDict({"left": flambeau.zeros(2)})
        >>> weights["right"] = flambeau.ones(2)
        >>> [name for name, _ in weights.named_parameters()]
        ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: a key must be a string, got {type(key).__name__}")
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def values(self) -> list[Any]:
        """The values."""
        return [self[key] for key in self._keys]

    def items(self) -> list[tuple[str, Any]]:
        """(name, value) pairs."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or `default`."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name, which becomes `default` if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Removes and returns a value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Removes and returns the pair that was added last."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Removes everything."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters: Any) -> None:
        """Adds or replaces values: a mapping or (name, value) pairs.

        The keys of a mapping that promises no order, as a plain dict, are sorted first.
        """
        ordered = isinstance(parameters, OrderedDict | ParameterDict)
        if ordered or isinstance(parameters, Mapping):
            pairs = parameters.items() if ordered else sorted(parameters.items())
        else:
            pairs = parameters
        for key, value in pairs:
            self[key] = value

    def copy(self) -> ParameterDict:
        """A ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def extra_repr(self) -> str:
        return "\n".join(_shown(key, value, Tensor.type) for key, value in self.items())
