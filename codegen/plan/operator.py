"""Everything the operator templates print, assembled from the plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flambeau.codegen.formula.nodes import Call, Expression, Name, walk
from flambeau.codegen.model.entries import BatchRule, Declarations, Kind, Operator
from flambeau.codegen.model.facts import written_argument
from flambeau.codegen.plan.arguments import check_arguments
from flambeau.codegen.plan.autocast import casting_lines
from flambeau.codegen.plan.backward import BackwardPlan, plan_backward
from flambeau.codegen.plan.composition import Composition, plan_composition
from flambeau.codegen.plan.compute import (
    Compute,
    Table,
    argument_list,
    constraint_checks,
    dtype_checks,
    plain_parameters,
    plan_compute,
    table_for,
)
from flambeau.codegen.plan.cpp_types import (
    class_name,
    cpp_name,
    cpp_type,
    list_constant,
    origin,
    parameter_list,
    result_type,
)
from flambeau.codegen.plan.forward import forward_lines, has_forward
from flambeau.codegen.plan.node import NodeText, node_text
from flambeau.codegen.plan.node_name import label
from flambeau.codegen.plan.out_form import is_plain, out_parameters, out_returns, writing_lines
from flambeau.codegen.plan.translate import Names, Translator, argument_names

_WRITTEN = "const Tensor&"  # what a function returns that writes


@dataclass(frozen=True, slots=True)
class Function:
    """A C++ function, ready to print."""

    returns: str
    name: str
    parameters: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A public function of an operator: what its header says, and its body."""

    function: Function
    declared: str  # parameters with their defaults


@dataclass(frozen=True, slots=True)
class Description:
    """What the forms of native/operators read of an operator."""

    name: str  # of the class
    base: str
    members: tuple[str, ...]  # `using Outputs = ...;`, where they differ from those of the base
    functions: tuple[Function, ...]


@dataclass(frozen=True, slots=True)
class OperatorText:
    """One operator, ready to print."""

    name: str
    identifier: str
    origin: str
    list_constants: tuple[str, ...]
    tables: tuple[Table, ...]
    node: NodeText | None
    description: Description | None  # None of a composite
    composition: Composition | None
    forms: tuple[Form, ...]


def operator_text(
    operator: Operator, declarations: Declarations, translator: Translator
) -> OperatorText:
    """Plans one operator."""
    translator.operator = operator.name
    compute = node = backward = None
    tangents: list[str] = []
    if operator.kind is not Kind.COMPOSITE:
        compute = plan_compute(operator, declarations, translator)
        backward = plan_backward(operator, declarations)
        tangents = forward_lines(operator, backward, translator)
    if backward is not None:
        node = node_text(operator, backward, translator, declarations)
    tables = list(compute.tables) if compute else []
    tables += [table_for(k.kernel, optional=True) for k in backward.kernels] if backward else []
    return OperatorText(
        name=operator.name,
        identifier=operator.identifier,
        origin=origin(operator),
        list_constants=tuple(
            c
            for a in operator.signature.arguments
            if (c := list_constant(a, operator.identifier)) is not None
        ),
        tables=tuple(tables),
        node=node,
        description=_describe(operator, compute, backward, node, tangents) if compute else None,
        composition=plan_composition(operator, translator) if compute else None,
        forms=Forms(operator, declarations, translator, backward).all(),
    )


def description_name(operator: Operator) -> str:
    """`AddOperator`."""
    return f"{class_name(operator.identifier)}Operator"


