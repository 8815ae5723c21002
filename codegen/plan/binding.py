"""How an operator name is bound to Python: signatures, converters, quick paths, table entries."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flambeau.codegen.facts import is_factory
from flambeau.codegen.model import Argument, Base, Declarations, Operator, Place
from flambeau.codegen.plan.cpp_types import cpp_default, cpp_literal, cpp_name
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
    returns_self,
)

_KINDS = {
    Base.SCALAR: "scalar",
    Base.INT: "integer",
    Base.FLOAT: "floating",
    Base.BOOL: "boolean",
    Base.STR: "string",
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
_CONVERTERS = {
    Base.SCALAR: ("to_scalar", "Scalar"),
    Base.INT: ("to_int", "int64_t"),
    Base.FLOAT: ("to_double", "double"),
    Base.BOOL: ("to_bool", "bool"),
    Base.STR: ("to_string", "std::string_view"),
    Base.DTYPE: ("to_dtype", "DType"),
    Base.DEVICE: ("to_device", "Device"),
}


@dataclass(frozen=True, slots=True)
class QuickPath:
    """Straight-line code for a call with `count` positional arguments."""

    count: int  # without the receiver, in the method form
    variadic: bool  # the last list may be spread over the remaining arguments
    declarations: tuple[str, ...]
    conditions: tuple[str, ...]
    call: str


@dataclass(frozen=True, slots=True)
class OverloadBinding:
    """One overload."""

    identifier: str
    parameters: tuple[str, ...]  # initialisers of Parameter
    flags: str
    receiver: int
    conversions: tuple[str, ...]
    returned: tuple[str, ...]  # lines after the conversions
    quick_function: tuple[QuickPath, ...]
    quick_method: tuple[QuickPath, ...]
    named_result: tuple[str, ...]


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
    slots: int
    is_function: bool
    is_method: bool
    documented: tuple[tuple[Operator, Form, Form | None], ...]  # as a function, as a method
    called_as: str = ""

    @property
    def shown(self) -> str:
        """What messages call it."""
        return self.called_as or ".".join(filter(None, (self.namespace, self.name)))

    def function_doc(self, place: Place) -> str:
        """The docstring of the function, found in this place."""
        found = [(o, function) for o, function, _ in self.documented if function in forms(o)]
        return docstring([pair for pair in found if place in places(*pair)], place.name)

    def method_doc(self, name: str) -> str:
        """The docstring of the method."""
        found = [(operator, method) for operator, _, method in self.documented if method]
        return docstring([pair for pair in found if name in python_names(*pair)], name)


Group = list[tuple[Operator, Form]]  # overloads of one name


def plan_bindings(declarations: Declarations) -> list[Binding]:
    """Every Python name, in declaration order."""
    groups: dict[Place, Group] = {}
    for operator in declarations.own:
        for form in (Form.FUNCTION, Form.KEYWORD, Form.INPLACE_FUNCTION):
            if _is_bound(operator, form):
                groups.setdefault(_home(operator, form), []).append((operator, form))
    bindings = [
        binding
        for home, overloads in groups.items()
        for binding in _bindings_of_name(home, overloads)
    ]
    listed = [o for o in declarations.own if "list" in o.variants]
    return bindings + [_list_binding(o) for o in listed]


def _is_bound(operator: Operator, form: Form) -> bool:
    """Whether there is something to bind: a function, or the method that shares its overloads."""
    if form is Form.FUNCTION:
        return (
            operator.inplace is None
            or form in forms(operator)
            or is_method(operator, inplace=False)
        )
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
            # What the results are called is stated where the name is bound, in the same unit.
            bound = tuple(replace(overload, named_result=()) for overload in part.overloads)
            parts.append(replace(part, family=overloads[0][0].family, overloads=bound))
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
        symbol=f"{prefix}{home.name}_binding",
        namespace=home.namespace,
        family=first.family,
        places=found_in,
        method_names=_shared_names(home.name, methods) if methods else (),
        overloads=bound,
        slots=max(len(o.parameters) for o in bound),
        is_function=any(form in forms(o) for o, form in overloads),
        is_method=bool(methods),
        documented=documented,
        called_as=first.called_as,
    )


def _documented(operator: Operator, form: Form) -> tuple[Operator, Form, Form | None]:
    method = Form.INPLACE_METHOD if form.is_inplace else Form.METHOD
    has_method = form is not Form.KEYWORD and is_method(operator, form.is_inplace)
    return (operator, form, method if has_method else None)


def _overload(operator: Operator, form: Form) -> OverloadBinding:
    arguments = python_arguments(operator, form)
    inplace, has_keyword = form.is_inplace, form is Form.KEYWORD
    has_out = "out" in operator.variants and form is Form.FUNCTION
    has_method = not has_keyword and is_method(operator, inplace)
    factory = is_factory(operator) and not inplace
    parameters = [_parameter(a) for a in arguments]
    if has_out:
        parameters.append('{"out", Kind::tensor, "None", kKeywordOnly | kNone}')
    if factory:
        parameters.append("FLAMBEAU_FACTORY_PARAMETERS")
    flags = [
        flag
        for flag, on in (
            ("kFunction", form in forms(operator)),
            ("kMethod", has_method),
            ("kOut", has_out),
        )
        if on
    ]
    function = f"{operator.identifier}_" if inplace else operator.identifier
    named = named_result(operator)
    names = [cpp_name(a.name) for a in operator.signature.arguments]
    receiver = receiver_index(operator)
    returned = []
    if has_out:
        returned += _out_lines(operator, len(arguments))
    if has_keyword:
        write = _call(operator, f"{operator.identifier}_", names)
        returned += ["if (inplace) {"]
        returned += [
            f"  {line}" for line in _return_lines(operator, True, write, f"in[{receiver}]", ())
        ]
        returned += ["}"]
    call = _call(operator, function, names)
    if factory:
        slot = len(arguments) + has_out
        returned.append(f"return factory_result({call}, in[{slot}]);")
    else:
        returned += _return_lines(operator, inplace, call, f"in[{receiver}]", named)
    return OverloadBinding(
        identifier=function,
        parameters=tuple(parameters) + (("", "") if factory else ()),
        flags=" | ".join(flags) or "0",
        receiver=receiver,
        conversions=tuple(
            _conversion(a, i, operator) for i, a in enumerate(arguments) if a.type.only is None
        ),
        returned=tuple(returned),
        quick_function=_quick_paths(operator, form, function, -1, named),
        quick_method=_quick_paths(operator, form, function, receiver, named) if has_method else (),
        # Of two bindings of one operator, the other one states what its results are called.
        named_result=() if has_keyword else named,
    )


def _parameter(argument: Argument) -> str:
    declared = argument.type
    flags = ["kKeywordOnly"] if argument.keyword_only else []
    if declared.base is Base.TENSOR and not declared.is_list:
        kind = "operand" if declared.or_scalar else "tensor"
    else:
        kind = (_LIST_KINDS if declared.is_list else _KINDS)[declared.base]
    if declared.optional:
        flags.append("kNoneElements" if declared.is_tensor_list else "kNone")
    flags += ["kNone", "kNoneElements"] if declared.none_items else []
    flags += ["kSpread"] if argument.spread else []
    if declared.only is not None:
        flags.append("kTrue" if declared.only else "kFalse")
    default = "nullptr" if argument.default is None else cpp_literal(argument.default)
    text = f'"{argument.name}", Kind::{kind}, {default}, {" | ".join(flags) or "kPlain"}'
    if declared.list_length:
        text += f", {declared.list_length}"
    return f"{{{text}}}"


def _conversion(argument: Argument, index: int, operator: Operator) -> str:
    """Declares the C++ argument from its slot."""
    declared, slot, name = argument.type, f"in[{index}]", cpp_name(argument.name)
    default = None
    if argument.default not in (None, "None"):
        default = cpp_default(argument, f"ops::{operator.identifier}")
    if declared.is_list:
        if declared.base is Base.INT:
            length = declared.list_length or 0
            if declared.optional and default is None:
                return f"const OptionalIntListArgument {name}({slot}, {length});"
            fallback = "" if default is None else f", {default}"
            if declared.none_items:
                fallback = ", IntList(&kNoInt, 1)"
            return f"const IntListArgument {name}({slot}, {length}{fallback});"
        kind = {Base.FLOAT: "FloatListArgument", Base.BOOL: "BoolListArgument"}.get(
            declared.base, "TensorListArgument"
        )
        return f"const {kind} {name}({slot});"
    if declared.base is Base.TENSOR:
        if declared.or_scalar:
            fallback = f", Scalar({default})" if default is not None else ""
            return f"const Operand {name} = to_operand({slot}{fallback});"
        return f"const Tensor& {name} = to_tensor({slot});"
    if declared.base is Base.GENERATOR:
        return f"Generator* const {name} = to_generator({slot});"
    converter, spelled = _CONVERTERS[declared.base]
    if declared.optional:
        optional = converter.replace("to_", "to_optional_")
        value = f"{optional}({slot})"
        if default is not None:
            value = f"{slot} ? {value} : std::optional<{spelled}>({default})"
        return f"const std::optional<{spelled}> {name} = {value};"
    if default is not None and declared.base is Base.SCALAR:
        default = f"Scalar({default})"
    fallback = f", {default}" if default is not None else ""
    return f"const {spelled} {name} = {converter}({slot}{fallback});"


def _work(operator: Operator, names: list[str]) -> str:
    tensors = [
        name
        for argument, name in zip(operator.signature.arguments, names, strict=True)
        if argument.type.base is Base.TENSOR
    ]
    return f"work_of({', '.join(tensors)})" if tensors else ""


def _call(operator: Operator, function: str, names: list[str]) -> str:
    call = f"ops::{function}({', '.join(names)})"
    work = _work(operator, names)
    if not work:
        return call
    return f"released({work}, [&]() -> decltype(auto) {{ return {call}; }})"


def _shared_names(name: str, methods: Group) -> tuple[str, ...]:
    """The name of a method, and those aliases that all of its overloads have."""
    first = python_names(*methods[0])[1:]
    shared = [n for n in first if all(n in python_names(*m) for m in methods)]
    return tuple(dict.fromkeys([name, *shared]))


def _return_lines(
    operator: Operator, inplace: bool, call: str, receiver: str, named: tuple[str, ...]
) -> list[str]:
    if returns_self(operator, inplace):
        return [f"{call};", f"return written({receiver});"]
    if not operator.signature.results:
        return [f"{call};", "Py_RETURN_NONE;"]
    if named:
        return [f"return {operator.identifier}_result.make({call});"]
    return [f"return to_python({call});"]


def _out_lines(operator: Operator, slot: int) -> list[str]:
    names = [cpp_name(a.name) for a in operator.signature.arguments]
    separator = ", " if names else ""
    call = f"ops::{operator.identifier}_out(to_tensor(in[{slot}]){separator}{', '.join(names)})"
    return [f"if (given(in[{slot}])) {{", f"  {call};", f"  return Py_NewRef(in[{slot}]);", "}"]


# Quick paths ------------------------------------------------------------------------------------


def _quick_paths(
    operator: Operator, form: Form, function: str, receiver: int, named: tuple[str, ...]
) -> tuple[QuickPath, ...]:
    """For the required arguments, and for as many more as are given by position."""
    if is_factory(operator):
        return ()
    positional = _positional(operator)
    required = sum(1 for a in positional if a.default is None)
    if any(a.keyword_only and a.default is None for a in operator.signature.arguments):
        return ()
    paths = []
    for count in range(required, len(positional) + 1):
        if any(
            a.type.only is not None and a.default != str(a.type.only) for a in positional[count:]
        ):
            continue  # another overload is meant
        path = _quick_path(operator, form, function, receiver, positional[:count], named)
        if path is not None:
            paths.append(path)
    if form is Form.KEYWORD and paths and paths[-1].count == len(positional):
        paths += _paths_with_inplace(operator, function, receiver, positional, named)
    return tuple(paths)


def _positional(operator: Operator) -> list[Argument]:
    return [a for a in operator.signature.given if not a.keyword_only]


def _paths_with_inplace(
    operator: Operator,
    function: str,
    receiver: int,
    positional: list[Argument],
    named: tuple[str, ...],
) -> list[QuickPath]:
    """For all positional arguments and `inplace`, which follows them."""
    ways = (
        ("Py_True", Form.INPLACE_FUNCTION, f"{operator.identifier}_"),
        ("Py_False", Form.FUNCTION, function),
    )
    paths = []
    for value, form, called in ways:
        path = _quick_path(operator, form, called, receiver, positional, named)
        if path is not None:
            conditions = (*path.conditions, f"args[{path.count}] == {value}")
            paths.append(replace(path, count=path.count + 1, variadic=False, conditions=conditions))
    return paths


def _quick_path(
    operator: Operator,
    form: Form,
    function: str,
    receiver: int,
    given: list[Argument],
    named: tuple[str, ...],
) -> QuickPath | None:
    declarations, conditions, values = [], [], []
    position = 0
    variadic = False
    for index, argument in enumerate(given):
        if index == receiver:
            values.append("unwrap(self)")
            continue
        if argument.type.only is not None:
            conditions.append(f"args[{position}] == Py_{argument.type.only}")
            position += 1
            continue
        last = index == len(given) - 1
        quick = _quick_argument(argument, position, last)
        if quick is None:
            return None
        declaration, condition, value, spreads = quick
        # Further integers belong to the list only where no other argument may follow it.
        spreads = spreads and argument is _positional(operator)[-1] and form is not Form.KEYWORD
        declarations += declaration
        conditions.append(condition)
        values.append(value)
        variadic = variadic or spreads
        position += 1
    if receiver >= len(given):
        return None
    passed = [a for a in given if a.type.only is None]
    tensors = [
        value
        for argument, value in zip(passed, values, strict=True)
        if argument.type.base is Base.TENSOR
    ]
    call = f"ops::{function}({', '.join(values)})"
    if tensors:
        call = (
            f"released(work_of({', '.join(tensors)}), [&]() -> decltype(auto) {{ return {call}; }})"
        )
    owner = "self" if receiver >= 0 else "args[0]"
    lines = _return_lines(operator, form.is_inplace, call, owner, named)
    return QuickPath(position, variadic, tuple(declarations), tuple(conditions), "\n".join(lines))


def _quick_argument(
    argument: Argument, position: int, last: bool
) -> tuple[list[str], str, str, bool] | None:
    declared, slot, name = argument.type, f"args[{position}]", f"q_{argument.name}"
    if declared.is_list:
        if declared.base is not Base.INT or declared.none_items:
            return None
        # One int stands for as many as are wanted; the last list may be all that is left.
        spreads = last and not declared.list_length
        count = f"by_position - {position}" if spreads else "1"
        length = f", {declared.list_length}" if declared.list_length else ""
        condition = f"quick_ints(args + {position}, {count}, {name}{length})"
        return [f"Shape {name};"], condition, f"IntList({name})", spreads
    if declared.base is Base.TENSOR:
        if declared.or_scalar:
            return [f"const QuickOperand {name}({slot});"], name, f"*{name}", False
        if declared.optional:
            return [], f"({slot} == Py_None || is_tensor({slot}))", f"to_tensor({slot})", False
        return [], f"is_tensor({slot})", f"unwrap({slot})", False
    if declared.optional:
        return None
    match declared.base:
        case Base.INT:
            return [f"int64_t {name};"], f"small_int({slot}, {name})", name, False
        case Base.SCALAR:
            return [f"Scalar {name};"], f"quick_scalar({slot}, {name})", name, False
        case Base.BOOL:
            return [], f"PyBool_Check({slot})", f"{slot} == Py_True", False
        case Base.FLOAT:
            return [], f"PyFloat_CheckExact({slot})", f"PyFloat_AS_DOUBLE({slot})", False
    return None


# The list form of optimizer steps -----------------------------------------------------------------


def _list_binding(operator: Operator) -> Binding:
    """The operator over lists of tensors: one call for a whole parameter group."""
    arguments = operator.signature.arguments
    parameters, conversions = [], []
    for index, argument in enumerate(arguments):
        name = cpp_name(argument.name)
        if argument.type.is_tensor:
            flags = ["kKeywordOnly"] if argument.keyword_only else []
            flags += ["kNoneElements"] if argument.type.optional else []
            parameters.append(
                f'{{"{argument.name}", Kind::tensors, nullptr, {" | ".join(flags) or "kPlain"}}}'
            )
            conversions.append(f"const TensorListArgument {name}(in[{index}]);")
        else:
            parameters.append(_parameter(argument))
            conversions.append(_conversion(argument, index, operator))
    function = form_name(operator, Form.LIST)
    names = ", ".join(cpp_name(a.name) for a in arguments)
    tensors = ", ".join(cpp_name(a.name) for a in arguments if a.type.is_tensor)
    overload = OverloadBinding(
        identifier=function,
        parameters=tuple(parameters),
        flags="kFunction",
        receiver=-1,
        conversions=tuple(conversions),
        returned=(
            f"released(work_of({tensors}), [&] {{ ops::{function}({names}); }});",
            "Py_RETURN_NONE;",
        ),
        quick_function=(),
        quick_method=(),
        named_result=(),
    )
    return Binding(
        name=function,
        symbol=f"{INTERNAL_NAMESPACE}_{function}binding",
        namespace=INTERNAL_NAMESPACE,
        family=operator.family,
        places=places(operator, Form.LIST),
        method_names=(),
        overloads=(overload,),
        slots=len(parameters),
        is_function=True,
        is_method=False,
        documented=((operator, Form.LIST, None),),
        called_as=operator.called_as,
    )
