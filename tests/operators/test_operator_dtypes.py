"""Every dtype that an operator accepts: results against NumPy in float64, and their dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_calls import (
    call,
    is_reachable,
    library_dtype,
    library_values,
    outputs,
    to_array,
    to_tensor,
)
from operator_cases import (
    ARRAY,
    Case,
    NoReferenceError,
    Values,
    arrays,
    declarations,
    dtypes,
    expected,
    is_random,
    map_arrays,
    operators,
    views_in_body,
)
from operator_compare import difference, floating, tolerance

from flambeau import Tensor
from flambeau.codegen.check.samples import seed_of
from flambeau.codegen.model.entries import Argument, Base, Kind, Operator

SAMPLES = 2  # per dtype
INEXACT = ("float32", "float64")
ROUNDING = ("float16", "bfloat16", "float32")


def swept(operator: Operator) -> list[str]:
    """The arguments whose dtype is varied together."""
    rule = operator.dtypes
    if not promises(operator):
        return [a.name for a in operator.tensor_arguments]
    names = list(rule.promote)
    names += [name for name, target in rule.same_as.items() if target in rule.promote]
    return [n for n in names if operator.argument(n).type.base is Base.TENSOR]


def accepted(operator: Operator) -> list[str]:
    """The dtypes that all of them accept."""
    names = swept(operator)
    return [
        d.name
        for d in declarations().dtypes
        if names and all(d.name in operator.dtypes.accepts[name] for name in names)
    ]


def in_dtype(array: Any, name: str, key: object, several: bool = False) -> Any:
    """Values of a sample that make sense in another dtype: fractions become whole numbers."""
    category = dtypes()[name].category
    kind = array.dtype.kind
    if category in ("float", "complex") or kind == "c":
        if category == "complex" and kind == "f":
            random = np.random.default_rng(seed_of("imaginary", key))
            return array + 0.5j * random.standard_normal(array.shape)
        return array.real if kind == "c" and category != "complex" else array
    if kind == "f" and several:  # distinct numbers: where equal ones stand is not declared
        array = np.argsort(np.argsort(array, axis=None, kind="stable")).reshape(array.shape) + 1
    elif kind == "f":
        array = np.nan_to_num(np.round(array * 3), nan=1.0, posinf=5.0, neginf=-5.0)
        array = np.where(array == 0, 1, array)
    if category == "bool":
        return array.astype(np.int64) % 2 == 1
    whole = array.astype(np.int64)
    return np.abs(whole) if category in ("unsigned", "limited") else whole


def converted(operator: Operator, values: Values, name: str) -> tuple[Values, Values]:
    """The library's arguments with the swept ones in a dtype, and NumPy's with the same values."""
    chosen = set(swept(operator))
    tensors: list[Tensor] = []

    # Statistics come in the type that sums are made in.
    statistics = dtypes()[name].accumulate

    def convert(argument: Argument, array: Any) -> Any:
        is_float = all(
            dtypes()[d].category == "float" for d in operator.dtypes.accepts[argument.name]
        )
        if argument.name not in chosen and is_float and statistics in INEXACT:
            tensors.append(to_tensor(array, statistics))
        elif argument.name in chosen and (array.dtype.kind in "fc" or promises(operator)):
            key = (operator.full_name, argument.name)
            array = in_dtype(array, name, key, len(operator.signature.results) > 1)
            tensors.append(to_tensor(array, name))
        else:
            tensors.append(to_tensor(array))
        return _wide(to_array(tensors[-1]))

    reference = map_arrays(operator, values, convert)
    queue = iter(tensors)
    given = library_values(operator, reference, lambda _: next(queue))
    for key, value in reference.items():
        argument = operator.argument(key)
        is_number = argument.type.or_scalar or argument.type.base is Base.SCALAR
        if is_number and isinstance(value, float) and name in ROUNDING:
            # A number takes part in the tensors' dtype.
            reference[key] = float(_wide(to_array(to_tensor(np.array(value), name))))
        elif operator.dtypes.integers_to_float and isinstance(value, ARRAY) and name == "bool":
            # NumPy computes functions of bools in float16.
            reference[key] = value.astype(np.float64)
    return given, reference


def _wide(array: Any) -> Any:
    """Exactly the same values in NumPy's widest type of the kind."""
    wide = {"f": np.float64, "c": np.complex128, "i": np.int64, "u": np.int64}
    return array.astype(wide.get(array.dtype.kind, array.dtype))


