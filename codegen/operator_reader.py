"""One entry of declarations/*.yaml -> model.Operator. Other entries are not looked at here."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeVar

from flambeau.codegen import schema
from flambeau.codegen.dtype_rules import DtypeTable, read_dtype_rule
from flambeau.codegen.expression.nodes import Expression, substitute
from flambeau.codegen.expression.nodes import Sequence as NodeSequence
from flambeau.codegen.expression.parse import parse_expression
from flambeau.codegen.gradients import (
    canonical,
    differentiable_arguments,
    with_automatic_formulas,
)
from flambeau.codegen.model import (
    Argument,
    Base,
    Constraint,
    Derivative,
    Doc,
    DtypeRule,
    KernelFile,
    Kind,
    Operator,
    Reduce,
    ShapeRule,
    Signature,
    Test,
)
from flambeau.codegen.signature import parse_signature
from flambeau.codegen.source import DeclarationError, Diagnostics, Text, did_you_mean
from flambeau.codegen.tree import Mapping, Node

T = TypeVar("T")

KEYS = (
    *("op", "kind", "variants", "operator", "namespace", "aliases", "internal", "dtypes", "expr"),
    *("reduce", "shape", "body", "kernel", "random", "skip_when", "linear_in", "additive"),
    *("derivative", "forward", "errors", "doc", "test"),
)
VARIANTS = ("function", "method", "inplace", "out", "list")
NAMESPACES = ("nn.functional", "linalg", "special", "fft")
_BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")
OPERATORS = (
    *_BINARY,
    *(f"reflected {token}" for token in _BINARY),
    *("==", "!=", "<", "<=", ">", ">=", "neg", "pos", "abs", "invert"),
)
EXCEPTIONS = ("RuntimeError", "ValueError", "TypeError", "IndexError", "NotImplementedError")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an entry may refer to."""

    dtypes: DtypeTable
    backends: tuple[str, ...]
    argument_docs: dict[str, str]


def read_operator(
    entry: Mapping, family: str, around: Surroundings, diagnostics: Diagnostics
) -> Operator | None:
    """Read one entry; None, with the mistakes collected, where it has any."""
    own = Diagnostics()
    operator: Operator | None = None
    with own.collecting():
        operator = _Reader(entry, family, around, own).operator()
        if not len(own):
            operator = with_automatic_formulas(operator)
    diagnostics.extend(own.sorted())
    return None if len(own) else operator