def _describe(
    operator: Operator,
    compute: Compute,
    backward: BackwardPlan | None,
    node: NodeText | None,
    tangents: list[str],
) -> Description:
    arguments = operator.signature.arguments
    results = operator.signature.results
    given = plain_parameters(operator)
    values = ", ".join(
        f"{'TensorList' if r.is_list else 'const Tensor&'} {cpp_name(r.name)}" for r in results
    )
    base = "forms::Plain"
    members = list(_other_names(operator))
    functions = [Function(compute.returns, "compute", compute.parameters, compute.lines)]
    if node is not None and backward is not None:
        inputs = [arguments.index(a) for a in backward.inputs]
        base = f"forms::Recorded<{', '.join([node.name, *map(str, inputs)])}>"
        names = [r.name for r in results]
        outputs = [names.index(name) for name in backward.results if name in names]
        if outputs and outputs != [0]:
            members.append(_indices("Outputs", outputs))
        written = f"{node.name}& node"
        if node.save:
            parameters = _joined(written, given, "bool overwrites")
            functions.append(Function("void", "save", parameters, node.save))
        if node.save_results:
            target = written_argument(operator.signature)
            found = values if target is None else f"const Tensor& {cpp_name(target.name)}"
            parameters = _joined(written, found)
            functions.append(Function("void", "save_results", parameters, node.save_results))
        if tangents:
            parameters = _joined(values, given)
            functions.append(Function("void", "set_tangents", parameters, tuple(tangents)))
        elif has_forward(operator, backward):
            members.append("static constexpr bool has_zero_tangents = true;")
    visible = [i for i, r in enumerate(results) if not r.hidden]
    if len(visible) != len(results):
        members.append(_indices("Visible", visible))
    if operator.signature.spares_results:
        members.append("static constexpr bool spares_results = true;")
    written_in_place = [i for i, a in enumerate(arguments) if a.type.is_tensor and a.type.mutable]
    if written_in_place:
        members.append(_indices("Written", written_in_place))
    return Description(description_name(operator), base, tuple(members), tuple(functions))


def shown_name(operator: Operator) -> str:
    """What profiles call it."""
    return f"{operator.package}::{operator.name}" if operator.package else operator.name


def package_prefix(operator: Operator) -> str:
    """Of names in C++ that all packages share."""
    return f"{operator.package}." if operator.package else ""


def _other_names(operator: Operator) -> Iterator[str]:
    """Where they are not the one in messages."""
    shown, function = shown_name(operator), f"{package_prefix(operator)}{operator.identifier}"
    if shown != operator.name:
        yield f'static constexpr char shown[] = "{shown}";'
    if function != operator.name:
        yield f'static constexpr char function[] = "{function}";'


def _indices(name: str, indices: list[int]) -> str:
    return f"using {name} = forms::Indices<{', '.join(map(str, indices))}>;"


def _joined(*parts: str) -> str:
    """Parameters, or arguments, of those parts that have some."""
    return ", ".join(filter(None, parts))


def _body(operator: Operator, translator: Translator, names: Names) -> list[str]:
    """A composite's lets and its value."""
    assert operator.body is not None
    lines = []
    for condition, instead in operator.skip_when:
        lines += _skip(operator, translator, names, condition, instead)
    results = operator.signature.visible_results
    statements, value = translator.evaluated(
        operator.body, names, results, lets_of=operator, differentiated=True
    )
    written = next((a for a in operator.tensor_arguments if a.type.mutable), None)
    if operator.grad_fn is not None:
        tensors = (cpp_name(a.name) for a in operator.tensor_arguments)
        called = label(operator.grad_fn, operator, names, translator)
        given = _joined(value, called, *tensors)
        value = f"forms::named<{result_type(results)}>({given})"
    if written is None or results:
        return [*lines, *statements, f"return {value};"]
    # The body may have written through a view: what is returned is the argument all the same.
    return [*lines, *statements, f"{value};", f"return {cpp_name(written.name)};"]


def _skip(
    operator: Operator,
    translator: Translator,
    names: Names,
    condition: Expression,
    value: Expression,
) -> list[str]:
    """An early return where there is nothing to compute."""
    results = operator.signature.visible_results
    statements, result = translator.evaluated(value, names, results)
    return _where(translator.condition(condition, names), [*statements, f"return {result};"])


def _where(condition: str, lines: Sequence[str]) -> list[str]:
    """Lines for where a condition holds."""
    return [f"if ({condition}) {{", *(f"  {line}" for line in lines), "}"]


