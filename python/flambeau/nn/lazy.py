"""Modules that learn their sizes from the first input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.nn.module import Module
from flambeau.nn.parameter import UninitializedTensorMixin, is_lazy


class LazyModuleMixin(Module):
    """Makes a module whose parameters have no shape until it is called.

    A lazy class derives from this one and from the module that it becomes, registers
    `UninitializedParameter`s and `UninitializedBuffer`s, and defines `initialize_parameters`.

    Attributes:
        cls_to_become: the class after the first call; None: the class stays.
    """

    cls_to_become: type[Module] | None = None
    _awaits_input = True

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives parameters their shapes and first values, from the arguments of a call."""
        raise NotImplementedError(f"{type(self).__name__} does not define initialize_parameters()")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        own = (*self._parameters.values(), *self._buffers.values())
        return any(is_lazy(tensor) for tensor in own)

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        if self._awaits_input:
            self.initialize_parameters(*inputs, **keywords)
            if self.has_uninitialized_params():
                raise RuntimeError(
                    f"{type(self).__name__}: initialize_parameters() left parameters without a "
                    "shape"
                )
            if self.cls_to_become is not None:
                self.__class__ = self.cls_to_become  # type: ignore[assignment]
                return self(*inputs, **keywords)
            self._awaits_input = False
        return super().__call__(*inputs, **keywords)

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *others: Any
    ) -> None:
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            unborn = isinstance(tensor, UninitializedTensorMixin)
            if unborn and given is not None and not is_lazy(given):
                tensor.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *others)
