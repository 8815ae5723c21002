"""How an operator name is bound to Python: the records of its overloads, where it is found."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from flambeau.codegen.model.entries import Argument, Base, Declarations, Layout, Operator, Place
from flambeau.codegen.model.facts import is_factory
from flambeau.codegen.plan.cpp_types import DEFAULT_INFIX, cpp_literal, list_constant
from flambeau.codegen.plan.documentation import docstring
from flambeau.codegen.plan.python_signature import (
    INTERNAL_NAMESPACE,
    Form,
    form_name,
    forms,
    is_method,
    named_result,
    places,
    python_arguments,
    python_names,
    receiver_index,
)

_KINDS = {
    Base.SCALAR: "scalar",
    Base.INT: "integer",
    Base.FLOAT: "floating",
    Base.BOOL: "boolean",
    Base.STR: "string",
    Base.MEMORY_FORMAT: "memory_format",
    Base.DTYPE: "dtype",
    Base.DEVICE: "device",
    Base.GENERATOR: "generator",
}
_LIST_KINDS = {
    Base.INT: "integers",
    Base.FLOAT: "floats",
    Base.BOOL: "booleans",
    Base.TENSOR: "tensors",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A record of native/python/calls/records.h."""

    name: str
    kind: str
    default: tuple[str, str] | None = (
        None  # as Python shows it, and its value in C++, if it has one
    )
    flags: tuple[str, ...] = ()
    length: int = 0

    def __str__(self) -> str:
        fields = [f'"{self.name}"', f"Kind::{self.kind}"]
        further = [self._default_text(), " | ".join(self.flags) or "kPlain", str(self.length)]
        while further and further[-1] in ("{}", "kPlain", "0"):
            further.pop()
        return f"{{{', '.join(fields + further)}}}"

    def _default_text(self) -> str:
        if self.default is None:
            return "{}"
        shown, value = cpp_literal(self.default[0]), self.default[1]
        return f"{{{shown}, {value}}}" if value else shown


@dataclass(frozen=True, slots=True)
class OverloadBinding:
    """One overload: a record of native/python/calls/records.h."""

    function: str  # of C++
    parameters: tuple[Parameter, ...]
    is_factory: bool  # takes what every factory function takes too
    flags: tuple[str, ...]
    receiver: int
    written: str = ""  # the function that writes, for out= or inplace=
    named_result: tuple[str, ...] = ()

    @property
    def table(self) -> list[str]:
        """The initialisers of its parameters."""
        factory = ["FLAMBEAU_FACTORY_PARAMETERS"] if self.is_factory else []
        return [*map(str, self.parameters), *factory]

    def record(self, table: str) -> str:
        """The initialiser, given the name of its table of parameters."""
        flags = " | ".join(self.flags) or "0"
        if not self.table:
            return f"{{{flags}, &function<ops::{self.function}>}}"
        fields = [table, flags, str(self.receiver), f"&function<ops::{self.function}>"]
        if self.written or self.named_result:
            fields.append(f"&function<ops::{self.written}>" if self.written else "nullptr")
        if self.named_result:
            fields.append(f"&{self.result}")
        return f"{{{', '.join(fields)}}}"

    @property
    def result(self) -> str:
        """What several results are called, in C++."""
        return f"{self.function}_result"


@dataclass(frozen=True, slots=True)
class Binding:
    """One Python name with all its overloads."""

    name: str  # "max", or "relu_"
    symbol: str  # unique C++ prefix
    namespace: str
    family: str
    places: tuple[Place, ...]  # of the function, under every name that has all overloads
    method_names: tuple[str, ...]
    overloads: tuple[OverloadBinding, ...]
    is_function: bool
    is_method: bool
    documented: tuple[tuple[Operator, Form, Form | None], ...]  # as a function, as a method
    called_as: str = ""

    @property
    def shown(self) -> str:
        """What messages call it."""
        return self.called_as or ".".join(filter(None, (self.namespace, self.name)))

    @property
    def records(self) -> list[str]:
        """The initialisers of its overloads."""
        return [o.record(f"{self.symbol}_{i}") for i, o in enumerate(self.overloads)]

    def function_doc(self, place: Place) -> str:
        """The docstring of the function, found in this place."""
        found = [(o, function) for o, function, _ in self.documented if function in forms(o)]
        return docstring([pair for pair in found if place in places(*pair)], place.name)

    def method_doc(self, name: str) -> str:
        """The docstring of the method."""
        found = [(operator, method) for operator, _, method in self.documented if method]
        return docstring([pair for pair in found if name in python_names(*pair)], name)


