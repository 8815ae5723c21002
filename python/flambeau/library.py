"""Operators written in Python: `custom_op`, and what is registered for one afterwards.

    @flambeau.library.custom_op("mylib::cube", mutates_args=())
    def cube(x: Tensor) -> Tensor:
        return flambeau.from_numpy(x.numpy() ** 3)

    @cube.register_fake
    def _(x):
        return flambeau.empty_like(x)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad

    cube.register_autograd(backward, setup_context=setup_context)

The body is opaque: nothing inside is recorded, and it may call NumPy or a C function. The operator
is also `flambeau.ops.mylib.cube`.

`Library`, `define` and `impl` define operators by texts and give them kernels one by one; `opcheck`
tries whether an operator does what it was registered for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from flambeau import _lazy
from flambeau._custom_op import CustomOpDef, Kernel, custom_op, find_op
from flambeau._custom_schema import read_schema
from flambeau._op_library import Library, _scoped_library, define, impl  # noqa: F401
from flambeau._opcheck import OpCheckError, opcheck
from flambeau._schema_text import schema_text

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]


def register_kernel(
    op: str | CustomOpDef,
    device_types: str | Iterable[str],
    func: Kernel | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Callable[..., Any]:
    """`CustomOpDef.register_kernel` of an operator given by name.

    Args:
        op: "namespace::name".
        device_types: "cpu", or several.
        func: computes results there; None: returns a decorator.
        lib: accepted.

    Example:
        >>> @flambeau.library.custom_op("examples::sevenths", mutates_args=())
        ... def sevenths(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x / 7
        >>> _ = flambeau.library.register_kernel("examples::sevenths", "cpu", lambda x: x * (1 / 7))
        >>> sevenths(flambeau.tensor([14.]))
        tensor([2.])
    """
    return find_op(op).register_kernel(device_types, func)


def register_fake(
    op: str | CustomOpDef,
    func: Kernel | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Callable[..., Any]:
    """`CustomOpDef.register_fake` of an operator given by name; a decorator without `func`.

    Args:
        op: "namespace::name".
        func: computes shapes and dtypes.
        lib, allow_override: accepted: what was registered before is replaced.

    Example:
        >>> @flambeau.library.custom_op("examples::fifths", mutates_args=())
        ... def fifths(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x / 5
        >>> @flambeau.library.register_fake("examples::fifths")
        ... def _shape(x):
        ...     return flambeau.empty_like(x)
        >>> fifths(flambeau.ones(2, device="meta")).shape
        flambeau.Size([2])
    """
    found = find_op(op)
    return found.register_fake if func is None else found.register_fake(func)


def register_autograd(
    op: str | CustomOpDef,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., None] | None = None,
    lib: Library | None = None,
) -> None:
    """`CustomOpDef.register_autograd` of an operator given by name.

    Args:
        op: "namespace::name".
        backward, setup_context: as there.
        lib: accepted.

    Example:
        >>> @flambeau.library.custom_op("examples::thirds", mutates_args=())
        ... def thirds(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x / 3
        >>> flambeau.library.register_autograd("examples::thirds", lambda ctx, grad: grad / 3)
        >>> x = flambeau.tensor([3.], requires_grad=True)
        >>> thirds(x).backward()
        >>> x.grad
        tensor([0.3333])
    """
    find_op(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(
    op: str | CustomOpDef,
    func: Kernel | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Callable[..., Any]:
    """`CustomOpDef.register_vmap` of an operator given by name; a decorator without `func`.

    Args:
        op: "namespace::name".
        func: `func(info, in_dims, *args, **kwargs)`, which returns (output, out_dims).
        lib: accepted.

    Example:
        >>> @flambeau.library.custom_op("examples::square", mutates_args=())
        ... def square(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x * x
        >>> @flambeau.library.register_vmap("examples::square")
        ... def _slices(info, in_dims, x):
        ...     return square(x), in_dims[0]
        >>> flambeau.vmap(square)(flambeau.tensor([2.0, 3.0]))
        tensor([4., 9.])
    """
    return find_op(op).register_vmap(func)


def register_torch_dispatch(
    op: str | CustomOpDef,
    torch_dispatch_class: type,
    func: Kernel | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Callable[..., Any]:
    """`CustomOpDef.register_torch_dispatch` of an operator given by name; a decorator without
    `func`.

    Args:
        op: "namespace::name".
        torch_dispatch_class: a mode, or a subclass of `Tensor`, that is asked about operators.
        func: `func(mode, func, types, args, kwargs)`, what it makes of this one.
        lib: accepted.

    Example:
        >>> from flambeau.utils._python_dispatch import TorchDispatchMode
        >>> class Doubles(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         return func(*args, **(kwargs or {}))
        >>> @flambeau.library.custom_op("examples::fifths", mutates_args=())
        ... def fifths(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x / 5
        >>> @flambeau.library.register_torch_dispatch("examples::fifths", Doubles)
        ... def _doubled(mode, func, types, args, kwargs):
        ...     return 2 * func(*args, **kwargs)
        >>> with Doubles():
        ...     fifths(flambeau.tensor([10.]))
        tensor([4.])
    """
    return find_op(op).register_torch_dispatch(torch_dispatch_class, func)


def register_autocast(
    op: str | CustomOpDef,
    device_type: str,
    cast_inputs: Any,
    /,
    *,
    lib: Library | None = None,
) -> None:
    """`CustomOpDef.register_autocast` of an operator given by name.

    Args:
        op: "namespace::name".
        device_type: where.
        cast_inputs: the dtype of floating arguments under autocast.
        lib: accepted.

    Example:
        >>> @flambeau.library.custom_op("examples::halved", mutates_args=())
        ... def halved(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x / 2
        >>> flambeau.library.register_autocast("examples::halved", "cpu", flambeau.bfloat16)
        >>> with flambeau.autocast("cpu"):
        ...     halved(flambeau.ones(2)).dtype
        flambeau.bfloat16
    """
    find_op(op).register_autocast(device_type, cast_inputs)


def infer_schema(
    prototype_function: Kernel,
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = None,
) -> str:
    """The schema that the annotations of a function say.

    Args:
        prototype_function: annotated as that of `custom_op`.
        mutates_args: the names of the parameters whose tensors it changes.
        op_name: what the text begins with.
        tags: accepted as PyTorch has them.

    Example:
        >>> def scaled(x: flambeau.Tensor, factor: float = 2.0) -> flambeau.Tensor: ...
        >>> flambeau.library.infer_schema(scaled, mutates_args=())
        '(Tensor x, float factor=2.0) -> Tensor'
    """
    name = op_name or ""
    mutated = (mutates_args,) if isinstance(mutates_args, str) else tuple(mutates_args)
    return name + schema_text(read_schema(name or "infer_schema", prototype_function, mutated))


def impl_abstract(
    qualname: str,
    func: Kernel | None = None,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
) -> Callable[..., Any]:
    """The former name of `register_fake`.

    Args:
        qualname, func, lib: as there.
    """
    return register_fake(qualname, func, lib=lib)


def get_ctx() -> NoReturn:
    """RuntimeError: on the device `meta` sizes are numbers, and none stands for what only elements
    tell.

    Example:
        >>> flambeau.library.get_ctx()
        Traceback (most recent call last):
            ...
        RuntimeError: get_ctx(): sizes that depend on elements are not known on the device meta; ...
    """
    raise RuntimeError(
        "get_ctx(): sizes that depend on elements are not known on the device meta; an operator "
        "with such results needs its elements"
    )


__getattr__ = _lazy.unavailable(
    __name__, "kernels are functions of Python, declarations or C functions; see flambeau.ops"
)
