"""A tensor that stands for a batch of tensors, and the levels of `vmap` that batches belong to."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau._C import _overrides, _taken
from flambeau._torch_function import DisableTorchFunction
from flambeau.overrides import TorchFunctionMode

_thread = threading.local()  # depth: how many levels run, the one that is asked now among them
Interpreter = Callable[["Level", Any, tuple[Any, ...], dict[str, Any]], Any]


def runs() -> bool:
    """Whether this thread is in a `vmap`."""
    return getattr(_thread, "depth", 0) > 0


class Level(TorchFunctionMode):
    """One `vmap` that runs: how many slices there are, and what draws of random numbers do.

    As a mode it is asked of every function, also of those without a batch, which may draw.
    """

    def __init__(self, size: int, randomness: str, interpreter: Interpreter) -> None:
        self.size = size
        self.randomness = randomness
        self.depth = getattr(_thread, "depth", 0)
        self.is_active = False
        self.bodies: list[str] = []  # of operators that are being computed, the outermost first
        self._interpreter = interpreter

    def __enter__(self) -> Level:
        self._begin()
        super().__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        super().__exit__(*details)
        self._end()

    @contextmanager
    def of_batches_alone(self) -> Iterator[None]:
        """A context in which it computes batches, and is not asked of what has none."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    def _begin(self) -> None:
        _thread.depth = self.depth + 1
        self.is_active = True

    def _end(self) -> None:
        self.is_active = False
        _thread.depth = self.depth

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return self.interpret(func, args, kwargs or {})

    def interpret(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function gives for all slices."""
        if not self.is_active:
            raise self.has_ended()
        return self._interpreter(self, func, args, kwargs)

    @staticmethod
    def has_ended() -> RuntimeError:
        """What a batch raises that outlives its level."""
        return RuntimeError(
            "vmap(): a tensor of a batch was used after its vmap had ended; return what is "
            "needed from the mapped function"
        )

    def beside(self) -> Level:
        """A level for as many slices."""
        return self.of_size(self.size)

    def of_size(self, size: int) -> Level:
        """A level that does what this one does, inside of those that run."""
        return Level(size, self.randomness, self._interpreter)

    def has(self, value: Any) -> bool:
        """Whether it is a batch of this level."""
        return isinstance(value, Batched) and value.batch_level is self

    def is_among(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call has a batch of this level."""
        for value in args:  # mostly one of them is
            if type(value) is Batched and value.batch_level is self:
                return True
        return any(b.batch_level is self for b in batches_in(args, kwargs))

    def wrap(self, value: Tensor) -> Batched:
        """The batch whose slices lie along the first dim of a tensor."""
        kind, dims = kind_of(value)
        sizes, strides = kind[0][dims + 1 :], kind[1][dims + 1 :]
        made: Batched = _overrides.shell(Batched, sizes, strides, kind[2])
        made.batch_value = value
        made.batch_level = self
        return made

    def unwrap(self, value: Tensor) -> Tensor:
        """The slices of a batch along the first dim; of another tensor as many as the batch has."""
        if self.has(value):
            return value.batch_value  # type: ignore[attr-defined]
        return value.unsqueeze(0).expand([self.size, *value.shape])


class Batched(Tensor):
    """Tensors of one shape and dtype, which functions see as one tensor without the batch's dim.

    As a Tensor it has that shape and dtype, and no elements: what no rule takes over fails.
    """

    batch_value: Tensor
    batch_level: Level

    # Rules read these all the time: nobody else is asked.
    @property
    def shape(self) -> flambeau.Size:
        kind, dims = kind_of(self)
        return flambeau.Size(kind[0][dims:])

    @property
    def dtype(self) -> flambeau.dtype:
        return kind_of(self)[0][2]

    @property
    def device(self) -> flambeau.device:
        return kind_of(self)[0][3]

    @property
    def ndim(self) -> int:
        return self.dim()

    def dim(self) -> int:
        kind, dims = kind_of(self)
        return len(kind[0]) - dims

    def numel(self) -> int:
        kind, dims = kind_of(self)
        return math.prod(kind[0][dims:])

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        levels = [x.batch_level for x in batches_in(args, kwargs)]
        level = levels[0] if len(levels) == 1 else max(levels, key=lambda level: level.depth)
        return level.interpret(func, args, kwargs)


Kind = tuple[tuple[int, ...], tuple[int, ...], flambeau.dtype, flambeau.device]


def kind_of(value: Tensor) -> tuple[Kind, int]:
    """Sizes, strides, dtype and device of all slices of a tensor, and how many dims of batches come
    first. Nobody is asked about it: what functions do with batches begins with this.
    """
    dims = 0
    while type(value) is Batched:
        value = value.batch_value
        dims += 1
    return _overrides.kind_of(value), dims


def batches(value: Any) -> list[Batched]:
    """All batches in a nest."""
    found: list[Batched] = []
    _collect(value, found)
    return found


def batches_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Batched]:
    """All batches among the arguments of a call."""
    found: list[Batched] = []
    for value in args:
        if type(value) not in _PLAIN:
            _collect(value, found)
    if kwargs:
        _collect(kwargs, found)
    return found


