"""How `vmap` computes operators, and modes name them, as data that the library reads when they do:
lib/batching.json, and what the extension modules of packages carry.

- "callables": what Python calls, "add" or "Tensor.add" -> its operators, one for each overload, and
  whether it writes its result into the first argument
- "operators": the name of an operator with its overload -> its rule, what the rule reads, and the
  work that a call is, with the names of results that its formula reads
- "names": what formulas call an operator -> what Python calls it
- "functions": a function of C++ -> what Python calls it, the place of the overload, the names of
  its arguments, how many of them go by position, arguments that choose it, and what PyTorch calls
  it, with its overloads: each with the argument that tells, and what that one is; and what
  the overloads are called that write into tensors of the caller's -> the names of these
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from flambeau.codegen.formula.nodes import Call, Expression, walk
from flambeau.codegen.model.entries import (
    Argument,
    BatchRule,
    Declarations,
    Kind,
    Meaning,
    Operator,
    Role,
)
from flambeau.codegen.model.operators import OperatorIndex, is_apart
from flambeau.codegen.plan.binding import Parameter, plan_bindings
from flambeau.codegen.plan.overload_names import Function, aten_names, names_with_out
from flambeau.codegen.plan.python_signature import (
    Form,
    forms,
    is_method,
    named_result,
    places,
    result_name,
)
from flambeau.codegen.plan.reach import Reach
from flambeau.codegen.tensor.later import later_lets
from flambeau.codegen.write.files import Sink


def emit_batching(declarations: Declarations, sink: Sink) -> None:
    """package/lib/batching.json of the generated folder."""
    sink.write("package/lib/batching.json", batching_table(declarations) + "\n")


def batching_table(declarations: Declarations) -> str:
    """The table of the library, or of the package whose declarations these are, as JSON."""
    random = _random_names(declarations)
    index = OperatorIndex(declarations.operators)
    entries = {o.full_name: _entry(o, random, later_lets(o, index)) for o in declarations.own}
    for name in _of_elements(declarations):
        entries[name]["of_elements"] = True
    table = {
        "callables": _callables(declarations),
        "operators": entries,
        "names": _names(declarations),
        "functions": _functions(declarations),
    }
    return json.dumps(table, separators=(",", ":"))


def _of_elements(declarations: Declarations) -> list[str]:
    """Names of operators whose results have shapes that only the elements tell."""
    reach = Reach(declarations)
    without_data = {b.name for b in declarations.backends if b.emit == "none"}
    return [o.full_name for o in declarations.own if not without_data <= reach.backends(o)]


def _callables(declarations: Declarations) -> dict[str, Any]:
    by_function = {o.identifier: o for o in declarations.own}
    found: dict[str, Any] = {}
    for binding in plan_bindings(declarations):
        names = [str(p) for p in binding.places] if binding.is_function else []
        names += [f"Tensor.{name}" for name in binding.method_names]
        overloads = [_overload(o.function, by_function) for o in binding.overloads]
        for name in names:
            found.setdefault(name, overloads)
    return found


_NOT_GIVEN = {"kOut", "kInplace", "kTrue", "kFalse"}  # what the C++ function is not given


def _functions(declarations: Declarations) -> dict[str, Any]:
    by_function = {o.identifier: o for o in declarations.own}
    by_full_name = {o.full_name: o for o in declarations.own}
    found: dict[str, Any] = {}
    functions: dict[str, Function] = {}
    has_out: set[str] = set()
    for binding in plan_bindings(declarations):
        for place, overload in enumerate(binding.overloads):
            operator, _ = _overload(overload.function, by_function)
            if operator is None:
                continue  # the form of an optimizer's step for lists
            declared = by_full_name[operator]
            if "kFunction" in overload.flags and binding.places:
                path = str(binding.places[0])
            elif binding.method_names:
                path = f"Tensor.{binding.method_names[0]}"
            else:
                continue  # Python knows its form for lists alone
            names = [p.name for p in overload.parameters if not _NOT_GIVEN & set(p.flags)]
            chosen = {p.name: "kTrue" in p.flags for p in overload.parameters if _chooses(p)}
            kept = (p for p in overload.parameters if p.name in names)
            by_position = sum("kKeywordOnly" not in p.flags for p in kept)
            found.setdefault(overload.function, [path, place, names, by_position, chosen])
            functions.setdefault(overload.function, Function(overload.function, declared, path))
            if any("kOut" in p.flags for p in overload.parameters):
                has_out.add(overload.function)
            writes = [p.name for p in overload.parameters if "kInplace" in p.flags]
            if writes:
                chosen = {**chosen, writes[0]: True}
                found.setdefault(overload.written, [path, place, names, by_position, chosen])
                functions.setdefault(overload.written, Function(overload.written, declared, path))
    for function, (name, overloads) in aten_names(functions.values()).items():
        operator = functions[function].operator
        with_out = names_with_out(operator, overloads) if function in has_out else {}
        found[function] += [name, [[o.name, o.argument, o.when] for o in overloads], with_out]
    return found


def _chooses(parameter: Parameter) -> bool:
    return not {"kTrue", "kFalse"}.isdisjoint(parameter.flags)


def _overload(function: str, operators: dict[str, Operator]) -> list[Any]:
    """The operator behind a function of C++, and whether this one is its in-place form."""
    operator = operators.get(function)
    if operator is not None:
        return [operator.full_name, False]
    operator = operators.get(function.removesuffix("_"))
    return [operator.full_name if operator else None, True]


def _names(declarations: Declarations) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for operator in sorted(declarations.own, key=is_apart):
        for name in operator.called:
            found.setdefault(name, {})[_path(operator, name)] = None
    return {name: list(paths) for name, paths in found.items()}


def _path(operator: Operator, name: str) -> str:
    """What Python calls a function of that name, or else a method."""
    for form in (Form.FUNCTION, Form.KEYWORD):
        if form in forms(operator):
            found = places(operator, form)
            return str(next((p for p in found if p.name == name), found[0]))
    return f"Tensor.{name}" if is_method(operator) else operator.name


def _entry(operator: Operator, random: set[str], later: Collection[str]) -> dict[str, Any]:
    rule = operator.batch_rule
    rules = _rules(operator)
    entry: dict[str, Any] = {"rule": rule.value}
    arguments = operator.signature.arguments
    lists = [a for a in arguments if a.type.is_list and not a.type.is_tensor_list]
    if lists:
        entry["lists"] = {a.name: a.type.list_length or 1 for a in lists}
    if rules - {BatchRule.BROADCAST, BatchRule.LOOP}:
        meanings = [(a, a.type.meaning) for a in operator.signature.arguments if a.type.meaning]
        roles = {a.name: _role(meaning) for a, meaning in meanings}
        entry["roles"] = {name: role for name, role in roles.items() if role}
        entry["defaults"] = {a.name: a.default for a, _ in meanings if roles[a.name]}
    if BatchRule.BODY in rules:
        entry["body"] = [
            [[name, str(value), name in later] for name, value in operator.body_lets],
            str(operator.body),
        ]
    if rule is BatchRule.FORMULA and operator.batching is not None:
        entry["cases"] = [[list(names), _case(case)] for names, case in operator.batching.cases]
    if rules & {BatchRule.BODY, BatchRule.FORMULA}:
        entry["defaults"] = {a.name: a.default for a in operator.signature.arguments}
    if operator.kind is Kind.REDUCTION or any(_may_lack_dims(a) for a in arguments):
        entry["all_dims"] = True  # without a dim, over all
    if operator.name in random:
        entry["random"] = True
    results = operator.signature.results
    if BatchRule.BODY in rules and any(r.hidden for r in results):
        entry["visible"] = [i for i, r in enumerate(results) if not r.hidden]
    if named_result(operator):
        entry["results"] = result_name(operator.namespace, operator.name)
    if operator.random and operator.skip_when:
        entry["draws_unless"] = [str(condition) for condition, _ in operator.skip_when]
        entry["defaults"] = {a.name: a.default for a in operator.signature.arguments}
    operands = [a.name for a in operator.signature.arguments if a.type.or_scalar]
    if operands:
        entry["operands"] = operands
    if operator.autocast is not None and rules & {BatchRule.BODY, BatchRule.FORMULA}:
        entry["autocast"] = [operator.autocast.cpu.value, operator.autocast.others.value]
    if operator.flops is not None:
        entry["flops"] = [[r.name for r in results if not r.hidden], str(operator.flops)]
    written = [a.name for a in operator.signature.arguments if a.type.mutable]
    if written:
        entry["written"] = written
    return entry


def _rules(operator: Operator) -> set[BatchRule]:
    """The rule, and those of its cases."""
    cases = () if operator.batching is None else operator.batching.cases
    return {operator.batch_rule, *(case for _, case in cases if isinstance(case, BatchRule))}


def _case(case: Expression | BatchRule) -> list[str]:
    """A rule, and the formula where it is that."""
    return [case.value] if isinstance(case, BatchRule) else [BatchRule.FORMULA.value, str(case)]


def _may_lack_dims(argument: Argument) -> bool:
    kind = argument.type
    is_dim = kind.meaning is not None and kind.meaning.role is Role.DIM
    return is_dim and kind.is_list and kind.optional


def _role(meaning: Meaning) -> str:
    """What becomes of an int: dims count from behind the batch, sizes begin with it."""
    if meaning.role is Role.DIM:
        return "new dim" if meaning.beyond else "dim"
    return "size" if meaning.role is Role.SIZE else ""


def _random_names(declarations: Declarations) -> set[str]:
    """Names of operators that draw random numbers, themselves or through others."""
    called: dict[str, set[str]] = {}
    found: set[str] = set()
    for operator in declarations.operators:
        if operator.random or any(
            a.type.base.value == "Generator" for a in operator.signature.arguments
        ):
            found.add(operator.name)
        values = [operator.body, *(value for _, value in operator.body_lets)]
        called.setdefault(operator.name, set()).update(
            node.function
            for v in values
            if v is not None
            for node in walk(v)
            if isinstance(node, Call)
        )
    while True:
        more = {name for name, names in called.items() if names & found} - found
        if not more:
            return found
        found |= more