Group = list[tuple[Operator, Form]]  # overloads of one name


def overloads_by_home(declarations: Declarations) -> dict[Place, Group]:
    """The overloads that are bound together, in the order in which calls try them."""
    groups: dict[Place, Group] = {}
    # The first overload is the one that calls take the short way to: of strided tensors.
    for operator in sorted(declarations.own, key=lambda o: o.is_for_layouts):
        for form in (Form.FUNCTION, Form.KEYWORD, Form.INPLACE_FUNCTION):
            if _is_bound(operator, form):
                groups.setdefault(_home(operator, form), []).append((operator, form))
    return groups


def plan_bindings(declarations: Declarations) -> list[Binding]:
    """Every Python name, in declaration order."""
    bindings = [
        binding
        for home, overloads in overloads_by_home(declarations).items()
        for binding in _bindings_of_name(home, overloads)
    ]
    listed = [o for o in declarations.own if "list" in o.variants]
    return bindings + [_list_binding(o) for o in listed]


def _is_bound(operator: Operator, form: Form) -> bool:
    """Whether there is something to bind: a function, or the method that shares its overloads."""
    if form is Form.FUNCTION:
        return operator.inplace is None or form in forms(operator) or is_method(operator)
    return form in forms(operator)


def _home(operator: Operator, form: Form) -> Place:
    """Where overloads of a name meet; of a method alone, its name."""
    return next(iter(places(operator, form)), Place("", operator.name))


def _bindings_of_name(home: Place, overloads: Group) -> list[Binding]:
    """The binding of a name, which its further names share; a further name of some of its overloads
    alone has a binding of its own, which knows no others.
    """
    shared: list[Place] = []
    parts: list[Binding] = []
    for place, members in _by_place(overloads).items():
        if len(members) == len(overloads):
            shared.append(place)
        else:
            part = _binding(place, members, (place,), place.namespace == home.namespace)
            # In the same unit, where it is stated what the results are called.
            parts.append(replace(part, family=overloads[0][0].family))
    return [_binding(home, overloads, tuple(shared)), *parts]


def _by_place(overloads: Group) -> dict[Place, Group]:
    """The overloads that each place has."""
    found: dict[Place, Group] = {}
    for operator, form in overloads:
        for place in places(operator, form):
            found.setdefault(place, []).append((operator, form))
    return found


def _binding(
    home: Place, overloads: Group, found_in: tuple[Place, ...], has_methods: bool = True
) -> Binding:
    first = overloads[0][0]
    bound = tuple(_overload(operator, form) for operator, form in overloads)
    prefix = f"{home.namespace.replace('.', '_')}_" if home.namespace else ""
    documented = tuple(_documented(operator, form) for operator, form in overloads)
    methods = [(o, method) for o, _, method in documented if method and has_methods]
    return Binding(
        name=home.name,
        symbol=f"{prefix}{home.name}",
        namespace=home.namespace,
        family=first.family,
        places=found_in,
        method_names=_shared_names(home.name, methods) if methods else (),
        overloads=bound,
        is_function=any(form in forms(o) for o, form in overloads),
        is_method=bool(methods),
        documented=documented,
        called_as=first.called_as,
    )


def _documented(operator: Operator, form: Form) -> tuple[Operator, Form, Form | None]:
    method = Form.INPLACE_METHOD if form.is_inplace else Form.METHOD
    has_method = form is not Form.KEYWORD and is_method(operator)
    return (operator, form, method if has_method else None)


def _out(operator: Operator) -> Parameter:
    """`out=`: a tensor, or a tuple of them."""
    count = len(operator.signature.visible_results)
    flags = ("kKeywordOnly", "kNone", "kOut")
    if count == 1:
        return Parameter("out", "tensor", ("None", ""), flags)
    return Parameter("out", "tensors", ("None", ""), flags, count)


