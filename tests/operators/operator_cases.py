"""What the generated tests run over: every declared operator and its samples, as NumPy values.

The declarations are those that ship with the installed package, so a test exists for whatever is
declared; nothing here names an operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from flambeau.codegen.check.formulas import bind, reference_value
from flambeau.codegen.check.samples import parse_sample, sample_value, seed_of
from flambeau.codegen.formula.evaluate import EvaluationError, Evaluator, UnavailableError
from flambeau.codegen.formula.functions import FunctionTable, load_functions
from flambeau.codegen.formula.nodes import Call, NoneLiteral
from flambeau.codegen.model.entries import Argument, Base, Declarations, Dtype, Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.references.files import reference_functions
from flambeau.extension.testing import declarations_of, tested_package

Values = dict[str, Any]
ARRAY = np.ndarray


@lru_cache(maxsize=1)
def declarations() -> Declarations:
    """What the installed package declares, or the package outside the library under test."""
    package = tested_package()
    return declarations_of(package) if package else library_declarations()


@lru_cache(maxsize=1)
def dtypes() -> dict[str, Dtype]:
    """The declared dtypes by name."""
    return {dtype.name: dtype for dtype in declarations().dtypes}


@lru_cache(maxsize=1)
def _functions() -> FunctionTable:
    return load_functions()


@lru_cache(maxsize=1)
def _index() -> OperatorIndex:
    return OperatorIndex(declarations().operators)


@dataclass(frozen=True, slots=True)
class Case:
    """One sample of one operator. `filled`: its arrays broadcast to their common shape."""

    operator: Operator
    index: int
    filled: bool = False

    def __str__(self) -> str:
        return f"{self.operator.full_name}-{self.index}{'-filled' if self.filled else ''}"

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def sample(self) -> Mapping[str, str]:
        """Source text by argument."""
        return self.operator.test.samples[self.index]

    def values(self) -> Values:
        """The arguments that the sample gives; arrays are fresh at each call."""
        values = evaluate_sample(self.operator, self.sample, self.index)
        if not self.filled:
            return values
        shape = np.broadcast_shapes(*(array.shape for _, array in arrays(self.operator, values)))
        return map_arrays(
            self.operator, values, lambda _, array: np.array(np.broadcast_to(array, shape))
        )


def operators() -> Iterator[Operator]:
    """Every operator under test."""
    yield from declarations().own


def cases() -> Iterator[Case]:
    """Every sample of every operator."""
    for operator in operators():
        for index in range(len(operator.test.samples)):
            yield Case(operator, index)


def evaluate_sample(operator: Operator, sample: Mapping[str, str], key: object) -> Values:
    """Source text to values, by argument."""
    return {
        name: _value(operator, operator.argument(name), source, key)
        for name, source in sample.items()
    }


def _value(operator: Operator, argument: Argument, source: str, key: object) -> Any:
    if argument.type.base is Base.DTYPE and source in dtypes():
        return source
    value = sample_value(source, seed_of(operator.full_name, key, argument.name))
    if argument.type.is_tensor and isinstance(value, list):
        return np.array(value)
    if argument.type.base is not Base.TENSOR and isinstance(value, ARRAY):
        return value.tolist()
    return value


def with_defaults(operator: Operator, values: Values) -> Values:
    """All arguments, for a reference; dtypes and the like as NumPy understands them."""
    bound = bind(operator, (), values)
    if bound is None:
        raise ValueError(f"{operator.full_name}: the sample {sorted(values)} is no call of it")
    return bound


def has_reference(operator: Operator) -> bool:
    """Whether results can be compared with NumPy's."""
    return operator.test.reference is not None


class NoReferenceError(Exception):
    """NumPy cannot tell what the result is."""


def expected(operator: Operator, values: Values) -> list[Any]:
    """The results that NumPy gives, one entry per visible result (or mutable argument).

    Raises:
        NoReferenceError: where the reference does not apply to these values.
    """
    bound = with_defaults(operator, values)
    node = NoneLiteral(span=operator.span)
    try:
        with np.errstate(all="ignore"):
            found = reference_value(operator, bound, _functions(), _index(), node)
    except (EvaluationError, UnavailableError) as error:
        raise NoReferenceError(str(error)) from error
    return list(found) if len(result_names(operator)) != 1 else [found]


def property_holds(operator: Operator, text: str, values: Values, results: Values) -> bool:
    """Whether a declared property of the results is true."""
    first = next(iter(results.values()))
    result = first if len(results) == 1 else tuple(results.values())
    names = {**with_defaults(operator, values), "result": result, **results}
    if isinstance(first, ARRAY) and first.size > 1 and first.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            spread = np.std(first.astype(np.float64))
        names.setdefault("stderr", float(spread / np.sqrt(first.size)))
    functions = {"all": np.all, "any": np.any, "mean": np.mean, "std": np.std, "abs": np.abs}
    functions |= reference_functions(operator.span.file)
    return bool(np.all(Evaluator(names, functions)(parse_sample(text))))


def result_names(operator: Operator) -> list[str]:
    """Visible results; without any, the arguments that are written in place."""
    names = [r.name for r in operator.signature.visible_results]
    return names or [a.name for a in operator.signature.arguments if a.type.mutable]


def views_in_body(operator: Operator) -> list[Operator]:
    """The views that a body is one call of, or a call on the result of which it is."""
    if not isinstance(operator.body, Call):
        return []
    calls = [operator.body, *(a for a in operator.body.arguments if isinstance(a, Call))]
    called = [o for c in calls for o in declarations().by_name.get(c.function, ())]
    return [o for o in called if o.kind is Kind.VIEW]


def is_random(operator: Operator) -> bool:
    """Draws numbers itself, or takes the generator that it draws from."""
    has_generator = any(a.type.base is Base.GENERATOR for a in operator.signature.arguments)
    return operator.random is not None or has_generator


def map_arrays(operator: Operator, values: Values, function: Any) -> Values:
    """function(argument, array) put in place of every array of a tensor argument."""
    mapped: Values = {}
    for name, value in values.items():
        argument = operator.argument(name)
        if argument.type.base is not Base.TENSOR:
            mapped[name] = value
        elif isinstance(value, list | tuple):
            mapped[name] = [
                function(argument, np.asarray(v)) if v is not None else None for v in value
            ]
        else:
            mapped[name] = function(argument, value) if isinstance(value, ARRAY) else value
    return mapped


def arrays(operator: Operator, values: Values) -> list[tuple[Argument, Any]]:
    """Every array of the tensor arguments, in order."""
    found: list[tuple[Argument, Any]] = []
    map_arrays(operator, values, lambda argument, array: found.append((argument, array)))
    return found
