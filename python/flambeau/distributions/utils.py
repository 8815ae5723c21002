"""What distributions share: broadcasting parameters, probabilities and their logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import flambeau
from flambeau import Tensor
from flambeau._values import brief

Value = Tensor | float
T = TypeVar("T")

euler_constant = 0.57721566490153286060


def as_tensors(*values: Value) -> tuple[Tensor, ...]:
    """Numbers as tensors: of the dtype and device of the first floating-point tensor among them, or
    of the default dtype."""
    for value in values:
        if not isinstance(value, Tensor | int | float):
            raise ValueError(f"expected tensors or numbers, got {brief(value)}")
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtypes = [t.dtype for t in tensors if t.is_floating_point()]
    dtype = dtypes[0] if dtypes else flambeau.get_default_dtype()
    device = tensors[0].device if tensors else None
    return tuple(
        v if isinstance(v, Tensor) else flambeau.tensor(v, dtype=dtype, device=device)
        for v in values
    )


def broadcast_all(*values: Value) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape.

    Raises:
        ValueError: a value is neither a tensor nor a number.
    """
    return tuple(flambeau.broadcast_tensors(*as_tensors(*values)))


def _standard_normal(shape: Sequence[int], dtype: flambeau.dtype, device: Any) -> Tensor:
    """What libraries draw from for distributions of their own."""
    return flambeau.randn(shape, dtype=dtype, device=device)


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last `dims` dims."""
    return value if dims == 0 else value.sum(tuple(range(-dims, 0)))


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities away from 0 and 1 by the distance of 1 to the next number."""
    eps = flambeau.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities of logits: of one event each, or of the categories along the last dim."""
    return flambeau.sigmoid(logits) if is_binary else flambeau.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logits of probabilities, which are clamped: log(p / (1 - p)), or log p of categories."""
    clamped = clamp_probs(probs)
    return flambeau.logit(clamped) if is_binary else clamped.log()


class lazy_property(Generic[T]):
    """A property that is computed when it is first asked for, recorded by autograd."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> T | lazy_property[T]:
        if instance is None:
            return self
        with flambeau.enable_grad():
            value = self.function(instance)
        instance.__dict__[self.name] = value
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of square matrices `[..., D, D]` on and below a diagonal, row by row.

    Args:
        mat: matrices.
        diag: the diagonal, from -D to D - 1: below 0 under the main one.

    Raises:
        ValueError: there is no such diagonal.
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"tril_matrix_to_vec: diag must lie in [{-size}, {size - 1}], got {diag}")
    rows, columns = flambeau.tril_indices(size, size, diag, device=mat.device).unbind(0)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices of elements on and below a diagonal `[..., N]`, row by row; zeros elsewhere.

    Raises:
        ValueError: no matrix has as many elements there.
    """
    count = vec.shape[-1]
    # N = (D + diag) (D + diag + 1) / 2 for diag <= 0, less what a higher diagonal leaves out.
    size = max(-diag, 0)
    while (found := len(_tril_places(size, diag))) < count:
        size += 1
    if found != count:
        raise ValueError(f"vec_to_tril_matrix: {count} elements fill no matrix to diagonal {diag}")
    places = flambeau.tensor(_tril_places(size, diag), dtype=flambeau.int64, device=vec.device)
    flat = vec.new_zeros((*vec.shape[:-1], size * size))
    return flat.index_copy(-1, places, vec).reshape(*vec.shape[:-1], size, size)


def _tril_places(size: int, diag: int) -> list[int]:
    return [i * size + j for i in range(size) for j in range(min(size, i + diag + 1))]
