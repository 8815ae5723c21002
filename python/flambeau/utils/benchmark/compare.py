"""Tables of measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flambeau.utils.benchmark.measurement import (
    Measurement,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _END = "\033[92m\033[1m", "\033[34m", "\033[31m", "\033[0m"
_NEAR = 1.1  # of the best one's time: no difference is shown


class Colorize:
    """What the best time is best of.

    Example:
        >>> flambeau.utils.benchmark.Colorize.ROWWISE
        'rowwise'
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Tables of measurements: one of each label, with a column of each description and a row of
    each sub_label, by the number of threads.

    Args:
        results: what `Timer` measured.

    Example:
        >>> from flambeau.utils.benchmark import Compare, Measurement, TaskSpec
        >>> def took(seconds, name, size):
        ...     return Measurement(1, [seconds], TaskSpec(name, label="Sums", sub_label=size))
        >>> print(Compare([took(1e-3, "sum", "10"), took(2e-3, "mean", "10")]))
        [--------- Sums ----------]
                    |  sum  |  mean
        1 threads: ----------------
              10    |  1.0  |   2.0
        <BLANKLINE>
        Times are in milliseconds (ms).
        <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trims = self._warns = False
        self._colors: str | None = None
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements.

        Raises:
            ValueError: one is none.
        """
        for result in results:
            if not isinstance(result, Measurement):
                name = type(result).__name__
                raise ValueError(f"Compare: expected Measurements, got {name}")
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Leaves out digits that the scatter of times does not support."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Shows the best time of each column, or each row, and times far from it in color."""
        self._colors = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Shows the scatter of times beside those whose quarters are far apart."""
        self._warns = True

    def print(self) -> None:
        """Prints the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.task_spec.label or "", []).append(result)
        return "\n".join(self._table(label, group) for label, group in groups.items())

    def _table(self, label: str, results: Sequence[Measurement]) -> str:
        columns = list(dict.fromkeys(_column(r) for r in results))
        named = {r.task_spec.env for r in results} != {None}
        rows = list(dict.fromkeys(_row(r, named) for r in results))
        rows.sort(key=lambda row: row[0])  # by threads; otherwise as they came
        by_place = {(_row(r, named), _column(r)): r for r in results}
        unit, scale = select_unit(min(r.median for r in results))
        texts = {place: self._written(r, scale, unit) for place, r in by_place.items()}
        widths = [max(len(c), *(len(texts.get((r, c), "")) for r in rows)) for c in columns]
        first = max(12, 8 + max(len(name) for _, name in rows))
        heads = _cells([f"{c:^{w}}" for c, w in zip(columns, widths, strict=True)])[:-2]
        body = [" " * first + heads]
        total, threads = len(body[0]), None
        for row in rows:
            if row[0] != threads:
                threads = row[0]
                body.append(f"{threads} threads: ".ljust(total, "-"))
            cells = []
            for column, width in zip(columns, widths, strict=True):
                text = f"{texts.get((row, column), ''):>{width}}"
                cells.append(self._colored(text, row, column, by_place))
            body.append(f"      {row[1]}".ljust(first) + _cells(cells))
        title = f" {label} " if label else ""
        head = f"[{title:-^{max(total - 2, len(title))}}]"
        lines = [head, *(line.rstrip() for line in body), ""]
        lines.append(f"Times are in {unit_to_english(unit)}s ({unit}).")
        if self._warns and any(r.has_warnings for r in results):
            lines.append("(! XX%) the quarters of the times are so far apart.")
        return "\n".join(lines) + "\n"

    def _written(self, result: Measurement, scale: float, unit: str) -> str:
        value = result.median / scale
        digits = 1
        if self._trims:
            value = trim_sigfig(value, result.significant_figures)
            digits = 0 if value >= 10 ** (result.significant_figures - 1) else 1
        text = f"{value:.{digits}f}"
        if self._warns and result.has_warnings:
            text = f"(! {100 * result.iqr / result.median:.0f}%) {text}"
        return text

    def _colored(
        self,
        text: str,
        row: tuple[int, str],
        column: str,
        by_place: dict[tuple[tuple[int, str], str], Measurement],
    ) -> str:
        if self._colors is None or (row, column) not in by_place:
            return text
        others = [
            result.median
            for (other_row, other_column), result in by_place.items()
            if (other_row == row if self._colors == Colorize.ROWWISE else other_column == column)
        ]
        ratio = by_place[row, column].median / min(others)
        if ratio <= _NEAR:
            return f"{_BEST}{text}{_END}"
        return f"{_GOOD if ratio <= 2 else _BAD}{text}{_END}"


def _cells(cells: Sequence[str]) -> str:
    return "".join(f"|  {cell}  " for cell in cells)


def _column(result: Measurement) -> str:
    return result.task_spec.description or result.task_spec.stmt


def _row(result: Measurement, shows_env: bool) -> tuple[int, str]:
    name = result.as_row_name
    if shows_env:
        name = f"({result.env}) {name}"
    return result.task_spec.num_threads, name
