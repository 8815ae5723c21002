"""Flame graphs: a box for each frame, as wide as the time that stacks through it took, above the
one that called it (B. Gregg, The Flame Graph, 2016)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

_WIDTH, _HEIGHT, _LETTER = 1200.0, 18.0, 6.7  # of the picture, a box and a letter: pixels
_THIN = 0.3  # narrower boxes are not drawn

Stack = tuple[str, ...]


@dataclass
class _Frame:
    """What was called along one way, and the microseconds of all stacks through it."""

    name: str
    time: float = 0.0
    called: dict[str, _Frame] = field(default_factory=dict)

    def add(self, stack: Stack, time: float) -> None:
        frame = self
        frame.time += time
        for name in stack:
            frame = frame.called.setdefault(name, _Frame(name))
            frame.time += time

    def height(self) -> int:
        return 1 + max((frame.height() for frame in self.called.values()), default=0)


def draw(times: Mapping[Stack, float]) -> str:
    """An SVG of stacks, outermost frame first, and their microseconds."""
    whole = _Frame("all")
    for stack, time in times.items():
        whole.add(stack, time)
    rows = whole.height()
    boxes = "".join(_boxes(whole, whole.time or 1.0, 0.0, rows - 1))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {rows * _HEIGHT:g}" '
        f'font-family="monospace" font-size="11">\n{boxes}</svg>\n'
    )


def _boxes(frame: _Frame, whole: float, left: float, row: int) -> Iterator[str]:
    width = frame.time / whole * _WIDTH
    if width < _THIN:
        return
    name, top = escape(frame.name), row * _HEIGHT
    told = f"{name}: {frame.time:,.0f} us, {frame.time / whole:.1%}"
    yield (
        f'<g><title>{told}</title><rect x="{left:.2f}" y="{top:g}" width="{width:.2f}" '
        f'height="{_HEIGHT - 1:g}" rx="2" fill="{_color(frame.name)}"/>'
    )
    if (letters := int((width - 6) / _LETTER)) > 2:
        shown = escape(_shortened(frame.name, letters))
        yield f'<text x="{left + 3:.2f}" y="{top + _HEIGHT - 6:g}">{shown}</text>'
    yield "</g>\n"
    for called in frame.called.values():
        yield from _boxes(called, whole, left, row - 1)
        left += called.time / whole * _WIDTH


def _shortened(name: str, letters: int) -> str:
    """The end of a name, which says what was called, where its beginning is a path."""
    return name if len(name) <= letters else "…" + name[1 - letters :]


def _color(name: str) -> str:
    """The same warm color for a name in each picture."""
    mixed = hashlib.blake2b(name.encode(), digest_size=2).digest()
    return f"hsl({mixed[0] * 55 // 256},{70 + mixed[1] * 25 // 256}%,65%)"
