"""Walking over a module and what is below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from flambeau import Tensor

if TYPE_CHECKING:
    from flambeau.nn.module import Module
    from flambeau.nn.parameter import Parameter


def own_tensor(module: ModuleTree, table: dict[str, Any], name: str) -> Any:
    """An attribute that is in a table of the module, as a rule: parametrized or pruned weights are
    not. Layers of small inputs look there, which is faster than `getattr`."""
    return table[name] if name in table else getattr(module, name)


class ModuleTree:
    """The part of Module that finds modules, parameters and buffers by name."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the direct submodules, each once."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(dotted name, module) of this module and all below it."""
        memo = set() if memo is None else memo
        me = cast("Module", self)
        if me in memo:
            return
        if remove_duplicate:
            memo.add(me)
        yield prefix, me
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter), each parameter once."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer), each buffer once."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def _named_members(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        walked = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for module_name, module in walked:
            for name, member in module.__dict__[table].items():
                if member is None or (remove_duplicate and id(member) in seen):
                    continue
                seen.add(id(member))
                yield (f"{module_name}.{name}" if module_name else name), member

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; AttributeError that says where the path breaks."""
        module = cast("Module", self)
        for name in filter(None, target.split(".")):
            found = module._modules.get(name)
            if found is None:
                raise AttributeError(
                    f"{type(module).__name__} has no submodule '{name}' (of '{target}')"
                )
            module = found
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module in the place of a dotted name.

        Args:
            target: where: all but the last part of the path must be there.
            module: what comes there.
            strict: the last part must be there, too.

        Raises:
            ValueError: target is empty.
            AttributeError: the path breaks, or the name is something else's.
        """
        from flambeau.nn.module import Module

        if not target:
            raise ValueError("set_submodule: expected the name of a submodule, got ''")
        if not isinstance(module, Module):
            raise TypeError(f"set_submodule: expected a Module, got {type(module).__name__}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(
                f"{type(parent).__name__} has no submodule '{name}' (of '{target}')"
            )
        if name not in parent._modules and hasattr(parent, name):
            raise AttributeError(f"'{name}' of {type(parent).__name__} is no Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if found is None:
            raise AttributeError(f"there is no parameter '{target}'")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._buffers.get(name)
        if found is None:
            raise AttributeError(f"there is no buffer '{target}'")
        return found
