"""Line search under the strong Wolfe conditions (J. Nocedal, S. Wright, Numerical Optimization,
2006, algorithms 3.5 and 3.6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from flambeau import Tensor

# How much of the decrease that the slope promises must be there, how much of the slope may remain.
SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9
MOST_STEPS = 25


class Point(NamedTuple):
    """A point on the line: how far it is, the loss and its gradient there, the slope."""

    t: float
    loss: float
    grad: Tensor
    slope: float


Evaluate = Callable[[float], Point]


def strong_wolfe(
    evaluate: Evaluate, start: Point, t: float, length: float, tolerance: float
) -> tuple[Point, int]:
    """A point whose loss is low enough and whose slope is flat enough, or the best one that was
    seen.

    Args:
        evaluate: the point at a distance.
        start: where the search begins, at distance 0; its slope is negative.
        t: the first distance that is tried.
        length: the largest absolute element of the direction.
        tolerance: a bracket of which that direction makes less is not divided further.

    Returns:
        The point, and how often the function was evaluated.
    """
    bracket, found, steps = _bracket(evaluate, start, t)
    evaluations = steps + 1
    insufficient = False
    while not found and steps < MOST_STEPS:
        low, high = sorted(bracket, key=lambda point: point.loss)
        if abs(bracket[1].t - bracket[0].t) * length < tolerance:
            break
        t, insufficient = _inside(bracket, insufficient)
        new = evaluate(t)
        evaluations += 1
        steps += 1
        if not _is_lower(new, start) or new.loss >= low.loss:
            high = new
        else:
            if _is_flat(new, start):
                found = True
            elif new.slope * (high.t - low.t) >= 0:
                high = low
            low = new
        bracket = [low, high]
    return min(bracket, key=lambda point: point.loss) if not found else bracket[0], evaluations


def _is_lower(point: Point, start: Point) -> bool:
    return point.loss <= start.loss + SUFFICIENT_DECREASE * point.t * start.slope


def _is_flat(point: Point, start: Point) -> bool:
    return abs(point.slope) <= -CURVATURE * start.slope


def _bracket(evaluate: Evaluate, start: Point, t: float) -> tuple[list[Point], bool, int]:
    """Two points around one that is good, or one that is; whether it is; how many steps it took."""
    before, new = start, evaluate(t)
    for steps in range(MOST_STEPS):
        if not _is_lower(new, start) or (steps > 1 and new.loss >= before.loss):
            return [before, new], False, steps
        if _is_flat(new, start):
            return [new], True, steps
        if new.slope >= 0:
            return [before, new], False, steps
        bounds = (new.t + 0.01 * (new.t - before.t), new.t * 10)
        t = _cubic_minimum(before, new, bounds)
        before, new = new, evaluate(t)
    return [start, new], False, MOST_STEPS


def _inside(bracket: list[Point], insufficient: bool) -> tuple[float, bool]:
    """The next distance to try within a bracket. Twice in a row it must not be near an end."""
    first, last = sorted(point.t for point in bracket)
    t = _cubic_minimum(bracket[0], bracket[1], (first, last))
    margin = 0.1 * (last - first)
    if min(last - t, t - first) >= margin:
        return t, False
    if insufficient or t >= last or t <= first:
        return (last - margin if abs(t - last) < abs(t - first) else first + margin), False
    return t, True


def _cubic_minimum(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic that has the losses and slopes of two points is least (equation 3.59), within
    bounds."""
    first, last = (a, b) if a.t <= b.t else (b, a)
    middle = (bounds[0] + bounds[1]) / 2
    if first.t == last.t:
        return middle
    d1 = first.slope + last.slope - 3 * (first.loss - last.loss) / (first.t - last.t)
    square = d1 * d1 - first.slope * last.slope
    if not square >= 0:
        return middle
    d2 = math.sqrt(square)
    divisor = last.slope - first.slope + 2 * d2
    if divisor == 0:
        return middle
    t = last.t - (last.t - first.t) * ((last.slope + d2 - d1) / divisor)
    return min(max(t, bounds[0]), bounds[1])
