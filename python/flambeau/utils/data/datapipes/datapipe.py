"""What all data pipes are: datasets that have steps as methods."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

from flambeau._values import brief
from flambeau.utils.data.dataset import Dataset, IterableDataset

C = TypeVar("C", bound=type)


class _Steps:
    """Looks up steps that were registered for a class of pipes."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return partial(type(self).functions[name], self)
        raise AttributeError(
            f"{type(self).__name__} has no attribute or step '{name}'", name=name, obj=self
        )

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Makes a function of a pipe and arguments a step of all pipes of this kind.

        Raises:
            ValueError: if there is such a step or attribute.
        """
        if function_name in cls.functions or hasattr(cls, function_name):
            raise ValueError(f"{cls.__name__} has an attribute or step '{function_name}' already")
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False
    ) -> None:
        """Makes a class of pipes a step: `pipe.NAME(...)` is `CLASS(pipe, ...)`."""
        cls.register_function(function_name, cls_to_register)


class IterDataPipe(_Steps, IterableDataset[Any]):
    """A dataset in the order of an iterator, with steps as methods: `pipe.map(f).batch(4)`.
    Subclasses define `__iter__`, and `__len__` where it is known.

    Example:
        >>> class Count(flambeau.utils.data.IterDataPipe):
        ...     def __iter__(self):
        ...         yield from range(5)
        >>> list(Count().map(lambda x: x * x).batch(2))
        [[0, 1], [4, 9], [16]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def reset(self) -> None:
        """What is done before a new iteration; nothing."""


class DFIterDataPipe(IterDataPipe):
    """A pipe of data frames.

    Example:
        >>> issubclass(flambeau.utils.data.DFIterDataPipe, flambeau.utils.data.IterDataPipe)
        True
    """


class MapDataPipe(_Steps, Dataset[Any]):
    """A dataset by index, with steps as methods. Subclasses define `__getitem__` and `__len__`.

    Example:
        >>> class Squares(flambeau.utils.data.MapDataPipe):
        ...     def __getitem__(self, index):
        ...         return index**2
        ...     def __len__(self):
        ...         return 4
        >>> Squares().map(str)[3]
        '9'
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} does not define __len__")

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))


class functional_datapipe:
    """Makes a class of pipes a step of others: of IterDataPipe or MapDataPipe, as its base is.

    Args:
        name: of the step.
        enable_df_api_tracing: accepted.

    Raises:
        TypeError: if the class is no pipe, or the name no text.
        ValueError: if there is such a step.

    Example:
        >>> from flambeau.utils.data import IterDataPipe, functional_datapipe
        >>> @functional_datapipe("doubled")
        ... class Doubled(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         return (2 * x for x in self.source)
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 2]).doubled())
        [2, 4]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        if not isinstance(name, str):
            raise TypeError(f"functional_datapipe(): name must be a string, got {brief(name)}")
        self.name = name

    def __call__(self, cls: C) -> C:
        for base in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, base):
                base.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError(
            f"functional_datapipe(): expected a class of IterDataPipe or MapDataPipe, got "
            f"{brief(cls)}"
        )
