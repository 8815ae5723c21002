"""Calls that both libraries should understand: samples of the declarations, varied."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from fuzz_calls import sample_of
from fuzz_entries import Entry, Slot, entries
from parity_programs import index_program, view_program
from parity_values import DTYPES, FLOATS, SHAPES, Draw, broadcast_of, laid_out, text_of

from flambeau.codegen.model.entries import Base

_TENSORS = ("t(", "lib.tensor(")
NAMES = "abcdefghijklmnop"


@dataclass(frozen=True, slots=True)
class Case:
    """Statements for both libraries; `compared`: the names whose values must agree."""

    name: str
    statements: tuple[str, ...]
    compared: tuple[str, ...]
    leaves: tuple[str, ...] = ()
    random: bool = False  # only dtypes and shapes are compared

    @property
    def text(self) -> str:
        return "; ".join(self.statements)


@cache
def shared(pattern: str) -> tuple[Entry, ...]:
    """The declared forms that PyTorch has under the same name."""
    import torch

    found = []
    for entry in entries(internal=False):
        if entry.operator is None or not entry.samples or not re.search(pattern, entry.name):
            continue
        value: Any = torch.Tensor if entry.callee is None else torch
        path = entry.name.split("[")[0].split(".")[1:]
        for part in path:
            value = getattr(value, part, None)
        if value is not None:
            found.append(entry)
    return tuple(found)


def case(seed: int, number: int, pattern: str = "") -> Case:
    """Case `number` of a run."""
    draw = random.Random(f"parity:{seed}:{number}")
    way = draw.random()
    if not pattern and way < 0.12:
        return Case("index", *index_program(draw))
    if not pattern and way < 0.24:
        return Case("views", *view_program(draw))
    found = shared(pattern)
    if not found:
        raise SystemExit(f"nothing that both libraries have matches {pattern!r}")
    return call(draw, draw.choice(found))


# A call ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Style:
    """What is the same for all tensors of a call."""

    dtype: str | None  # of float tensors
    mixed: bool
    special: bool
    layouts: bool


def call(draw: Draw, entry: Entry) -> Case:
    """A sample's call with other shapes, dtypes, layouts, numbers."""
    operator = entry.operator
    assert operator is not None
    arrays = dict(sample_of(operator, draw.randrange(len(entry.samples))))
    arrays = _reshaped(draw, arrays)
    wants_gradient = draw.random() < 0.5
    style = Style(
        dtype=draw.choice(("float64", "float64", "float32") if wants_gradient else FLOATS),
        mixed=not wants_gradient and draw.random() < 0.3,
        special=draw.random() < 0.2,
        layouts=draw.random() < 0.4,
    )
    statements: list[str] = []
    tensors: list[str] = []
    leaves: list[str] = []
    positional: list[str] = []
    keywords: list[str] = []
    by_keyword = False
    receiver = ""
    for slot in entry.slots:
        text = _argument(draw, slot, arrays, style)
        if text is None:
            by_keyword = True
            continue
        is_receiver = entry.callee is None and slot is entry.slots[0]
        if is_receiver and not text.startswith(_TENSORS):
            text = f"lib.tensor({text})"
        if text.startswith(_TENSORS):
            name = NAMES[len(tensors)]
            statements.append(f"{name} = {text}")
            if wants_gradient and "float" in text:
                statements.append(f"{name}.requires_grad_()")
                leaves.append(name)
            tensors.append(name)
            text = name
        if is_receiver:
            receiver = text
        elif by_keyword or slot.keyword_only or (positional and draw.random() < 0.1):
            by_keyword = True
            keywords.append(f"{_keyword(entry, slot)}={text}")
        else:
            positional.append(text)
    if entry.form is not None and entry.form.is_inplace and (receiver or positional):
        target = receiver or positional[0]
        statements.append(f"z = {target}.clone()")
        receiver, positional = ("z", positional) if receiver else ("", ["z", *positional[1:]])
    title = entry.name.split("[")[0]
    callee = f"{receiver}.{title.split('.', 1)[1]}" if receiver else f"lib.{title.split('.', 1)[1]}"
    if entry.outs and draw.random() < 0.3 and not wants_gradient:
        statements.append(f"q = {callee}({', '.join([*positional, *keywords])})")
        keywords.append(f"out={_outs(draw, entry.outs)}")
    statements.append(f"r = {callee}({', '.join([*positional, *keywords])})")
    mutates = any(a.type.mutable for a in operator.tensor_arguments)
    compared = ("r", *(tensors if mutates else ()))
    is_random = (
        operator.random is not None
        or operator.test.arbitrary
        or any(a.type.base is Base.GENERATOR for a in operator.signature.arguments)
    )
    return Case(entry.name, tuple(statements), compared, tuple(leaves), is_random)


def _outs(draw: Draw, count: int) -> str:
    """Tensors like the results `q` of the call without them, now and then of another dtype."""
    items = [f"q[{i}]" for i in range(count)] if count > 1 else ["q"]
    texts = [
        f"lib.empty(0, dtype={item}.dtype)"
        if draw.random() < 0.85
        else f"lib.empty(0, dtype=lib.{draw.choice(DTYPES)})"
        for item in items
    ]
    return texts[0] if count == 1 else f"({', '.join(texts)})"


