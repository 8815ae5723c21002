"""The gradients of custom operators: an autograd.Function over their tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flambeau._C import Tensor
from flambeau.autograd import Function

if TYPE_CHECKING:
    from flambeau._custom_op import CustomOpDef

Values = dict[str, Any]


def make_function(
    op: CustomOpDef,
    backward: Callable[..., Any] | None = None,
    setup_context: Callable[..., None] | None = None,
) -> Callable[[Values], Any]:
    """What runs and records an operator, given checked arguments by parameter.

    A Function tracks tensors that are arguments of it, so lists are spread out.
    """

    class Recorded(Function):
        @staticmethod
        def forward(ctx: Any, call: _Call, *tensors: Any) -> Any:
            values = call.values(tensors)
            output = op.compute(values)
            if setup_context is not None:
                positional, keywords = op.schema.call_arguments(values)
                given = (tuple(positional), keywords) if keywords else (tuple(positional),)
                setup_context(ctx, *given, output)
            ctx.call = call
            call.spreads = isinstance(output, list)
            return tuple(output) if call.spreads else output

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            if backward is None:
                raise RuntimeError(
                    f"{op.name}: no gradient is known; register one with register_autograd"
                )
            returned = backward(ctx, *([list(gradients)] if ctx.call.spreads else gradients))
            return None, *ctx.call.gradients(op, returned)

    if op._vmap is not None:
        Recorded.vmap = staticmethod(_rule(op))  # type: ignore[method-assign]
    Recorded.__name__ = Recorded.__qualname__ = op.__name__

    def run(values: Values) -> Any:
        call = _Call(values)
        output = Recorded.apply(call, *call.tensors)
        return list(output) if call.spreads else output

    return run


def _rule(op: CustomOpDef) -> Callable[..., Any]:
    """`Function.vmap` of an operator: its own, given arguments as users give them."""

    def vmap(info: Any, in_dims: Any, call: _Call, *tensors: Any) -> Any:
        assert op._vmap is not None
        values = call.values(tensors)
        dims = call.values(in_dims[1:], others=None)
        positional, keywords = op.schema.call_arguments(values)
        places = tuple(dims[name] for name in op.schema.positional)
        output, out_dims = op._vmap(info, places, *positional, **keywords)
        call.spreads = isinstance(output, list)
        return (tuple(output), tuple(out_dims)) if call.spreads else (output, out_dims)

    return vmap


class _Call:
    """The arguments of one call, their tensors taken out of lists."""

    def __init__(self, values: Values) -> None:
        self.spreads = False  # whether the result is a list
        self.tensors: list[Any] = []
        self._rest: Values = {}
        self._lengths: dict[str, int | None] = {}  # None: a single tensor
        for name, value in values.items():
            if isinstance(value, Tensor):
                self._lengths[name] = None
                self.tensors.append(value)
            elif isinstance(value, list) and any(isinstance(v, Tensor) for v in value):
                self._lengths[name] = len(value)
                self.tensors += value
            else:
                self._rest[name] = value
        self._names = list(values)

    def values(self, tensors: tuple[Any, ...], **replaced: Any) -> Values:
        """The arguments, with these tensors in place of the first ones; `others`: what stands for
        all that are none.
        """
        remaining = iter(tensors)
        found: Values = {}
        for name in self._names:
            if name in self._rest:
                found[name] = replaced.get("others", self._rest[name])
            elif (length := self._lengths[name]) is None:
                found[name] = next(remaining)
            else:
                found[name] = [next(remaining) for _ in range(length)]
        return found

    def gradients(self, op: CustomOpDef, returned: Any) -> list[Any]:
        """What backward returned, one gradient per tensor."""
        given = returned if isinstance(returned, tuple) else (returned,)
        positional = op.schema.positional
        if len(given) != len(positional):
            raise RuntimeError(
                f"{op.name}: backward must return a gradient for each of the {len(positional)} "
                f"parameters, returned {len(given)}"
            )
        by_name = dict(zip(positional, given, strict=True))
        found: list[Any] = []
        for name in self._names:
            if name in self._rest:
                continue
            gradient, length = by_name.get(name), self._lengths[name]
            if length is None:
                found.append(gradient)
            elif gradient is None:
                found += [None] * length
            elif isinstance(gradient, list | tuple) and len(gradient) == length:
                found += gradient
            else:
                raise RuntimeError(
                    f"{op.name}: backward must return a list of {length} gradients for '{name}'"
                )
        return found
