"""How tensors print: aligned columns, scientific notation when the range asks for it, summaries.

Works on nested lists of Python numbers (`Tensor.tolist`), so that printing needs no operators.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from flambeau._values import brief

if TYPE_CHECKING:
    from flambeau._C import Tensor

Nested = Any  # a number, or a list of Nested


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """What `set_printoptions` sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_options = PrintOptions()

# Values whose magnitudes differ by more than this, or that lie outside [SMALLEST, LARGEST], are
# printed in scientific notation.
_LARGEST_RATIO = 1000.0
_LARGEST = 1.0e8
_SMALLEST = 1.0e-4
# Of a tensor whose long dimensions are cut, at most so many items, however many dimensions it has.
_MOST_SHOWN = 1 << 16


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors print.

    Args:
        precision: digits after the decimal point (default 4).
        threshold: number of elements above which a tensor is summarised (default 1000).
        edgeitems: elements shown at each end of a summarised dimension (default 3).
        linewidth: characters per line (default 80).
        profile: "default", "short" or "full": sets all of the above first.
        sci_mode: True or False forces scientific notation on or off; None decides by the values.

    Raises:
        TypeError: if a count is not an integer, or `threshold` not a number.
        ValueError: if `profile` is none of the three, or a number is negative.

    Example:
        >>> flambeau.set_printoptions(precision=2)
        >>> flambeau.tensor([3.14159])
        tensor([3.14])
        >>> flambeau.set_printoptions(profile="default")
    """
    global _options
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(
                f"set_printoptions(): profile must be one of {', '.join(_PROFILES)}, "
                f"got {brief(profile)}"
            )
        _options = _PROFILES[profile]
    given: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes = {name: _checked(name, value) for name, value in given.items() if value is not None}
    _options = replace(_options, sci_mode=sci_mode, **changes)


def _checked(name: str, value: Any) -> Any:
    """A Python number: sums with it cannot overflow."""
    convert = float if name == "threshold" else operator.index
    try:
        number = convert(value)
    except (TypeError, ValueError) as error:
        kind = "a number" if name == "threshold" else "an integer"
        raise TypeError(
            f"set_printoptions(): argument '{name}' must be {kind}, got {type(value).__name__}"
        ) from error
    if not number >= 0:
        raise ValueError(f"set_printoptions(): argument '{name}' must not be negative, got {value}")
    return number


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments for `set_printoptions`."""
    return asdict(_options)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Sets options for a `with` block; arguments as in `set_printoptions`."""
    global _options
    previous = _options
    try:
        set_printoptions(**options)
        yield
    finally:
        _options = previous


class _RealFormat:
    """One text width for all values of a tensor (or of its real or imaginary parts)."""

    def __init__(self, values: Sequence[float], options: PrintOptions) -> None:
        self._precision = options.precision
        self._whole = True
        self._scientific = False
        self.width = 1
        # Zeros, infinities and NaN fit whatever the others need.
        plain = [value for value in values if value and math.isfinite(value)]
        if plain:
            magnitudes = [abs(value) for value in plain]
            largest, smallest = max(magnitudes), min(magnitudes)
            self._whole = all(value.is_integer() for value in plain)
            self._scientific = (
                largest / smallest > _LARGEST_RATIO
                or largest > _LARGEST
                or (not self._whole and smallest < _SMALLEST)
            )
            if options.sci_mode is not None:
                self._scientific = options.sci_mode
            self.width = max(len(self._text(value)) for value in plain)

    def _text(self, value: float) -> str:
        if self._scientific:
            return f"{value:.{self._precision}e}"
        if not self._whole:
            return f"{value:.{self._precision}f}"
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def __call__(self, value: float) -> str:
        return self._text(value).rjust(self.width)


class _ComplexFormat:
    """Real and imaginary parts, each with a width of its own."""

    def __init__(self, values: Sequence[complex], options: PrintOptions) -> None:
        self._real = _RealFormat([value.real for value in values], options)
        self._imaginary = _RealFormat([value.imag for value in values], options)
        # The sign of the imaginary part and the j.
        self.width = self._real.width + self._imaginary.width + 1

    def __call__(self, value: complex) -> str:
        imaginary = self._imaginary(value.imag).lstrip() + "j"
        sign = "" if imaginary[0] == "-" else "+"
        return self._real(value.real) + sign + imaginary


class _PlainFormat:
    """Integers and bools as Python prints them."""

    def __init__(self, values: Sequence[int]) -> None:
        self.width = max((len(str(value)) for value in values), default=1)

    def __call__(self, value: int) -> str:
        return str(value).rjust(self.width)


_Format = _RealFormat | _ComplexFormat | _PlainFormat


def _flat(values: Nested, depth: int) -> list[Any]:
    """The numbers of lists nested `depth` deep."""
    if depth == 0:
        return [values]
    for _ in range(depth - 1):
        values = [item for row in values for item in row]
    return list(values)


def _choose_format(values: list[Any], options: PrintOptions) -> _Format:
    first = values[0] if values else 0
    if isinstance(first, float):
        return _RealFormat(values, options)
    if isinstance(first, complex):
        return _ComplexFormat(values, options)
    return _PlainFormat(values)


@dataclass(frozen=True, slots=True)
class _Ends:
    """How many items of a dimension are shown before and after what is left out."""

    head: int
    tail: int
    size: int  # of the dimension

    @property
    def skips(self) -> bool:
        return self.head + self.tail < self.size

    def indices(self) -> list[int]:
        return [*range(self.head), *range(self.size - self.tail, self.size)]


def _ends(shape: Sequence[int], edgeitems: int, cut: bool) -> list[_Ends]:
    """What is shown of each dimension: of those before the last, one item where it is too much."""
    most = max(_MOST_SHOWN, 2 * edgeitems)
    shown = 1
    found = []
    for size in reversed(shape):
        skips = cut and size > 2 * edgeitems
        ends = _Ends(edgeitems, edgeitems, size) if skips else _Ends(size, 0, size)
        if cut and shown * (ends.head + ends.tail) > most:
            ends = _Ends(1, 0, size)
        shown *= ends.head + ends.tail
        found.append(ends)
    return found[::-1]


def _shown_values(tensor: Tensor, ends: Sequence[_Ends]) -> Nested:
    """The values of a tensor without what is left out."""
    if not ends:
        return tensor.tolist()
    first, rest = ends[0], ends[1:]
    if rest:
        return [_shown_values(tensor[index], rest) for index in first.indices()]
    if not first.skips:
        return tensor.tolist()
    return tensor[: first.head].tolist() + tensor[first.size - first.tail :].tolist()


def _format_nested(
    values: Nested, ends: Sequence[_Ends], indent: int, form: _Format, linewidth: int
) -> str:
    """Lists of `values`, already without what is left out, as aligned text."""
    if not ends:
        return form(values)
    first, rest = ends[0], ends[1:]
    if not rest:
        texts = [form(value) for value in values]
        if first.skips:
            texts = [*texts[: first.head], " ...", *texts[first.head :]]
        per_line = max(1, (linewidth - indent) // (form.width + 2))
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        separator = ",\n" + " " * (indent + 1)
    else:
        lines = [_format_nested(value, rest, indent + 1, form, linewidth) for value in values]
        if first.skips:
            lines = [*lines[: first.head], "...", *lines[first.head :]]
        separator = "," + "\n" * len(rest) + " " * (indent + 1)
    return "[" + separator.join(lines) + "]"


def _values_text(tensor: Tensor, indent: int) -> str:
    """The inside of a printed tensor whose text starts at the column `indent`."""
    options = _options
    cut = tensor.numel() > options.threshold
    ends = _ends(tensor.shape, options.edgeitems, cut)
    values = _shown_values(tensor, ends) if cut else tensor.tolist()
    form = _choose_format(_flat(values, len(ends)), options)
    return _format_nested(values, ends, indent, form, options.linewidth)


_tensor_str = _values_text


class _OptionsNow:
    """The options in force, under the name that libraries read them by."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_options, name)


