"""Options of optimizers: reading and checking them."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor


def as_number(value: Any) -> float:
    """An option that may be a tensor of one element, as PyTorch's lr may."""
    return value if isinstance(value, float | int) else float(value)


def check_options(name: str, **options: float | Tensor) -> None:
    """Raises ValueError for a negative (or NaN) option, or one of several elements."""
    for option, value in options.items():
        check_single(name, option, value)
        if not as_number(value) >= 0:
            raise ValueError(f"{name}: {option} must not be negative, got {value}")


def check_single(name: str, option: str, value: Any) -> None:
    """Raises ValueError for a tensor of several elements, or of none."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError(
            f"{name}: {option} must be a number or a tensor of one element, got shape "
            f"{tuple(value.shape)}"
        )


def check_betas(name: str, betas: tuple[Any, Any]) -> None:
    """Raises ValueError unless both decays are within [0, 1)."""
    for i, beta in enumerate(betas):
        check_single(name, f"betas[{i}]", beta)
        if not 0.0 <= as_number(beta) < 1.0:
            raise ValueError(f"{name}: betas must be within [0, 1), got {betas}")


def options_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """The options among the arguments of an optimizer: all but its parameters."""
    return {k: v for k, v in arguments.items() if k not in ("self", "params", "__class__")}
