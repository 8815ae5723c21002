"""What a pickle would name and refer to, found without making any of it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from flambeau.serialization.interpreter import Interpreter


class _Something:
    """Stands for any object of the pickle."""


class Survey(Interpreter):
    """Goes through a pickle as the interpreter does, and fills nothing.

    `references`: what the pickle refers to outside of it; `refused`: the full names that
    `weights_only=True` refuses, as the keys of a dict.
    """

    def load(self, with_names: bool = True) -> Any:
        self.references: list[Any] = []
        self.refused: dict[str, None] = {}
        return super().load(with_names)

    def find(self, module: str, name: str) -> Any:
        try:
            return super().find(module, name)
        except pickle.UnpicklingError:
            self.refused[f"{module}.{name}"] = None
            return _Something()

    def construct(
        self, constructor: Any, given: Any, keywords: Any = None, new: bool = False
    ) -> None:
        self.push(_Something())

    def refer(self, pid: Any) -> None:
        self.references.append(pid)
        self.push(_Something())

    def set_state(self, state: Any) -> None:
        self.top()

    def append(self, items: list[Any]) -> None:
        self.top()

    def add(self, items: list[Any]) -> None:
        self.top()

    def pairs(self) -> list[tuple[Any, Any]]:
        self.pop_to_mark()
        return []

    def set_items(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        self.top()
