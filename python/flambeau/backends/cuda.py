"""CUDA: whether the library was built with it, and switches.

The switches can be set and read; no kernel is chosen by them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from flambeau import cuda

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


class _Products:
    """Switches of products of matrices."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Products()
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "half sums": False}
_libraries = {"linalg": "default", "blas": "default"}


def is_built() -> bool:
    """Whether the backend is installed and finds a device.

    Example:
        >>> flambeau.backends.cuda.is_built() == flambeau.cuda.is_available()
        True
    """
    return cuda.is_available()


def enable_flash_sdp(enabled: bool) -> None:
    """Notes the switch. Attention has one kernel.

    Args:
        enabled: what is noted.

    Example:
        >>> flambeau.backends.cuda.enable_flash_sdp(False)
        >>> flambeau.backends.cuda.flash_sdp_enabled()
        False
        >>> flambeau.backends.cuda.enable_flash_sdp(True)
    """
    _attention["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Notes the switch. Attention has one kernel.

    Args:
        enabled: what is noted.

    Example:
        >>> flambeau.backends.cuda.enable_mem_efficient_sdp(False)
        >>> flambeau.backends.cuda.mem_efficient_sdp_enabled()
        False
        >>> flambeau.backends.cuda.enable_mem_efficient_sdp(True)
    """
    _attention["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Notes the switch. Attention has one kernel.

    Args:
        enabled: what is noted.

    Example:
        >>> flambeau.backends.cuda.enable_math_sdp(False)
        >>> flambeau.backends.cuda.math_sdp_enabled()
        False
        >>> flambeau.backends.cuda.enable_math_sdp(True)
    """
    _attention["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Notes the switch. Attention has one kernel.

    Args:
        enabled: what is noted.

    Example:
        >>> flambeau.backends.cuda.enable_cudnn_sdp(True)  # nothing reads it
    """
    _attention["cudnn"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """What was set.

    Example:
        >>> flambeau.backends.cuda.flash_sdp_enabled()
        True
    """
    return _attention["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """What was set.

    Example:
        >>> flambeau.backends.cuda.mem_efficient_sdp_enabled()
        True
    """
    return _attention["mem_efficient"]


def math_sdp_enabled() -> bool:
    """What was set.

    Example:
        >>> flambeau.backends.cuda.math_sdp_enabled()
        True
    """
    return _attention["math"]


def cudnn_sdp_enabled() -> bool:
    """What was set.

    Example:
        >>> flambeau.backends.cuda.cudnn_sdp_enabled()
        True
    """
    return _attention["cudnn"]


def is_flash_attention_available() -> bool:
    """False: that kernel is PyTorch's. Flambeau's attention is there without it.

    Example:
        >>> flambeau.backends.cuda.is_flash_attention_available()
        False
    """
    return False


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Notes the switch. Attention sums in float32.

    Args:
        enabled: what is noted.

    Example:
        >>> flambeau.backends.cuda.allow_fp16_bf16_reduction_math_sdp(False)
        >>> flambeau.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
        False
    """
    _attention["half sums"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What was set.

    Example:
        >>> flambeau.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
        False
    """
    return _attention["half sums"]


def _preferred(task: str, backend: str | None, known: tuple[str, ...]) -> str:
    if backend is not None:
        if backend not in known:
            raise RuntimeError(
                f"preferred_{task}_library(): expected one of {', '.join(known)}, got {backend!r}"
            )
        _libraries[task] = backend
    return _libraries[task]


def preferred_linalg_library(backend: str | None = None) -> str:
    """Notes which library of decompositions a program prefers, and says which it is.

    Kernels are Flambeau's own, whatever is noted.

    Args:
        backend: "default", "cusolver" or "magma"; None: as it is.

    Raises:
        RuntimeError: it is another word.

    Example:
        >>> flambeau.backends.cuda.preferred_linalg_library("magma")
        'magma'
        >>> flambeau.backends.cuda.preferred_linalg_library("default")
        'default'
    """
    return _preferred("linalg", backend, ("default", "cusolver", "magma"))


def preferred_blas_library(backend: str | None = None) -> str:
    """Notes which library of products a program prefers, and says which it is.

    Kernels are Flambeau's own, whatever is noted.

    Args:
        backend: "default", "cublas", "cublaslt", "hipblaslt" or "ck"; None: as it is.

    Raises:
        RuntimeError: it is another word.

    Example:
        >>> flambeau.backends.cuda.preferred_blas_library()
        'default'
    """
    known = ("default", "cublas", "cublaslt", "hipblaslt", "ck")
    return _preferred("blas", backend, known)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Sets the switches for the time of a block.

    Args:
        enable_flash, enable_math, enable_mem_efficient, enable_cudnn: the four switches.

    Example:
        >>> from flambeau.backends import cuda
        >>> with cuda.sdp_kernel(enable_flash=False):
        ...     print(cuda.flash_sdp_enabled(), cuda.math_sdp_enabled())
        False True
        >>> cuda.flash_sdp_enabled()
        True
    """
    before = dict(_attention)
    _attention.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )
    try:
        yield
    finally:
        _attention.update(before)
