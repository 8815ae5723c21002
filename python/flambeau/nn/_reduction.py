"""Reductions of losses as numbers and from former arguments: what losses of other people's ask."""

from __future__ import annotations

import warnings

from flambeau.nn.functional.reductions import REDUCTIONS, check_reduction


def get_enum(reduction: str) -> int:
    """The number of a reduction.

    Args:
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: it is another text.

    Example:
        >>> from flambeau.nn import _reduction
        >>> _reduction.get_enum("mean")
        1
    """
    check_reduction("get_enum()", reduction)
    return REDUCTIONS.index(reduction)


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that two former arguments name.

    Args:
        size_average: whether a reduction is a mean; None: it is.
        reduce: whether there is one; None: there is.
        emit_warning: whether to say which argument to give.

    Example:
        >>> from flambeau.nn import _reduction
        >>> _reduction.legacy_get_string(False, True, emit_warning=False)
        'sum'
    """
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce are former arguments; give reduction='{name}'", stacklevel=2
        )
    return name


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of `legacy_get_string`.

    Args:
        size_average, reduce, emit_warning: as there.

    Example:
        >>> from flambeau.nn import _reduction
        >>> _reduction.legacy_get_enum(None, False, emit_warning=False)
        0
    """
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
