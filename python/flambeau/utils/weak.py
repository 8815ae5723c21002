"""Dictionaries whose keys are objects themselves, tensors for one, and do not keep them alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]

_Entries = dict[int, tuple[weakref.ref[Any], Any]]  # by the id of a key


class TensorWeakRef:
    """A tensor, as long as somebody else keeps it.

    Args:
        tensor: the tensor.

    Example:
        >>> from flambeau.utils.weak import TensorWeakRef
        >>> x = flambeau.ones(1)
        >>> TensorWeakRef(x)() is x
        True
    """

    def __init__(self, tensor: Any) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by identity: two keys that are equal are two. An entry goes when nobody else
    keeps its key.

    Args:
        dict: entries to begin with.

    Example:
        >>> from flambeau.utils.weak import WeakIdKeyDictionary
        >>> x, y = flambeau.ones(2), flambeau.ones(2)
        >>> notes = WeakIdKeyDictionary({x: "first"})
        >>> notes[x], y in notes
        ('first', False)
        >>> del x
        >>> len(notes)
        0
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None) -> None:
        self._entries: _Entries = {}
        self.update(dict or {})

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._entries[id(key)][1]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        entries, number = self._entries, id(key)
        gone = weakref.ref(key, lambda _: entries.pop(number, None))
        entries[number] = (gone, value)

    def __delitem__(self, key: Any) -> None:
        del self._entries[id(key)]

    def __contains__(self, key: object) -> bool:
        return id(key) in self._entries

    def __iter__(self) -> Iterator[Any]:
        for reference, _ in list(self._entries.values()):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self._entries)


WeakTensorKeyDictionary = WeakIdKeyDictionary
