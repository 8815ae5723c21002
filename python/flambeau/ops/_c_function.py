"""Functions of C libraries that take tensors."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Protocol

import flambeau
from flambeau import _C
from flambeau.ops._declaration import Declaration, Parameter, parse_declaration

Library = str | os.PathLike[str] | ctypes.CDLL


class CFunction(Protocol):
    """What `c_function` returns.

    Example:
        >>> absolute: flambeau.ops.CFunction
        >>> absolute = flambeau.ops.c_function("int32 abs(int32 x)", "libc.so.6")
        >>> absolute(-3), absolute.__name__
        (3, 'abs')
    """

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def c_function(declaration: str, library: Library, symbol: str | None = None) -> CFunction:
    """A function of a C library, called with tensors and numbers: no binding is written.

        >>> compare = flambeau.ops.c_function(
        ...     "int32 memcmp(const uint8 x[n], const uint8 y[n], int64 n)", "libc.so.6"
        ... )
        >>> x = flambeau.tensor([1, 2, 3], dtype=flambeau.uint8)
        >>> compare(x, x.clone())  # n = x.numel()
        0

    The declaration is C's, with the dtypes' names or C's own (`int64_t`, `float`, `double`):

    - `float32* x`: a tensor of that dtype; the function gets the address of its first element.
      `const`: it is read only; otherwise its version is counted up, as after an in-place operator.
      `void*`: a tensor of any dtype. `float32*? x`: or None, which becomes a null pointer.
    - `float32 x[n]`: the same, of n elements. `n` must be an integer parameter and is not an
      argument then: it follows from the tensor. Where several arrays have it, they must agree.
      `float32 a[m][n]`: a matrix; `float32 v[3]`: exactly three elements.
    - other integers, floats and bools are arguments.

    Arguments may be given by name. The result is None for `void`, else an int, a float or a bool.

    Args:
        declaration: of one function.
        library: path or name of a shared library, or a `ctypes.CDLL`.
        symbol: the function's name in the library, where it differs (C++ mangles names that are not
            declared `extern "C"`).

    Calls check everything that the declaration says. Raises: TypeError for another dtype or type of
    argument, RuntimeError for tensors that are not contiguous, not on the CPU, or that require
    grad while gradients are recorded, ValueError for sizes that do not agree, OverflowError for
    integers that do not fit. The GIL is released while a function works on many elements.

    Raises:
        ValueError: for a declaration that cannot be read.
        OSError: for a library that cannot be loaded.
        AttributeError: for a symbol that the library does not have.
    """
    parsed = parse_declaration(declaration)
    loaded = library if isinstance(library, ctypes.CDLL) else ctypes.CDLL(os.fspath(library))
    address = _address(loaded, symbol or parsed.name)
    text = " ".join(declaration.split())
    function: CFunction = _C._make_c_function(
        parsed.name, address, parsed.result, _described(parsed), loaded, text
    )
    return function


def _address(library: ctypes.CDLL, symbol: str) -> int:
    try:
        function = getattr(library, symbol)
    except AttributeError:
        raise AttributeError(f"c_function: {library._name} has no symbol '{symbol}'") from None
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def _described(declaration: Declaration) -> tuple[tuple[Any, ...], ...]:
    """The parameters as `_make_c_function` takes them."""
    places = {p.name: -1 - index for index, p in enumerate(declaration.parameters)}
    return tuple(_parameter(p, places) for p in declaration.parameters)


def _parameter(parameter: Parameter, places: dict[str, int]) -> tuple[Any, ...]:
    if parameter.type != "pointer":
        return parameter.name, parameter.type
    dtype = None if parameter.element is None else getattr(flambeau, parameter.element)
    extents = parameter.extents
    resolved = extents and tuple(e if isinstance(e, int) else places[e] for e in extents)
    return (
        parameter.name,
        "pointer",
        dtype,
        parameter.writes,
        parameter.nullable,
        resolved,
    )
