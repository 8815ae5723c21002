"""Settings of programs that choose between kernels elsewhere: Flambeau has one kernel for a task.

They can be set and read, and change nothing.
"""

from __future__ import annotations

from flambeau._values import brief

_PRECISIONS = ("highest", "high", "medium")
_MODES = ("default", "warn", "error")
_precision = _PRECISIONS[0]
_mode = 0


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Notes whether only deterministic kernels are wanted; no operator chooses by it.

    Args:
        mode: whether they are asked for.
        warn_only: whether others would warn rather than raise.

    Example:
        >>> flambeau.use_deterministic_algorithms(True)
        >>> flambeau.are_deterministic_algorithms_enabled()
        True
        >>> flambeau.use_deterministic_algorithms(False)
    """
    global _mode
    _mode = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms() was given.

    Example:
        >>> flambeau.are_deterministic_algorithms_enabled()
        False
    """
    return _mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether use_deterministic_algorithms() was given warn_only.

    Example:
        >>> flambeau.use_deterministic_algorithms(True, warn_only=True)
        >>> flambeau.is_deterministic_algorithms_warn_only_enabled()
        True
        >>> flambeau.use_deterministic_algorithms(False)
    """
    return _mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Notes "default" (0), "warn" (1) or "error" (2); see use_deterministic_algorithms().

    Args:
        debug_mode: one of these.

    Raises:
        ValueError: it is none of these.

    Example:
        >>> flambeau.set_deterministic_debug_mode("default")
        >>> flambeau.get_deterministic_debug_mode()
        0
    """
    global _mode
    if debug_mode in _MODES:
        _mode = _MODES.index(debug_mode)
    elif isinstance(debug_mode, int) and 0 <= debug_mode < len(_MODES):
        _mode = debug_mode
    else:
        raise ValueError(
            "set_deterministic_debug_mode(): expected 0, 1, 2, 'default', 'warn' or 'error', got "
            f"{brief(debug_mode)}"
        )


def get_deterministic_debug_mode() -> int:
    """What was set, as a number.

    Example:
        >>> flambeau.get_deterministic_debug_mode()
        0
    """
    return _mode


def set_float32_matmul_precision(precision: str) -> None:
    """Notes how precise products of float32 are to be at least: "highest", "high" or "medium".

    All are computed in float32, which is the highest.

    Args:
        precision: "highest", "high" or "medium".

    Raises:
        ValueError: it is none of these.

    Example:
        >>> flambeau.set_float32_matmul_precision("high")
        >>> flambeau.get_float32_matmul_precision()
        'high'
        >>> flambeau.set_float32_matmul_precision("highest")
    """
    global _precision
    if precision not in _PRECISIONS:
        raise ValueError(
            f"set_float32_matmul_precision(): expected one of {', '.join(_PRECISIONS)}, got "
            f"{brief(precision)}"
        )
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision() was given.

    Example:
        >>> flambeau.get_float32_matmul_precision()
        'highest'
    """
    return _precision


def set_flush_denormal(mode: bool) -> bool:
    """False: the processor's mode is left as it is, in which small numbers stay what they are.

    Example:
        >>> flambeau.set_flush_denormal(True)
        False
    """
    return False


def compiled_with_cxx11_abi() -> bool:
    """True.

    Example:
        >>> flambeau.compiled_with_cxx11_abi()
        True
    """
    return True


def get_num_interop_threads() -> int:
    """1: operations of a program run one after the other.

    Example:
        >>> flambeau.get_num_interop_threads()
        1
    """
    return 1


def set_num_interop_threads(num: int) -> None:
    """Accepted: operations of a program run one after the other.

    Args:
        num: positive.

    Raises:
        RuntimeError: the number is not positive.

    Example:
        >>> flambeau.set_num_interop_threads(4)
        >>> flambeau.get_num_interop_threads()
        1
    """
    if num < 1:
        raise RuntimeError(f"set_num_interop_threads(): expected a positive number, got {num}")
