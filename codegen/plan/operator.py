"""Everything the operator templates print, assembled from the plans."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.formula.nodes import Expression, Name
from flambeau.codegen.model.entries import CLONE, COPY, Declarations, Kind, Operator
from flambeau.codegen.model.facts import differentiable_arguments
from flambeau.codegen.plan.arguments import check_arguments
from flambeau.codegen.plan.backward import BackwardPlan, plan_backward
from flambeau.codegen.plan.composition import Composition, plan_composition
from flambeau.codegen.plan.compute import (
    Compute,
    Table,
    argument_list,
    compute_type,
    constraint_checks,
    plain_parameters,
    plan_compute,
    table_for,
)
from flambeau.codegen.plan.cpp_types import (
    cpp_name,
    cpp_type,
    list_constant,
    origin,
    parameter_list,
    result_type,
)
from flambeau.codegen.plan.forward import forward_lines, has_forward
from flambeau.codegen.plan.node import NodeText, node_text
from flambeau.codegen.plan.translate import Names, Translator, argument_names


@dataclass(frozen=True, slots=True)
class OperatorText:
    """One operator, ready to print."""

    full_name: str
    identifier: str
    origin: str
    return_type: str
    parameters: str
    parameters_with_defaults: str
    list_constants: tuple[str, ...]
    comma: str
    composite: bool
    checks: tuple[str, ...]
    body: tuple[str, ...]
    tables: tuple[Table, ...]
    compute_type: str
    compute_parameters: str
    compute: tuple[str, ...]
    composition: Composition | None
    backward: NodeText | None
    forward: tuple[str, ...]
    requires_grad: str
    result_parameters: str
    result_comma: str
    function: tuple[str, ...]
    inplace: tuple[str, ...]
    out: tuple[str, ...]
    listed: tuple[str, ...]
    list_identifier: str
    list_parameters: str


def operator_text(
    operator: Operator, declarations: Declarations, translator: Translator
) -> OperatorText:
    """Plans one operator."""
    translator.operator = operator.name
    composite = operator.kind is Kind.COMPOSITE
    compute = None if composite else plan_compute(operator, declarations, translator)
    backward = None if composite else plan_backward(operator, declarations)
    forward = [] if composite else forward_lines(operator, backward, translator)
    names = argument_names(operator)
    checks = check_arguments(operator, names) if composite else []
    checks += constraint_checks(operator, translator, names) if composite else []
    tables = list(compute.tables) if compute else []
    if backward:
        tables += [table_for(k.kernel, optional=True) for k in backward.kernels]
    inputs = [cpp_name(a.name) for a in backward.inputs] if backward else []
    derivable = backward is None or has_forward(operator, backward)
    writer = _Functions(operator, compute, backward, bool(forward), derivable, translator)
    parameters = plain_parameters(operator)
    return OperatorText(
        full_name=operator.full_name,
        identifier=operator.identifier,
        origin=origin(operator),
        return_type=writer.return_type,
        parameters=parameters,
        parameters_with_defaults=parameter_list(
            operator.signature.arguments, defaults=True, prefix=operator.identifier
        ),
        list_constants=tuple(
            c
            for a in operator.signature.arguments
            if (c := list_constant(a, operator.identifier)) is not None
        ),
        comma=", " if parameters else "",
        composite=composite,
        checks=tuple(checks),
        body=tuple(_body(operator, translator, names)) if composite else (),
        tables=tuple(tables),
        compute_type=compute.returns if compute else "",
        compute_parameters=compute.parameters if compute else "",
        compute=compute.lines if compute else (),
        composition=plan_composition(operator, translator) if compute else None,
        backward=node_text(operator, backward, translator) if backward else None,
        forward=tuple(forward),
        requires_grad=" || ".join(f"requires_grad({name})" for name in inputs),
        result_parameters=writer.result_parameters,
        result_comma=", " if writer.result_parameters else "",
        function=tuple(writer.function(translator, names)) if compute else (),
        inplace=tuple(writer.inplace(names)) if writer.has_inplace else (),
        out=tuple(writer.out(names)) if writer.has_out else (),
        listed=tuple(writer.listed()) if "list" in operator.variants else (),
        list_identifier=f"{operator.identifier.rstrip('_')}_list_",
        list_parameters=_list_parameters(operator),
    )


def _body(operator: Operator, translator: Translator, names: Names) -> list[str]:
    """A composite's lets and its value."""
    assert operator.body is not None
    lines = []
    for condition, instead in operator.skip_when:
        lines += _skip(operator, translator, names, condition, instead)
    results = operator.signature.visible_results
    statements, value = translator.evaluated(
        operator.body_lets, operator.body, names, results, differentiated=True
    )
    written = next((a for a in operator.tensor_arguments if a.type.mutable), None)
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
    statements, result = translator.evaluated((), value, names, results)
    return [
        f"if ({translator.condition(condition, names)}) {{",
        *(f"  {line}" for line in [*statements, f"return {result};"]),
        "}",
    ]


