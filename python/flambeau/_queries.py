"""Questions about tensors that have a plain Python answer: a bool, an int or a text. Operators make
tensors, so none of these is an entry: those that look at elements call operators.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor.

    Example:
        >>> flambeau.is_tensor(flambeau.ones(1)), flambeau.is_tensor([1.])
        (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether `obj` is the memory block of tensors.

    Example:
        >>> flambeau.is_storage(flambeau.ones(1).untyped_storage())
        True
    """
    return isinstance(obj, flambeau.UntypedStorage | flambeau.TypedStorage)


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floats.

    Args:
        input: a tensor.

    Example:
        >>> flambeau.is_floating_point(flambeau.tensor(1))
        False
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex.

    Args:
        input: a tensor.

    Example:
        >>> flambeau.is_complex(flambeau.ones(1)), flambeau.is_complex(flambeau.tensor(1j))
        (False, True)
    """
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the elements can be negative.

    Args:
        input: a tensor.

    Example:
        >>> flambeau.is_signed(flambeau.tensor(1, dtype=flambeau.uint8))
        False
    """
    return input.is_signed()


def is_inference(input: Tensor) -> bool:
    """Whether it was made in inference mode.

    Args:
        input: a tensor.

    Example:
        >>> with flambeau.inference_mode():
        ...     x = flambeau.ones(1)
        >>> flambeau.is_inference(x)
        True
    """
    return input.is_inference()


def is_conj(input: Tensor) -> bool:
    """False: conjugates are computed at once.

    Args:
        input: a tensor.

    Example:
        >>> flambeau.is_conj(flambeau.tensor(1j).conj())
        False
    """
    return False


def is_neg(input: Tensor) -> bool:
    """False: negatives are computed at once.

    Args:
        input: a tensor.

    Example:
        >>> flambeau.is_neg(flambeau.ones(1))
        False
    """
    return False


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed at once.

    Args:
        input: a tensor.

    Example:
        >>> flambeau.resolve_conj(flambeau.tensor([1 + 2j]).conj())
        tensor([1.-2.j])
    """
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negatives are computed at once.

    Args:
        input: a tensor.

    Example:
        >>> flambeau.resolve_neg(flambeau.tensor([1.]))
        tensor([1.])
    """
    return input


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero.

    Args:
        input: a tensor of one element.

    Raises:
        RuntimeError: if there is not exactly one element.

    Example:
        >>> flambeau.is_nonzero(flambeau.tensor([0.5]))
        True
    """
    if input.numel() != 1:
        raise RuntimeError(f"is_nonzero: expected one element, got shape {tuple(input.shape)}")
    return bool(input.item() != 0)


def numel(input: Tensor) -> int:
    """The number of elements.

    Args:
        input: a tensor.

    Example:
        >>> flambeau.numel(flambeau.ones(2, 3))
        6
    """
    return input.numel()


def typename(obj: Any) -> str:
    """The qualified name of an object's type; of a tensor its type(), 'flambeau.FloatTensor'.

    Args:
        obj: any object.

    Example:
        >>> flambeau.typename(flambeau.ones(1)), flambeau.typename(flambeau.nn.ReLU())
        ('flambeau.FloatTensor', 'flambeau.nn.activation.ReLU')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = type(obj)
    if kind.__module__ in ("builtins", "__builtin__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere.

    Args:
        input, other: tensors whose shapes broadcast.
        rtol, atol: relative and absolute tolerance.
        equal_nan: whether NaN equals NaN.

    Example:
        >>> x = flambeau.tensor([1., 2.])
        >>> flambeau.allclose(x, x + 1e-9), flambeau.allclose(x, x + 1e-2)
        (True, False)
    """
    close = flambeau.isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return bool(close.all().item())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape and the same elements.

    Args:
        input, other: tensors.

    Example:
        >>> x = flambeau.tensor([1., 2.])
        >>> flambeau.equal(x, x.clone()), flambeau.equal(x, x[:1])
        (True, False)
    """
    if input.shape != other.shape:
        return False
    return bool((input == other).all().item())
