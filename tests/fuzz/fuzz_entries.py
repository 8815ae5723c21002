"""What can be called: every form of every declared operator, and the Python functions, methods and
layers of the public modules. Nothing here names an operator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import flambeau
from flambeau.codegen.model.entries import Base, Declarations, Kind, Operator, Place, Type
from flambeau.codegen.plan.python_signature import (
    Form,
    forms,
    is_factory,
    places,
    python_names,
    python_signature,
    receiver_index,
)
from flambeau.codegen.read.loader import library_declarations

# Public modules whose own functions and classes are tried, with what of them is not: they start
# compilers, processes or files, or run Python code that they are given.
MODULES = ("", "nn.functional", "nn", "nn.utils", "nn.init", "autograd", "autograd.functional")
LEFT_OUT = frozenset(
    {"load", "save", "from_file", "DataLoader", "compile", "seed", "set_num_threads"}
)


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter. `type`: as declared; None: guessed from its name and `hint`, its annotation.
    `argument`: what the declaration calls it.
    """

    name: str
    type: Type | None
    required: bool
    keyword_only: bool = False
    hint: str = ""
    repeated: bool = False  # *operands
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to call. `callee` is Python text; None: a method of the first slot."""

    name: str
    callee: str | None
    slots: tuple[Slot, ...]
    words: tuple[str, ...]  # one of them belongs into a message about it
    operator: Operator | None = None
    form: Form | None = None
    outs: int = 0  # how many tensors it takes as out=
    is_class: bool = False

    @property
    def random(self) -> bool:
        """Results are not those of the last call."""
        return self.operator is not None and self.operator.test.arbitrary

    @property
    def is_view(self) -> bool:
        return self.operator is not None and self.operator.kind is Kind.VIEW

    @property
    def samples(self) -> tuple[dict[str, str], ...]:
        return self.operator.test.samples if self.operator else ()


@cache
def declarations() -> Declarations:
    return library_declarations()


@cache
def entries(internal: bool = True) -> tuple[Entry, ...]:
    """Everything that is tried; `internal`: also what only formulas call."""
    found = [*_declared(internal), *_written()]
    return tuple({entry.name: entry for entry in found}.values())


def resolve(path: str) -> Any:
    """What `flambeau.a.b` is; None where there is no such thing."""
    value: Any = flambeau
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
    return value


# Declared ----------------------------------------------------------------------------------------


def _declared(internal: bool) -> Iterator[Entry]:
    for operator in declarations().own:
        if operator.internal and not internal:
            continue
        for form in forms(operator):
            if form.is_method:
                for name in python_names(operator, form):
                    yield _entry(operator, form, name, None)
            else:
                for place in places(operator, form):
                    yield _entry(operator, form, place.name, _callee(place))


def _entry(operator: Operator, form: Form, name: str, callee: str | None) -> Entry:
    signature = python_signature(operator, form, name)
    slots = [
        Slot(
            p.name,
            _type(p.argument.type, form),
            p.default is None,
            p.keyword_only,
            repeated=p.argument.spread,
            argument=p.argument.name,
        )
        for p in signature.parameters
        if p.argument is not None
    ]
    if form.is_method:
        receiver = operator.signature.arguments[receiver_index(operator)]
        slots.insert(0, Slot(receiver.name, receiver.type, True, argument=receiver.name))
    if is_factory(operator) and not form.is_inplace:
        slots.append(Slot("requires_grad", Type(Base.BOOL), False, keyword_only=True))
    title = callee or f"Tensor.{name}"
    overload = operator.signature.overload
    return Entry(
        name=f"{title}[{overload}]" if overload else title,
        callee=callee,
        slots=tuple(slots),
        words=tuple({name, name.rstrip("_"), operator.name, operator.name.rstrip("_")}),
        operator=operator,
        form=form,
        outs=_outs(operator) if form is Form.FUNCTION else 0,
    )


def _outs(operator: Operator) -> int:
    return len(operator.signature.visible_results) if "out" in operator.variants else 0


def _type(declared: Type, form: Form) -> Type:
    """Optimizer steps take a list where the operator takes a tensor."""
    if form is Form.LIST and declared.base is Base.TENSOR:
        return Type(Base.TENSOR, is_list=True, optional=declared.optional)
    return declared


def _callee(place: Place) -> str:
    public = f"flambeau.{place}"
    return public if resolve(public) is not None else f"flambeau._C.{place}"


# Written by hand ---------------------------------------------------------------------------------


def _written() -> Iterator[Entry]:
    """What is not declared: functions and classes of the public modules, members of tensors."""
    declared = {name for o in declarations().own for f in forms(o) for name in python_names(o, f)}
    for module in MODULES:
        path = f"flambeau.{module}" if module else "flambeau"
        space = resolve(path)
        for name, value in sorted(_members(space).items()):
            if name in declared or name in LEFT_OUT or name.startswith("_"):
                continue
            if callable(value) and _is_ours(value, space):
                slots = _slots(value)
                if slots is not None:
                    full = f"{path}.{name}"
                    yield Entry(full, full, slots, (name,), is_class=inspect.isclass(value))
    for name in dir(flambeau.Tensor):
        value = getattr(flambeau.Tensor, name)
        if name in declared or not callable(value) or _is_foreign_slot(name):
            continue
        slots = _slots(value)
        receiver = Slot("self", Type(Base.TENSOR), True)
        if slots is not None and slots[:1] != () and slots[0].name == "self":
            slots = slots[1:]
        yield Entry(f"Tensor.{name}", None, (receiver, *(slots or _ANYTHING)), (name.strip("_"),))


_ANYTHING = tuple(Slot(f"argument{i}", None, False) for i in range(3))


def _members(space: Any) -> Mapping[str, Any]:
    return {name: getattr(space, name, None) for name in dir(space)} if space else {}


def _is_ours(value: Any, space: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return False
    return module.startswith("flambeau") or inspect.isbuiltin(value)


def _is_foreign_slot(name: str) -> bool:
    """What every object has; and what would change the class for the calls that follow."""
    return name.startswith("__") and (
        hasattr(object, name) and name not in ("__repr__", "__str__", "__format__", "__reduce__")
    )


def _slots(value: Callable[..., Any]) -> tuple[Slot, ...] | None:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = inspect.Parameter
    return tuple(
        Slot(
            p.name,
            None,
            p.default is kinds.empty,
            p.kind is kinds.KEYWORD_ONLY,
            "" if p.annotation is kinds.empty else str(p.annotation).strip("'\""),
            p.kind is kinds.VAR_POSITIONAL,
        )
        for p in parameters
        if p.kind is not kinds.VAR_KEYWORD
    )
