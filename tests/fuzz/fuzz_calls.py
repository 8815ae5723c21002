"""Programs that are tried: a call of an entry with mostly plausible arguments, as Python text."""

from __future__ import annotations

import gc
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import fuzz_values as values
import numpy as np
from fuzz_entries import Entry, Slot, entries
from fuzz_steps import steps
from fuzz_values import Draw

from flambeau.codegen.check.samples import sample_value, seed_of
from flambeau.codegen.model.entries import Base, Operator

NAMES = "abcdefghijklmnopqrstuvw"


@dataclass(frozen=True, slots=True)
class Program:
    """Statements; `leaves`: the names of tensors that may want a gradient of `r`."""

    statements: tuple[str, ...]
    name: str
    words: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    repeatable: bool = True  # twice the same numbers
    goes_on: bool = False  # behind a statement that fails

    @property
    def text(self) -> str:
        return "; ".join(self.statements)


@dataclass(slots=True)
class Arguments:
    """The text of arguments while a program is made."""

    positional: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return ", ".join([*self.positional, *self.keywords])


@cache
def chosen(pattern: str, internal: bool) -> tuple[Entry, ...]:
    """The entries whose name matches."""
    return tuple(e for e in entries(internal) if re.search(pattern, e.name))


def prepare() -> None:
    """Reads the declarations and evaluates their samples: once, before workers are forked."""
    for entry in entries():
        if entry.operator is not None:
            for number in range(len(entry.samples)):
                sample_of(entry.operator, number)
    gc.collect()
    gc.freeze()


def program(seed: int, index: int, pattern: str = "", internal: bool = True) -> Program:
    """Program `index` of a run; the same for the same seed, whatever came before."""
    draw = random.Random(f"{seed}:{index}")
    if not pattern and draw.random() < 0.15:
        return Program(tuple(steps(draw)), "steps", repeatable=False, goes_on=True)
    found = chosen(pattern, internal)
    if not found:
        raise SystemExit(f"nothing that can be called matches {pattern!r}")
    return call(draw, draw.choice(found))


def call(draw: Draw, entry: Entry) -> Program:
    """A call of an entry."""
    given = _values(draw, entry)
    for _ in range(draw.choices((0, 1, 2, 3), (25, 45, 22, 8))[0]):
        _spoil(draw, entry, given)
    statements: list[str] = []
    tensors: list[str] = []
    wants_gradient = draw.random() < 0.5
    arguments = Arguments()
    receiver = ""  # of a method
    by_keyword = False
    for slot in entry.slots:
        if slot.name not in given:
            by_keyword = True
            continue
        text = given[slot.name]
        is_receiver = entry.callee is None and slot is entry.slots[0]
        if _is_tensor(text):
            name = NAMES[len(tensors)]
            statements.append(f"{name} = {text}")
            if wants_gradient and draw.random() < 0.8:
                statements.append(f"{name}.requires_grad_({name}.is_floating_point())")
            tensors.append(name)
            text = name
        if is_receiver:
            receiver = text
        elif slot.repeated:
            # Python itself would unpack a sequence that never ends, and leaks where there is none,
            # as in a tensor without dims.
            spread = draw.random() < 0.5 and text.startswith(("[", "("))
            arguments.positional.append(f"*{text}" if spread else text)
        elif by_keyword or slot.keyword_only or draw.random() < 0.15:
            by_keyword = True
            arguments.keywords.append(f"{_keyword(entry, slot)}={text}")
        else:
            arguments.positional.append(text)
    if entry.form is not None and entry.form.is_inplace and tensors and draw.random() < 0.8:
        old = receiver or arguments.positional[0] if arguments.positional or receiver else ""
        if old in tensors:
            statements.append("z = " + draw.choice(_WRITABLE).replace("{}", old))
            if receiver:
                receiver = "z"
            else:
                arguments.positional[0] = "z"
    if entry.outs and draw.random() < 0.25:
        arguments.keywords.append(f"out={_outs(draw, tensors, entry.outs)}")
    if draw.random() < 0.01:
        arguments.keywords.append(draw.choice(("wrong=1", "out=3", "this=1")))
    callee = entry.callee or _method(entry, receiver, arguments)
    if entry.is_class and draw.random() < 0.8:
        statements.append(f"m = {callee}({arguments.text})")
        inputs = ", ".join(values.tensor(draw, draw.random() < 0.3) for _ in range(_inputs(draw)))
        statements.append(f"r = m({inputs})")
    else:
        statements.append(f"r = {callee}({arguments.text})")
    return Program(
        tuple(statements),
        entry.name,
        entry.words,
        tuple(tensors),
        not _is_random(statements, entry),
    )


def _method(entry: Entry, receiver: str, arguments: Arguments) -> str:
    """What is called for a method: of its receiver, or of the class where that is no tensor."""
    name = entry.name.removeprefix("Tensor.").split("[")[0]
    if receiver.isalpha() and len(receiver) == 1:
        return f"{receiver}.{name}"
    arguments.positional[:0] = [receiver] if receiver else []
    return f"flambeau.Tensor.{name}"


