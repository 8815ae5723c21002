"""Curves as SVG. Colours are CSS variables of the site: one picture serves light and dark."""

from __future__ import annotations

import html
import math

from flambeau.docs.curves import Array, Curves

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 14, 30


class _Frame:
    """From numbers to places in the picture."""

    def __init__(self, curves: Curves, small: bool) -> None:
        self.width, self.height = (120, 60) if small else (WIDTH, HEIGHT)
        left, right, top, bottom = (2, 2, 2, 2) if small else (LEFT, RIGHT, TOP, BOTTOM)
        self.left, self.right = left, self.width - right
        self.top, self.bottom = top, self.height - bottom
        self.x_range, self.y_range = curves.x_range, curves.y_range

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)

    def path(self, x: Array, y: Array) -> str:
        """Strokes through the points, broken at gaps and poles, without points on straight runs."""
        strokes: list[list[tuple[float, float]]] = [[]]
        height = self.bottom - self.top
        low, high = self.y_range
        previous = math.nan
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            beyond = not math.isfinite(b) or b > 3 * high - 2 * low or b < 3 * low - 2 * high
            jump = abs(self.y(b) - self.y(previous)) > 0.12 * height if not beyond else False
            if (beyond or (jump and math.isfinite(previous))) and strokes[-1]:
                strokes.append([])
            if not beyond:
                _append(strokes[-1], (self.x(a), self.y(b)))
            previous = b if not beyond else math.nan
        return " ".join(
            "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in stroke) for stroke in strokes if stroke
        )


def _append(stroke: list[tuple[float, float]], point: tuple[float, float]) -> None:
    """Adds a point; the one before goes if it lies on the line to it."""
    if len(stroke) > 1:
        (ax, ay), (bx, by) = stroke[-2:]
        if abs((bx - ax) * (point[1] - ay) - (point[0] - ax) * (by - ay)) < 0.05:
            stroke.pop()
    stroke.append(point)


def picture(curves: Curves, name: str) -> str:
    """The function and its derivative with axes and a legend."""
    frame = _Frame(curves, small=False)
    parts = [_grid(frame), *_strokes(frame, curves)]
    label = f"Graph of {name}" + (" and its derivative" if curves.slope is not None else "")
    legend = f'<span class="plot-key plot-function">{html.escape(name)}(x)</span>'
    if curves.slope is not None:
        legend += '<span class="plot-key plot-slope">derivative</span>'
    return (
        f'<figure class="plot">{_svg(frame, parts, label)}'
        f'<figcaption aria-hidden="true">{legend}</figcaption></figure>'
    )


def miniature(curves: Curves) -> str:
    """The curves alone, for lists."""
    frame = _Frame(curves, small=True)
    axes = _line(frame, 0, 0, "plot-axis")
    return f'<span class="plot-small">{_svg(frame, [axes, *_strokes(frame, curves)], "")}</span>'


def _svg(frame: _Frame, parts: list[str], label: str) -> str:
    role = f'role="img" aria-label="{html.escape(label)}"' if label else 'aria-hidden="true"'
    inside = "".join(parts)
    return f'<svg viewBox="0 0 {frame.width} {frame.height}" {role}>{inside}</svg>'


def _strokes(frame: _Frame, curves: Curves) -> list[str]:
    found = []
    if curves.slope is not None:
        found.append(f'<path class="plot-slope" d="{frame.path(curves.x, curves.slope)}"/>')
    found.append(f'<path class="plot-function" d="{frame.path(curves.x, curves.y)}"/>')
    box = f'x="{frame.left}" y="{frame.top}"'
    size = f'width="{frame.right - frame.left}" height="{frame.bottom - frame.top}"'
    inner = f"{frame.left} {frame.top} {frame.right - frame.left} {frame.bottom - frame.top}"
    return [f'<svg {box} {size} viewBox="{inner}">', *found, "</svg>"]


def _line(frame: _Frame, x: float | None, y: float | None, kind: str) -> str:
    """Lines through x and y over the whole picture, where they lie inside it."""
    d = ""
    if x is not None and frame.x_range[0] <= x <= frame.x_range[1]:
        d += f"M{frame.x(x):.1f} {frame.top}V{frame.bottom}"
    if y is not None and frame.y_range[0] <= y <= frame.y_range[1]:
        d += f"M{frame.left} {frame.y(y):.1f}H{frame.right}"
    return f'<path class="{kind}" d="{d}"/>'


def _grid(frame: _Frame) -> str:
    parts = []
    for value in ticks(*frame.x_range):
        parts.append(_line(frame, value, None, "plot-axis" if value == 0 else "plot-grid"))
        place = f'x="{frame.x(value):.1f}" y="{frame.bottom + 20}"'
        parts.append(f'<text class="plot-x" {place}>{_number(value)}</text>')
    for value in ticks(*frame.y_range):
        parts.append(_line(frame, None, value, "plot-axis" if value == 0 else "plot-grid"))
        place = f'x="{frame.left - 8}" y="{frame.y(value) + 4:.1f}"'
        parts.append(f'<text class="plot-y" {place}>{_number(value)}</text>')
    return "".join(parts)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers in [low, high], about six."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