class _Reader:
    def __init__(
        self, entry: Mapping, family: str, around: Surroundings, diagnostics: Diagnostics
    ) -> None:
        self._entry = entry
        self._family = family
        self._around = around
        self._diagnostics = diagnostics

    def operator(self) -> Operator:
        entry, diagnostics = self._entry, self._diagnostics
        schema.check_keys(entry, "an operator", KEYS, ("kind",), diagnostics)
        text = schema.text(entry.entries[0][1], "'op'")
        signature = parse_signature(text, self._around.dtypes.names, diagnostics)
        kind = self._read("kind", _kind, Kind.COMPOSITE)
        doc = self._read("doc", _doc, _EMPTY_DOC)
        signature = _document(signature, doc, self._around.argument_docs)
        dtypes = read_dtype_rule(
            self._read("dtypes", lambda n: schema.mapping(n, "'dtypes'"), None),
            signature,
            kind,
            self._around.dtypes,
            diagnostics,
        )
        no_body: _Body = ((), None)
        body_lets, body = self._read("body", lambda n: _body(n, signature), no_body)
        return Operator(
            signature=signature,
            kind=kind,
            family=self._family,
            variants=self._read("variants", _variants, _default_variants(signature)),
            operator=self._read("operator", _operator_token, None),
            namespace=self._read("namespace", _namespace, ""),
            dtypes=dtypes,
            expressions=self._read("expr", lambda n: _expressions(n, signature), {}),
            reduce=self._read("reduce", lambda n: _reduce(n, diagnostics), None),
            shape=self._shape(signature, kind),
            body=body,
            body_lets=body_lets,
            kernels=self._read("kernel", self._kernels, {}),
            random=self._read("random", _random, None),
            skip_when=self._read("skip_when", _skip_when, ()),
            linear_in=self._names("linear_in"),
            additive=self._names("additive"),
            derivative=self._read("derivative", lambda n: _derivative(n, signature, dtypes), None),
            forward=self._read("forward", _forward, {}),
            constraints=self._read("errors", self._constraints, ()),
            doc=replace(doc, arguments={a.name: a.doc for a in signature.arguments if a.doc}),
            test=self._read("test", self._test, _EMPTY_TEST),
            internal=self._read("internal", lambda n: schema.boolean(n, "'internal'"), False),
            span=text.span,
            aliases=self._names("aliases"),
            entry=entry,
        )

    def _read(self, key: str, convert: Callable[[Node], T], default: T) -> T:
        """Convert the value of a key; mistakes are collected, and the other keys are read too."""
        node = self._entry.get(key)
        if node is not None:
            with self._diagnostics.collecting():
                return convert(node)
        return default

    def _names(self, key: str) -> tuple[str, ...]:
        nothing: tuple[Text, ...] = ()
        found = self._read(key, lambda n: schema.names(n, f"'{key}'"), nothing)
        return tuple(name.value for name in found)

    def _shape(self, signature: Signature, kind: Kind) -> ShapeRule | None:
        node = self._entry.get("shape")
        if node is not None:
            return self._read("shape", lambda n: _shape_rule(n, signature), None)
        names = {a.name for a in signature.arguments}
        if kind is Kind.REDUCTION and {"self", "dim", "keepdim"} <= names:
            rule = Text("reduced(self.shape, dim, keepdim)", signature.span)
            return ShapeRule((), {r.name: parse_expression(rule) for r in signature.results})
        return None

    def _kernels(self, node: Node) -> dict[str, KernelFile]:
        found = schema.mapping(node, "'kernel'")
        schema.check_keys(found, "'kernel'", self._around.backends, (), self._diagnostics)
        return {
            backend.value: self._kernel(backend.value, value)
            for backend, value in found.entries
            if backend.value in self._around.backends
        }

    def _kernel(self, backend: str, node: Node) -> KernelFile:
        if not isinstance(node, Mapping):
            return KernelFile(backend, schema.text(node, "a kernel's file").value)
        keys = ("file", "requires", "fallback")
        schema.check_keys(node, "a kernel", keys, ("file",), self._diagnostics)
        values = {k.value: schema.text(v, f"'{k.value}'").value for k, v in node.entries}
        file = values.get("file", "")
        return KernelFile(backend, file, values.get("requires"), values.get("fallback"))

    def _constraints(self, node: Node) -> tuple[Constraint, ...]:
        found = schema.mapping(node, "'errors'")
        return tuple(self._constraint(name, value) for name, value in found.entries)

    def _constraint(self, name: Text, node: Node) -> Constraint:
        fields = schema.mapping(node, f"the error '{name.value}'")
        keys, required = ("require", "raise", "message"), ("require", "message")
        schema.check_keys(fields, "an error", keys, required, self._diagnostics)
        require, message = fields.get("require"), fields.get("message")
        if require is None or message is None:
            raise DeclarationError([])
        raised = fields.get("raise")
        text = schema.text(message, "'message'")
        parts = schema.template_parts(text)
        return Constraint(
            name=schema.name(name, "an error's name").value,
            require=_formula(require, "'require'"),
            exception=_exception(raised),
            message=text.value,
            span=name.span,
            parts=tuple(p if isinstance(p, str) else parse_expression(p) for p in parts),
        )

    def _test(self, node: Node) -> Test:
        fields = schema.mapping(node, "'test'")
        schema.check_keys(fields, "'test'", _TEST_KEYS, (), self._diagnostics)
        return Test(
            reference=_optional(fields, "reference", _text_value),
            samples=_optional(fields, "samples", _samples) or (),
            extremes=_optional(fields, "extremes", _extremes) or {},
            rejects=_optional(fields, "rejects", _rejects) or {},
            properties=_optional(fields, "properties", _text_list) or (),
            tolerance=_optional(fields, "tolerance", schema.number),
            gradient=_optional(fields, "gradient", schema.boolean) is not False,
        )


