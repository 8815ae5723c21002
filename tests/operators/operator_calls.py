"""Calling an operator of the library in each of its forms, with values from NumPy."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from operator_cases import ARRAY, Values, dtypes, operators, result_names

import flambeau
from flambeau import Tensor
from flambeau.codegen.model.entries import Base, Dtype, Layout, Operator, Place
from flambeau.codegen.plan.python_signature import (
    Form,
    form_name,
    forms,
    places,
    receiver_index,
)

Convert = Callable[[Any], Tensor]


def to_tensor(array: Any, dtype: str | None = None) -> Tensor:
    """A tensor with the array's values and strides; `dtype`: converted first."""
    array = np.asarray(array)
    if dtype is not None:
        array = array.astype(numpy_dtype(dtypes()[dtype]))
    copy = np.array(array, order="K", copy=True)
    if any(step < 0 for step in copy.strides):
        copy = np.ascontiguousarray(copy)
    tensor = flambeau.from_numpy(copy)
    if dtype is not None and dtypes()[dtype].numpy is None:
        tensor = tensor.to(library_dtype(dtype))
    return tensor


def to_sparse(array: Any, convert: Convert = to_tensor) -> Tensor:
    """A tensor of layout sparse_coo of what is not zero."""
    places = np.nonzero(array)
    indices = flambeau.from_numpy(np.stack(places))
    values = convert(array)[tuple(flambeau.from_numpy(rows) for rows in places)]
    return flambeau.sparse_coo_tensor(
        indices, values, array.shape, device=values.device, is_coalesced=True
    )


def to_array(tensor: Tensor) -> Any:
    """A NumPy copy of a tensor's values; dtypes that NumPy lacks are widened."""
    tensor = tensor.detach()
    if tensor.layout is not flambeau.strided:
        values = to_array(tensor._values())
        array = np.zeros(tuple(tensor.shape), values.dtype)
        np.add.at(array, tuple(tensor._indices().numpy()), values)
        return array
    if dtypes()[tensor.dtype.name].numpy is None:
        tensor = tensor.to(flambeau.float32)
    return np.array(tensor.numpy())


def numpy_dtype(dtype: Dtype) -> Any:
    """NumPy's dtype; float32 stands for those it lacks."""
    return np.dtype(dtype.numpy or "<f4")


def library_dtype(name: str) -> Any:
    """flambeau.NAME"""
    return getattr(flambeau, name)


def library_values(operator: Operator, values: Values, convert: Convert = to_tensor) -> Values:
    """NumPy values as the library takes them."""
    return {name: _library_value(operator, name, value, convert) for name, value in values.items()}


def _library_value(operator: Operator, name: str, value: Any, convert: Convert) -> Any:
    declared = operator.argument(name).type
    if declared.base is Base.TENSOR:
        if isinstance(value, list | tuple):
            return [None if v is None else convert(np.asarray(v)) for v in value]
        if not isinstance(value, ARRAY):
            return value
        if operator.layouts.get(name) is Layout.SPARSE_COO:
            return to_sparse(value, convert)
        return convert(value)
    if declared.base is Base.DTYPE and isinstance(value, str):
        return library_dtype(value)
    if declared.base is Base.MEMORY_FORMAT and isinstance(value, str):
        return getattr(flambeau, value)
    if isinstance(value, np.generic):
        return value.item()
    return value


def primary_form(operator: Operator) -> Form | None:
    """The plainest form that the operator has; None where Python cannot reach it."""
    found = forms(operator)
    order = (Form.KEYWORD, Form.FUNCTION, Form.METHOD, Form.LIST)
    return next((form for form in order if form in found), None)


def receiver(operator: Operator) -> str | None:
    """The argument without which the plainest form, where it is a method, is not found."""
    form = primary_form(operator)
    if form is None or not form.is_method:
        return None
    return operator.signature.arguments[receiver_index(operator)].name


def is_reachable(operator: Operator) -> bool:
    """Whether Python can call it."""
    return primary_form(operator) is not None