def _overload(operator: Operator, form: Form) -> OverloadBinding:
    has_out = "out" in operator.variants and form is Form.FUNCTION
    has_method = form is not Form.KEYWORD and is_method(operator)
    parameters = [_parameter(a, operator) for a in python_arguments(operator, form)]
    if has_out:
        parameters.append(_out(operator))
    written = f"{operator.identifier}_out" if has_out else ""
    return OverloadBinding(
        function=f"{operator.identifier}_" if form.is_inplace else operator.identifier,
        parameters=tuple(parameters),
        is_factory=is_factory(operator) and not form.is_inplace,
        flags=_flags(form in forms(operator), has_method),
        receiver=receiver_index(operator),
        written=f"{operator.identifier}_" if form is Form.KEYWORD else written,
        named_result=() if form.is_inplace else named_result(operator),
    )


def _flags(is_function: bool, is_method: bool) -> tuple[str, ...]:
    flags = (("kFunction", is_function), ("kMethod", is_method))
    return tuple(flag for flag, holds in flags if holds)


def _parameter(argument: Argument, operator: Operator) -> Parameter:
    declared = argument.type
    if declared.base is Base.TENSOR and not declared.is_list:
        kind = "operand" if declared.or_scalar else "tensor"
    else:
        kind = (_LIST_KINDS if declared.is_list else _KINDS)[declared.base]
    flags = (
        ("kKeywordOnly", argument.keyword_only),
        ("kNone", declared.none_items or (declared.optional and not declared.is_tensor_list)),
        ("kNoneElements", declared.none_items or (declared.optional and declared.is_tensor_list)),
        ("kSpread", argument.spread),
        ("kTrue", declared.only is True),
        ("kFalse", declared.only is False),
        ("kInplace", argument is operator.inplace),
        ("kSparse", operator.layouts.get(argument.name) is Layout.SPARSE_COO),
        ("kAnyLayout", operator.layouts.get(argument.name) is Layout.ANY),
    )
    return Parameter(
        argument.name,
        kind,
        _default(argument, operator),
        tuple(flag for flag, holds in flags if holds),
        declared.list_length or 0,
    )


def _default(argument: Argument, operator: Operator) -> tuple[str, str] | None:
    """A list is the constant that functions of C++ have too."""
    if argument.default is None:
        return None
    if list_constant(argument, ""):
        return argument.default, f"ops::{operator.identifier}{DEFAULT_INFIX}{argument.name}"
    value = None if argument.default == "None" else ast.literal_eval(argument.default)
    is_value = value is not None and not isinstance(value, list | tuple)
    return argument.default, _literal(value) if is_value else ""


def _literal(value: object) -> str:
    """What reads well in a table, where the type follows from the place."""
    is_int = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31
    return str(value) if is_int else cpp_literal(value)


def _shared_names(name: str, methods: Group) -> tuple[str, ...]:
    """The name of a method, and those aliases that all of its overloads have."""
    first = python_names(*methods[0])[1:]
    shared = [n for n in first if all(n in python_names(*m) for m in methods)]
    return tuple(dict.fromkeys([name, *shared]))


# The list form of optimizer steps -----------------------------------------------------------------


def _list_binding(operator: Operator) -> Binding:
    """The operator over lists of tensors: one call for a whole parameter group."""
    function = form_name(operator, Form.LIST)
    overload = OverloadBinding(
        function=function,
        parameters=tuple(_listed(a, operator) for a in operator.signature.arguments),
        is_factory=False,
        flags=_flags(True, False),
        receiver=-1,
    )
    return Binding(
        name=function,
        symbol=f"{INTERNAL_NAMESPACE}_{function}",
        namespace=INTERNAL_NAMESPACE,
        family=operator.family,
        places=places(operator, Form.LIST),
        method_names=(),
        overloads=(overload,),
        is_function=True,
        is_method=False,
        documented=((operator, Form.LIST, None),),
        called_as=operator.called_as,
    )


def _listed(argument: Argument, operator: Operator) -> Parameter:
    """A list of what the argument is, of a tensor."""
    parameter = _parameter(argument, operator)
    if not argument.type.is_tensor:
        return parameter
    flags = tuple("kNoneElements" if flag == "kNone" else flag for flag in parameter.flags)
    return replace(parameter, kind="tensors", default=None, flags=flags)
