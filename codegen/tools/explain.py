"""What is derived from an entry, in words and formulas, one titled section per subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flambeau.codegen.formula.differentiate import gradient
from flambeau.codegen.formula.nodes import Expression, Name, replace_subtrees, substitute
from flambeau.codegen.formula.simplify import is_number
from flambeau.codegen.model.entries import Declarations, Kind, Operator
from flambeau.codegen.model.facts import gradient_names
from flambeau.codegen.plan.backward import BackwardPlan, plan_backward
from flambeau.codegen.plan.coverage import MISSING, coverage_of_one, reverse_of
from flambeau.codegen.plan.documentation import describe, message_text
from flambeau.codegen.plan.reach import Reach
from flambeau.codegen.tensor.forward import linear_tangent, tangent_name, tangent_terms
from flambeau.codegen.text.source import DeclarationError


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a title."""

    title: str
    lines: tuple[str, ...]


class Explanation:
    """The sections of one operator."""

    def __init__(self, operator: Operator, declarations: Declarations) -> None:
        self.operator = operator
        self.declarations = declarations
        self.reach = Reach(declarations)
        self.row = coverage_of_one(operator, declarations, self.reach)
        self.backward: BackwardPlan | None = (
            None if operator.kind is Kind.COMPOSITE else plan_backward(operator, declarations)
        )

    def sections(self) -> Iterator[Section]:
        """Every section that has something to say, in a fixed order."""
        found = {
            "calls": self.calls(),
            "overloads": self.overloads(),
            "dtypes": self.dtypes(),
            "shape": self.shape(),
            "backends": self.backends(),
            "computes": self.computes(),
            "gradient": self.gradient(),
            "saves": self.saves(),
            "second order": self.second_order(),
            "forward": self.forward(),
            "second forward": self.second_forward(),
            "in place": self.in_place(),
            "errors": self.errors(),
        }
        for title, lines in found.items():
            listed = tuple(lines)
            if listed:
                yield Section(title, listed)

    # --- what it takes and gives ---

    def calls(self) -> Iterator[str]:
        yield from describe(self.operator).signatures
        if self.operator.internal:
            yield "internal: called by formulas and by the library only"
        if self.operator.aliases:
            yield f"also called {', '.join(self.operator.aliases)}"
        if self.operator.also_in:
            yield f"also found as {', '.join(map(str, self.operator.also_in))}"
        if self.operator.operator:
            yield f"Python's operator {self.operator.operator}"

    def overloads(self) -> Iterator[str]:
        same = self.declarations.by_name.get(self.operator.name, ())
        if len(same) > 1:
            yield ", ".join(o.full_name for o in same)

    def dtypes(self) -> Iterator[str]:
        rule = self.operator.dtypes
        for argument in self.operator.tensor_arguments:
            if argument.name in rule.same_as:
                yield f"{argument.name}: that of {rule.same_as[argument.name]}"
            else:
                yield f"{argument.name}: {self._names(rule.accepts[argument.name])}"
        if len(rule.promote) > 1:
            yield f"promoted together: {', '.join(rule.promote)}"
        if rule.integers_to_float:
            yield "integers and bool are computed in the default floating-point dtype"
        for result in self.operator.signature.results:
            declared = result.dtype or rule.results.get(result.name)
            if declared is not None:
                yield f"{result.name}: {declared}"
        if rule.accumulate is not None:
            yield f"float16 and bfloat16 are accumulated in {rule.accumulate}"
        if self.operator.kind not in (Kind.COMPOSITE, Kind.VIEW):
            yield f"kernels: {self._names(rule.kernels)}"

    def _names(self, names: Iterable[str]) -> str:
        chosen = [d.name for d in self.declarations.dtypes if d.name in frozenset(names)]
        return "any" if len(chosen) == len(self.declarations.dtypes) else ", ".join(chosen)

    def shape(self) -> Iterator[str]:
        operator, rule = self.operator, self.operator.shape
        if operator.kind is Kind.POINTWISE:
            tensors = [a.name for a in operator.tensor_arguments]
            yield (
                f"that of {tensors[0]}"
                if len(tensors) == 1
                else (f"{', '.join(tensors)} broadcast against each other")
            )
        if rule is None:
            return
        if rule.dynamic:
            yield "depends on the data: the kernel allocates the result"
        for names, value in rule.lets:
            yield f"{', '.join(names)} = {value}"
        for result, formula in rule.shapes.items():
            yield f"{result}: {formula}"
        if rule.strides is not None:
            yield f"strides: {rule.strides}"
        if rule.offset is not None:
            yield f"offset: {rule.offset}"
        if rule.geometry is not None:
            yield f"{rule.geometry}() of native/core/tensor/views.h"

    def backends(self) -> Iterator[str]:
        for name, support in self.row.backends.items():
            lacks = f" ({', '.join(support.lacks)})" if support.lacks else ""
            line = f"{name}: {support.how}{lacks}"
            if support.how != MISSING and support.gradient_lacks:
                line += f"; its gradient lacks {', '.join(support.gradient_lacks)}"
            kernel = self.operator.kernels.get(name)
            yield line + (f": native/{name}/{kernel.file}" if kernel is not None else "")

    def computes(self) -> Iterator[str]:
        operator = self.operator
        for name, formula in operator.expressions.items():
            yield f"{name} = {formula}"
        fold = operator.reduce
        if fold is not None:
            yield f"acc = {fold.init}; for each element x: acc = {fold.step}"
            yield f"two parts a and b: {fold.combine}"
            yield f"result = {fold.finish}"
        for name, formula in operator.body_lets:
            yield f"{name} = {formula}"
        if operator.body is not None:
            yield f"result = {operator.body}"
        if operator.flops is not None:
            yield f"{operator.flops} additions and multiplications"
        for condition, value in operator.skip_when:
            yield f"where {condition}: {value}, without computing"

    def errors(self) -> Iterator[str]:
        for constraint in self.operator.constraints:
            message = message_text(constraint)
            yield f"{constraint.exception} unless {constraint.require}: {message}"

    # --- derivatives ---

    def gradient(self) -> Iterator[str]:
        operator, derivative = self.operator, self.operator.derivative
        if operator.kind is Kind.COMPOSITE:
            names = [o.full_name for o in self.reach.parts(operator)]
            yield f"{self.row.reverse}: {', '.join(names)}"
            return
        if derivative is None or not derivative.formulas:
            yield self.row.reverse
            return
        for name, formula in derivative.formulas.items():
            how = "  (automatic)" if name in derivative.auto else ""
            yield f"{name}: {formula}{how}"
        for name in sorted(derivative.excluded):
            yield f"{name}: none"

    def saves(self) -> Iterator[str]:
        if self.backward is None:
            return
        for plan in self.backward.gradients:
            kept = [
                f"{f.name} ({'tensor' if f.is_tensor else 'value'})"
                for f in self.backward.saved
                if plan.index in f.needed_by
            ]
            yield f"for {plan.argument.name}: {', '.join(kept) or 'nothing'}"

    def second_order(self) -> Iterator[str]:
        """The gradient of each gradient: `grad_grad` weighs it."""
        operator, derivative = self.operator, self.operator.derivative
        if derivative is None or not derivative.formulas or operator.kind is Kind.COMPOSITE:
            return
        if operator.kind is not Kind.POINTWISE or operator.random is not None:
            yield from self._second_order_of_calls()
            return
        incoming = list(gradient_names(operator.signature, operator.dtypes).values())
        for name, formula in derivative.formulas.items():
            for variable in [*incoming, *derivative.formulas]:
                second = self._differentiated(formula, variable, "grad_grad")
                if second is not None:
                    yield f"of the gradient of {name}, for {variable}: {second}"

    def _second_order_of_calls(self) -> Iterator[str]:
        """Formulas over tensors call operators, each of which has its own gradient."""
        for called in self.reach.in_gradients(self.operator):
            yield f"through {called.full_name}: {reverse_of(called)}"

    def _differentiated(
        self, formula: Expression, variable: str, grad: str
    ) -> Expression | str | None:
        """A gradient of a formula that may read the results; None where it is zero."""
        results = {n: e for n, e in self.operator.expressions.items() if not isinstance(e, Name)}
        try:
            found = gradient(substitute(formula, results), variable, grad=grad)
        except DeclarationError as error:
            return f"none: {error.diagnostics[0].message}"
        back = {e: Name(n) for n, e in results.items()}
        return None if is_number(found, 0) else replace_subtrees(found, back)

    def forward(self) -> Iterator[str]:
        for result, formula in self.operator.forward.items():
            yield f"{tangent_name(result)} = {formula}"
        derived = {} if self.operator.forward else self._tangent_terms()
        for result, terms in derived.items():
            whose = f"{result} " if len(derived) > 1 else ""
            for name, term in terms.items():
                how = "  (linear)" if name in linear_tangent(self.operator) else ""
                yield f"{whose}from {name}: {term}{how}"
        if not self.operator.forward and not derived:
            yield self.row.forward

    def _tangent_terms(self) -> dict[str, dict[str, Expression]]:
        """The derived tangents: result -> argument -> what that adds."""
        if self.operator.kind is Kind.COMPOSITE or self.backward is None:
            return {}
        found = {r: tangent_terms(self.operator, r) for r in self.backward.results}
        return {result: terms for result, terms in found.items() if terms}

    def second_forward(self) -> Iterator[str]:
        """The tangent of each tangent, along a second direction ARGUMENT_u."""
        if self.operator.kind is not Kind.POINTWISE or self.operator.forward:
            return
        derived = self._tangent_terms()
        for result, terms in derived.items():
            whose = f"{result} " if len(derived) > 1 else ""
            for name, term in terms.items():
                for other in terms:
                    second = self._differentiated(term, other, f"{other}_u")
                    if second is not None:
                        yield f"{whose}from {tangent_name(name)} and {other}_u: {second}"

    # --- writing in place ---

    def in_place(self) -> Iterator[str]:
        yield self._in_place_form()
        if self.backward is None:
            return
        saved = [f.name for f in self.backward.saved if f.is_tensor]
        results = {r.name for r in self.operator.signature.results}
        for name in saved:
            whose = "the result" if name in results else f"the argument {name}"
            yield f"a later write into {whose} is an error in backward: its gradient reads it"
        free = [a.name for a in self.operator.tensor_arguments if a.name not in saved]
        free += [r for r in sorted(results) if r not in saved]
        if free:
            yield f"later writes into {', '.join(free)} are allowed: no gradient reads them"

    def _in_place_form(self) -> str:
        operator = self.operator
        if any(a.type.mutable for a in operator.tensor_arguments):
            return "writes into an argument itself"
        name = f"{operator.name}_"
        if "inplace" not in operator.variants:
            return f"{name}: no, {self._why_not_in_place()}"
        if self.backward is None:
            return f"{name}: yes"
        first = operator.signature.arguments[0].name
        if first in {f.name for f in self.backward.saved if f.is_tensor}:
            return f"{name}: yes; a recorded call keeps a copy of {first}, which the gradient reads"
        return f"{name}: yes; the gradient does not read what is overwritten"

    def _why_not_in_place(self) -> str:
        operator = self.operator
        if operator.kind in (Kind.REDUCTION, Kind.VIEW):
            return f"a {operator.kind.value} has another shape than its argument"
        if not operator.signature.arguments or not operator.signature.arguments[0].type.is_tensor:
            return "its first argument is not a tensor"
        if len(operator.signature.visible_results) != 1:
            return "it has not exactly one result"
        return "'variants' does not list inplace"