_TEST_KEYS = ["reference", "samples", "extremes", "rejects", "properties", "tolerance", "gradient"]
_EMPTY_TEST = Test(None, (), {}, {}, (), None, True)
_EMPTY_DOC = Doc("", None, None, {}, {}, None, ())


def _optional(fields: Mapping, key: str, convert: Callable[[Node, str], T]) -> T | None:
    node = fields.get(key)
    return None if node is None else convert(node, f"'{key}'")


def _text_value(node: Node, what: str) -> str:
    return schema.text(node, what).value


def _formula(node: Node, what: str) -> Expression:
    return parse_expression(schema.text(node, what))


def _exception(node: Node | None) -> str:
    return EXCEPTIONS[0] if node is None else schema.choice(node, "'raise'", EXCEPTIONS).value


def _kind(node: Node) -> Kind:
    return Kind(schema.choice(node, "kind", [kind.value for kind in Kind]).value)


def _variants(node: Node) -> frozenset[str]:
    return schema.choices(node, "'variants'", VARIANTS)


def _default_variants(signature: Signature) -> frozenset[str]:
    """A method needs a tensor as its first argument to be called on."""
    first = signature.arguments[0].type if signature.arguments else None
    callable_on = first is not None and first.base is Base.TENSOR and not first.is_list
    return frozenset({"function", "method"} if callable_on else {"function"})


def _operator_token(node: Node) -> str:
    return schema.choice(node, "operator", OPERATORS).value


def _namespace(node: Node) -> str:
    return schema.choice(node, "namespace", NAMESPACES).value


def _random(node: Node) -> str:
    return schema.choice(node, "random", ("philox",)).value


def _targets(signature: Signature) -> list[str]:
    """What an expression can be given for: results and arguments that are written in place."""
    mutable = [a.name for a in signature.arguments if a.type.mutable]
    return [r.name for r in signature.results] + mutable


def _expressions(node: Node, signature: Signature) -> dict[str, Expression]:
    targets = _targets(signature)
    if not isinstance(node, Mapping):
        text = schema.text(node, "'expr'")
        if len(targets) != 1:
            hint = f"write {{{', '.join(f'{t}: ...' for t in targets)}}}"
            raise DeclarationError.at(text.span, "one formula for several results", hint)
        return {targets[0]: parse_expression(text)}
    return _by_name(node, targets, "a result or mutable argument")


def _by_name(node: Mapping, targets: Collection[str], what: str) -> dict[str, Expression]:
    """name -> formula, each name out of `targets`; every mistake told."""
    mistakes = Diagnostics()
    found: dict[str, Expression] = {}
    for key, value in node.entries:
        if key.value not in targets:
            hint = did_you_mean(key.value, targets)
            mistakes.error(key.span, f"'{key.value}' is not {what}", hint)
        with mistakes.collecting():
            found[key.value] = _formula(value, f"the formula of '{key.value}'")
    mistakes.raise_if_any()
    return found


def _reduce(node: Node, diagnostics: Diagnostics) -> Reduce:
    fields = schema.mapping(node, "'reduce'")
    keys = ("init", "step", "combine", "finish")
    schema.check_keys(fields, "'reduce'", keys, keys[:3], diagnostics)
    found = {k.value: _formula(v, f"'{k.value}'") for k, v in fields.entries if k.value in keys}
    if not set(keys[:3]) <= set(found):
        raise DeclarationError([])
    finish = found.get("finish") or parse_expression(Text("acc", fields.span))
    return Reduce(found["init"], found["step"], found["combine"], finish)


