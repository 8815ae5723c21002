"""How operators look from Python: names, parameters, annotations, defaults, what is returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from flambeau.codegen.model.entries import Argument, Base, Operator, Place, Type
from flambeau.codegen.model.facts import is_factory, shown_name

INTERNAL_NAMESPACE = "_internal"


class Form(Enum):
    """The ways to call an operator."""

    FUNCTION = "function"
    KEYWORD = "function with inplace="
    METHOD = "method"
    INPLACE_FUNCTION = "in-place function"
    INPLACE_METHOD = "in-place method"
    LIST = "list"

    @property
    def is_method(self) -> bool:
        return self in (Form.METHOD, Form.INPLACE_METHOD)

    @property
    def is_inplace(self) -> bool:
        return self in (Form.INPLACE_FUNCTION, Form.INPLACE_METHOD)


# Annotations are made of these words; a stub writes them with an underscore in front, because
# `float`, `dtype`, `size` are names of members there.
WORDS = {
    Base.TENSOR: "Tensor",
    Base.SCALAR: "Number",
    Base.INT: "int",
    Base.FLOAT: "float",
    Base.BOOL: "bool",
    Base.STR: "str",
    Base.MEMORY_FORMAT: "memory_format",
    Base.DTYPE: "dtype",
    Base.DEVICE: "DeviceLike",
    Base.GENERATOR: "Generator",
}


@dataclass(frozen=True, slots=True)
class Annotation:
    """`words` joined by `|`, or a sequence of them; None may be allowed."""

    words: tuple[str, ...]
    sequence: bool = False  # Sequence[words]
    or_one: bool = False  # also a single one of them
    optional: bool = False

    def text(self, prefix: str = "") -> str:
        """The annotation in Python; `prefix` is put before every name."""
        inner = " | ".join(f"{prefix}{word}" if word != "None" else word for word in self.words)
        parts = [f"{prefix}Sequence[{inner}]"] if self.sequence else [inner]
        if self.sequence and self.or_one:
            parts.insert(0, inner)
        if self.optional:
            parts.append("None")
        return " | ".join(parts)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as Python users see it."""

    name: str
    annotation: Annotation
    default: str | None
    keyword_only: bool
    argument: Argument | None = None  # None: out=, requires_grad= and the like

    @property
    def chooses(self) -> bool:
        """Whether it chooses between overloads."""
        return self.argument is not None and self.argument.type.only is not None

    @property
    def is_spread(self) -> bool:
        """Whether it takes all arguments that are left."""
        return self.argument is not None and self.argument.spread

    def text(self, prefix: str = "") -> str:
        """`alpha: Number = 1`."""
        default = "" if self.default is None else f" = {self.default}"
        if self.is_spread:
            return f"*{self.name}: {replace(self.annotation, sequence=False).text(prefix)}"
        return f"{self.name}: {self.annotation.text(prefix)}{default}"

    def untyped(self) -> str:
        """`alpha=1`."""
        default = "" if self.default is None else f"={self.default}"
        return f"{'*' if self.is_spread else ''}{self.name}{default}"


@dataclass(frozen=True, slots=True)
class PythonSignature:
    """A call in one form."""

    name: str
    parameters: tuple[Parameter, ...]  # without the receiver of a method
    returns: str  # "Tensor", "tuple[Tensor, ...]", "None", or the name of a result class
    fields: tuple[str, ...]  # of the named tuple that is returned
    is_method: bool

    def text(self, prefix: str = "", receiver: str = "self") -> str:
        """`add(input: Tensor, ..., *, alpha: Number = 1)`."""
        return self._listed(receiver, lambda parameter: parameter.text(prefix))

    def untyped(self) -> str:
        """`add(input, other, *, alpha=1)`: what inspect reads from a docstring."""
        return self._listed("$self", Parameter.untyped)

    def _listed(self, receiver: str, spell: Callable[[Parameter], str]) -> str:
        parts = [receiver] if self.is_method and receiver else []
        starred = False
        for parameter in self.parameters:
            if parameter.keyword_only and not starred:
                parts.append("*")
                starred = True
            starred = starred or parameter.is_spread
            parts.append(spell(parameter))
        return f"{self.name}({', '.join(parts)})"

    @property
    def spreads(self) -> bool:
        """Whether f(a, b) may stand for f([a, b])."""
        return any(p.is_spread for p in self.parameters)

    @property
    def packs(self) -> bool:
        """Whether x.view(2, 3) may stand for x.view((2, 3))."""
        positional = [p for p in self.parameters if not p.keyword_only]
        if len(positional) != 1 or positional[0].argument is None:
            return False
        declared = positional[0].argument.type
        return declared.is_list and declared.base is Base.INT