@dataclass(frozen=True, slots=True)
class Forms:
    """Writes the public functions of one operator: calls of the forms of native/operators."""

    operator: Operator
    declarations: Declarations
    translator: Translator
    backward: BackwardPlan | None

    def all(self) -> tuple[Form, ...]:
        operator = self.operator
        name = operator.identifier
        forms = [self._form(self._return_type, name, self._function())]
        if "inplace" in operator.variants:
            forms.append(self._form(_WRITTEN, f"{name}_", self._inplace()))
        if "out" in operator.variants:
            first = out_parameters(operator)
            forms.append(self._form(out_returns(operator), f"{name}_out", self._out(), first))
        if "list" in operator.variants:
            forms.append(self._listed())
        return tuple(forms)

    def _form(self, returns: str, name: str, lines: list[str], first: str = "") -> Form:
        operator = self.operator
        defaults = parameter_list(
            operator.signature.arguments, defaults=True, prefix=operator.identifier
        )
        function = Function(returns, name, _joined(first, plain_parameters(operator)), tuple(lines))
        return Form(function, _joined(first, defaults))

    def _begun(self, mark: str) -> list[str]:
        """What a function, or its form in place, begins with: profiles see it, and others may
        compute it. A composite is made of calls that they see, too.
        """
        operator = self.operator
        if self._is_composite and not self._is_asked_of_batches:
            return self._profiled(mark)
        hides = any(r.hidden for r in operator.signature.results)
        asked = "of_batches" if self._is_composite else "alone" if hides else "before"
        name = f"{operator.identifier}{mark}"
        shown, taken = shown_name(operator), f"{package_prefix(operator)}{name}"
        given = _joined(f'"{shown}{mark}"', f'"{taken}"', f"ops::{name}", asked, self._arguments)
        return [f"FLAMBEAU_CALLED({given});"]

    def _profiled(self, mark: str = "") -> list[str]:
        shown = f'"{shown_name(self.operator)}{mark}"'
        return [f"const forms::Profiled profiled_({_joined(shown, *self._tensors)});"]

    @property
    def _is_asked_of_batches(self) -> bool:
        """Whether a batch is not what its operators make of batches: where there is a rule, and
        where the body writes into what it has made, which must be a batch then.
        """
        operator = self.operator
        values = (operator.body, *(value for _, value in operator.body_lets))
        calls = (node for v in values if v is not None for node in walk(v))
        writes = any(isinstance(n, Call) and n.function.endswith("_") for n in calls)
        return writes or operator.batch_rule is not BatchRule.BODY

    @property
    def _is_composite(self) -> bool:
        return self.operator.kind is Kind.COMPOSITE

    @property
    def _mutable(self) -> str | None:
        """The first argument that is written in place."""
        return next((a.name for a in self.operator.tensor_arguments if a.type.mutable), None)

    @property
    def _return_type(self) -> str:
        if self._mutable and not self.operator.signature.results:
            return _WRITTEN
        return result_type(self.operator.signature.visible_results)

    @property
    def _arguments(self) -> str:
        return argument_list(self.operator)

    @property
    def _tensors(self) -> list[str]:
        return [cpp_name(a.name) for a in self.operator.tensor_arguments]

    def _call(self, form: str, before: Sequence[str], *more: str, first: str = "") -> list[str]:
        """A form of native/operators. It begins the call, if nothing was done before."""
        begun = ["forms::Begun::before"] if before else []
        described = ", ".join([description_name(self.operator), *more, *begun])
        return [*before, f"return forms::{form}<{described}>({_joined(first, self._arguments)});"]

    def _function(self) -> list[str]:
        operator = self.operator
        names = argument_names(operator)
        lines = casting_lines(operator)
        if self._is_composite:
            lines += self._composite_checks(names)
            return [*self._begun(""), *lines, *_body(operator, self.translator, names)]
        for condition, value in operator.skip_when:
            lines += _skip(operator, self.translator, names, condition, value)
        before = [*self._begun(""), *lines] if lines else []
        if self._mutable:
            return self._call("call_mutating", before)
        return self._call("call_view" if operator.kind is Kind.VIEW else "call", before)

    def _inplace(self) -> list[str]:
        operator = self.operator
        if operator.kind is Kind.VIEW:
            return self._call("become_view", ())
        names = argument_names(operator)
        lines = []
        for condition, value in operator.skip_when:
            code = self.translator.condition(condition, names)
            lines += _where(code, self._written_over(value, names))
        if self._is_composite:
            return [*self._begun("_"), *lines, *self._body_in_place(names)]
        return self._call("call_inplace", [*self._begun("_"), *lines] if lines else [])

    def _body_in_place(self, names: Names) -> list[str]:
        """A composite's value, written over the first argument."""
        operator = self.operator
        assert operator.body is not None
        lines = self._written_over(operator.body, names)
        if lines == [self._overwriting()]:
            return lines
        return [*self._composite_checks(names), *lines]

    def _composite_checks(self, names: Names) -> list[str]:
        """What is checked before the body; helpers get dtypes that their callers know."""
        operator = self.operator
        lines = [] if operator.internal else dtype_checks(operator, self.declarations)
        lines += check_arguments(operator, names)
        return [*lines, *constraint_checks(operator, self.translator, names)]

    def _written_over(self, value: Expression, names: Names) -> list[str]:
        """Lines that write the value of a formula over the first argument and return that: calls in
        place, where the formula comes to them.
        """
        operator = self.operator
        first = operator.signature.arguments[0].name
        written = None if operator.body_lets else self.translator.in_place(value, first)
        if written is None:
            return [self._overwriting()]
        lines = self._called_in_place(written, names)
        if isinstance(written, Name):
            return lines
        # Nodes and errors of autograd have the operator's name, not that of what it calls.
        recorded = " || ".join(f"autograd::has_autograd({tensor})" for tensor in self._tensors)
        return [f"if ({recorded}) {self._overwriting()}", *lines]

    def _called_in_place(self, written: Expression, names: Names) -> list[str]:
        first = cpp_name(self.operator.signature.arguments[0].name)
        if isinstance(written, Name):
            return [f"return {first};"]
        results = self.operator.signature.visible_results
        statements, call = self.translator.evaluated(
            written, names, results, differentiated=self._is_composite
        )
        return [*statements, f"static_cast<void>({call});", f"return {first};"]

    def _overwriting(self) -> str:
        """By the operator's own function, whatever that computes."""
        operator = self.operator
        first, *rest = [cpp_name(a.name) for a in operator.signature.arguments]
        given = _joined(first, f'"{operator.name}_"', *rest)
        return f"return forms::overwrite_by<ops::{operator.identifier}>({given});"

    def _out(self) -> list[str]:
        operator = self.operator
        if not is_plain(operator):
            return [*self._profiled(), *writing_lines(operator)]
        by, given = f"<ops::{operator.identifier}>", _joined(f'"{operator.name}"', self._arguments)
        whole = f"return forms::write_out_by{by}(out, {given});"
        if self._is_composite:
            return [*self._profiled(), whole]
        names = argument_names(operator)
        lines = []
        for condition, value in operator.skip_when:
            statements, result = self.translator.evaluated(
                value, names, operator.signature.visible_results
            )
            code = self.translator.condition(condition, names)
            lines += _where(code, self._written_out(statements, result))
        taken = [*self._profiled(), f"if (profiled_.may_be_taken()) {whole}"]
        before = [*taken, *lines] if lines else []
        return self._call("call_out", before, f"ops::{operator.identifier}", first="out")

    def _written_out(self, statements: tuple[str, ...], value: str) -> list[str]:
        """What other operators compute."""
        tracked = f"forms::tracked({', '.join(self._tensors)})"
        return [
            f'return forms::write_out(out, "{self.operator.name}", {tracked}, [&]() -> Tensor {{',
            *(f"  {line}" for line in statements),
            f"  return {value};",
            "});",
        ]

    def _listed(self) -> Form:
        """The operator over lists: one call from Python, one loop over tensors."""
        operator = self.operator
        first = self._tensors[0]
        each = ", ".join(
            f"{cpp_name(a.name)}[i]" if a.type.is_tensor else cpp_name(a.name)
            for a in operator.signature.arguments
        )
        parameters = ", ".join(
            f"{'TensorList' if a.type.is_tensor else cpp_type(a.type).parameter} {cpp_name(a.name)}"
            for a in operator.signature.arguments
        )
        sizes = ", ".join(f"{name}.size()" for name in self._tensors)
        lines = (
            f'check_list_lengths("{operator.name}", {first}.size(), {{{sizes}}});',
            f"for (size_t i = 0; i < {first}.size(); ++i) ops::{operator.identifier}({each});",
        )
        name = f"{operator.identifier.rstrip('_')}_list_"
        return Form(Function("void", name, parameters, lines), parameters)