_WRITABLE = (
    "{}.clone()", "{} * 1", "{}.clone()", "{}.clone().T", "{}.clone()[..., ::2]", "{}.clone()[1:]",
    "{}.clone()[None][0]", "{}.clone().expand(2, *{}.shape)", "{}.detach()",
)  # fmt: skip


def _inputs(draw: Draw) -> int:
    return draw.choice((1, 1, 1, 2, 3))


def _is_tensor(text: str) -> bool:
    return text.startswith(("flambeau.", "(flambeau.")) and any(
        text.lstrip("(").startswith(f"flambeau.{maker}(") for maker in _MAKERS
    )


_MAKERS = (
    "randn", "rand", "randint", "tensor", "ones", "zeros", "empty", "arange", "from_numpy",
    "empty_strided", "full",
)  # fmt: skip


def _is_random(statements: list[str], entry: Entry) -> bool:
    # Neither what a tensor grows by is filled, nor new and typed tensors of sizes.
    words = ("empty", "Generator", "resize_", "Tensor(", ".new(")
    return entry.random or any(word in s for s in statements for word in words)


def _keyword(entry: Entry, slot: Slot) -> str:
    """Functions call their first tensor `input`."""
    names = {s.name for s in entry.slots}
    return "input" if slot.name == "self" and "input" not in names else slot.name


def _outs(draw: Draw, tensors: list[str], count: int) -> str:
    """One tensor, or a tuple of as many as there are results; now and then of another number."""
    if count == 1:
        return _out(draw, tensors)
    if draw.random() < 0.05:
        return draw.choice(("None", "()", "flambeau.empty(0)", "[None, None]", "'ab'"))
    number = count if draw.random() < 0.95 else draw.randrange(1, 4)
    items = [_out(draw, tensors) for _ in range(number)]
    if draw.random() < 0.1:
        items[-1] = items[0]
    return f"({', '.join(items)},)"


def _out(draw: Draw, tensors: list[str]) -> str:
    ways = ["flambeau.empty(0)", "flambeau.empty(2, 3)", "flambeau.empty(0, dtype=flambeau.int64)",
            "flambeau.ones(3).expand(2, 3)",
            "flambeau.zeros(40)[:0]", "flambeau.empty(0, dtype=flambeau.int8)", "None",
            "flambeau.zeros(1, requires_grad=True)", "flambeau.empty(3, device='meta')",
            "flambeau.from_numpy(np.zeros(0))", "flambeau.from_numpy(np.zeros((2, 3)))",
            "flambeau.zeros(6, 6).T[1:3, ::2]"]  # fmt: skip
    for name in tensors:
        ways += [name, f"{name}.detach()", f"{name}.detach()[:0]", f"{name}.clone()", f"{name}.T",
                 f"{name}.detach().reshape(-1)[1:]"]  # fmt: skip
    return draw.choice(ways)


# Arguments ---------------------------------------------------------------------------------------


def _values(draw: Draw, entry: Entry) -> dict[str, str]:
    """Text by slot: of a sample, or made from the types."""
    if entry.samples and draw.random() < 0.7:
        return _of_sample(draw, entry)
    size = values.shape(draw, False)
    same_dtype = draw.choice((None, "float32", "float64", draw.choice(values.dtype_names())))
    given: dict[str, str] = {}
    for slot in entry.slots:
        if not slot.required and draw.random() < 0.6:
            continue
        if slot.type is not None and slot.type.is_tensor and draw.random() < 0.7:
            given[slot.name] = values.tensor(draw, False, same_dtype, size)
        elif slot.type is not None:
            given[slot.name] = values.of_type(draw, slot.type, False)
        else:
            given[slot.name] = values.guessed(draw, slot.name, slot.hint, False)
    return given


def _of_sample(draw: Draw, entry: Entry) -> dict[str, str]:
    assert entry.operator is not None
    number = draw.randrange(len(entry.samples))
    arrays = dict(sample_of(entry.operator, number))
    if draw.random() < 0.25:
        arrays = _resized(draw, arrays)
    if draw.random() < 0.1:
        arrays = _one_element_changed(draw, arrays)
    elif draw.random() < 0.1:
        arrays = _one_size_changed(draw, arrays)
    name = draw.choice(values.dtype_names()) if draw.random() < 0.2 else None
    given: dict[str, str] = {}
    for slot in entry.slots:
        key = slot.name
        if slot.argument in arrays:
            given[key] = _sample_text(draw, slot, arrays[slot.argument], name)
        elif slot.required:
            given[key] = values.of_type(draw, slot.type, False) if slot.type else "None"
        elif draw.random() < 0.1 and slot.type is not None:
            given[key] = values.of_type(draw, slot.type, False)
    return given


_samples: dict[tuple[str, int], Mapping[str, Any]] = {}


def sample_of(operator: Operator, number: int) -> Mapping[str, Any]:
    """A sample's values, evaluated once."""
    key = operator.full_name, number
    if key in _samples:
        return _samples[key]
    found: dict[str, Any] = {}
    for name, source in operator.test.samples[number].items():
        declared = operator.argument(name).type
        if declared.base is Base.DTYPE:
            found[name] = source
            continue
        value = sample_value(source, seed_of(operator.full_name, number, name))
        if declared.is_tensor and isinstance(value, list):
            value = np.array(value)
        found[name] = value
    _samples[key] = found
    return found


