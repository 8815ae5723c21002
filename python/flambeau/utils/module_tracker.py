"""Which modules run now, in forward and in backward: `ModuleTracker`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from flambeau import _C, Tensor, nn
from flambeau.utils._pytree import tree_flatten

__all__ = ["ModuleTracker"]

_ROOT = "Global"


class ModuleTracker:
    """A context that knows which modules run: `parents` holds their names, and always "Global".

    A `nn.Module` that is called first is named by its class, those inside it by their place in it:
    "Net.encoder.0". In backward a module runs from the gradient of its results to that of its
    arguments; one whose arguments need no gradient, until its caller's end.

    Example:
        >>> net = flambeau.nn.Sequential(flambeau.nn.Identity())
        >>> with flambeau.utils.module_tracker.ModuleTracker() as tracker:
        ...     show = lambda *_: print(sorted(tracker.parents))
        ...     handle = net[0].register_forward_pre_hook(show)
        ...     _ = net(flambeau.ones(1))
        ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {_ROOT}
        self.is_bw = False
        self._names: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            nn.modules.module.register_module_forward_pre_hook(self._begins),
            nn.modules.module.register_module_forward_hook(self._ends, always_call=True),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()
        self.parents = {_ROOT}
        self.is_bw = False

    def _name(self, module: nn.Module) -> str:
        """What it is called; of those inside it names are given with it."""
        name = self._names.setdefault(module, type(module).__name__)
        for child, inner in module.named_children():
            self._names.setdefault(inner, f"{name}.{child}")
        return name

    def _begins(self, module: nn.Module, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._in_backward(args, lambda: self.parents.discard(name), after_all=True)

    def _ends(self, module: nn.Module, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._in_backward(output, lambda: self.parents.add(name), after_all=False)

    def _in_backward(self, tree: Any, act: Callable[[], None], *, after_all: bool) -> None:
        """Acts when the gradients of the tensors in a nest are known, or the first of them."""
        leaves, _ = tree_flatten(tree)
        tracked = [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]
        left = len(tracked) if after_all else 1

        def known(_: Tensor) -> None:
            nonlocal left
            self._enter_backward()
            left -= 1
            if left == 0:
                act()

        for tensor in tracked:
            tensor.register_hook(known)

    def _enter_backward(self) -> None:
        if not self.is_bw:
            self.is_bw = True
            self.parents = {_ROOT}
            _C._autograd.queue_callback(self._leave_backward)

    def _leave_backward(self) -> None:
        self.is_bw = False
        self.parents = {_ROOT}