def _keyword(entry: Entry, slot: Slot) -> str:
    names = {s.name for s in entry.slots}
    return "input" if slot.name == "self" and "input" not in names else slot.name


def _argument(draw: Draw, slot: Slot, arrays: dict[str, Any], style: Style) -> str | None:
    """The text of an argument; None: left out."""
    declared = slot.type
    if declared is None or slot.name in ("generator", "requires_grad"):
        return None
    argument = slot.argument or slot.name  # functions call `self` input
    if argument not in arrays:
        return _optional(draw, slot) if not slot.required and draw.random() < 0.05 else None
    value = arrays[argument]
    if declared.base is Base.DTYPE:
        name = value if draw.random() < 0.7 else draw.choice(DTYPES)
        return f"lib.{name}" if name in DTYPES else None
    if declared.base is Base.MEMORY_FORMAT:
        return f"lib.{value}" if value is not None else "None"
    if declared.base is Base.TENSOR:
        if declared.is_list:
            items = value if isinstance(value, list | tuple) else [value]
            return f"[{', '.join('None' if v is None else _tensor(draw, v, style) for v in items)}]"
        if isinstance(value, np.ndarray):
            if declared.or_scalar and draw.random() < 0.1:
                return _number(draw)
            return _tensor(draw, value, style)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return _scalar(draw, slot, value)


def _optional(draw: Draw, slot: Slot) -> str | None:
    declared = slot.type
    assert declared is not None
    if declared.base is Base.BOOL:
        return draw.choice(("True", "False"))
    if declared.base is Base.INT and not declared.is_list:
        return str(draw.randint(-2, 2))
    if declared.base is Base.DTYPE:
        return f"lib.{draw.choice(DTYPES)}"
    return None


def _number(draw: Draw) -> str:
    return draw.choice(("0", "1", "2", "-1", "3", "0.5", "-1.5", "True", "inf", "nan", "0.0"))


def _scalar(draw: Draw, slot: Slot, value: Any) -> str:
    """The sample's, or another one of its kind."""
    keeps = draw.random() < 0.75
    if isinstance(value, bool):
        return str(value if keeps else not value)
    if isinstance(value, int) and not keeps:
        return str(value + draw.choice((-2, -1, 1, 2)))
    if isinstance(value, float) and not keeps:
        return draw.choice(("0.0", "0.5", "1.0", "2.0", "-1.0", "0.25", "3.0"))
    return repr(value)


def _tensor(draw: Draw, value: Any, style: Style) -> str:
    """A tensor like the sample's."""
    array = np.asarray(value)
    kind = array.dtype.kind
    key = draw.randrange(100)
    if kind == "f":
        name = draw.choice(DTYPES) if style.mixed else style.dtype
        low = array.min() if array.size else 0
        high = array.max() if array.size else 1
        way = "u" if low >= 0 and high <= 1 else "p" if low > 0 else "f"
        if style.special and draw.random() < 0.7:
            way = "s"
        if 0 < array.size <= 3 and draw.random() < 0.3:
            return f"lib.tensor({array.tolist()}, dtype=lib.{name})"
    elif kind == "c":
        way, name = "c", draw.choice(("complex64", "complex128"))
    elif kind == "b":
        way, name = "b", draw.choice(DTYPES) if style.mixed and draw.random() < 0.3 else None
    elif array.size and array.size <= 24 and draw.random() < 0.6:
        return f"lib.tensor({array.tolist()})"
    else:
        low, high = (int(array.min()), int(array.max()) + 1) if array.size else (0, 2)
        way = f"i:{low}:{high}"
        name = draw.choice(("int64", "int64", "int32", "uint8", "int8", "float32"))

    def make(shape: Sequence[int]) -> str:
        return text_of(shape, way, key, name)

    return laid_out(draw, array.shape, make) if style.layouts else make(array.shape)


def _reshaped(draw: Draw, arrays: dict[str, Any]) -> dict[str, Any]:
    """Another size in place of one; or shapes that broadcast."""
    shaped = {n: a for n, a in arrays.items() if isinstance(a, np.ndarray)}
    if not shaped:
        return arrays
    way = draw.random()
    if way < 0.25:
        old = draw.choice(sorted({s for a in shaped.values() for s in a.shape}) or [0])
        new = draw.choice((0, 1, 2, 3, 7))
        shapes = {n: tuple(new if s == old else s for s in a.shape) for n, a in shaped.items()}
    elif way < 0.4:
        shapes = {n: broadcast_of(draw, a.shape) for n, a in shaped.items()}
    elif way < 0.5:
        shapes = dict.fromkeys(shaped, draw.choice(SHAPES))
    else:
        return arrays
    return {**arrays, **{n: _resized(a, shapes[n]) for n, a in shaped.items()}}


def _resized(array: Any, shape: tuple[int, ...]) -> Any:
    if int(np.prod(shape)) > 5000:
        return array
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
