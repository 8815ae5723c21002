"""How the tensors of several processes become one."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, ClassVar

import flambeau
from flambeau import Tensor
from flambeau._values import brief


class RedOpType(enum.Enum):
    """The kinds of ReduceOp."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """How tensors of several processes are combined: SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR.

    Args:
        op: one of these.
        factor: of PREMUL_SUM, what tensors are multiplied by.

    Example:
        >>> op = flambeau.distributed.ReduceOp
        >>> rank = flambeau.distributed.get_rank()  # in each of two processes
        >>> x = flambeau.tensor([1.0, 4.0]) + rank
        >>> flambeau.distributed.all_reduce(x, op.PRODUCT)
        >>> x
        tensor([ 2., 20.])
    """

    RedOpType: ClassVar[Any] = RedOpType
    SUM: ClassVar[Any] = RedOpType.SUM
    AVG: ClassVar[Any] = RedOpType.AVG
    PRODUCT: ClassVar[Any] = RedOpType.PRODUCT
    MIN: ClassVar[Any] = RedOpType.MIN
    MAX: ClassVar[Any] = RedOpType.MAX
    BAND: ClassVar[Any] = RedOpType.BAND
    BOR: ClassVar[Any] = RedOpType.BOR
    BXOR: ClassVar[Any] = RedOpType.BXOR
    PREMUL_SUM: ClassVar[Any] = RedOpType.PREMUL_SUM

    def __init__(self, op: Any, factor: Any = None) -> None:
        if not isinstance(op, RedOpType):
            raise TypeError(f"ReduceOp: op must be one of ReduceOp's, got {brief(op)}")
        self.op = op
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReduceOp):
            return self.op == other.op and self.factor is other.factor
        return self.op == other

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return repr(self.op)


def premul_sum(factor: float | Tensor) -> ReduceOp:
    """The sum of tensors that each process has multiplied by its factor."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


def _min(into: Tensor, other: Tensor) -> None:
    flambeau.minimum(into, other, out=into)


def _max(into: Tensor, other: Tensor) -> None:
    flambeau.maximum(into, other, out=into)


_COMBINE: dict[RedOpType, Callable[[Tensor, Tensor], Any]] = {
    RedOpType.SUM: lambda into, other: into.add_(other),
    RedOpType.AVG: lambda into, other: into.add_(other),
    RedOpType.PREMUL_SUM: lambda into, other: into.add_(other),
    RedOpType.PRODUCT: lambda into, other: into.mul_(other),
    RedOpType.MIN: _min,
    RedOpType.MAX: _max,
    RedOpType.BAND: lambda into, other: into.bitwise_and_(other),
    RedOpType.BOR: lambda into, other: into.bitwise_or_(other),
    RedOpType.BXOR: lambda into, other: into.bitwise_xor_(other),
}
_OF_BITS = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)
_OF_COMPLEX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM, RedOpType.PRODUCT)


class Reduction:
    """A ReduceOp, for tensors of one dtype in a group of some size.

    Args:
        operation: for messages.
        op: a ReduceOp, or one of its kinds.
        dtype: of the tensors.
        size: of the group.

    Raises:
        TypeError: for no ReduceOp.
        RuntimeError: the dtype cannot be reduced so.
    """

    def __init__(self, operation: str, op: Any, dtype: flambeau.dtype, size: int) -> None:
        whole = op if isinstance(op, ReduceOp) else None
        kind = whole.op if whole is not None else op
        if not isinstance(kind, RedOpType):
            raise TypeError(f"{operation}: op must be a ReduceOp, got {brief(op)}")
        if kind in _OF_BITS and (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(f"{operation}: ReduceOp.{kind.name} is of integers, got {dtype}")
        if dtype.is_complex and kind not in _OF_COMPLEX:
            raise ValueError(
                f"{operation} does not support ReduceOp.{kind.name} on complex tensors"
            )
        real = dtype.is_floating_point or dtype.is_complex
        if kind == RedOpType.AVG and not real:
            raise RuntimeError(f"{operation}: ReduceOp.AVG is of floating point, got {dtype}")
        if kind == RedOpType.PREMUL_SUM and (whole is None or whole.factor is None):
            raise RuntimeError(f"{operation}: ReduceOp.PREMUL_SUM needs a factor, got none")
        self.kind = kind
        self.factor: Any = None if whole is None else whole.factor
        self.combine = _COMBINE[kind]
        self.size = size

    def begin(self, mine: Tensor) -> None:
        """What happens to a process's own tensor first, in place."""
        if self.kind == RedOpType.PREMUL_SUM:
            mine.mul_(self.factor)

    def end(self, reduced: Tensor) -> None:
        """What happens to the combined tensor, in place."""
        if self.kind == RedOpType.AVG:
            reduced.div_(self.size)


def bounds(count: int, parts: int) -> list[int]:
    """Where parts of a number of elements begin; one more says where the last ends."""
    return [count * part // parts for part in range(parts + 1)]
