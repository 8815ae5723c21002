"""The keys of an operator that hold formulas. Every mistake is collected; what is sound is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from flambeau.codegen.formula.nodes import Expression, Name, calls, free_names, substitute, walk
from flambeau.codegen.formula.nodes import Sequence as NodeSequence
from flambeau.codegen.formula.parse import parse_expression
from flambeau.codegen.model.entries import Base, Derivative, DtypeRule, Reduce, ShapeRule, Signature
from flambeau.codegen.model.facts import differentiable_arguments
from flambeau.codegen.read import schema
from flambeau.codegen.read.gradients import canonical
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Text, did_you_mean
from flambeau.codegen.text.tree import Mapping, Node

Lets = tuple[tuple[Text, Expression], ...]
Body = tuple[tuple[tuple[str, Expression], ...], Expression | None]

_DERIVATIVE_WORDS = ("auto", "none")
_SHAPE_WORDS = ("let", "strides", "offset", "geometry", "by_columns", "format_of", "format_rank")


def formula(node: Node, what: str) -> Expression:
    """One formula."""
    return parse_expression(schema.text(node, what))


def targets(signature: Signature) -> list[str]:
    """What an expression can be given for: results and arguments that are written in place."""
    mutable = [a.name for a in signature.arguments if a.type.mutable]
    return [r.name for r in signature.results] + mutable


def by_name(
    entries: Iterable[tuple[Text, Node]],
    known: Collection[str],
    what: str,
    diagnostics: Diagnostics,
) -> dict[str, Expression]:
    """name -> formula, each name out of `known`."""
    found: dict[str, Expression] = {}
    for key, value in entries:
        with diagnostics.collecting():
            read = formula(value, f"the formula of '{key.value}'")
            if key.value in known:
                found[key.value] = read
        if key.value not in known:
            hint = did_you_mean(key.value, known)
            diagnostics.error(key.span, f"'{key.value}' is not {what}", hint)
    return found


def expressions(
    node: Node, signature: Signature, diagnostics: Diagnostics
) -> dict[str, Expression]:
    """`expr`: one formula, or one for each result and each argument written in place."""
    known = targets(signature)
    if isinstance(node, Mapping):
        return by_name(node.entries, known, "a result or mutable argument", diagnostics)
    text = schema.text(node, "'expr'")
    if len(known) != 1:
        hint = f"write {{{', '.join(f'{t}: ...' for t in known)}}}"
        raise DeclarationError.at(text.span, "one formula for several results", hint)
    return {known[0]: parse_expression(text)}


def reduce(node: Node, diagnostics: Diagnostics) -> Reduce | None:
    """`reduce`: init, step, combine and perhaps finish."""
    fields = schema.mapping(node, "'reduce'")
    keys = ("init", "step", "combine", "finish")
    schema.check_keys(fields, "'reduce'", keys, keys[:3], diagnostics)
    own = Diagnostics()
    found = by_name([(k, v) for k, v in fields.entries if k.value in keys], keys, "", own)
    diagnostics.extend(own)
    if not set(keys[:3]) <= set(found) or len(own):
        return None
    finish = found.get("finish") or parse_expression(Text("acc", fields.span))
    return Reduce(found["init"], found["step"], found["combine"], finish)


def shape_rule(node: Node, signature: Signature, diagnostics: Diagnostics) -> ShapeRule:
    """`shape`: a formula per result; lets; strides and offset of a view."""
    results = [r.name for r in signature.visible_results] or targets(signature)
    if not isinstance(node, Mapping):
        text = schema.text(node, "'shape'")
        if text.value == "dynamic":
            return ShapeRule((), {}, dynamic=True)
        if len(results) != 1:
            hint = f"write {{{', '.join(f'{r}: ...' for r in results)}}}"
            raise DeclarationError.at(text.span, "one shape for several results", hint)
        return ShapeRule((), {results[0]: parse_expression(text)})
    names = [r.name for r in signature.results]
    shapes = [(k, v) for k, v in node.entries if k.value not in _SHAPE_WORDS]
    let, geometry = node.get("let"), node.get("geometry")
    columns, formats = node.get("by_columns"), node.get("format_of")
    arguments = [a.name for a in signature.arguments if a.type.is_tensor]
    rank = node.get("format_rank")
    strides, offset = node.get("strides"), node.get("offset")
    return ShapeRule(
        lets=unpackings(schema.text(let, "'let'")) if let is not None else (),
        shapes=by_name(shapes, names, "a result", diagnostics),
        strides=formula(strides, "'strides'") if strides is not None else None,
        offset=formula(offset, "'offset'") if offset is not None else None,
        geometry=schema.name(geometry, "'geometry'").value if geometry is not None else None,
        by_columns=_known(columns, names, "a result") if columns is not None else (),
        format_of=_known(formats, arguments, "a tensor argument") if formats is not None else (),
        format_rank=schema.integer(rank, "'format_rank'") if rank is not None else 4,
    )


def _known(node: Node, known: Sequence[str], kind: str) -> tuple[str, ...]:
    """A list of names of that kind."""
    found = schema.names(node, "a list of names")
    for name in found:
        if name.value not in known:
            message = f"'{name.value}' is not {kind}"
            raise DeclarationError.at(name.span, message, did_you_mean(name.value, known))
    return tuple(name.value for name in found)


def unpackings(text: Text) -> tuple[tuple[tuple[str, ...], Expression], ...]:
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
        names = []
        place = 0
        for part in left.rstrip().removesuffix(",").split(","):
            lead = len(part) - len(part.lstrip())
            name = located.slice(place + lead, place + len(part.rstrip()) or place)
            names.append(schema.new_name(name, "a let").value)
            place += len(part) + 1
        value = located.slice(len(left) + 1, len(located.value)).strip()
        found.append((tuple(names), parse_expression(value)))
    return tuple(found)


def body(node: Node, signature: Signature, diagnostics: Diagnostics) -> Body:
    """One formula, or lets and the `result`, or lets and a formula per result: one tuple."""
    if not isinstance(node, Mapping):
        return (), formula(node, "'body'")
    names = [r.name for r in signature.results]
    found = lets(node)
    parts = [(k, v) for k, v in node.entries if k.value != "let"]
    given = {(name.value): value for name, value in found}
    whole = node.get("result")
    result: Expression
    if whole is not None and len(parts) == 1:
        result = formula(whole, "'result'")
    else:
        formulas = by_name(parts, names, "a result", diagnostics)
        missing = [name for name in names if node.get(name) is None]
        if missing:
            raise DeclarationError.at(node.span, f"'body' has no formula for '{missing[0]}'")
        if len(formulas) < len(names):
            raise DeclarationError([])
        ordered = tuple(formulas[name] for name in names)
        result = NodeSequence(ordered, is_tuple=True, span=node.span)
    report_unused(found, [result], diagnostics)
    return tuple(given.items()), result


def lets(node: Mapping) -> Lets:
    """The entries of `let`, in order."""
    let = node.get("let")
    if let is None:
        return ()
    return tuple(
        (schema.new_name(key, "a let"), formula(value, f"'{key.value}'"))
        for key, value in schema.mapping(let, "'let'").entries
    )


def report_unused(found: Lets, formulas: Iterable[Expression], diagnostics: Diagnostics) -> None:
    """A let that nothing reads is a slip: its formula would never be checked. One that writes in
    place (its operators' names end in _) does so where it stands."""
    read = frozenset[str]().union(*(free_names(f) for f in formulas))
    for name, value in reversed(found):
        if name.value in read or any(called.endswith("_") for called in calls(value)):
            read |= free_names(value)
        else:
            diagnostics.error(name.span, f"the let '{name.value}' is not used", aside=True)


def _substituted(found: Lets) -> dict[str, Expression]:
    """Lets, each with those before it put in."""
    values: dict[str, Expression] = {}
    lets = [(name.value, value) for name, value in found]
    for index, (name, value) in enumerate(found):
        later = lets[index:]
        for node in walk(value):
            if isinstance(node, Name) and any(node.identifier == let for let, _ in later):
                message = f"the let '{node.identifier}' is not known yet in '{name.value}'"
                hint = out_of_order(node.identifier, later)
                raise DeclarationError.at(node.span or name.span, message, hint)
        values[name.value] = substitute(value, values)
    return values


def out_of_order(name: str, later: Sequence[tuple[str, Expression]]) -> str:
    """What to do about a let that is mentioned by the first of `later`, which it is one of."""
    first, _ = later[0]
    reads = {let: free_names(value) for let, value in later}
    reached, pending = {name}, [name]
    while pending:
        found = (reads[pending.pop()] & reads.keys()) - reached
        reached |= found
        pending += found
    if name == first:
        return f"the formula of '{name}' cannot mention '{name}' itself"
    if first in reached:
        return f"'{first}' and '{name}' go round in a circle: write one of them without the other"
    return f"a let knows those before it: put '{name}' before '{first}'"


def derivative(
    node: Node, signature: Signature, dtypes: DtypeRule, diagnostics: Diagnostics
) -> Derivative:
    """`derivative`: auto, none, or one of these or a formula for each argument."""
    if not isinstance(node, Mapping):
        word = schema.choice(node, "derivative", _DERIVATIVE_WORDS).value
        if word == "none":
            return Derivative({}, none=True)
        return Derivative({}, auto=frozenset(differentiable_arguments(signature, dtypes)))
    given = lets(node)
    values = _substituted(given)
    entries = [(k, v) for k, v in node.entries if k.value != "let"]
    words = {
        k.value: v.value for k, v in entries if isinstance(v, Text) and v.value in _DERIVATIVE_WORDS
    }
    tensors = [a.name for a in signature.arguments if a.type.base is Base.TENSOR]
    own = Diagnostics()
    for key, _ in entries:
        if key.value in words and key.value not in tensors:
            hint = did_you_mean(key.value, tensors)
            own.error(key.span, f"'{key.value}' is not a tensor argument", hint)
    formulas = [(k, v) for k, v in entries if k.value not in words]
    found = by_name(formulas, tensors, "a tensor argument", own)
    if not len(own):
        report_unused(given, found.values(), diagnostics)
    diagnostics.extend(own)
    return Derivative(
        formulas={
            name: canonical(substitute(value, values), signature, dtypes)
            for name, value in found.items()
        },
        auto=frozenset(name for name, word in words.items() if word == "auto"),
        excluded=frozenset(name for name, word in words.items() if word == "none"),
    )


def forward(node: Node, diagnostics: Diagnostics) -> dict[str, Expression]:
    """`forward`: a tangent for each result."""
    fields = schema.mapping(node, "'forward'")
    given = lets(fields)
    values = _substituted(given)
    found = {
        key.value: formula(value, f"the tangent of '{key.value}'")
        for key, value in fields.entries
        if key.value != "let"
    }
    report_unused(given, found.values(), diagnostics)
    return {name: substitute(value, values) for name, value in found.items()}


def skip_when(node: Node) -> tuple[tuple[Expression, Expression], ...]:
    """`skip_when`: condition -> what is returned instead."""
    return tuple(
        (parse_expression(condition), formula(value, "what is returned instead"))
        for condition, value in schema.mapping(node, "'skip_when'").entries
    )


def check_syntax(node: Node, diagnostics: Diagnostics) -> None:
    """Parse every formula below a key whose signature could not be read."""
    if isinstance(node, Text):
        if node.value.strip() and node.value not in (*_DERIVATIVE_WORDS, "dynamic"):
            with diagnostics.collecting():
                parse_expression(node)
    elif isinstance(node, Mapping):
        for key, value in node.entries:
            if key.value == "let" and isinstance(value, Text):
                with diagnostics.collecting():
                    unpackings(value)
            else:
                check_syntax(value, diagnostics)
