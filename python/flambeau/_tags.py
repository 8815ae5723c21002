"""What PyTorch's compiler is told of operators: `Tag`."""

from __future__ import annotations

import enum
from typing import Any

from flambeau._values import brief


class Tag(enum.Enum):
    """A fact about an operator, for `library.custom_op(tags=...)`. Flambeau sees what operators do
    when they run, so that none changes anything.

    Example:
        >>> flambeau.Tag.pointwise.name
        'pointwise'
    """

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    @classmethod
    def _missing_(cls, value: object) -> Any:
        raise ValueError(f"Tag(): {brief(value)} is not one of them")