def python_signature(operator: Operator, form: Form, name: str | None = None) -> PythonSignature:
    """The operator as called in a form, under its own name or an alias."""
    receiver = receiver_index(operator) if form.is_method else -1
    # Functions call their first tensor `input`, as PyTorch's do.
    names = {a.name for a in operator.signature.arguments}
    renames = not form.is_method and "input" not in names
    parameters = [
        _parameter(argument, form, renames)
        for index, argument in enumerate(python_arguments(operator, form))
        if index != receiver
    ]
    if form is Form.FUNCTION and "out" in operator.variants:
        several = len(operator.signature.visible_results) > 1
        out = Annotation((WORDS[Base.TENSOR],), sequence=several, optional=True)
        parameters.append(Parameter("out", out, "None", keyword_only=True))
    if not form.is_inplace and form is not Form.LIST and is_factory(operator):
        parameters += _FACTORY_PARAMETERS
    fields = named_result(operator) if not form.is_inplace else ()
    named = f"return_types.{result_name(operator.namespace, operator.name)}"
    returns = named if fields else _returns(operator, form)
    return PythonSignature(
        name=name or form_name(operator, form),
        parameters=_ordered(parameters),
        returns=returns,
        fields=fields,
        is_method=form.is_method,
    )


def form_name(operator: Operator, form: Form) -> str:
    """`add`, `add_`, `sgd_step_list_`."""
    if form is Form.LIST:
        return f"{operator.identifier.rstrip('_')}_list_"
    return f"{operator.name}_" if form.is_inplace else operator.name


def python_names(operator: Operator, form: Form) -> tuple[str, ...]:
    """The name and the aliases of a form: `absolute_` beside `abs_`."""
    if form is Form.LIST:
        return (form_name(operator, form),)
    suffix = "_" if form.is_inplace else ""
    return (form_name(operator, form), *(f"{alias}{suffix}" for alias in operator.aliases))


def python_arguments(operator: Operator, form: Form) -> tuple[Argument, ...]:
    """What callers give; `inplace` comes after those that are given by position."""
    declared = operator.signature.given
    if form is not Form.KEYWORD or operator.inplace is None:
        return declared
    positional = sum(not a.keyword_only for a in declared)
    return (*declared[:positional], operator.inplace, *declared[positional:])


def places(operator: Operator, form: Form) -> tuple[Place, ...]:
    """Where a function is found, under every name; messages call it by the first. What takes
    `inplace=` does so at home alone, and in-place functions stand at home and in the main
    namespace.
    """
    internal = operator.internal or form is Form.LIST
    home = INTERNAL_NAMESPACE if internal else operator.namespace
    own = tuple(Place(home, name) for name in python_names(operator, form))
    if form is Form.KEYWORD:
        return own
    if form is Form.FUNCTION:
        return operator.also_in if operator.inplace else (*own, *operator.also_in)
    main = (p for p in operator.also_in if form.is_inplace and not p.namespace)
    return (*own, *(Place("", f"{p.name}_") for p in main))


def forms(operator: Operator) -> tuple[Form, ...]:
    """Every form that the operator can be called in."""
    found = []
    if "function" in operator.variants:
        found += [Form.KEYWORD] if operator.inplace else []
        found += [Form.FUNCTION] if places(operator, Form.FUNCTION) else []
    if is_method(operator):
        found.append(Form.METHOD)
    if "inplace" in operator.variants:
        found.append(Form.INPLACE_FUNCTION)
        if is_method(operator):
            found.append(Form.INPLACE_METHOD)
    if "list" in operator.variants:
        found.append(Form.LIST)
    return tuple(found)


def is_method(operator: Operator) -> bool:
    """Whether tensors have it as a method."""
    return (
        "method" in operator.variants and not operator.internal and bool(operator.tensor_arguments)
    )


