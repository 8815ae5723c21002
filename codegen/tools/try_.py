"""Evaluate an entry in NumPy, with its derivatives beside finite differences, without a compiler.

CALL is what would stand in the parentheses of a call, in the language of samples:

  try silu 'self=randn(3)'
  try silu 'self=[-1, 0, 1]'
  try add 'randn(3, 1), randn(4), alpha=2'
  try mean 'randn(2, 3), dim=[0]' --grad 'ones(3)'

Without it, the entry's first sample is taken. Results come from the entry's formulas; where it has
none, because its kernel is written by hand, from its reference. Exits with 1 where something
disagrees.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from flambeau.codegen.formula.nodes import Call, Expression, Name
from flambeau.codegen.formula.parse import Language, parse_source
from flambeau.codegen.model.entries import Base, Declarations, Operator
from flambeau.codegen.text.source import DeclarationError
from flambeau.codegen.tools.common import (
    FINDINGS,
    OK,
    add_sources,
    find_operators,
    read_sources,
)
from flambeau.codegen.tools.place import UsageError
from flambeau.codegen.tools.terminal import Style

if TYPE_CHECKING:
    from flambeau.codegen.check.values import Values
    from flambeau.codegen.formula.evaluate import Evaluator
    from flambeau.codegen.tools.experiment import Comparison, Experiment

NAME = "try"
HELP = "evaluate an entry in NumPy, with its derivatives"
_CALL = "call("


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operator", metavar="OP", help="a name, or one overload: max.dim")
    parser.add_argument("call", nargs="?", metavar="CALL", help="its arguments (see above)")
    parser.add_argument("--grad", metavar="VALUE", help="the gradient of the result")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    add_sources(parser)


def run(options: argparse.Namespace) -> int:
    # Here, because a wheel is built where there is no NumPy, and other commands need none.
    from flambeau.codegen.formula.evaluate import EvaluationError, UnavailableError

    declarations = read_sources(options)
    operators = find_operators(declarations, options.operator)
    try:
        experiment = _experiment(operators, declarations, options)
        return _report(experiment, options)
    except EvaluationError as error:
        raise UsageError(f"'{options.operator}' cannot be evaluated: {error}") from None
    except UnavailableError as error:
        raise UsageError(str(error)) from None


# Arguments ----------------------------------------------------------------------------------------


def _experiment(
    operators: Sequence[Operator], declarations: Declarations, options: argparse.Namespace
) -> Experiment:
    """The first overload that takes the call."""
    from flambeau.codegen.check.calls import misfit
    from flambeau.codegen.check.formulas import bind
    from flambeau.codegen.tools.experiment import Experiment, violations

    reasons = []
    for operator in operators:
        call = _parse(options.call if options.call is not None else _first_sample(operator))
        wrong = misfit(call, operator)
        values = None
        if wrong is None:
            given = _given(operator, call, options.seed)
            values = bind(operator, (), given)
            wrong = None if values is not None else _wrong_type(operator, given)
        if values is None:
            types = ", ".join(f"{a.type} {a.name}" for a in operator.signature.arguments)
            reasons.append(f"{operator.full_name}({types}) {wrong}")
            continue
        if operator.random is not None:
            raise UsageError(f"'{operator.full_name}' draws random numbers, which NumPy's are not")
        refused = next(violations(operator, values, declarations), None)
        if refused is not None:
            raise UsageError(f"'{operator.full_name}' raises {refused}")
        return Experiment(operator, values, declarations)
    raise UsageError("; ".join(reasons))


def _first_sample(operator: Operator) -> str:
    if not operator.test.samples:
        raise UsageError(f"'{operator.full_name}' has no sample: give its arguments")
    return ", ".join(f"{name}={value}" for name, value in operator.test.samples[0].items())


def _parse(call: str) -> Call:
    try:
        parsed = parse_source(f"{_CALL}{call})", Language.REFERENCE, "<arguments>")
    except DeclarationError as error:
        mistake = error.diagnostics[0]
        raise UsageError(
            f"the arguments do not parse: {mistake.message}\n"
            f"  {call}\n  {' ' * (mistake.span.column - 1 - len(_CALL))}^"
        ) from None
    if not isinstance(parsed, Call):
        raise UsageError(f"'{call}' is not a list of arguments")
    return parsed


def _given(operator: Operator, call: Call, seed: int) -> Values:
    """The values of the arguments that are given, by name."""
    from flambeau.codegen.check.samples import sample_functions
    from flambeau.codegen.formula.evaluate import Evaluator

    evaluator = Evaluator({}, sample_functions(seed))
    positional = [a for a in operator.signature.arguments if not a.keyword_only]
    formulas = dict(zip((a.name for a in positional), call.arguments, strict=False))
    formulas |= dict(call.keywords)
    return {n: _value(operator, n, formula, evaluator) for n, formula in formulas.items()}


def _wrong_type(operator: Operator, given: Values) -> str:
    """What of a call that does not fit is no value of the declared type."""
    from flambeau.codegen.check.formulas import plausible
    from flambeau.codegen.check.values import described

    wrong = (n for n, value in given.items() if not plausible(operator.argument(n), value))
    name = next(wrong, None)
    if name is None:
        return "takes other types"
    return f"takes a {operator.argument(name).type} as '{name}', not {described(given[name])}"


def _value(operator: Operator, name: str, formula: Expression, evaluator: Evaluator) -> Any:
    import numpy as np

    declared = operator.argument(name).type
    if isinstance(formula, Name) and declared.base in (Base.DTYPE, Base.DEVICE, Base.STR):
        return formula.identifier
    value = evaluator(formula)
    if declared.is_tensor and isinstance(value, list):
        return np.array(value)
    if declared.is_tensor and not declared.or_scalar and isinstance(value, int | float | complex):
        return np.asarray(value)
    return value


# Printing -----------------------------------------------------------------------------------------


def _report(experiment: Experiment, options: argparse.Namespace) -> int:
    from flambeau.codegen.plan.cpp_types import location

    style, operator = Style(), experiment.operator
    grads = _grads(experiment, options)
    print(f"{style(operator.full_name, 'bold')}  {operator.kind.value}, {location(operator)}\n")
    for name, value in experiment.values.items():
        print(_line(name, value, style))
    print(style(f"\nresults, from '{experiment.source}'", "cyan"))
    if experiment.shortfall is not None:
        print(f"  {style(f'NumPy cannot compute {experiment.shortfall}', 'dim')}")
    for name, value in experiment.results().items():
        print(_line(name, value, style))
    mistakes = [_compared(c, "the reference", style) for c in experiment.references()]
    mistakes += _derivatives(experiment, grads, options.seed, style)
    print("\n" + _verdict(mistakes, style))
    return FINDINGS if any(mistakes) else OK


def _verdict(mistakes: Sequence[bool], style: Style) -> str:
    count = len(mistakes)
    if any(mistakes):
        return style(f"{sum(mistakes)} of {count} comparisons disagree", "bold", "red")
    if not count:
        return "nothing to compare"
    return style("1 comparison agrees" if count == 1 else f"{count} comparisons agree", "green")


def _derivatives(experiment: Experiment, grads: Values, seed: int, style: Style) -> Iterator[bool]:
    """Prints gradients and tangents; whether each is wrong."""
    if experiment.operator.derivative is not None and experiment.operator.derivative.none:
        print(style("\nno derivative, as declared", "cyan"))
        return
    if not experiment.differentiable():
        return
    if not experiment.operator.test.gradient:
        print(style("\nits derivatives are not compared: 'test' says `gradient: false`", "cyan"))
        return
    if not grads:
        return
    print(style("\ngradients", "cyan"))
    for name, grad in grads.items():
        print(_line("grad" if len(grads) == 1 else f"grad_{name}", grad, style))
    for found in experiment.gradients(grads):
        if found.found is None:
            print(_line(f"d/d {found.what}", found.expected, style))
            why = found.elements or "it has no formula of its own"
            print(f"  {style(f'finite differences: {why}', 'dim')}")
            continue
        print(_line(f"d/d {found.what}", found.found, style))
        yield _compared(found, "finite differences", style)
    directions = _drawn({n: experiment.values[n] for n in experiment.differentiable()}, seed + 2)
    for found in experiment.tangents(directions):
        print(style(f"\ntangent along {found.what}_t", "cyan"))
        print(_line(f"{found.what}_t", directions[found.what], style))
        print(_line("result_t", found.found, style))
        yield _compared(found, "finite differences", style)


def _grads(experiment: Experiment, options: argparse.Namespace) -> Values:
    """Gradients of the results that can have one: given, or drawn."""
    import numpy as np

    from flambeau.codegen.check.samples import sample_value
    from flambeau.codegen.check.values import broadcasts

    results = {
        name: value
        for name, value in experiment.results().items()
        if isinstance(value, list | tuple) or np.asarray(value).dtype.kind in "fc"
    }
    if not options.grad:
        return _drawn(results, options.seed + 1)
    if len(results) != 1:
        raise UsageError(f"--grad: {len(results)} results have a gradient")
    try:
        value = sample_value(options.grad, options.seed)
    except DeclarationError as error:
        raise UsageError(f"--grad: {error.diagnostics[0].message}") from None
    ((name, result),) = results.items()
    if not broadcasts(np.shape(value), np.shape(result)):
        shapes = f"{list(np.shape(value))}, the result {list(np.shape(result))}"
        raise UsageError(f"--grad: it has the shape {shapes}")
    return {name: np.broadcast_to(np.asarray(value, float), np.shape(result))}


def _drawn(values: Values, seed: int) -> Values:
    import numpy as np

    random = np.random.default_rng(seed)

    def draw(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [draw(v) for v in value]
        found = random.standard_normal(np.shape(value))
        return (
            found + 1j * random.standard_normal(np.shape(value))
            if np.iscomplexobj(value)
            else np.asarray(found)
        )

    return {name: draw(value) for name, value in values.items()}


def _compared(found: Comparison, other: str, style: Style) -> bool:
    """Prints the verdict; whether it is a mistake."""
    extent = f" ({found.elements})" if found.elements else ""
    if found.mistake is None:
        print(f"  {style('agrees', 'green')} with {other}{extent}")
        return False
    print(f"  {style('disagrees', 'bold', 'red')} with {other}{extent}: {found.mistake}")
    print(_line(f"  {other}", found.expected, style))
    return True


def _line(name: str, value: Any, style: Style) -> str:
    text = _text(value).replace("\n", "\n" + " " * (len(name) + 3))
    return f"{name} = {text}{style(_shape(value), 'dim')}"


def _shape(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return "" if not shape else f"  {dtype} {list(shape)}"


def _text(value: Any) -> str:
    import numpy as np

    if isinstance(value, list | tuple) and any(isinstance(v, np.ndarray) for v in value):
        return ", ".join(_text(v) for v in value)
    if not isinstance(value, np.ndarray | np.generic):
        return repr(value)
    return np.array2string(np.asarray(value), precision=5, threshold=60, suppress_small=True)