PRINT_OPTS = _OptionsNow()


def join_suffixes(text: str, suffixes: Sequence[str], indent: int, new_line: bool = False) -> str:
    """Appends `, suffix` for each, on new lines where the width ends, and the parenthesis; with
    `new_line` the first stands on a line of its own.
    """
    parts = [text]
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if new_line or column + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            column = indent + len(suffix)
            new_line = False
        else:
            parts.append(", " + suffix)
            column += len(suffix) + 2
    return "".join(parts) + ")"


def _has_usual_dtype(tensor: Tensor) -> bool:
    """Whether the dtype shows in the values: no suffix is needed."""
    from flambeau import _C

    default = _C.get_default_dtype()
    return tensor.dtype in (default, default.to_complex(), _C.int64, _C.bool)


def tensor_text(tensor: Tensor, name: str | None = None) -> str:
    """What `repr(tensor)` gives.

    Args:
        tensor: what to print.
        name: what stands before the parenthesis; default "tensor", or a subclass's name.
    """
    from flambeau import _C

    if name is None:
        plain = type(tensor) is _C.Tensor or getattr(type(tensor), "_prints_as_tensor", False)
        name = "tensor" if plain else type(tensor).__name__
    prefix = name + "("
    indent = len(prefix)
    suffixes: list[str] = []
    if not tensor.is_cpu:
        suffixes.append(f"device='{tensor.device}'")
    if tensor.is_meta:
        suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype != _C.get_default_dtype():
            suffixes.append(f"dtype={tensor.dtype}")
        body = "..."
    elif tensor.numel() == 0:
        if tensor.ndim != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype != _C.get_default_dtype():
            suffixes.append(f"dtype={tensor.dtype}")
        body = "[]"
    else:
        if not _has_usual_dtype(tensor):
            suffixes.append(f"dtype={tensor.dtype}")
        body = _values_text(tensor.detach(), indent)
    return join_suffixes(prefix + body, suffixes + _history_suffixes(tensor), indent)


def part_text(tensor: Tensor, name: str) -> str:
    """A part of a sparse tensor, whose dtype and device are said elsewhere; its further lines stand
    under the first.
    """
    if tensor.numel() == 0:
        return f"tensor([], size={tuple(tensor.shape)})"
    margin = " " * len(f"tensor({name}=")
    text = _values_text(tensor, len("tensor("))
    return f"tensor({text})".replace("\n", f"\n{margin}")


def state_suffixes(tensor: Tensor, layout: str) -> list[str]:
    """What follows the size of a sparse tensor."""
    device = [] if tensor.is_cpu else [f"device='{tensor.device}'"]
    dtype = [] if _has_usual_dtype(tensor) else [f"dtype={tensor.dtype}"]
    return [*device, *dtype, layout, *_history_suffixes(tensor)]


def _history_suffixes(tensor: Tensor) -> list[str]:
    """Of what takes part in gradients."""
    from flambeau import _C

    suffixes: list[str] = []
    grad_fn = tensor.grad_fn
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    tangent = _C._autograd.tangent(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return suffixes
