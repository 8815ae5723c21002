"""What `library.custom_op` makes: operators whose kernels are functions of Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import flambeau
from flambeau import _custom_autograd
from flambeau._C import Tensor
from flambeau._custom_overload import CustomOverload
from flambeau._custom_schema import Schema, read_schema
from flambeau._schema_text import parse_schema
from flambeau._torch_dispatch import asked_of
from flambeau.amp.autocast_mode import converted
from flambeau.autograd.graph import increment_version

Kernel = Callable[..., Any]
_registered: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operator that `custom_op` made. Calling it checks the arguments against the annotations,
    runs the kernel of the device, and records the call where a gradient is wanted.

    Example:
        >>> @flambeau.library.custom_op("examples::ninths", mutates_args=())
        ... def ninths(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x / 9
        >>> type(ninths).__name__
        'CustomOpDef'
        >>> ninths(flambeau.tensor([18.]))
        tensor([2.])
    """

    def __init__(
        self,
        name: str,
        schema: Schema,
        function: Kernel | None = None,
        devices: tuple[str, ...] | None = None,
    ) -> None:
        self.__name__ = name.rpartition("::")[2]
        self.name = name
        self.schema = schema
        self._kernels: dict[str | None, Kernel] = {}
        if function is not None:
            self.__doc__ = function.__doc__
            self.__wrapped__ = function
            self._kernels = dict.fromkeys(devices or (None,), function)
        self._fake: Kernel | None = None
        self._composed: Kernel | None = None  # of other operators, which are recorded themselves
        self._above: Kernel | None = None  # called where a gradient is wanted
        self._autocast: dict[str, Any] = {}  # device -> dtype
        self._vmap: Kernel | None = None
        self._default = CustomOverload(self)
        self._derivative: tuple[Any, ...] = ()
        self._function = _custom_autograd.make_function(self)

    @property
    def default(self) -> CustomOverload:
        """Its only overload, which dispatch modes are asked about."""
        return self._default

    def __repr__(self) -> str:
        return f"<custom operator {self.name}{self.schema}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.schema.bind(self.name, args, kwargs)
        tensors = self.schema.tensors(values)
        for device in {tensor.device.type for _, tensor in tensors} & self._autocast.keys():
            if flambeau.is_autocast_enabled(device):
                return self._in_autocast(device, values)
        if self._composed is not None:
            return self._composed(*args, **kwargs)
        if self._vmap is not None and any(hasattr(tensor, "batch_level") for _, tensor in tensors):
            return self._function(values)
        if flambeau.is_grad_enabled() and any(t.requires_grad for _, t in tensors):
            if self._above is not None:
                return self._above(*args, **kwargs)
            self._refuse_mutation(tensors)
            return self._function(values)
        with flambeau.no_grad():
            return self.compute(values)

    # Registration -------------------------------------------------------------------------------

    def register_kernel(
        self, device_types: str | Iterable[str], fn: Kernel | None = None, /
    ) -> Callable[..., Any]:
        """Another kernel, for tensors on some devices: `@op.register_kernel("cuda")`.

        Args:
            device_types: a device's name, or several.
            fn: takes what the operator takes and returns what it returns; None: a decorator.
        """
        names = (device_types,) if isinstance(device_types, str) else tuple(device_types)

        def register(function: Kernel) -> Kernel:
            self._kernels.update(dict.fromkeys(names, function))
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Kernel, /) -> Kernel:
        """What the operator does on the device `meta`: results of the right shape and dtype,
        without data. Decorates a function with the operator's parameters.
        """
        self._fake = fn
        return fn

    register_meta = register_fake

    def register_autograd(
        self,
        backward: Callable[..., Any],
        /,
        *,
        setup_context: Callable[..., None] | None = None,
    ) -> None:
        """The gradient of the operator.

        Args:
            backward: `backward(ctx, *grads)` gets a gradient per result and returns one per
                parameter (None where there is none; a list for a list of tensors). Made of
                differentiable operators, it can be differentiated again.
            setup_context: `setup_context(ctx, inputs, output)` keeps what backward needs, in
                attributes of `ctx` and with `ctx.save_for_backward(...)`. With keyword-only
                parameters: `setup_context(ctx, inputs, keyword_only_inputs, output)`.

        Raises:
            RuntimeError: for an operator that changes its arguments.
        """
        if self.schema.mutated:
            raise RuntimeError(
                f"{self.name}: an operator that changes its arguments "
                f"({', '.join(self.schema.mutated)}) cannot have a gradient"
            )
        self._derivative = (backward, setup_context)
        self._function = _custom_autograd.make_function(self, *self._derivative)

    def register_vmap(self, func: Kernel | None = None, /) -> Callable[..., Any]:
        """How the operator computes all slices of a `flambeau.vmap`.

        Args:
            func: `func(info, in_dims, *args, **kwargs)` returns (output, out_dims). `info` has
                `batch_size` and `randomness`; `in_dims` has for each argument the dim that counts
                slices, None where there is none. None: a decorator.
        """

        def register(function: Kernel) -> Kernel:
            self._vmap = function
            self._function = _custom_autograd.make_function(self, *self._derivative)
            return function

        return register if func is None else register(func)

    def register_torch_dispatch(
        self, torch_dispatch_class: type, fn: Kernel | None = None, /
    ) -> Callable[..., Any]:
        """What a class makes of the operator, in place of its `__torch_dispatch__`.

        Args:
            torch_dispatch_class: a `TorchDispatchMode`, or a subclass of `Tensor` that defines
                `__torch_dispatch__`; for its own subclasses it says nothing.
            fn: `fn(mode, func, types, args, kwargs)`, with the mode that is on, or with the
                subclass. None: a decorator.

        Raises:
            TypeError: such a class is never asked.
        """
        if not hasattr(torch_dispatch_class, "__torch_dispatch__"):
            raise TypeError(
                f"{self.name}: expected a class with __torch_dispatch__, which modes and "
                f"subclasses of Tensor may have, got {torch_dispatch_class!r}"
            )

        def register(function: Kernel) -> Kernel:
            self._default.dispatch_rules[torch_dispatch_class] = function
            return function

        return register if fn is None else register(fn)

    def register_autocast(self, device_type: str, cast_inputs: Any, /) -> None:
        """The dtype that floating tensors among the arguments have under autocast.

        Args:
            device_type: where.
            cast_inputs: the dtype.
        """
        self._autocast[device_type] = cast_inputs

    def register_composition(self, fn: Kernel, /) -> Kernel:
        """A function of other operators in place of kernels: it is recorded as if it were called
        itself.
        """
        self._composed = fn
        return fn

    def register_recording(self, fn: Kernel, /) -> Kernel:
        """What is called where a gradient is wanted, `Function.apply` for one; under `no_grad` it
        may call the operator.
        """
        self._above = fn
        return fn

    # Running ------------------------------------------------------------------------------------

    def compute(self, values: dict[str, Any]) -> Any:
        """Runs the kernel, or what a dispatch mode or a class makes of the call; nothing is
        recorded. `values` are checked arguments, by parameter.
        """
        is_asked, result = asked_of(self._default, *self.schema.call_arguments(values))
        if is_asked:
            self.schema.check_result(self.name, result)
            return result
        tensors = self.schema.tensors(values)
        kernel = self._kernel([tensor for _, tensor in tensors])
        versions = [tensor._version for _, tensor in tensors]
        positional, keywords = self.schema.call_arguments(values)
        result = kernel(*positional, **keywords)
        self.schema.check_result(self.name, result)
        self._check_memory(result, tensors)
        for (parameter, tensor), before in zip(tensors, versions, strict=True):
            changed = tensor._version != before
            if parameter in self.schema.mutated:
                if not changed:
                    increment_version(tensor)
            elif changed:
                raise RuntimeError(
                    f"{self.name}: the kernel changed the argument '{parameter}', which "
                    f"mutates_args does not name"
                )
        return result

    def _in_autocast(self, device: str, values: dict[str, Any]) -> Any:
        given = converted(values, device, self._autocast[device])
        positional, keywords = self.schema.call_arguments(given)
        with flambeau.autocast(device, enabled=False):
            return self(*positional, **keywords)

    def _kernel(self, tensors: list[Tensor]) -> Kernel:
        device = next((tensor.device.type for tensor in tensors), None)
        if device == "meta":
            if self._fake is None:
                raise NotImplementedError(
                    f"{self.name}: there is no kernel for device meta; register one with "
                    "register_fake"
                )
            return self._fake
        kernel = self._kernels.get(device, self._kernels.get(None))
        if kernel is None and device is None:
            kernel = next(iter(self._kernels.values()))
        if kernel is None:
            known = ", ".join(str(name) for name in self._kernels) or "none"
            raise NotImplementedError(
                f"{self.name}: there is no kernel for device {device}; it has kernels for {known}"
            )
        return kernel

    def _check_memory(self, result: Any, tensors: list[tuple[str, Tensor]]) -> None:
        """A result that is an argument, or a view of it, would have two histories."""
        owners = {
            tensor.untyped_storage().data_ptr(): parameter
            for parameter, tensor in tensors
            if not tensor.is_meta and tensor.numel()
        }
        for found in result if isinstance(result, list | tuple) else (result,):
            if isinstance(found, Tensor) and not found.is_meta and found.numel():
                owner = owners.get(found.untyped_storage().data_ptr())
                if owner is not None:
                    raise RuntimeError(
                        f"{self.name}: a result shares memory with the argument '{owner}'; "
                        "return a clone"
                    )

    def _refuse_mutation(self, tensors: list[tuple[str, Tensor]]) -> None:
        for parameter, tensor in tensors:
            if parameter in self.schema.mutated and tensor.requires_grad:
                raise RuntimeError(
                    f"{self.name}: the argument '{parameter}' requires grad and would be changed "
                    "in place; call the operator under no_grad()"
                )


