"""One entry of declarations/*.yaml -> model.Operator. Other entries are not looked at here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.parse import parse_expression
from flambeau.codegen.model.entries import (
    ANY_BACKEND,
    DEFAULT_OVERLOAD,
    ON_HOST,
    ROLES,
    Argument,
    Autocast,
    Base,
    Batching,
    BatchRule,
    Constraint,
    Derivative,
    Doc,
    DtypeRule,
    KernelFile,
    Kind,
    Layout,
    NodeName,
    Operator,
    OverloadName,
    Place,
    Policy,
    ShapeRule,
    Signature,
    Type,
)
from flambeau.codegen.model.facts import differentiable_arguments, differentiable_results
from flambeau.codegen.model.reserved import name_problem
from flambeau.codegen.read import formula_reader as formulas
from flambeau.codegen.read import schema
from flambeau.codegen.read.doc_reader import EMPTY_DOC, EMPTY_TEST, read_doc, read_test
from flambeau.codegen.read.dtype_rules import DtypeTable, read_dtype_rule
from flambeau.codegen.read.gradients import with_automatic_formulas
from flambeau.codegen.read.signature import parse_signature
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Text, did_you_mean, one_of
from flambeau.codegen.text.tree import Mapping, Node, Sequence

T = TypeVar("T")

# Those of the entry itself; what is written about it and how it is tested have keys of their own.
HELPER = "helper"  # instead of `op`: only formulas and the library itself call it
PUBLIC_KEYS = ("namespace", "also_in", "aliases", "inplace")  # where users find it
HELPER_KEYS = ("called_as",)
KEYS = (
    *("op", "kind", "variants", "operator", "namespace", "also_in", "aliases", "inplace"),
    *("role", "called_as", "dtypes", "expr"),
    *("reduce", "shape", "body", "kernel", "random", "skip_when", "linear_in", "additive"),
    *("derivative", "forward", "errors", "autocast", "copied_as", "batch", "layouts"),
    *("flops", "overload", "grad_fn", "results", "overwrites"),
)
VARIANTS = ("function", "method", "inplace", "out", "list")
NAMESPACES = ("nn.functional", "linalg", "special", "fft", "signal.windows", "masked")
MAIN = "main"  # how `also_in` writes the namespace that needs no name
_INPLACE = "inplace"
_ALSO = "also"
_BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")
OPERATORS = (
    *_BINARY,
    *(f"reflected {token}" for token in _BINARY),
    *("==", "!=", "<", "<=", ">", ">=", "neg", "pos", "abs", "invert"),
)
AUTOCAST_DEVICES = tuple(field.name for field in fields(Autocast))
_KERNEL_PATH = re.compile(r"(\w+/)*\w+(\.\w+)+", re.ASCII)
ERRORS = ("RuntimeError", "ValueError", "TypeError", "IndexError", "NotImplementedError")
WARNING = "UserWarning"
EXCEPTIONS = (*ERRORS, WARNING)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an entry may refer to."""

    dtypes: DtypeTable
    backends: tuple[str, ...]
    argument_docs: dict[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """An entry as far as it could be read."""

    operator: Operator | None  # None where the signature or the kind could not be read
    flawed: frozenset[str] = frozenset()  # the keys with mistakes
    is_sound: bool = False


def is_helper(entry: Mapping) -> bool:
    """Whether the entry is one of an operator that only formulas and the library itself call."""
    return entry.entries[0][0].value == HELPER


def read_signature(
    entry: Mapping, around: Surroundings, diagnostics: Diagnostics
) -> Signature | None:
    """The signature of an entry; None, with the mistakes collected, where it cannot be read."""
    before = len(diagnostics)
    with diagnostics.collecting():
        subject, signature_node = entry.entries[0]
        text = schema.text(signature_node, f"'{subject.value}'")
        signature = parse_signature(text, around.dtypes.names, diagnostics)
        return signature if len(diagnostics) == before else None
    return None


def read_operator(
    entry: Mapping,
    signature: Signature | None,
    family: str,
    around: Surroundings,
    diagnostics: Diagnostics,
) -> Reading:
    """Read one entry in full; its mistakes are collected, beside those found before."""
    reader = _Reader(entry, family, around, diagnostics)
    operator: Operator | None = None
    with diagnostics.collecting():
        operator = reader.operator(signature)
        if operator is not None and diagnostics.are_asides:
            operator = with_automatic_formulas(operator)
    if entry.damaged:
        return Reading(None)
    return Reading(operator, frozenset(reader.flawed), diagnostics.are_asides)


class _Reader:
    def __init__(
        self, entry: Mapping, family: str, around: Surroundings, diagnostics: Diagnostics
    ) -> None:
        self._entry = entry
        self._family = family
        self._around = around
        self._diagnostics = diagnostics
        self._is_helper = is_helper(entry)
        self.flawed: set[str] = set()

    def operator(self, signature: Signature | None) -> Operator | None:
        """The operator, its flawed keys left at their defaults; None where it cannot be read."""
        entry, diagnostics = self._entry, self._diagnostics
        if entry.key("kind") is None:
            diagnostics.error(entry.span, "an operator has no 'kind'")
        kind = self._read("kind", _kind, None)
        if signature is None or kind is None:
            self._independent_keys()
            return None
        doc = self._read("doc", lambda n: read_doc(n, diagnostics), EMPTY_DOC)
        signature = _document(signature, doc, self._around.argument_docs)
        dtypes = self._dtype_rule(signature, kind)
        no_body: formulas.Body = ((), None)
        body_lets, body = self._read(
            "body", lambda n: formulas.body(n, signature, diagnostics), no_body
        )
        return Operator(
            signature=signature,
            kind=kind,
            family=self._family,
            variants=self._read("variants", _variants, self._default_variants(signature)),
            operator=self._read("operator", _operator_token, None),
            namespace=self._read("namespace", _namespace, ""),
            dtypes=dtypes,
            expressions=self._read(
                "expr", lambda n: formulas.expressions(n, signature, diagnostics), {}
            ),
            reduce=self._read("reduce", lambda n: formulas.reduce(n, diagnostics), None),
            shape=self._shape(signature, kind),
            body=body,
            body_lets=body_lets,
            kernels=self._read("kernel", self._kernels, {}),
            random=self._read("random", _random, None),
            skip_when=self._read("skip_when", formulas.skip_when, ()),
            linear_in=self._names("linear_in"),
            additive=self._names("additive"),
            overwrites=self._read("overwrites", lambda n: _overwritten(n, signature), ""),
            derivative=self._derivative(signature, kind, dtypes),
            forward=self._read("forward", lambda n: formulas.forward(n, diagnostics), {}),
            constraints=self._read("errors", self._constraints, ()),
            doc=replace(doc, arguments={a.name: a.doc for a in signature.given if a.doc}),
            test=self._read("test", lambda n: read_test(n, diagnostics), EMPTY_TEST),
            internal=self._is_helper,
            called_as=self._read("called_as", lambda n: schema.text(n, "'called_as'").value, ""),
            span=signature.span,
            aliases=self._names("aliases"),
            also_in=self._read("also_in", lambda n: _places(n, signature.name), ()),
            inplace=self._read("inplace", self._inplace_argument, None),
            role=self._read("role", _role, None),
            autocast=self._read("autocast", lambda n: _autocast(n, diagnostics), None),
            batching=self._read("batch", lambda n: _batching(n, signature), None),
            layouts=self._read("layouts", lambda n: _layouts(n, signature), {}),
            flops=self._read("flops", lambda n: formulas.formula(n, "'flops'"), None),
            overload=self._read("overload", lambda n: _overload(n, signature), ()),
            grad_fn=self._read("grad_fn", lambda n: _grad_fn(n, signature), None),
            plain_results=self._read("results", _plain_results, False),
            entry=entry,
        )

    def _read(self, key: str, convert: Callable[[Node], T], default: T) -> T:
        """Convert the value of a key; mistakes are collected, and the other keys are read too."""
        node = self._entry.get(key)
        found = default
        before = len(self._diagnostics)
        if node is not None:
            with self._diagnostics.collecting():
                found = convert(node)
        if len(self._diagnostics) > before:
            self.flawed.add(key)
        return found

    def _dtype_rule(self, signature: Signature, kind: Kind) -> DtypeRule:
        """What is given, filled up; without it what follows from the signature."""
        before = len(self._diagnostics)
        given = self._read("dtypes", lambda n: schema.mapping(n, "'dtypes'"), None)
        rule = read_dtype_rule(given, signature, kind, self._around.dtypes, self._diagnostics)
        if len(self._diagnostics) > before:
            self.flawed.add("dtypes")
        return rule

    def _derivative(self, signature: Signature, kind: Kind, dtypes: DtypeRule) -> Derivative | None:
        """What is given; what a pointwise entry leaves out follows from its expression."""
        given = self._read(
            "derivative",
            lambda n: formulas.derivative(n, signature, dtypes, self._diagnostics),
            None,
        )
        if kind is not Kind.POINTWISE or "derivative" in self.flawed or (given and given.none):
            return given
        if not signature.results or not differentiable_results(signature, dtypes):
            return given
        given = given or Derivative({})
        left_out = set(differentiable_arguments(signature, dtypes))
        left_out -= given.formulas.keys() | given.excluded
        return replace(given, auto=given.auto | left_out)

    def _independent_keys(self) -> None:
        """The mistakes that can be told without knowing the arguments."""
        diagnostics = self._diagnostics
        readers: dict[str, Callable[[Node], object]] = {
            "doc": lambda n: read_doc(n, diagnostics),
            "test": lambda n: read_test(n, diagnostics),
            "variants": _variants,
            "operator": _operator_token,
            "namespace": _namespace,
            "also_in": lambda n: _places(n, ""),
            "inplace": self._inplace_argument,
            "role": _role,
            "autocast": lambda n: _autocast(n, diagnostics),
            "reduce": lambda n: formulas.reduce(n, diagnostics),
            "kernel": self._kernels,
            "random": _random,
            "skip_when": formulas.skip_when,
            "errors": self._constraints,
            "called_as": lambda n: schema.text(n, "'called_as'"),
            "results": _plain_results,
            "overwrites": lambda n: schema.text(n, "'overwrites'"),
        }
        for key in ("expr", "shape", "body", "derivative", "forward", "batch", "flops"):
            readers[key] = lambda n: formulas.check_syntax(n, diagnostics)
        for key, convert in readers.items():
            self._read(key, convert, None)

    def _default_variants(self, signature: Signature) -> frozenset[str]:
        """A method needs a tensor as its first argument to be called on."""
        first = signature.arguments[0].type if signature.arguments else None
        callable_on = first is not None and first.base is Base.TENSOR and not first.is_list
        is_method = callable_on and not self._is_helper
        return frozenset({"function", "method"} if is_method else {"function"})

    def _inplace_argument(self, node: Node) -> Argument:
        """The argument of a function that writes in place where it is asked to."""
        schema.choice(node, "'inplace'", ("keyword",))
        doc = self._around.argument_docs.get(_INPLACE, "")
        return Argument(_INPLACE, Type(Base.BOOL), "False", False, doc, node.span)

    def _names(self, key: str) -> tuple[str, ...]:
        nothing: tuple[Text, ...] = ()
        found = self._read(key, lambda n: schema.names(n, f"'{key}'"), nothing)
        return tuple(name.value for name in found)

    def _shape(self, signature: Signature, kind: Kind) -> ShapeRule | None:
        node = self._entry.get("shape")
        if node is not None:
            return self._read(
                "shape", lambda n: formulas.shape_rule(n, signature, self._diagnostics), None
            )
        names = {a.name for a in signature.arguments}
        if kind is Kind.REDUCTION and {"self", "dim", "keepdim"} <= names:
            rule = Text("reduced(self.shape, dim, keepdim)", signature.span)
            return ShapeRule((), {r.name: parse_expression(rule) for r in signature.results})
        return None

    def _kernels(self, node: Node) -> dict[str, KernelFile]:
        found = schema.mapping(node, "'kernel'")
        known = (*self._around.backends, ANY_BACKEND)
        schema.check_keys(found, "'kernel'", known, (), self._diagnostics)
        return {
            backend.value: KernelFile(backend.value, _kernel_path(value, backend.value))
            for backend, value in found.entries
            if backend.value in known
        }

    def _constraints(self, node: Node) -> tuple[Constraint, ...]:
        found: list[Constraint] = []
        for name, value in schema.mapping(node, "'errors'").entries:
            with self._diagnostics.collecting():
                found.append(self._constraint(name, value))
        return tuple(found)

    def _constraint(self, name: Text, node: Node) -> Constraint:
        fields = schema.mapping(node, f"the error '{name.value}'")
        keys, required = ("require", "raise", "once", "message"), ("require", "message")
        schema.check_keys(fields, "an error", keys, required, self._diagnostics)
        require, message = fields.get("require"), fields.get("message")
        if require is None or message is None:
            raise DeclarationError([])
        raised, once = _exception(fields.get("raise")), fields.get("once")
        if once is not None and raised != WARNING:
            hint = f"add 'raise: {WARNING}'"
            raise DeclarationError.at(once.span, "'once' is for warnings", hint)
        text = schema.text(message, "'message'")
        parts = schema.template_parts(text)
        return Constraint(
            name=schema.name(name, "an error's name").value,
            require=formulas.formula(require, "'require'"),
            exception=raised,
            message=text.value,
            span=name.span,
            parts=tuple(p if isinstance(p, str) else parse_expression(p) for p in parts),
            once=once is not None and schema.boolean(once, "'once'"),
        )


def _exception(node: Node | None) -> str:
    return EXCEPTIONS[0] if node is None else schema.choice(node, "'raise'", EXCEPTIONS).value


def _kernel_path(node: Node, backend: str) -> str:
    """A file below the folder of a backend's kernels; of any backend also that it is the CPU's."""
    text = schema.text(node, "a kernel's file")
    if backend == ANY_BACKEND and text.value == ON_HOST:
        return ON_HOST
    if not _KERNEL_PATH.fullmatch(text.value):
        message = (
            f"a kernel's file '{text.value}' is no path below the folder of the backend's kernels"
        )
        hint = "write FOLDER/NAME.cpp with letters, digits and underscores"
        raise DeclarationError.at(text.span, message, hint)
    return text.value


def _kind(node: Node) -> Kind:
    return Kind(schema.choice(node, "kind", [kind.value for kind in Kind]).value)


def _variants(node: Node) -> frozenset[str]:
    return schema.choices(node, "'variants'", VARIANTS)


def _operator_token(node: Node) -> str:
    return schema.choice(node, "operator", OPERATORS).value


def _namespace(node: Node) -> str:
    return schema.choice(node, "namespace", NAMESPACES).value


def _places(node: Node, name: str) -> tuple[Place, ...]:
    """`[main, special.expit]`: namespaces where the function has its name, or another one."""
    return tuple(_place(item, name) for item in schema.sequence(node, "'also_in'"))


def _place(node: Node, name: str) -> Place:
    text = schema.text(node, "a place of 'also_in'")
    known = (MAIN, *NAMESPACES)
    if text.value in known:
        return Place("" if text.value == MAIN else text.value, name)
    namespace, _, other = text.value.rpartition(".")
    if namespace not in known:
        message = f"'{text.value}' is no namespace, and no name in one; expected {one_of(known)}"
        raise DeclarationError.at(text.span, message, did_you_mean(text.value, known))
    problem = name_problem(other)
    if problem is not None:
        raise DeclarationError.at(text.span, f"a name cannot be so: {problem}")
    return Place("" if namespace == MAIN else namespace, other)


def _role(node: Node) -> str:
    return schema.choice(node, "role", ROLES).value


def _overwritten(node: Node, signature: Signature) -> str:
    """The argument that the form in place writes."""
    first = [a.name for a in signature.arguments[:1]]
    return schema.choice(node, "'overwrites'", first).value


def _plain_results(node: Node) -> bool:
    return schema.choice(node, "'results'", ("tuple",)).value == "tuple"


def _autocast(node: Node, diagnostics: Diagnostics) -> Autocast:
    """One policy for all devices, or one for the CPU and one for the others."""
    if not isinstance(node, Mapping):
        policy = _policy(node)
        return Autocast(policy, policy)
    schema.check_keys(node, "'autocast'", AUTOCAST_DEVICES, (), diagnostics)
    found = {key.value: _policy(value) for key, value in node.entries}
    return Autocast(**{key: found[key] for key in AUTOCAST_DEVICES if key in found})


def _policy(node: Node) -> Policy:
    return Policy(schema.choice(node, "a policy", [policy.value for policy in Policy]).value)


_BATCH_WORDS = {rule.value: rule for rule in BatchRule if rule is not BatchRule.FORMULA}
_OTHERWISE = "others"


def _batch_case(node: Node) -> Expression | BatchRule:
    """A word or a formula."""
    rule = _BATCH_WORDS.get(schema.text(node, "'batch'").value)
    return formulas.formula(node, "'batch'") if rule is None else rule


def _batching(node: Node, signature: Signature) -> Batching:
    """A word, a formula, or one of them for each set of arguments that have a batch."""
    if not isinstance(node, Mapping):
        case = _batch_case(node)
        if isinstance(case, BatchRule):
            return Batching(case)
        return Batching(BatchRule.FORMULA, (((), case),))
    known = [a.name for a in signature.arguments if a.type.base is Base.TENSOR]
    found = []
    for key, value in node.entries:
        names = () if key.value == _OTHERWISE else tuple(re.split(r",\s*", key.value))
        for name in names:
            if name not in known:
                message = f"'batch' names '{name}', which is no tensor argument"
                raise DeclarationError.at(key.span, message, did_you_mean(name, known))
        found.append((names, _batch_case(value)))
    if not any(not names for names, _ in found):
        raise DeclarationError.at(node.span, f"'batch' has nothing for '{_OTHERWISE}'")
    return Batching(BatchRule.FORMULA, tuple(found))


def _overload(node: Node, signature: Signature) -> tuple[OverloadName, ...]:
    """A name; two, for a tensor and for a number as the last operand; or one for each argument that
    may be given, or true, for the in-place form, and a further one that no call is seen under. Of
    these, a pair has the name of the form with `out` too.
    """
    if isinstance(node, Mapping):
        told = [a.name for a in signature.arguments if a.type.optional or a.type.base is Base.BOOL]
        meanings = {name: (name, "given") for name in told}
        meanings |= {word: ("", word) for word in (_INPLACE, _ALSO)}
        meanings[DEFAULT_OVERLOAD] = ("", "")
        found = {"": OverloadName(DEFAULT_OVERLOAD)}
        for key, value in node.entries:
            if key.value not in meanings:
                message = f"'overload' names '{key.value}', no bool and nothing that may be None"
                raise DeclarationError.at(key.span, message, did_you_mean(key.value, meanings))
            argument, when = meanings[key.value]
            pair = schema.names(value, "'overload'") if isinstance(value, Sequence) else ()
            if len(pair) not in (0, 2):
                message = "two names are that of the overload and that of its form with `out`"
                raise DeclarationError.at(value.span, message)
            name, *with_out = (n.value for n in pair or (schema.name(value, "'overload'"),))
            found[argument or when] = OverloadName(name, argument, when, *with_out)
        order = ("given", _INPLACE, "", _ALSO)
        return tuple(sorted(found.values(), key=lambda name: order.index(name.when)))
    if not isinstance(node, Text):
        names = schema.names(node, "'overload'")
        operands = [a.name for a in signature.arguments if a.type.or_scalar]
        if len(names) != 2 or not operands:
            message = (
                "two names are those for a tensor and for a number, as an argument Tensor|Scalar"
            )
            raise DeclarationError.at(node.span, message)
        tensor, number = (name.value for name in names)
        return OverloadName(tensor, operands[-1], "tensor"), OverloadName(number)
    return (OverloadName(schema.name(node, "'overload'").value),)


def _grad_fn(node: Node, signature: Signature) -> NodeName:
    """A name; or names for conditions, for arguments that are given, or tensors and no numbers, and
    for all other calls.
    """
    if not isinstance(node, Mapping):
        return NodeName(schema.name(node, "'grad_fn'").value)
    either = {a.name for a in signature.arguments if a.type.optional or a.type.or_scalar}
    cases: list[tuple[str | Expression, str]] = []
    other = ""
    for key, value in node.entries:
        name = schema.name(value, "'grad_fn'").value
        if key.value == DEFAULT_OVERLOAD:
            other = name
        else:
            cases.append((key.value if key.value in either else parse_expression(key), name))
    if not cases:
        message = f"'grad_fn' has names for conditions, and one for '{DEFAULT_OVERLOAD}'"
        raise DeclarationError.at(node.span, message)
    return NodeName(other, tuple(cases))


def _layouts(node: Node, signature: Signature) -> dict[str, Layout]:
    """`{self: sparse_coo}`: the layouts of tensors that are not strided."""
    tensors = [a.name for a in signature.arguments if a.type.base is Base.TENSOR]
    known = [*tensors, *(r.name for r in signature.results)]
    found = {}
    for key, value in schema.mapping(node, "'layouts'").entries:
        if key.value not in known:
            message = f"'layouts' names '{key.value}', which is no tensor argument and no result"
            raise DeclarationError.at(key.span, message, did_you_mean(key.value, known))
        words = [layout.value for layout in Layout]
        if key.value not in tensors:
            words.remove(Layout.ANY.value)
        found[key.value] = Layout(schema.choice(value, "a layout", words).value)
    return found


def _random(node: Node) -> str:
    return schema.choice(node, "random", ("philox",)).value


def _document(signature: Signature, doc: Doc, shared: dict[str, str]) -> Signature:
    """Give each argument its doc: the entry's own, or the one that arguments of its name share."""
    arguments: tuple[Argument, ...] = tuple(
        replace(a, doc=doc.arguments.get(a.name) or _shared_doc(a, shared))
        for a in signature.arguments
    )
    choices = tuple(
        (place, replace(a, doc=doc.arguments.get(a.name) or _shared_doc(a, shared)))
        for place, a in signature.choices
    )
    return replace(signature, arguments=arguments, choices=choices)


def _shared_doc(argument: Argument, shared: dict[str, str]) -> str:
    """What arguments of the name share; lists may have words of their own, under `name[]`."""
    of_lists = shared.get(f"{argument.name}[]") if argument.type.is_list else None
    return of_lists or shared.get(argument.name, "")