def _shape_rule(node: Node, signature: Signature) -> ShapeRule:
    results = [r.name for r in signature.results if not r.hidden] or _targets(signature)
    if not isinstance(node, Mapping):
        text = schema.text(node, "'shape'")
        if text.value == "dynamic":
            return ShapeRule((), {}, dynamic=True)
        if len(results) != 1:
            hint = f"write {{{', '.join(f'{r}: ...' for r in results)}}}"
            raise DeclarationError.at(text.span, "one shape for several results", hint)
        return ShapeRule((), {results[0]: parse_expression(text)})
    special = {"let", "strides", "offset", "geometry"}
    shapes = tuple((k, v) for k, v in node.entries if k.value not in special)
    names = [r.name for r in signature.results]
    let, geometry = node.get("let"), node.get("geometry")
    return ShapeRule(
        lets=_unpackings(schema.text(let, "'let'")) if let is not None else (),
        shapes=_by_name(Mapping(shapes, node.span), names, "a result"),
        strides=_optional(node, "strides", _formula),
        offset=_optional(node, "offset", _formula),
        geometry=schema.name(geometry, "'geometry'").value if geometry is not None else None,
    )


def _unpackings(text: Text) -> tuple[tuple[tuple[str, ...], Expression], ...]:
    """`b, n, k = self.shape; m = n // 2`, separated by semicolons or line breaks."""
    found = []
    start = 0
    for statement in text.value.replace("\n", ";").split(";"):
        located = text.slice(start, start + len(statement)).strip()
        start += len(statement) + 1
        if not located.value:
            continue
        left, equals, _ = located.value.partition("=")
        if not equals or located.value[len(left) : len(left) + 2] == "==":
            message = "a let is written `name = value` or `a, b = list`"
            raise DeclarationError.at(located.span, message)
        names = [part.strip() for part in left.rstrip().removesuffix(",").split(",")]
        for name in names:
            if not name.isidentifier():
                at = located.at(0, len(left.rstrip()))
                raise DeclarationError.at(at, f"'{name}' is not a name to give a value to")
        value = located.slice(len(left) + 1, len(located.value)).strip()
        found.append((tuple(names), parse_expression(value)))
    return tuple(found)


_Body = tuple[tuple[tuple[str, Expression], ...], Expression | None]


def _body(node: Node, signature: Signature) -> _Body:
    """One formula, or lets and the `result`, or lets and a formula per result: one tuple."""
    if not isinstance(node, Mapping):
        return (), _formula(node, "'body'")
    let, whole = node.get("let"), node.get("result")
    lets = _lets(let) if let is not None else ()
    names = [r.name for r in signature.results]
    parts = Mapping(tuple((k, v) for k, v in node.entries if k.value != "let"), node.span)
    if whole is not None and len(parts.entries) == 1:
        return lets, _formula(whole, "'result'")
    formulas = _by_name(parts, names, "a result")
    missing = [name for name in names if name not in formulas]
    if missing:
        raise DeclarationError.at(node.span, f"'body' has no formula for '{missing[0]}'")
    ordered = tuple(formulas[name] for name in names)
    return lets, NodeSequence(ordered, is_tuple=True, span=node.span)


def _lets(node: Node) -> tuple[tuple[str, Expression], ...]:
    return tuple(
        (schema.name(key, "the name of a let").value, _formula(value, f"'{key.value}'"))
        for key, value in schema.mapping(node, "'let'").entries
    )


def _substituted(node: Mapping) -> tuple[dict[str, Expression], tuple[tuple[Text, Node], ...]]:
    """The lets of a mapping, each with those before it put in, and its other entries."""
    let = node.get("let")
    lets: dict[str, Expression] = {}
    for name, value in _lets(let) if let is not None else ():
        lets[name] = substitute(value, lets)
    return lets, tuple((k, v) for k, v in node.entries if k.value != "let")