def custom_op(
    name: str,
    fn: Kernel | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Makes an operator of a Python function.

    Args:
        name: `namespace::name`. An operator that is defined again is replaced.
        fn: the kernel; None: a decorator. Its parameters and results must be annotated, with
            Tensor, int, float, bool, str, dtype, device, lists (`list[...]`, `Sequence[...]`) and
            optional ones of these; results are Tensor, a tuple or list of Tensor, a number or None.
        mutates_args: the names of the parameters whose tensors the kernel changes; `()` for none,
            "unknown" for all.
        device_types: the devices that the kernel is for; None: all.
        schema: "(Tensor x, int n=1) -> Tensor", in place of annotations.
        tags: accepted as PyTorch has them.

    Returns:
        A `CustomOpDef`.

    Raises:
        ValueError: for a name without a namespace, annotations that are missing or mean nothing
            here, and names in `mutates_args` that are no tensor parameters.

    Example:
        >>> @flambeau.library.custom_op("examples::halve", mutates_args=())
        ... def halve(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x / 2
        >>> halve(flambeau.tensor([4.]))
        tensor([2.])
    """
    if not re.fullmatch(r"\w+::\w+", name):
        raise ValueError(f"custom_op: the name must be 'namespace::name', got '{name}'")
    devices = (device_types,) if isinstance(device_types, str) else device_types

    def make(function: Kernel) -> CustomOpDef:
        mutated = (mutates_args,) if isinstance(mutates_args, str) else tuple(mutates_args)
        if schema is None:
            types = read_schema(name, function, mutated)
        else:
            types = parse_schema(name, schema, mutated)
        made = CustomOpDef(name, types, function, tuple(devices) if devices else None)
        return register(made)

    return make if fn is None else make(fn)


def register(op: CustomOpDef) -> CustomOpDef:
    """Makes an operator known by its name."""
    _registered[op.name] = op
    return op


def forget(name: str) -> None:
    """Takes a name back."""
    _registered.pop(name, None)


def find_op(op: str | CustomOpDef | CustomOverload) -> CustomOpDef:
    """The operator of a name.

    Raises:
        ValueError: where there is none.
    """
    if isinstance(op, CustomOpDef):
        return op
    op = op.name() if isinstance(op, CustomOverload) else op
    if op not in _registered:
        raise ValueError(f"there is no custom operator '{op}'")
    return _registered[op]


def registered_names() -> list[str]:
    """The names of all custom operators, `namespace::name`."""
    return list(_registered)