def result_dtype(operator: Operator, name: str, values: Values) -> str | None:
    """The dtype that the rule gives the first result; None where numbers or several dtypes take
    part.
    """
    dynamic = operator.shape is not None and operator.shape.dynamic
    if not operator.signature.results or operator.kind is Kind.COMPOSITE or dynamic:
        return None
    result = operator.signature.results[0]
    if result.hidden:
        return None
    rule = result.dtype or operator.dtypes.results.get(result.name, "common")
    if rule in dtypes():
        return rule
    free = {a.name for a, _ in arrays(operator, values)} - set(swept(operator))
    numbers = any(a.type.base is Base.SCALAR for a in operator.signature.arguments) or any(
        operator.argument(n).type.or_scalar and isinstance(v, int | float)
        for n, v in values.items()
    )
    if numbers or (free and operator.kind is Kind.POINTWISE) or rule not in ("common", "real"):
        return None
    common = name
    if operator.dtypes.integers_to_float and dtypes()[name].category not in ("float", "complex"):
        common = "float32"
    return dtypes()[common].real if rule == "real" else common


def promises(operator: Operator) -> bool:
    """Whether the accepted dtypes are the operator's own word: a body takes what its parts take."""
    tensors = operator.tensor_arguments
    declared = any(len(operator.dtypes.accepts[a.name]) < len(dtypes()) for a in tensors)
    return operator.kind is not Kind.COMPOSITE or declared


def is_compared(operator: Operator, name: str) -> bool:
    """Whether the reference is meant for a dtype."""
    has_dtype = any(a.type.base is Base.DTYPE for a in operator.signature.arguments)
    reads_bytes = has_dtype and (operator.kind is Kind.VIEW or bool(views_in_body(operator)))
    is_complex = dtypes()[name].category == "complex"
    is_unsure = dtypes()[name].category in ("bool", "unsigned", "limited", "complex")
    if not promises(operator) and is_unsure:
        return False
    return not reads_bytes and not (is_complex and has_dtype)


PAIRS = [
    (operator, name)
    for operator in operators()
    if is_reachable(operator) and not is_random(operator) and operator.test.samples
    for name in accepted(operator)
    if is_compared(operator, name)
]


@pytest.mark.parametrize(
    ("operator", "name"), PAIRS, ids=[f"{o.full_name}-{name}" for o, name in PAIRS]
)
def test_dtype(operator: Operator, name: str) -> None:
    compared = 0
    for index in range(min(SAMPLES, len(operator.test.samples))):
        values = Case(operator, index).values()
        given, reference = converted(operator, values, name)
        try:
            results = outputs(operator, call(operator, given), given)
        except (RuntimeError, TypeError, ValueError) as error:
            if not promises(operator) or is_declared(operator, error):
                continue
            raise AssertionError(f"{operator.full_name} of {name}: {error}") from error
        rule = result_dtype(operator, name, values)
        first = next(iter(results.values()))
        if rule is not None and isinstance(first, Tensor):
            assert first.dtype is library_dtype(rule), f"{first.dtype} instead of {rule}"
        try:
            target = expected(operator, reference)
        except NoReferenceError:
            continue
        found = list(results.values())
        category = dtypes()[name].category
        limit = tolerance(operator, name, *floating(found))
        if not promises(operator) and category not in ("float", "complex"):
            limit = max(limit, tolerance(operator, "float32"))
        wrong = difference(operator, found, target, limit)
        assert wrong is None, f"{operator.full_name} of {name}, sample {index}: {wrong}"
        compared += 1
    if not compared and name in ("float32", "float64") and operator.test.reference is not None:
        raise AssertionError(f"{operator.full_name}: nothing could be compared for {name}")


def refused(operator: Operator) -> list[tuple[str, str]]:
    """Arguments of the first sample, each with a dtype that it does not accept, if there is one.
    What only other operators call has checked arguments; what is returned as it is needs no check.
    """
    if operator.skip_when or (operator.internal and operator.kind is Kind.COMPOSITE):
        return []
    pairs = []
    for argument, _ in arrays(operator, Case(operator, 0).values()):
        accepts = operator.dtypes.accepts[argument.name]
        others = [d.name for d in declarations().dtypes if d.name not in accepts]
        if others and argument.type.base is Base.TENSOR and not argument.type.is_list:
            pairs.append((argument.name, max(others, key=_refusable)))
    return pairs


def _refusable(name: str) -> tuple[bool, str]:
    """Complex numbers first: they show where imaginary parts would be dropped."""
    return dtypes()[name].category == "complex", name


REFUSED = [
    (operator, *pair)
    for operator in operators()
    if is_reachable(operator) and operator.test.samples
    for pair in refused(operator)
]


@pytest.mark.parametrize(
    ("operator", "argument", "name"), REFUSED, ids=[f"{o.full_name}-{a}" for o, a, _ in REFUSED]
)
def test_refused(operator: Operator, argument: str, name: str) -> None:
    """No dtype is taken that the declaration does not name."""
    values = Case(operator, 0).values()
    given = library_values(
        operator,
        values,
        lambda a: to_tensor(np.real(a), name) if a is values[argument] else to_tensor(a),
    )
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        outputs(operator, call(operator, given), given)


def is_declared(operator: Operator, error: Exception) -> bool:
    """Whether the error is one that the declaration announces."""
    texts = [part for c in operator.constraints for part in c.parts if isinstance(part, str)]
    return any(len(text) > 5 and text in str(error) for text in texts)
