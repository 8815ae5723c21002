"""Derivatives of operators: reverse mode, second order, forward mode, in place, at extremes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from operator_calls import (
    call,
    flat_tensors,
    is_reachable,
    library_values,
    outputs,
    primary_form,
    run_flat,
    to_array,
    to_tensor,
)
from operator_cases import (
    Case,
    Values,
    arrays,
    cases,
    declarations,
    map_arrays,
    operators,
    with_defaults,
)
from operator_choice import INPLACE, first_array, fitting
from operator_gradients import (
    Function,
    check_forward,
    check_reverse,
    directions,
    gradient_function,
    is_differentiable,
)

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad
from flambeau.codegen.check.formulas import FormulaEvaluator
from flambeau.codegen.check.samples import seed_of
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.model.entries import Argument, Kind, Operator
from flambeau.codegen.model.facts import differentiable_results
from flambeau.codegen.plan.backward import plan_backward
from flambeau.codegen.plan.forward import has_forward
from flambeau.codegen.plan.python_signature import Form, forms
from flambeau.codegen.plan.reach import Reach

SAMPLES = 4  # per operator
SECOND_ORDER_SAMPLES = 2
LARGEST = 600  # elements of an input that is differentiated


def differentiable_arguments(operator: Operator) -> frozenset[str]:
    """The arguments that have a gradient; of a body, all that could."""
    derivative = operator.derivative
    if operator.kind is Kind.COMPOSITE and derivative is None:
        return frozenset(a.name for a in operator.tensor_arguments)
    if derivative is None or derivative.none:
        return frozenset()
    return frozenset(derivative.formulas)


def has_gradient(operator: Operator) -> bool:
    """Whether its gradients are to be compared with differences."""
    return (
        is_reachable(operator)
        and primary_form(operator) is not Form.LIST
        and operator.test.gradient
        and bool(differentiable_arguments(operator))
        and bool(differentiable_results(operator.signature, operator.dtypes))
    )


class Split:
    """A sample's values, the arrays that are differentiated taken out."""

    def __init__(self, operator: Operator, values: Values) -> None:
        self.operator = operator
        self.values = values
        self.chosen = differentiable_arguments(operator)
        self.inputs = [
            np.array(array)
            for argument, array in arrays(operator, values)
            if self.is_input(argument, array)
        ]

    def is_input(self, argument: Argument, array: Any) -> bool:
        return argument.name in self.chosen and array.dtype.kind in "fc"

    def function(self, form: Form | None = None) -> Function:
        """The operator as a function of the inputs alone."""

        def compute(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
            flambeau.manual_seed(0)
            queue = iter(inputs)
            tensors: list[Tensor] = []

            def take(argument: Argument, array: Any) -> Any:
                given = next(queue) if self.is_input(argument, array) else to_tensor(array)
                # What is written in place is a copy, so that a leaf stays as it is.
                copied = argument.type.mutable or (form is not None and form.is_inplace)
                tensors.append(given.clone() if copied else given)
                return array

            map_arrays(self.operator, self.values, take)
            order = iter(tensors)
            given = library_values(self.operator, self.values, lambda _: next(order))
            if form is not None and form.is_inplace:
                return [call(self.operator, given, form)]
            return run_flat(self.operator, given, form)

        return compute

    @property
    def is_small(self) -> bool:
        return len(self.inputs) > 0 and all(0 < a.size <= LARGEST for a in self.inputs)


def split(case: Case) -> Split:
    """The sample, ready to be differentiated."""
    return Split(case.operator, case.values())


def is_differentiated(case: Case) -> bool:
    """Whether it has a few numbers that derivatives exist for."""
    return has_gradient(case.operator) and split(case).is_small


DIFFERENTIATED = [c for c in cases() if c.index < SAMPLES and is_differentiated(c)]


def seed(case: Case) -> int:
    return seed_of("gradient", case)


@pytest.mark.parametrize("case", DIFFERENTIATED, ids=str)
def test_reverse(case: Case) -> None:
    found = split(case)
    wrong = check_reverse(found.function(), found.inputs, seed(case))
    assert wrong is None, f"{case.operator.full_name}: {wrong}"


def made_complex(operator: Operator) -> tuple[str, ...]:
    """The arguments that are of one dtype."""
    return (*operator.dtypes.promote, *operator.dtypes.same_as)


def complexified(case: Case) -> Split:
    found = split(case)
    random = np.random.default_rng(seed_of("imaginary", case))

    def convert(argument: Argument, array: Any) -> Any:
        if argument.name not in made_complex(case.operator) or array.dtype.kind != "f":
            return array
        return array + 0.7j * random.standard_normal(array.shape)

    return Split(case.operator, map_arrays(case.operator, found.values, convert))


WITH_COMPLEX_KERNELS = [
    c
    for c in DIFFERENTIATED
    if c.index == 0
    and c.operator.kind is not Kind.COMPOSITE
    and "complex128" in c.operator.dtypes.kernels
    and c.operator.random is None
]


def takes_complex(operator: Operator) -> bool:
    return all("complex128" in operator.dtypes.accepts[n] for n in made_complex(operator))


COMPLEX = [c for c in WITH_COMPLEX_KERNELS if takes_complex(c.operator)]


def test_complex_is_refused() -> None:
    """By arguments that are real beside others. (Operators of packages may have such.)"""
    for case in WITH_COMPLEX_KERNELS:
        if not takes_complex(case.operator):
            found = complexified(case)
            with pytest.raises(RuntimeError, match="dtype|complex"):
                found.function()([to_tensor(a) for a in found.inputs])


@pytest.mark.parametrize("case", COMPLEX, ids=str)
def test_complex(case: Case) -> None:
    found = complexified(case)
    wrong = check_reverse(found.function(), found.inputs, seed(case))
    assert wrong is None, f"{case.operator.full_name} of complex numbers: {wrong}"


def gradient_of(found: Split, seed: int) -> tuple[Function, list[Any]]:
    """The gradient as a function of inputs and cotangents, and cotangents."""
    function = found.function()
    leaves = [to_tensor(a).requires_grad_() for a in found.inputs]
    results = [r for r in function(leaves) if is_differentiable(r)]
    cotangents = directions(np.random.default_rng(seed), [to_array(r) for r in results])
    return gradient_function(function, len(found.inputs)), cotangents


@pytest.mark.parametrize(
    "case", [c for c in DIFFERENTIATED if c.index < SECOND_ORDER_SAMPLES], ids=str
)
def test_second_order(case: Case) -> None:
    found = split(case)
    second, cotangents = gradient_of(found, seed(case))
    wrong = check_reverse(second, [*found.inputs, *cotangents], seed(case))
    assert wrong is None, f"{case.operator.full_name}, second order: {wrong}"


REACH = Reach(declarations())
OPERATORS = {o.full_name: o for o in declarations().operators}


def has_tangent(operator: Operator) -> bool:
    """Whether forward mode is declared or derived, for all that the operator is made of."""
    return _has_tangent(operator.full_name)


@cache
def _has_tangent(full_name: str) -> bool:
    parts = REACH.parts(OPERATORS[full_name])
    return all(_has_own_tangent(part.full_name) for part in parts)


@cache
def _has_own_tangent(full_name: str) -> bool:
    operator = OPERATORS[full_name]
    plan = plan_backward(operator, declarations())
    return plan is None or has_forward(operator, plan)


def has_tangent_of_gradient(operator: Operator) -> bool:
    """The same of its gradients."""
    return has_tangent(operator) and all(has_tangent(o) for o in REACH.in_gradients(operator))


FORWARD = [c for c in DIFFERENTIATED if has_tangent(c.operator)]
NO_FORWARD = [c for c in DIFFERENTIATED if not has_tangent(c.operator) and c.index == 0]


def test_every_operator_of_the_library_has_forward_mode() -> None:
    assert not [c for c in NO_FORWARD if not c.operator.package]


def test_no_forward_mode() -> None:
    """A tangent that is not known is an error, never lost. (Packages may have such operators.)"""
    for case in NO_FORWARD:
        found = split(case)
        with pytest.raises(NotImplementedError, match=r"\(\): forward mode is not implemented"):
            check_forward(found.function(), found.inputs, seed(case))


@pytest.mark.parametrize("case", FORWARD, ids=str)
def test_forward_mode(case: Case) -> None:
    found = split(case)
    wrong = check_forward(found.function(), found.inputs, seed(case))
    assert wrong is None, f"{case.operator.full_name}, forward mode: {wrong}"


@pytest.mark.parametrize("case", COMPLEX, ids=str)
def test_forward_mode_complex(case: Case) -> None:
    found = complexified(case)
    wrong = check_forward(found.function(), found.inputs, seed(case))
    assert wrong is None, f"{case.operator.full_name} of complex numbers, forward mode: {wrong}"


@pytest.mark.parametrize(
    "case",
    [c for c in FORWARD if c.index == 0 and has_tangent_of_gradient(c.operator)],
    ids=str,
)
def test_forward_over_reverse(case: Case) -> None:
    """Tangents of gradients: forward mode of the operators that gradient formulas call."""
    found = split(case)
    second, cotangents = gradient_of(found, seed(case))
    wrong = check_forward(second, [*found.inputs, *cotangents], seed(case))
    assert wrong is None, f"{case.operator.full_name}, forward over reverse: {wrong}"


WRITTEN = [c for o in INPLACE if is_reachable(o) for c in fitting(o, 2)]


@pytest.mark.parametrize("case", [c for c in WRITTEN if is_differentiated(c)], ids=str)
def test_inplace(case: Case) -> None:
    """Differentiating through a write gives what differentiating the plain form does."""
    found = split(case)
    function = found.function(Form.INPLACE_FUNCTION)
    wrong = check_reverse(function, found.inputs, seed(case))
    assert wrong is None, f"{case.operator.name}_: {wrong}"
    if not has_tangent(case.operator):
        return
    wrong = check_forward(function, found.inputs, seed(case))
    assert wrong is None, f"{case.operator.name}_, forward mode: {wrong}"


def has_float_first(case: Case) -> bool:
    """Whether the first tensor can require a gradient."""
    first = first_array(case.operator, case.values())
    return first is not None and first.dtype.kind in "fc"


@pytest.mark.parametrize("case", [c for c in WRITTEN if has_float_first(c)], ids=str)
def test_inplace_on_leaf(case: Case) -> None:
    """Writing to a leaf that requires grad would lose what it was."""
    operator = case.operator
    given = library_values(operator, case.values())
    next(v for v in given.values() if isinstance(v, Tensor)).requires_grad_()
    with pytest.raises(RuntimeError, match=f"{operator.name}_"):
        call(operator, given, Form.INPLACE_FUNCTION)


def saved_tensors(operator: Operator, wanted: frozenset[str] | None = None) -> dict[str, bool]:
    """Whether an argument, or a result, is read again by the gradients of the wanted arguments."""
    plan = plan_backward(operator, declarations())
    if plan is None:
        return {}
    names = [a.name for a in plan.inputs] + [r.name for r in operator.signature.visible_results]
    indices = {i for i, a in enumerate(plan.inputs) if wanted is None or a.name in wanted}
    saved = {f.name for f in plan.saved if f.is_tensor and indices & set(f.needed_by)}
    return {name: name in saved for name in names}


SAVING = [
    o
    for o in operators()
    if is_reachable(o)
    and primary_form(o) is not Form.LIST
    and o.test.samples
    and saved_tensors(o)
    and not o.skip_when
    and not o.layouts  # in-place operators give sparse tensors other memory
    and o.kind is not Kind.VIEW
    and not any(a.type.mutable or a.type.is_list for a in o.tensor_arguments)
    and not any(r.is_list for r in o.signature.visible_results)
]


@pytest.mark.parametrize("operator", SAVING, ids=lambda o: o.full_name)
def test_modified_after_saving(operator: Operator) -> None:
    """Backward refuses exactly those tensors that it reads and that were written since."""
    for name in saved_tensors(operator):
        values = Case(operator, 0).values()
        given = library_values(operator, values)
        inputs = differentiable_arguments(operator) & given.keys()
        tracked = {
            key: given[key].requires_grad_() * 1
            for key in inputs
            if isinstance(given[key], Tensor) and is_differentiable(given[key])
        }
        given.update(tracked)
        is_saved = saved_tensors(operator, frozenset(tracked))[name]
        results = outputs(operator, call(operator, given), given)
        tensor = {**given, **results}.get(name)
        if not isinstance(tensor, Tensor) or not tensor.requires_grad:
            continue
        recorded = [r for r in flat_tensors(results) if r.requires_grad]
        real = [r.real if r.is_complex() else r for r in recorded]
        total = sum((r.sum() for r in real), flambeau.zeros(()))
        with flambeau.no_grad():
            tensor.mul_(2)
        if is_saved and tensor.numel():
            with pytest.raises(RuntimeError, match="modified"):
                total.backward()
        else:
            total.backward()


EXTREMES = [o for o in operators() if o.test.extremes and has_gradient(o) and o.test.samples]


@dataclass(frozen=True, slots=True)
class AtExtremes:
    """An operator called with the points declared for one argument, beside single elements."""

    name: str
    points: Sequence[float]
    leaves: dict[str, Tensor]
    results: list[Tensor]  # those that are recorded

    @property
    def place(self) -> str:
        return f"{self.name} = {list(self.points)}"

    def seen(self, leaf: Tensor) -> Any:
        """Where a result is not finite, no gradient need be."""
        excused = np.zeros(leaf.shape, bool)
        for result in self.results:
            if result.shape == leaf.shape:
                excused |= ~np.isfinite(to_array(result))
        return ~excused


def at_extremes(operator: Operator, dtype: str) -> Iterator[AtExtremes]:
    """The operator at the points of each argument that has some."""
    for name, points in operator.test.extremes.items():

        def at_points(
            argument: Argument, array: Any, name: str = name, points: Any = points
        ) -> Any:
            if argument.name == name:
                return np.array(points, np.float64)
            return array.flat[:1].reshape(()) if array.dtype.kind in "fiub" else array

        values = map_arrays(operator, Case(operator, 0).values(), at_points)
        values.setdefault(name, np.array(points, np.float64))
        given = library_values(
            operator, values, lambda a: to_tensor(a, dtype) if a.dtype.kind == "f" else to_tensor(a)
        )
        leaves = {
            n: given[n].requires_grad_()
            for n in differentiable_arguments(operator) & given.keys()
            if isinstance(given[n], Tensor) and is_differentiable(given[n])
        }
        results = [r for r in run_flat(operator, given) if r.requires_grad]
        yield AtExtremes(name, points, leaves, results)


@pytest.mark.parametrize("operator", EXTREMES, ids=lambda o: o.full_name)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes(operator: Operator, dtype: str) -> None:
    """Gradients are finite at the declared extremes."""
    for found in at_extremes(operator, dtype):
        for result in found.results:
            result.sum().backward(retain_graph=True)
        for name, leaf in found.leaves.items():
            if leaf.grad is None:
                continue
            finite = np.isfinite(to_array(leaf.grad)) | ~found.seen(leaf)
            assert finite.all(), (
                f"{operator.full_name}: gradient of '{name}' is "
                f"{to_array(leaf.grad).tolist()} at {found.place}"
            )


@pytest.mark.parametrize("operator", EXTREMES, ids=lambda o: o.full_name)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_second_order_at_extremes(operator: Operator, dtype: str) -> None:
    """Second derivatives are numbers there, or infinite where the operator has a pole: never NaN,
    which what is not taken of a choice, or 0 times a large number, would make of them.
    """
    for found in at_extremes(operator, dtype):
        leaves = list(found.leaves.values())
        for result in found.results:
            first = grad(result.sum(), leaves, create_graph=True, allow_unused=True)
            recorded = [g.sum() for g in first if g is not None and g.requires_grad]
            if not recorded:
                continue
            second = grad(sum(recorded[1:], recorded[0]), leaves, allow_unused=True)
            for (name, leaf), value in zip(found.leaves.items(), second, strict=True):
                if value is None:
                    continue
                wrong = np.isnan(to_array(value)) & found.seen(leaf)
                assert not wrong.any(), (
                    f"{operator.full_name}: the second derivative by '{name}' is "
                    f"{to_array(value).tolist()} at {found.place}"
                )


@pytest.mark.parametrize(
    "case",
    [c for c in DIFFERENTIATED if Form.METHOD in forms(c.operator) and c.index == 0],
    ids=str,
)
def test_no_grad(case: Case) -> None:
    """Nothing is recorded without gradients."""
    found = split(case)
    leaves = [to_tensor(a).requires_grad_() for a in found.inputs]
    with flambeau.no_grad():
        results = found.function()(leaves)
    assert not any(r.requires_grad for r in results if not any(r is leaf for leaf in leaves))


NAMED = [
    o for o in operators() if o.kind is Kind.COMPOSITE and o.grad_fn is not None and is_reachable(o)
]


def declared_name(operator: Operator, values: Values) -> str:
    """What the last node of a call is declared to be called; "": it keeps its own name."""
    assert operator.grad_fn is not None
    bound = with_defaults(operator, values)
    holding = FormulaEvaluator(bound, load_functions(), declarations().by_name)
    for case, name in operator.grad_fn.cases:
        if isinstance(case, str):
            is_operand = operator.argument(case).type.or_scalar
            holds = isinstance(bound[case], np.ndarray) if is_operand else bound[case] is not None
        else:
            holds = holding(case)
        if holds:
            return name
    return operator.grad_fn.name


@pytest.mark.parametrize("case", [c for c in cases() if c.operator in NAMED], ids=str)
def test_nodes_of_composites_are_called_as_declared(case: Case) -> None:
    def leaf(array: Any) -> Tensor:
        tensor = to_tensor(array)
        return tensor.requires_grad_() if is_differentiable(tensor) else tensor

    operator, values = case.operator, case.values()
    expected = declared_name(operator, values)
    given = library_values(operator, values, leaf)
    results = run_flat(operator, given)
    own = [id(value) for value in given.values()]
    tracked = [r for r in results if r.grad_fn is not None and id(r) not in own]
    names = {r.grad_fn.name() for r in tracked}
    declared = {operator.grad_fn.name, *(name for _, name in operator.grad_fn.cases)}
    assert names <= {expected} if expected else not names & declared
    assert names or case.index > 0  # others may have samples of integers too
