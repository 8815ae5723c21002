"""What a dispatch mode is asked about where an operator is written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flambeau import _ops
    from flambeau._custom_op import CustomOpDef


class CustomOverload:
    """The only overload of a custom operator, `ops.NAMESPACE.NAME.default`.

    Example:
        >>> @flambeau.library.custom_op("examples::thirds", mutates_args=())
        ... def thirds(x: flambeau.Tensor) -> flambeau.Tensor:
        ...     return x / 3
        >>> operator = flambeau.ops.examples.thirds.default
        >>> operator, operator.name(), operator(flambeau.tensor([6.]))
        (<OpOverload(op='examples.thirds', overload='default')>, 'examples::thirds', tensor([2.]))
    """

    def __init__(self, operator: CustomOpDef) -> None:
        self.overloadpacket = self._overloadpacket = operator
        self.namespace, _, name = operator.name.partition("::")
        self._overloadname = "default"
        self.dispatch_rules: dict[type, Any] = {}  # in place of their __torch_dispatch__
        self.__name__ = self.__qualname__ = f"{name}.{self._overloadname}"
        self.__module__ = f"flambeau._ops.{self.namespace}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Computes it, as the operator does."""
        return self.overloadpacket(*args, **kwargs)

    def name(self) -> str:
        """The qualified name, "mylib::cube"."""
        return self.overloadpacket.name

    @property
    def _schema(self) -> _ops.Schema:
        from flambeau._ops import Argument, Schema

        schema = self.overloadpacket.schema
        arguments = [Argument(name, name in schema.mutated) for name in schema.parameters]
        return Schema(self.name(), "", arguments)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        name = self.__name__.partition(".")[0]
        return f"<OpOverload(op='{self.namespace}.{name}', overload='{self._overloadname}')>"
