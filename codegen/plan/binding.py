"""How an operator name is bound to Python: signatures, converters, quick paths, table entries."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from flambeau.codegen.facts import is_factory
from flambeau.codegen.model import Argument, Base, Declarations, Operator
from flambeau.codegen.plan.cpp_types import cpp_default, cpp_literal, cpp_name
from flambeau.codegen.plan.documentation import docstring
from flambeau.codegen.plan.python_signature import (
    INTERNAL_NAMESPACE,
    Form,
    form_name,
    forms,
    is_method,
    named_result,
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
# Python's operators: the slot of the forward form, of the in-place form.
BINARY_SLOTS = {
    "+": ("nb_add", "nb_inplace_add"),
    "-": ("nb_subtract", "nb_inplace_subtract"),
    "*": ("nb_multiply", "nb_inplace_multiply"),
    "/": ("nb_true_divide", "nb_inplace_true_divide"),
    "//": ("nb_floor_divide", "nb_inplace_floor_divide"),
    "%": ("nb_remainder", "nb_inplace_remainder"),
    "**": ("nb_power", "nb_inplace_power"),
    "@": ("nb_matrix_multiply", "nb_inplace_matrix_multiply"),
    "&": ("nb_and", "nb_inplace_and"),
    "|": ("nb_or", "nb_inplace_or"),
    "^": ("nb_xor", "nb_inplace_xor"),
    "<<": ("nb_lshift", "nb_inplace_lshift"),
    ">>": ("nb_rshift", "nb_inplace_rshift"),
}
# Tokens whose operands may change places, so that `1 + x` needs no operator of its own.
COMMUTATIVE = frozenset("+*&|^")
UNARY_SLOTS = {
    "neg": "nb_negative",
    "pos": "nb_positive",
    "abs": "nb_absolute",
    "invert": "nb_invert",
}
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


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
    aliases: tuple[str, ...]  # further names of all overloads
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

    def function_doc(self, name: str) -> str:
        """The docstring of the function, bound under this name or an alias."""
        found = [(o, function) for o, function, _ in self.documented if function in forms(o)]
        return docstring([pair for pair in found if name in python_names(*pair)], name)

    def method_doc(self, name: str) -> str:
        """The docstring of the method."""
        found = [(operator, method) for operator, _, method in self.documented if method]
        return docstring([pair for pair in found if name in python_names(*pair)], name)


Group = list[tuple[Operator, bool]]  # overloads of one name, and whether it is the in-place form


def plan_bindings(declarations: Declarations) -> list[Binding]:
    """Every Python name, in declaration order."""
    groups: dict[tuple[str, str], Group] = {}
    for operator in declarations.own:
        namespace = INTERNAL_NAMESPACE if operator.internal else operator.namespace
        groups.setdefault((namespace, operator.name), []).append((operator, False))
        if "inplace" in operator.variants:
            groups.setdefault((namespace, f"{operator.name}_"), []).append((operator, True))
    bindings = [
        binding
        for (namespace, name), overloads in groups.items()
        for binding in _bindings_of_name(name, namespace, overloads)
    ]
    listed = [o for o in declarations.own if "list" in o.variants]
    return bindings + [_list_binding(o) for o in listed]


def _bindings_of_name(name: str, namespace: str, overloads: Group) -> list[Binding]:
    """The binding of a name, which its aliases share; an alias of some of its overloads alone has
    a binding of its own, which knows no others.
    """
    shared: list[str] = []
    parts: list[Binding] = []
    for alias, members in _by_alias(overloads).items():
        if len(members) == len(overloads):
            shared.append(alias)
        else:
            # What the results are called is stated where the name is bound, in the same unit.
            part = _binding(alias, namespace, members)
            bound = tuple(replace(overload, named_result=()) for overload in part.overloads)
            parts.append(replace(part, family=overloads[0][0].family, overloads=bound))
    return [replace(_binding(name, namespace, overloads), aliases=tuple(shared)), *parts]


def _by_alias(overloads: Group) -> dict[str, Group]:
    """The overloads that each alias stands for, under the name that it has in this form."""
    found: dict[str, Group] = {}
    for operator, inplace in overloads:
        for alias in operator.aliases:
            name = f"{alias}_" if inplace else alias
            found.setdefault(name, []).append((operator, inplace))
    return found


def _binding(name: str, namespace: str, overloads: Group) -> Binding:
    first = overloads[0][0]
    bound = tuple(_overload(operator, inplace) for operator, inplace in overloads)
    prefix = f"{namespace.replace('.', '_')}_" if namespace else ""
    return Binding(
        name=name,
        symbol=f"{prefix}{name}_binding",
        namespace=namespace,
        family=first.family,
        aliases=(),
        overloads=bound,
        slots=max(len(o.parameters) for o in bound),
        is_function=any("function" in o.variants or i for o, i in overloads),
        is_method=any(is_method(o, i) for o, i in overloads),
        documented=tuple(_documented(operator, inplace) for operator, inplace in overloads),
        called_as=first.called_as,
    )


def _documented(operator: Operator, inplace: bool) -> tuple[Operator, Form, Form | None]:
    method = Form.INPLACE_METHOD if inplace else Form.METHOD
    has_method = is_method(operator, inplace)
    return (
        operator,
        Form.INPLACE_FUNCTION if inplace else Form.FUNCTION,
        method if has_method else None,
    )


def _overload(operator: Operator, inplace: bool) -> OverloadBinding:
    arguments = operator.signature.arguments
    has_out = "out" in operator.variants and not inplace
    factory = is_factory(operator) and not inplace
    parameters = [_parameter(a) for a in arguments]
    if has_out:
        parameters.append('{"out", Kind::tensor, "None", kKeywordOnly | kNone}')
    if factory:
        parameters.append("FLAMBEAU_FACTORY_PARAMETERS")
    flags = [
        flag
        for flag, on in (
            ("kFunction", "function" in operator.variants or inplace),
            ("kMethod", is_method(operator, inplace)),
            ("kOut", has_out),
        )
        if on
    ]
    function = f"{operator.identifier}_" if inplace else operator.identifier
    named = named_result(operator)
    returned = []
    if has_out:
        returned += _out_lines(operator, len(arguments))
    call = _call(operator, function, [cpp_name(a.name) for a in arguments])
    if factory:
        slot = len(arguments) + has_out
        returned.append(f"return factory_result({call}, in[{slot}]);")
    else:
        returned += _return_lines(operator, inplace, call, f"in[{receiver_index(operator)}]", named)
    return OverloadBinding(
        identifier=function,
        parameters=tuple(parameters) + (("", "") if factory else ()),
        flags=" | ".join(flags) or "0",
        receiver=receiver_index(operator),
        conversions=tuple(_conversion(a, i, operator) for i, a in enumerate(arguments)),
        returned=tuple(returned),
        quick_function=_quick_paths(operator, function, inplace, -1, named),
        quick_method=_quick_paths(operator, function, inplace, receiver_index(operator), named)
        if is_method(operator, inplace)
        else (),
        named_result=named,
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


def _return_lines(
    operator: Operator, inplace: bool, call: str, receiver: str, named: tuple[str, ...]
) -> list[str]:
    if returns_self(operator, inplace):
        return [f"{call};", f"return Py_NewRef({receiver});"]
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
    operator: Operator, function: str, inplace: bool, receiver: int, named: tuple[str, ...]
) -> tuple[QuickPath, ...]:
    """For the required arguments, and for all positional ones."""
    if is_factory(operator):
        return ()
    positional = _positional(operator)
    required = sum(1 for a in positional if a.default is None)
    if any(a.keyword_only and a.default is None for a in operator.signature.arguments):
        return ()
    paths = []
    for count in sorted({required, len(positional)}):
        path = _quick_path(operator, function, inplace, receiver, positional[:count], named)
        if path is not None:
            paths.append(path)
    return tuple(paths)


def _positional(operator: Operator) -> list[Argument]:
    return [a for a in operator.signature.arguments if not a.keyword_only]


def _quick_path(
    operator: Operator,
    function: str,
    inplace: bool,
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
        last = index == len(given) - 1
        quick = _quick_argument(argument, position, last)
        if quick is None:
            return None
        declaration, condition, value, spreads = quick
        # Further integers belong to the list only where no other argument may follow it.
        spreads = spreads and argument is _positional(operator)[-1]
        declarations += declaration
        conditions.append(condition)
        values.append(value)
        variadic = variadic or spreads
        position += 1
    if receiver >= len(given):
        return None
    tensors = [
        value
        for argument, value in zip(given, values, strict=True)
        if argument.type.base is Base.TENSOR
    ]
    call = f"ops::{function}({', '.join(values)})"
    if tensors:
        call = (
            f"released(work_of({', '.join(tensors)}), [&]() -> decltype(auto) {{ return {call}; }})"
        )
    owner = "self" if receiver >= 0 else "args[0]"
    lines = _return_lines(operator, inplace, call, owner, named)
    return QuickPath(position, variadic, tuple(declarations), tuple(conditions), "\n".join(lines))


def _quick_argument(
    argument: Argument, position: int, last: bool
) -> tuple[list[str], str, str, bool] | None:
    declared, slot, name = argument.type, f"args[{position}]", f"q_{argument.name}"
    if declared.is_list:
        if declared.base is not Base.INT or not last or declared.list_length:
            return None
        condition = f"quick_ints(args + {position}, count - {position}, {name})"
        return [f"Shape {name};"], condition, f"IntList({name})", True
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
        aliases=(),
        overloads=(overload,),
        slots=len(parameters),
        is_function=True,
        is_method=False,
        documented=((operator, Form.LIST, None),),
        called_as=operator.called_as,
    )


# Number protocol ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlotBinding:
    """One slot of the number protocol."""

    slot: str
    symbol: str
    lines: tuple[str, ...]  # the body
    parameters: str


def plan_slots(declarations: Declarations) -> tuple[list[SlotBinding], dict[str, str]]:
    """Number slots, and comparison functions by operator."""
    by_token: dict[str, Operator] = {}
    for operator in declarations.operators:
        if operator.operator is not None:
            by_token.setdefault(operator.operator, operator)
    slots = []
    for token, (forward, inplace) in BINARY_SLOTS.items():
        if token not in by_token:
            continue
        operator = by_token[token]
        reflected = operator if token in COMMUTATIVE else by_token.get(f"reflected {token}")
        body = _binary_body(operator, reflected)
        ternary = ", PyObject*" if token == "**" else ""
        slots.append(
            SlotBinding(forward, f"slot_{forward}", body, f"PyObject* a, PyObject* b{ternary}")
        )
        if "inplace" in operator.variants:
            second = _second_type(operator)
            lines = (
                f'return inplace_slot("{operator.name}_", a, b, [](const Tensor& x, {second} y) '
                f"{{ ops::{operator.identifier}_(x, y); }});",
            )
            slots.append(
                SlotBinding(inplace, f"slot_{inplace}", lines, f"PyObject* a, PyObject* b{ternary}")
            )
    for token, slot in UNARY_SLOTS.items():
        if token in by_token:
            lines = (
                f'return unary_slot("{by_token[token].name}", a, [](const Tensor& x) '
                f"{{ return ops::{by_token[token].identifier}(x); }});",
            )
            slots.append(SlotBinding(slot, f"slot_{slot}", lines, "PyObject* a"))
    comparisons = {}
    for token in COMPARISONS:
        if token in by_token:
            operator = by_token[token]
            name = f"compare_{operator.identifier}"
            reflected = by_token.get({"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(token, token))
            slots.append(
                SlotBinding("", name, _binary_body(operator, reflected), "PyObject* a, PyObject* b")
            )
            comparisons[token] = name
    return slots, comparisons


def _second_type(operator: Operator) -> str:
    return "const Operand&" if operator.signature.arguments[1].type.or_scalar else "const Tensor&"


def _binary_body(operator: Operator, reflected: Operator | None) -> tuple[str, ...]:
    second = _second_type(operator)
    forward = f"[](const Tensor& x, {second} y) {{ return ops::{operator.identifier}(x, y); }}"
    if reflected is None:
        return (f'return binary_slot("{operator.name}", a, b, {forward});',)
    other = (
        f"[](const Tensor& x, {_second_type(reflected)} y) "
        f"{{ return ops::{reflected.identifier}(x, y); }}"
    )
    return (f'return binary_slot("{operator.name}", a, b, {forward}, {other});',)


def parse_default(argument: Argument) -> object:
    """The default as a Python value."""
    return None if argument.default is None else ast.literal_eval(argument.default)