def _derivative(node: Node, signature: Signature, dtypes: DtypeRule) -> Derivative:
    candidates = differentiable_arguments(signature, dtypes)
    if not isinstance(node, Mapping):
        word = schema.choice(node, "derivative", ("auto", "none")).value
        if word == "none":
            return Derivative({}, none=True)
        return Derivative({}, auto=frozenset(candidates))
    lets, entries = _substituted(node)
    words = {k.value: v.value for k, v in entries if isinstance(v, Text) and v.value in _WORDS}
    formulas = Mapping(tuple((k, v) for k, v in entries if k.value not in words), node.span)
    tensors = [a.name for a in signature.arguments if a.type.base is Base.TENSOR]
    mistakes = Diagnostics()
    for key, _ in entries:
        if key.value in words and key.value not in tensors:
            hint = did_you_mean(key.value, tensors)
            mistakes.error(key.span, f"'{key.value}' is not a tensor argument", hint)
    found: dict[str, Expression] = {}
    with mistakes.collecting():
        found = _by_name(formulas, tensors, "a tensor argument")
    mistakes.raise_if_any()
    return Derivative(
        formulas={
            name: canonical(substitute(formula, lets), signature, dtypes)
            for name, formula in found.items()
        },
        auto=frozenset(name for name, word in words.items() if word == "auto"),
        excluded=frozenset(name for name, word in words.items() if word == "none"),
    )


_WORDS = ("auto", "none")


def _forward(node: Node) -> dict[str, Expression]:
    lets, entries = _substituted(schema.mapping(node, "'forward'"))
    return {
        key.value: substitute(_formula(value, f"the tangent of '{key.value}'"), lets)
        for key, value in entries
    }


def _skip_when(node: Node) -> tuple[tuple[Expression, Expression], ...]:
    return tuple(
        (parse_expression(condition), _formula(value, "what is returned instead"))
        for condition, value in schema.mapping(node, "'skip_when'").entries
    )


def _doc(node: Node) -> Doc:
    fields = schema.mapping(node, "'doc'")
    mistakes = Diagnostics()
    keys = ["summary", "math", "notes", "args", "returns", "example", "see"]
    schema.check_keys(fields, "'doc'", keys, ("summary",), mistakes)
    mistakes.raise_if_any()
    see = fields.get("see")
    return Doc(
        summary=_optional(fields, "summary", _text_value) or "",
        math=_optional(fields, "math", _text_value),
        notes=_optional(fields, "notes", _text_value),
        arguments=_optional(fields, "args", _text_by_name) or {},
        returns=_optional(fields, "returns", _text_by_name) or {},
        example=_optional(fields, "example", _text_value),
        see_also=_text_list(see, "'see'") if see is not None else (),
    )


def _text_by_name(node: Node, what: str) -> dict[str, str]:
    entries = schema.mapping(node, what).entries
    return {k.value: schema.text(v, f"the text of '{k.value}'").value for k, v in entries}


def _text_list(node: Node, what: str) -> tuple[str, ...]:
    return tuple(schema.text(n, f"an entry of {what}").value for n in schema.sequence(node, what))


def _document(signature: Signature, doc: Doc, shared: dict[str, str]) -> Signature:
    """Give each argument its doc: the entry's own, or the one that arguments of its name share."""
    arguments: tuple[Argument, ...] = tuple(
        replace(a, doc=doc.arguments.get(a.name) or shared.get(a.name, ""))
        for a in signature.arguments
    )
    return replace(signature, arguments=arguments)


def _sample(node: Node, what: str) -> dict[str, str]:
    entries = schema.mapping(node, what).entries
    return {k.value: schema.source_text(v, f"the value of '{k.value}'") for k, v in entries}


def _samples(node: Node, what: str) -> tuple[dict[str, str], ...]:
    return tuple(_sample(item, "a sample") for item in schema.sequence(node, what))


def _extremes(node: Node, what: str) -> dict[str, tuple[float, ...]]:
    return {
        k.value: tuple(schema.number(n, "an extreme") for n in schema.sequence(v, "extremes"))
        for k, v in schema.mapping(node, what).entries
    }


def _rejects(node: Node, what: str) -> dict[str, dict[str, str]]:
    entries = schema.mapping(node, what).entries
    return {k.value: _sample(v, f"what '{k.value}' rejects") for k, v in entries}