def call(*arguments: Any, **keywords: Any) -> Any:
    """What the call that `bound` makes of the same arguments returns."""
    return bound(*arguments, **keywords)()


def bound(
    operator: Operator,
    values: Mapping[str, Any],
    form: Form | None = None,
    *,
    by_keyword: bool = False,
    alias: str | None = None,
    place: Place | None = None,
    **further: Any,
) -> Callable[[], Any]:
    """What calls the operator, or an alias of it, with nothing left to look up."""
    form = form or primary_form(operator)
    assert form is not None
    if form is Form.LIST:
        return partial(_call_list, operator, values)
    arguments = list(operator.signature.arguments)
    chosen = {a.name: a.type.only for _, a in operator.signature.choices}
    if form.is_method:
        own = arguments.pop(receiver_index(operator))
        function = getattr(values[own.name], _name(operator, form, alias))
    else:
        function = function_of(operator, form, alias, place)
    positional: list[Any] = []
    keywords: dict[str, Any] = {**chosen, **further}
    # By position, the first overload that fits would be meant.
    skipped = by_keyword or not is_first_overload(operator, alias)
    places_of_choices = [place for place, _ in operator.signature.choices]
    first_choice = min(places_of_choices, default=len(arguments) + 1)
    for index, argument in enumerate(operator.signature.arguments):
        if argument not in arguments:
            continue
        skipped = skipped or index >= first_choice
        if argument.name not in values:
            skipped = True
        elif argument.spread and not by_keyword and isinstance(values[argument.name], list):
            positional.extend(values[argument.name])
        elif skipped or argument.keyword_only:
            keywords[argument.name] = values[argument.name]
        else:
            positional.append(values[argument.name])
    return partial(function, *positional, **keywords)


def _name(operator: Operator, form: Form, alias: str | None) -> str:
    """What a form is called, `absolute_` for the alias `absolute`."""
    own = form_name(operator, form)
    return own if alias is None else f"{alias}_" if form.is_inplace else alias


def is_first_overload(operator: Operator, alias: str | None = None) -> bool:
    """Whether no other operator of the name, or of the alias, is tried before."""
    same = (
        o
        for o in operators()
        if (o.name, o.namespace) == (operator.name, operator.namespace)
        and (alias is None or alias in o.aliases)
    )
    return next(same).full_name == operator.full_name


def _call_list(operator: Operator, values: Mapping[str, Any]) -> None:
    """Optimizer steps take lists of tensors: here of one each."""
    listed = {
        a.name: [values[a.name]] if a.type.is_tensor else values[a.name]
        for a in operator.signature.arguments
        if a.name in values
    }
    function_of(operator, Form.LIST)(**listed)


def function_of(
    operator: Operator, form: Form, alias: str | None = None, place: Place | None = None
) -> Any:
    """The compiled function behind a form."""
    space: Any = importlib.import_module(f"{operator.package or 'flambeau'}._C")
    place = place or places(operator, form)[0]
    for part in place.namespace.split("."):
        space = getattr(space, part) if part else space
    return getattr(space, place.name if alias is None else _name(operator, form, alias))


def outputs(operator: Operator, returned: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Results by name: tensors, or tuples of tensors."""
    names = result_names(operator)
    if not operator.signature.visible_results:
        return {name: values[name] for name in names}
    if len(names) == 1:
        return {names[0]: returned}
    return dict(zip(names, returned, strict=True))


def flat_tensors(results: Mapping[str, Any]) -> list[Tensor]:
    """The tensors of results, lists spread out."""
    found: list[Tensor] = []
    for value in results.values():
        found.extend(value if isinstance(value, list | tuple) else [value])
    return found


def run_flat(operator: Operator, values: Mapping[str, Any], form: Form | None = None) -> list[Any]:
    """Calls the operator; its result tensors in one list."""
    return flat_tensors(outputs(operator, call(operator, values, form), values))
