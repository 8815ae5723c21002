"""What is recorded: context managers and decorators that switch it per thread."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, TypeVar, cast

from flambeau import _C

F = TypeVar("F", bound=Callable[..., Any])


def _wrap_generator(function: F, scope: Callable[[], ScopedMode]) -> F:
    """Holds the mode while the generator's body runs, and not while it is suspended."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        try:
            with scope():
                item = generator.send(None)
            while True:
                try:
                    request = yield item
                except GeneratorExit:
                    with scope():
                        generator.close()
                    raise
                except BaseException as error:
                    with scope():
                        item = generator.throw(error)
                else:
                    with scope():
                        item = generator.send(request)
        except StopIteration as stop:
            return stop.value

    return cast(F, wrapper)


class ScopedMode:
    """A context manager that also decorates functions and generator functions."""

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        raise NotImplementedError

    def clone(self) -> ScopedMode:
        """A fresh one with the same setting: decorated functions may be re-entered."""
        return self.__class__()

    def __call__(self, func: F) -> F:
        if inspect.isclass(func):
            raise TypeError(
                f"{type(self).__name__} decorates functions, not classes; decorate the methods"
            )
        if inspect.isgeneratorfunction(func):
            return _wrap_generator(func, self.clone)

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return func(*args, **kwargs)

        return cast(F, wrapper)


class _GradMode(ScopedMode):
    _enabled: bool

    def __init__(self) -> None:
        self._previous = True

    def __enter__(self) -> None:
        self._previous = _C.is_grad_enabled()
        _C._set_grad_enabled(self._enabled)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._set_grad_enabled(self._previous)


class no_grad(_GradMode):
    """Operations inside are not recorded; their results do not require grad.

    Works as ``with no_grad():``, ``@no_grad()`` and ``@no_grad``, on generators too.

    Args:
        orig_func: a function to decorate; None: a context, or a decorator with parentheses.

    Example:
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with flambeau.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    _enabled = False

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)

    def __init__(self, orig_func: None = None) -> None:
        super().__init__()


class enable_grad(_GradMode):
    """Operations inside are recorded, also inside a no_grad().

    Works as ``with enable_grad():``, ``@enable_grad()`` and ``@enable_grad``.

    Args:
        orig_func: a function to decorate; None: a context, or a decorator with parentheses.

    Example:
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with flambeau.no_grad(), flambeau.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    _enabled = True

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)

    def __init__(self, orig_func: None = None) -> None:
        super().__init__()


class set_grad_enabled(ScopedMode):
    """Turns recording on or off: at once when called, until the end when used in a ``with``.

    Args:
        mode: whether to record.

    Example:
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with flambeau.set_grad_enabled(False):
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._previous = _C.is_grad_enabled()
        _C._set_grad_enabled(self.mode)

    def __call__(self, func: F) -> F:
        # As a decorator it switches when the function runs, not where it is written.
        _C._set_grad_enabled(self._previous)
        return super().__call__(func)

    def __enter__(self) -> None:
        _C._set_grad_enabled(self.mode)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._set_grad_enabled(self._previous)

    def __str__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"

    def __repr__(self) -> str:
        return str(self)

    def clone(self) -> set_grad_enabled:
        return self.__class__(self.mode)


class enforce_grad_layout_policy(ScopedMode):
    """Whether backward gives a .grad the strides of its leaf: at once when called, until the end
    when used in a ``with``, for this thread. Without, a new gradient that nobody else holds becomes
    .grad as it lies in memory, which saves a copy.

    Args:
        enable: whether it does.

    Example:
        >>> weight = flambeau.zeros(2, 3, requires_grad=True)
        >>> with flambeau.autograd.enforce_grad_layout_policy():
        ...     (weight.t() @ flambeau.ones(2)).sum().backward()
        >>> weight.grad.stride() == weight.stride()
        True
    """

    def __init__(self, enable: bool = True) -> None:
        self.mode = bool(enable)
        self.prev: bool = _C._autograd.enforce_layouts(self.mode)

    def __call__(self, func: F) -> F:
        # As a decorator it switches when the function runs, not where it is written.
        _C._autograd.enforce_layouts(self.prev)
        return super().__call__(func)

    def __enter__(self) -> None:
        _C._autograd.enforce_layouts(self.mode)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._autograd.enforce_layouts(self.prev)

    def clone(self) -> enforce_grad_layout_policy:
        return self.__class__(self.mode)


_thread = threading.local()  # multithreading: what set_multithreading_enabled says


class set_multithreading_enabled(ScopedMode):
    """Whether backward may use threads of accelerators: at once when called, until the end when
    used in a ``with``. Here backward runs in the thread that calls it in both cases, and its
    kernels use the threads of `set_num_threads`.

    Args:
        mode: whether it may.

    Example:
        >>> with flambeau.autograd.set_multithreading_enabled(False):
        ...     flambeau.autograd.grad_mode.is_multithreading_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._previous = is_multithreading_enabled()
        _thread.multithreading = self.mode

    def __enter__(self) -> None:
        _thread.multithreading = self.mode

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _thread.multithreading = self._previous

    def clone(self) -> set_multithreading_enabled:
        return self.__class__(self.mode)


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` said last in this thread; True before."""
    return bool(getattr(_thread, "multithreading", True))


class inference_mode(ScopedMode):
    """Like no_grad(), and tensors made inside can never take part in a recorded operation.

    Args:
        mode: False turns inference mode off inside one that is on.

    Example:
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with flambeau.inference_mode():
        ...     y = x * 2
        >>> y.requires_grad, y.is_inference()
        (False, True)
    """

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._previous = (False, True)

    def __enter__(self) -> None:
        self._previous = (_C.is_inference_mode_enabled(), _C.is_grad_enabled())
        _C._set_inference_mode(self.mode)
        _C._set_grad_enabled(not self.mode)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        inference, grad = self._previous
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)

    def clone(self) -> inference_mode:
        return self.__class__(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations of this thread are recorded.

    Example:
        >>> flambeau.is_grad_enabled()
        True
        >>> with flambeau.no_grad():
        ...     flambeau.is_grad_enabled()
        False
    """
    return bool(_C.is_grad_enabled())


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode.

    Example:
        >>> with flambeau.inference_mode():
        ...     flambeau.is_inference_mode_enabled()
        True
    """
    return bool(_C.is_inference_mode_enabled())
