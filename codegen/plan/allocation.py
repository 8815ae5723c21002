"""Where the results of kernels that are written by hand lie: in new memory, as their shape rule
says, or in a tensor that is given.
"""

from __future__ import annotations

from flambeau.codegen.model.entries import Operator, Result, ShapeRule
from flambeau.codegen.model.types import INTS
from flambeau.codegen.plan.cpp_types import cpp_name
from flambeau.codegen.plan.out_form import is_plain
from flambeau.codegen.plan.translate import Names, Translator


def goes_to_a_tensor(operator: Operator) -> bool:
    """Whether there are forms that have a tensor for a kernel's only result, which is row-major."""
    results, rule, forms = operator.signature.results, operator.shape, operator.variants
    if len(results) != 1 or results[0].is_list or operator.layouts or rule is None:
        return False
    is_row_major = rule.strides is None and not (rule.dynamic or rule.by_columns or rule.format_of)
    return is_row_major and ("inplace" in forms or ("out" in forms and is_plain(operator)))


def allocation(
    operator: Operator, result: Result, shape: str, dtype: str, translator: Translator, names: Names
) -> str:
    """The memory of a result as a C++ expression."""
    rule, rest = operator.shape, f"{dtype}, device_"
    assert rule is not None
    if goes_to_a_tensor(operator):
        read = ", ".join(["", *(cpp_name(a.name) for a in operator.tensor_arguments)])
        room = "room_over" if operator.overwrites else "room"
        return f"{room}(to, {shape}, {rest}{read})"
    if rule.strides is not None:
        strides = translator.value(rule.strides, names, INTS)
        return f"empty_strided({shape}, {strides}, {rest})"
    if result.name in rule.by_columns:
        return f"forms::empty_by_columns({shape}, {rest})"
    if rule.format_of:
        like, least = _format_of(operator, rule, names), rule.format_rank
        return f"forms::empty_in_format_of({like}, {least}, {shape}, {rest})"
    return f"empty({shape}, {rest})"


def _format_of(operator: Operator, rule: ShapeRule, names: Names) -> str:
    """The tensors whose layout results take over: any of the arguments, or all of a list."""
    if operator.argument(rule.format_of[0]).type.is_list:
        return names[rule.format_of[0]].code
    return f"{{{', '.join(f'&{names[name].code}' for name in rule.format_of)}}}"