def receiver_index(operator: Operator) -> int:
    """The parameter that `x` of x.method() fills."""
    arguments = operator.signature.arguments
    for index, argument in enumerate(arguments):
        if argument.name == "self" and argument.type.is_tensor:
            return index
    return next((i for i, a in enumerate(arguments) if a.type.is_tensor), -1)


def named_result(operator: Operator) -> tuple[str, ...]:
    """The fields of the named tuple that is returned; empty where a plain value or tuple is."""
    visible = operator.signature.visible_results
    is_plain = len(visible) < 2 or operator.internal or operator.plain_results
    return () if is_plain else tuple(r.name for r in visible)


def result_name(namespace: str, name: str) -> str:
    """What that named tuple is called: after the function, `linalg_eigh` where its namespace is no
    module of layers.
    """
    return f"{namespace}_{name}" if namespace and "." not in namespace else name


def returns_self(operator: Operator, inplace: bool) -> bool:
    """Whether the tensor that was written is returned."""
    mutates = any(a.type.mutable for a in operator.tensor_arguments)
    return inplace or (not operator.signature.results and mutates)


def qualified_name(operator: Operator, form: Form | None = None) -> str:
    """`flambeau.nn.functional.relu`, `Tensor.add_`; without a form, of the function at home."""
    if form is None:
        form = Form.KEYWORD if operator.inplace else Form.FUNCTION
    return qualified_names(operator, form)[0]


def qualified_names(operator: Operator, form: Form) -> tuple[str, ...]:
    """The same in every namespace that has it, without aliases."""
    if form.is_method:
        return (f"Tensor.{form_name(operator, form)}",)
    package, aliases = operator.package or "flambeau", python_names(operator, form)[1:]
    found = places(operator, form)
    return tuple(f"{package}.{p}" for p in found if p.name not in aliases)


_FACTORY_PARAMETERS = (
    Parameter("requires_grad", Annotation(("bool",)), "False", keyword_only=True),
    Parameter("layout", Annotation(("layout",), optional=True), "None", keyword_only=True),
    Parameter("pin_memory", Annotation(("bool",), optional=True), "False", keyword_only=True),
)


def _parameter(argument: Argument, form: Form, renames: bool) -> Parameter:
    listed = form is Form.LIST and argument.type.is_tensor
    # Where another value than the default chooses the overload, it must be given.
    chooses = argument.type.only is not None and argument.default != str(argument.type.only)
    return Parameter(
        name=shown_name(argument.name) if renames else argument.name,
        annotation=_listed(argument.type) if listed else annotation(argument.type),
        default=None if chooses else argument.default,
        keyword_only=argument.keyword_only or chooses,
        argument=argument,
    )


def _listed(declared: Type) -> Annotation:
    words = (WORDS[Base.TENSOR], "None") if declared.optional else (WORDS[Base.TENSOR],)
    return Annotation(words, sequence=True)


def annotation(declared: Type) -> Annotation:
    """What an argument of a declared type accepts."""
    words: tuple[str, ...] = (WORDS[declared.base],)
    if declared.only is not None:
        words = (f"Literal[{declared.only}]",)
    if declared.or_scalar:
        words += (WORDS[Base.SCALAR],)
    if declared.is_list and declared.base is Base.TENSOR:
        return Annotation((*words, "None") if declared.optional else words, sequence=True)
    if declared.is_list:
        or_one = declared.base in (Base.INT, Base.FLOAT)
        words += ("None",) if declared.none_items else ()
        return Annotation(words, sequence=True, or_one=or_one, optional=declared.optional)
    return Annotation(words, optional=declared.optional)


def _ordered(parameters: list[Parameter]) -> tuple[Parameter, ...]:
    """Python wants keyword-only parameters last."""
    return tuple(sorted(parameters, key=lambda p: p.keyword_only))


def _returns(operator: Operator, form: Form) -> str:
    tensor = WORDS[Base.TENSOR]
    if form is Form.LIST:
        return "None"
    if returns_self(operator, form.is_inplace):
        return tensor
    visible = operator.signature.visible_results
    if not visible:
        return "None"
    if len(visible) == 1:
        return f"tuple[{tensor}, ...]" if visible[0].is_list else tensor
    return f"tuple[{', '.join(tensor for _ in visible)}]"
