"""Finding where a gradient went wrong."""

from __future__ import annotations

import warnings
from types import TracebackType

from flambeau import _C


class detect_anomaly:
    """Inside, errors of backward name the forward call, and NaN gradients are errors.

    Slow: every recorded operation stores its Python stack.

    Args:
        check_nan: whether a NaN in a gradient raises RuntimeError.

    Example:
        >>> x = flambeau.zeros(1, requires_grad=True)
        >>> try:
        ...     with flambeau.autograd.detect_anomaly():
        ...         (flambeau.sqrt(x) * 0).backward()
        ... except RuntimeError as error:
        ...     print("nan" in str(error).lower())
        True
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._previous = (_C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled())
        warnings.warn("Anomaly detection is on: everything is slower.", stacklevel=2)

    def __enter__(self) -> None:
        self._previous = (_C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled())
        _C.set_anomaly_enabled(True, self.check_nan)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C.set_anomaly_enabled(*self._previous)


class set_detect_anomaly:
    """Turns anomaly detection on or off, at once; in a ``with``, until its end.

    Args:
        mode: whether to detect anomalies.
        check_nan: whether a NaN in a gradient raises RuntimeError.

    Example:
        >>> with flambeau.autograd.set_detect_anomaly(True):
        ...     flambeau.is_anomaly_enabled()
        True
        >>> flambeau.is_anomaly_enabled()
        False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = (_C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled())
        _C.set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C.set_anomaly_enabled(*self._previous)