def _list_parameters(operator: Operator) -> str:
    return ", ".join(
        f"{'TensorList' if a.type.is_tensor else cpp_type(a.type).parameter} {cpp_name(a.name)}"
        for a in operator.signature.arguments
    )


@dataclass(frozen=True, slots=True)
class _Functions:
    """Writes the public forms of one operator."""

    operator: Operator
    compute: Compute | None
    backward: BackwardPlan | None
    has_forward: bool
    knows_tangents: bool  # false: forward mode is an error
    translator: Translator

    @property
    def mutable(self) -> str | None:
        """The first argument that is written in place."""
        return next((a.name for a in self.operator.tensor_arguments if a.type.mutable), None)

    @property
    def return_type(self) -> str:
        if self.mutable and not self.operator.signature.results:
            return "const Tensor&"
        return result_type(self.operator.signature.visible_results)

    @property
    def result_parameters(self) -> str:
        results = self.operator.signature.results
        spelled = [
            f"[[maybe_unused]] {'TensorList' if r.is_list else 'const Tensor&'} {cpp_name(r.name)}"
            for r in results
        ]
        return ", ".join(spelled)

    @property
    def has_inplace(self) -> bool:
        return "inplace" in self.operator.variants

    @property
    def has_out(self) -> bool:
        return "out" in self.operator.variants

    @property
    def arguments(self) -> str:
        return argument_list(self.operator)

    @property
    def comma(self) -> str:
        return ", " if self.arguments else ""

    def call(self, out: str = "Tensor()", inplace: str = "false") -> str:
        """A call of compute_OP."""
        leading = f"{out}, {inplace}{self.comma}" if self.compute and self.compute.takes_out else ""
        return f"compute_{self.operator.identifier}({leading}{self.arguments})"

    @property
    def tracked(self) -> list[str]:
        return [cpp_name(a.name) for a in self.backward.inputs] if self.backward else []

    def refusal(self, name: str) -> list[str]:
        """The error of forward mode where no tangent is known."""
        if self.knows_tangents or not self.tracked:
            return []
        tangents = " || ".join(f"has_tangent({n})" for n in self.tracked)
        return [
            f"if (FLAMBEAU_UNLIKELY({tangents})) {{",
            f'  fail(ErrorKind::not_implemented, "{name}(): forward mode is not implemented");',
            "}",
        ]

    def function(self, translator: Translator, names: Names) -> list[str]:
        operator = self.operator
        lines = []
        for condition, value in operator.skip_when:
            lines += _skip(operator, translator, names, condition, value)
        if self.mutable:
            return lines + self._mutating()
        results = self.operator.signature.results
        hidden = any(r.hidden for r in results)
        if operator.kind is Kind.VIEW:
            return lines + self._viewing()
        if not self.tracked and not hidden:
            return [*lines, f"return {self.call()};"]
        if self.tracked:
            untracked = " && ".join(f"!has_autograd({name})" for name in self.tracked)
            if not hidden:
                lines.append(f"if (FLAMBEAU_LIKELY({untracked})) return {self.call()};")
            lines += self.refusal(operator.name)
            lines.append(
                f"auto node = record_{self.operator.identifier}({self.arguments}{self.comma}false);"
            )
        lines += self._bind(self.call())
        values = ", ".join(cpp_name(r.name) for r in results)
        if self.backward:
            lines.append("if (node) {")
            lines += [f"  {line}" for line in self._link_results()]
            if self.saves_results:
                lines.append(f"  save_results_{operator.identifier}(node, {values});")
            lines.append("}")
        if self.has_forward:
            tangents = " || ".join(f"has_tangent({name})" for name in self.tracked)
            lines.append(
                f"if ({tangents}) "
                f"forward_{self.operator.identifier}({values}{self.comma}{self.arguments});"
            )
        visible = [cpp_name(r.name) for r in operator.signature.visible_results]
        lines.append(
            f"return {visible[0]};" if len(visible) == 1 else f"return {{{', '.join(visible)}}};"
        )
        return lines

    def _viewing(self) -> list[str]:
        """View operators: the result knows its base, tracked or not."""
        operator = self.operator
        base = cpp_name(operator.tensor_arguments[0].name)
        result = operator.signature.results[0]
        name = cpp_name(result.name)
        lines = self._bind(self.call())
        if self.backward:
            if result.is_list:
                lines.append(f"for (const Tensor& view : {name}) set_view(view, {base});")
            else:
                lines.append(f"set_view({name}, {base});")
            lines += self.refusal(operator.name)
            lines.append(f"if (has_autograd({base})) {{")
            lines.append(f"  auto node = record_{operator.identifier}({self.arguments}, false);")
            lines.append("  if (node) {")
            lines += [f"    {line}" for line in self._link_results()]
            lines += ["  }", "}"]
        if self.has_forward:
            lines.append(
                f"if (has_tangent({base})) forward_{operator.identifier}({name}, {self.arguments});"
            )
        lines.append(f"return {name};")
        return lines

    def _link_results(self) -> list[str]:
        """Makes the differentiable results outputs of the node, in order."""
        assert self.backward is not None
        lists = {r.name for r in self.operator.signature.results if r.is_list}
        lines = []
        for index, name in enumerate(self.backward.results):
            is_last = index == len(self.backward.results) - 1 and not self.saves_results
            # The last use hands its reference over: two atomic operations less.
            node = "std::move(node)" if is_last and name not in lists else "node"
            tensors = f"TensorList({cpp_name(name)})" if name in lists else cpp_name(name)
            lines.append(f"set_history({tensors}, {node}, {index});")
        return lines

    @property
    def saves_results(self) -> bool:
        return self.backward is not None and any(f.is_result for f in self.backward.saved)

    def _bind(self, call: str) -> list[str]:
        names = [cpp_name(r.name) for r in self.operator.signature.results]
        if len(names) == 1:
            return [f"{compute_type(self.operator)} {names[0]} = {call};"]
        return [f"auto [{', '.join(names)}] = {call};"]

    def _mutating(self) -> list[str]:
        """Operators that are declared with a Tensor(mut)."""
        operator = self.operator
        target = cpp_name(self.mutable or "")
        lines = []
        records = "false"
        if self.tracked:
            lines.append(f"const auto node = record_{operator.identifier}({self.arguments}, true);")
            records = "node"
        if operator.kind is not Kind.POINTWISE or self.tracked:
            lines.append(
                f'check_inplace({target}, "{operator.name}", static_cast<bool>({records}));'
            )
        lines += self.refusal(operator.name)
        if self.has_forward:
            tangents = " || ".join(f"has_tangent({n})" for n in self.tracked)
            lines.append(f"if ({tangents}) forward_{operator.identifier}({self.arguments});")
        lines.append(f"{self.call()};")
        if operator.kind is not Kind.POINTWISE:
            mutated = [cpp_name(a.name) for a in operator.tensor_arguments if a.type.mutable]
            lines += [f"if ({name}.defined()) {name}.bump_version();" for name in mutated]
        if self.tracked:
            lines.append("if (node) {")
            lines.append(f"  rebase_history({target}, node);")
            lines.append("}")
        lines.append(f"return {target};")
        return lines

    def inplace(self, names: Names) -> list[str]:
        operator = self.operator
        name = f"{operator.name}_"
        first = cpp_name(operator.signature.arguments[0].name)
        if self.compute is None:
            return self._overwriting(name, first, self._tensors)
        lines = []
        for condition, value in operator.skip_when:
            lines.append(f"if ({self.translator.condition(condition, names)}) {{")
            if value == Name(operator.signature.arguments[0].name):
                lines.append(f"  return {first};")
            else:
                lines += [f"  {line}" for line in self._overwriting(name, first, self._tensors)]
            lines.append("}")
        lines += self.refusal(name)
        if self.tracked and self.knows_tangents:
            lines.append(f"if (FLAMBEAU_UNLIKELY({self._any('has_tangent', self.tracked)})) {{")
            lines += [f"  {line}" for line in self._overwriting(name, first, self.tracked)]
            lines.append("}")
        if self.tracked:
            lines.append(f"const auto node = record_{operator.identifier}({self.arguments}, true);")
            lines.append(f'check_inplace({first}, "{name}", static_cast<bool>(node));')
        else:
            if operator.signature.arguments[0].name in differentiable_arguments(
                operator.signature, operator.dtypes
            ):  # the result is constant, but what it overwrites may not be
                lines.append(
                    f"if (FLAMBEAU_UNLIKELY(requires_grad({first}) || has_tangent({first}))) {{"
                )
                lines += [f"  {line}" for line in self._overwriting(name, first, [first])]
                lines.append("}")
            lines.append(f'check_inplace({first}, "{name}", false);')
        if self.compute.takes_out:
            lines.append(f"{self.call(first, 'true')};")
            lines.append(f"{first}.bump_version();")
        else:
            lines += self._bind(self.call())
            lines.append(
                f'write_inplace({first}, {cpp_name(operator.signature.results[0].name)}, "{name}");'
            )
        if self.tracked:
            lines.append("if (node) {")
            lines.append(f"  rebase_history({first}, node);")
            if self.saves_results:
                results = [cpp_name(r.name) for r in operator.signature.results]
                values = ", ".join([first, *results[1:]])
                lines.append(f"  save_results_{operator.identifier}(node, {values});")
            lines.append("}")
        lines.append(f"return {first};")
        return lines

    def _overwriting(self, name: str, first: str, tensors: list[str]) -> list[str]:
        """An in-place form that copies the result over its first argument. What the operator saves
        must not be overwritten, so it gets a copy where it records.
        """
        arguments = self.operator.signature.arguments
        # The copy that it computes from, and the one that writes: tangents see both.
        clone, copy = self.translator.of_role(CLONE), self.translator.of_role(COPY)
        given = ", ".join(["before", *(cpp_name(a.name) for a in arguments[1:])])
        return [
            f"const bool records = grad_enabled() && ({self._any('requires_grad', tensors)});",
            f'check_inplace({first}, "{name}", records);',
            f"const Tensor before = records ? ops::{clone}({first}) : {first};",
            f"const Tensor after = ops::{self.operator.identifier}({given});",
            f'check_fits({first}, after, "{name}");',
            f"return ops::{copy}({first}, after);",
        ]

    @staticmethod
    def _any(question: str, tensors: list[str]) -> str:
        """C++: whether one of the tensors is what `question` asks."""
        return " || ".join(f"{question}({tensor})" for tensor in tensors) or "false"

    @property
    def _tensors(self) -> list[str]:
        return [cpp_name(a.name) for a in self.operator.tensor_arguments]

    def out(self, names: Names) -> list[str]:
        operator = self.operator
        given = self._tensors if self.compute is None else self.tracked
        wants, tangents = self._any("requires_grad", given), self._any("has_tangent", given)
        lines = [f'check_out(out, {wants}, {tangents}, "{operator.name}");']
        if self.compute is not None and self.compute.takes_out:
            for condition, value in operator.skip_when:
                statements, result = self.translator.evaluated(
                    (), value, names, operator.signature.visible_results
                )
                lines.append(f"if ({self.translator.condition(condition, names)}) {{")
                lines += [f"  {line}" for line in ("const GradMode no_grad(false);", *statements)]
                lines += [f'  write_out(out, {result}, "{operator.name}");', "  return out;", "}"]
            lines += [f"{self.call('out')};", "out.bump_version();", "return out;"]
            return lines
        lines.append("const GradMode no_grad(false);")
        lines.append(
            f'write_out(out, ops::{operator.identifier}({self.arguments}), "{operator.name}");'
        )
        lines.append("return out;")
        return lines

    def listed(self) -> list[str]:
        """The operator over lists: one call from Python, one loop over tensors."""
        lists = [cpp_name(a.name) for a in self.operator.tensor_arguments]
        first = lists[0]
        each = ", ".join(
            f"{cpp_name(a.name)}[i]" if a.type.is_tensor else cpp_name(a.name)
            for a in self.operator.signature.arguments
        )
        sizes = ", ".join(f"{name}.size()" for name in lists)
        lines = [f'check_list_lengths("{self.operator.name}", {first}.size(), {{{sizes}}});']
        lines.append(
            f"for (size_t i = 0; i < {first}.size(); ++i) ops::{self.operator.identifier}({each});"
        )
        return lines