def _sample_text(draw: Draw, slot: Slot, value: Any, dtype_name: str | None) -> str:
    declared = slot.type
    assert declared is not None
    if declared.base is Base.DTYPE:
        return f"flambeau.{value}" if value in values.dtype_names() else repr(value)
    if declared.base is Base.MEMORY_FORMAT:
        return f"flambeau.{value}" if value is not None else "None"
    if declared.base is Base.TENSOR:
        if declared.is_list:
            items = value if isinstance(value, list | tuple) else [value]
            texts = ["None" if v is None else values.array_text(draw, v, dtype_name) for v in items]
            return f"[{', '.join(texts)}]"
        if isinstance(value, np.ndarray):
            kind = value.dtype.kind
            fits = kind == "f" or (kind in "iu" and draw.random() < 0.1)
            return values.array_text(draw, value, dtype_name if fits else None)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return repr(value)


def _resized(draw: Draw, arrays: dict[str, Any]) -> dict[str, Any]:
    """One size, wherever it occurs, becomes another."""
    shaped = [a for a in arrays.values() if isinstance(a, np.ndarray)]
    sizes = sorted({size for a in shaped for size in a.shape})
    if not sizes:
        return arrays
    old, new = draw.choice(sizes), draw.choice((0, 0, 1, 1, 2, 5, 17, 64, 130))

    def resize(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        wanted = tuple(new if size == old else size for size in value.shape)
        if wanted == value.shape or np.prod(wanted) > 100_000:
            return value
        return np.resize(value, wanted) if value.size else np.zeros(wanted, value.dtype)

    return {name: resize(value) for name, value in arrays.items()}


def _one_size_changed(draw: Draw, arrays: dict[str, Any]) -> dict[str, Any]:
    """A dim of one tensor no longer fits those of the others."""
    shaped = [n for n, a in arrays.items() if isinstance(a, np.ndarray) and a.size and a.ndim]
    if not shaped:
        return arrays
    name = draw.choice(shaped)
    sizes = list(arrays[name].shape)
    dim = draw.randrange(len(sizes))
    sizes[dim] = draw.choice((sizes[dim] + 1, sizes[dim] + 1, 2 * sizes[dim], sizes[dim] - 1))
    return {**arrays, name: np.resize(arrays[name], sizes)}


def _one_element_changed(draw: Draw, arrays: dict[str, Any]) -> dict[str, Any]:
    """An index or a count is no longer one; all else stays right."""
    integers = [n for n, a in arrays.items() if isinstance(a, np.ndarray) and a.dtype.kind == "i"]
    integers = [name for name in integers if arrays[name].size]
    if not integers:
        return arrays
    name = draw.choice(integers)
    changed = arrays[name].copy()
    limit = np.iinfo(changed.dtype).max
    changed.flat[draw.randrange(changed.size)] = draw.choice(
        (-1, -1, int(changed.max()) + 1, limit)
    )
    return {**arrays, name: changed}


def _spoil(draw: Draw, entry: Entry, given: dict[str, str]) -> None:
    """One argument becomes hostile, is laid out in another way, or disappears."""
    if not entry.slots:
        return
    slot = draw.choice(entry.slots)
    text = given.get(slot.name)
    way = draw.random()
    if text is not None and way < 0.35 and text.startswith(_LITERAL) and _INTEGER.search(text):
        given[slot.name] = _one_integer_changed(draw, text)
    elif text is not None and _is_tensor(text) and way < 0.55:
        given[slot.name] = values.laid_out(draw, text)
    elif text is not None and way < 0.6:
        del given[slot.name]
    elif text is not None and way < 0.75 and _has_integers(slot, text):
        given[slot.name] = _one_integer_changed(draw, text)
    elif slot.type is not None:
        given[slot.name] = values.of_type(draw, slot.type, True)
    else:
        text = values.guessed(draw, slot.name, slot.hint, True)
        # Layers of so many parts are made by loops of Python's, as many as are asked for.
        if not (entry.is_class and ("**" in text or len(text) > 60)):
            given[slot.name] = text


_LITERAL = ("flambeau.tensor(", "flambeau.randint(")
_INTEGER = re.compile(r"(?<![\w*.])(?<!\* )-?\d+(?![\w*.])")


def _has_integers(slot: Slot, text: str) -> bool:
    """Itself: those of `bytearray(3)` say how much memory Python takes."""
    is_call = text[:1].isalpha()
    is_int = slot.type is not None and slot.type.base is Base.INT
    return is_int and not is_call and bool(_INTEGER.search(text))


def _one_integer_changed(draw: Draw, text: str) -> str:
    """All else stays as it was, so that nothing else is refused before."""
    chosen = draw.choice(list(_INTEGER.finditer(text)))
    new = draw.choice(("-1", "-1", "0", "0", "1", "2", values.integer(draw, True)))
    return text[: chosen.start()] + new + text[chosen.end() :]