# What most arguments are that are no tensors: told by the type alone, which takes least time.
_PLAIN = frozenset((int, float, bool, str, type(None), Tensor, flambeau.dtype, flambeau.device))


def _collect(value: Any, found: list[Batched]) -> None:
    kind = type(value)
    if kind is Batched:
        found.append(value)
    elif kind is tuple or kind is list or isinstance(value, tuple | list):
        for item in value:
            if type(item) not in _PLAIN:
                _collect(item, found)
    elif kind is dict or isinstance(value, dict):
        for item in value.values():
            if type(item) not in _PLAIN:
                _collect(item, found)


def innermost(tensor: Tensor) -> Tensor:
    """The tensor that holds the elements of a batch, or of a batch of batches."""
    while isinstance(tensor, Batched):
        tensor = tensor.batch_value
    return tensor


class Engine(NamedTuple):
    """What C++ computes with batches of."""

    levels: list[Level]
    device: Any  # of their elements


def engine() -> Engine:
    """Of the innermost `taking`."""
    found: Engine = _thread.engines[-1]
    return found


@contextmanager
def taking(tensors: Sequence[Any]) -> Iterator[None]:
    """A context in which operators that C++ calls with batches are computed by their rules.

    Args:
        tensors: what C++ is given; batches among them say what batches there may be.
    """
    levels: list[Level] = []
    device: Any = None
    for tensor in tensors:
        while isinstance(tensor, Batched):
            if tensor.batch_level not in levels:
                levels.append(tensor.batch_level)
            tensor = tensor.batch_value
            device = tensor.device
    engines = _thread.__dict__.setdefault("engines", [])
    engines.append(Engine(levels, device))
    _taken.take_batches(True)
    try:
        yield
    finally:
        _taken.take_batches(False)
        engines.pop()


def batched_copy(tensor: Tensor, levels: Sequence[Level]) -> Tensor:
    """A batch of levels that may be written into, all of whose slices are equal."""
    with DisableTorchFunction():
        ordered = sorted(levels, key=lambda level: level.depth)
        sizes = [level.size for level in ordered]
        tensor = tensor.expand([*sizes, *tensor.shape]).clone()
        for level in ordered:
            tensor = level.wrap(tensor)
    return tensor


def _active() -> list[Level]:
    """The levels that run on this thread, the innermost last."""
    return [mode for mode in _overrides.modes() if isinstance(mode, Level)]


def batched_everywhere(tensor: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """The same values as a batch of every level that runs: what is differentiated by has a
    gradient for each slice.

    Args:
        change: what is done to the tensor of all elements, whatever its dims are.
    """
    missing = [level for level in _active() if not is_of(tensor, level)]
    if not missing and not isinstance(tensor, Batched):
        return change(tensor)
    levels = list(missing)
    with DisableTorchFunction():
        while isinstance(tensor, Batched):
            levels.append(tensor.batch_level)
            tensor = tensor.batch_value
        # The first dims of what is left are those of levels, the outermost first.
        levels.sort(key=lambda level: level.depth)
        for place, level in enumerate(levels):
            if level in missing:
                sizes = [*tensor.shape[:place], level.size, *tensor.shape[place:]]
                tensor = tensor.unsqueeze(place).expand(sizes)
        tensor = change(tensor)
        for level in levels:
            tensor = level.wrap(tensor)
    return tensor


def is_of(tensor: Tensor, level: Level) -> bool:
    """Whether it is a batch of a level, or of one around which holds such batches."""
    while isinstance(tensor, Batched):
        if tensor.batch_level is level:
            return True
        tensor = tensor.batch_value
    return False
