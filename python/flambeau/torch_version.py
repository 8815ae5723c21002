"""Versions that compare as versions do: "2.10" comes after "2.9"."""

from __future__ import annotations

import re
from typing import Any

_PARTS = re.compile(
    r"v?(?P<release>\d+(\.\d+)*)(?P<stage>[-_.]?(a|b|rc|dev)[-_.]?\d*)*(\+(?P<local>[\w.]+))?$"
)
_STAGES = ("dev", "a", "b", "rc")


class TorchVersion(str):
    """A version as a text that compares with others, with texts, and with tuples such as (1, 8).

    Example:
        >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.0.0rc1") < (2, 0)
        (True, True)
    """

    __slots__ = ()

    def _compared(self, other: Any) -> tuple[Any, Any]:
        if isinstance(other, tuple | list):
            other = ".".join(map(str, other))
        return _key(self), _key(other)

    def __lt__(self, other: Any) -> bool:
        mine, its = self._compared(other)
        return bool(mine < its)

    def __le__(self, other: Any) -> bool:
        mine, its = self._compared(other)
        return bool(mine <= its)

    def __gt__(self, other: Any) -> bool:
        mine, its = self._compared(other)
        return bool(mine > its)

    def __ge__(self, other: Any) -> bool:
        mine, its = self._compared(other)
        return bool(mine >= its)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str | tuple | list):
            return NotImplemented
        if isinstance(other, str) and not _PARTS.match(other):
            return False
        mine, its = self._compared(other)
        return bool(mine == its)

    def __hash__(self) -> int:
        return hash(_key(self))


def _key(version: Any) -> tuple[tuple[int, ...], tuple[int, int], str]:
    """What orders versions: the numbers, then how finished, then the local label."""
    found = _PARTS.match(version) if isinstance(version, str) else None
    if found is None:
        raise ValueError(f"TorchVersion: no version: {version!r}")
    numbers = [int(n) for n in found["release"].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    stage = re.match(r"[-_.]?([a-z]+)[-_.]?(\d*)", found["stage"] or "")
    finished = (len(_STAGES), 0)
    if stage:
        finished = (_STAGES.index(stage[1]), int(stage[2] or 0))
    return tuple(numbers), finished, found["local"] or ""
