"""Ways of pruning, which `flambeau.nn.utils.prune` offers: masks of a parameter."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn.module import Module

Amount = int | float


class BasePruningMethod(ABC):
    """A way of pruning; subclasses define `compute_mask` and `PRUNING_TYPE`.

    Attributes:
        PRUNING_TYPE: "unstructured" (elements), "structured" (slices) or "global" (elements of
            several tensors).

    Example:
        >>> from flambeau.nn.utils.prune import BasePruningMethod
        >>> class EverySecond(BasePruningMethod):
        ...     PRUNING_TYPE = "unstructured"
        ...     def compute_mask(self, t, default_mask):
        ...         mask = default_mask.clone()
        ...         mask.view(-1)[::2] = 0
        ...         return mask
        >>> layer = flambeau.nn.Linear(4, 1)
        >>> _ = EverySecond.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[0., 1., 0., 1.]])
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask of `t`'s shape: what is left.

        Args:
            t: the importance of each element.
            default_mask: the mask so far; what it leaves out stays out.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor: original times mask."""
        name = self._tensor_name
        mask, original = getattr(module, f"{name}_mask"), getattr(module, f"{name}_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prunes a parameter, on top of what was pruned of it before.

        Args:
            module: what has the parameter.
            name: its name.
            args, kwargs: what the method is made with.
            importance_scores: the importance of each element; None: the parameter itself.

        Returns:
            The method that is a hook of the module now.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = _method_of(module, name)
        if before is None:
            original = module._parameters.get(name)
            if original is None:
                raise ValueError(
                    f"{cls.__name__}: {type(module).__name__} has no parameter '{name}'"
                )
            default_mask = flambeau.ones_like(original)
        else:
            original = getattr(module, f"{name}_orig")
            default_mask = getattr(module, f"{name}_mask").detach().clone()
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise ValueError(
                f"{cls.__name__}: importance_scores must have the shape {tuple(original.shape)}, "
                f"got {tuple(scores.shape)}"
            )
        hook = method if before is None else _joined(module, before, method)
        mask = hook.compute_mask(scores.detach(), default_mask).to(original.dtype)
        if before is None:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """A pruned tensor.

        Args:
            t: what is pruned.
            default_mask: the mask so far; None: ones.
            importance_scores: the importance of each element; None: `t` itself.
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise ValueError(
                f"prune: importance_scores must have the shape {tuple(t.shape)}, got "
                f"{tuple(scores.shape)}"
            )
        mask = flambeau.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Module) -> None:
        """Makes the pruned tensor the parameter. The hook is to be taken away by the caller, which
        `remove` of this module does."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        original = module._parameters.pop(f"{name}_orig")
        del module._buffers[f"{name}_mask"]
        delattr(module, name)
        original.data = pruned.detach()
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, each of what the ones before have left.

    Args:
        args: the prunings, of one parameter.

    Example:
        >>> from flambeau.nn.utils.prune import l1_unstructured
        >>> layer = flambeau.nn.Linear(4, 1)
        >>> _ = l1_unstructured(layer, "weight", amount=1)
        >>> _ = l1_unstructured(layer, "weight", amount=1)  # makes a container of both
        >>> layer.weight_mask.sum()
        tensor(2.)
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Adds one more.

        Raises:
            TypeError: it is no pruning method.
            ValueError: it is of another tensor.
        """
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(
                f"PruningContainer: expected a BasePruningMethod, got {type(method).__name__}"
            )
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                f"PruningContainer: expected a pruning of '{self._tensor_name}', got one of "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods = (*self._pruning_methods, method)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask after the last method, which sees what is left alone."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "structured":
            dim = method.dim  # type: ignore[attr-defined]
            others = [i for i in range(t.dim()) if i != dim % t.dim()]
            kept = mask.sum(others) != 0 if others else mask != 0
            where = kept.nonzero().flatten()
            part = method.compute_mask(t.index_select(dim, where), mask.index_select(dim, where))
            return mask.index_copy(dim, where, part.to(mask.dtype))
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, mask)
        if method.PRUNING_TYPE != "unstructured":
            raise ValueError(
                "PRUNING_TYPE must be 'unstructured', 'structured' or 'global', got "
                f"{brief(method.PRUNING_TYPE)}"
            )
        left = mask == 1
        mask = mask.clone()
        mask[left] = method.compute_mask(t[left], mask[left]).to(mask.dtype)
        return mask


def _method_of(module: Module, name: str) -> BasePruningMethod | None:
    hooks: Any = (module._forward_pre_hooks or {}).values()
    own = [h for h in hooks if isinstance(h, BasePruningMethod) and h._tensor_name == name]
    return own[0] if own else None


def _joined(
    module: Module, before: BasePruningMethod, method: BasePruningMethod
) -> PruningContainer:
    """A container of the hook that is there, which is taken away, and one more method."""
    hooks: Any = module._forward_pre_hooks
    for number in [n for n, hook in hooks.items() if hook is before]:
        del hooks[number]
    container = before if isinstance(before, PruningContainer) else PruningContainer(before)
    container.add_pruning_method(method)
    return container


# --- methods ---


class Identity(BasePruningMethod):
    """Leaves everything, with a mask of ones.

    Example:
        >>> from flambeau.nn.utils.prune import identity
        >>> layer = identity(flambeau.nn.Linear(2, 1), "weight")
        >>> layer.weight_mask
        tensor([[1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Takes random elements away.

    Args:
        amount: how many (an int), or which share of them (a float in [0, 1]).

    Example:
        >>> from flambeau.nn.utils.prune import RandomUnstructured
        >>> layer = flambeau.nn.Linear(4, 1)
        >>> _ = RandomUnstructured.apply(layer, "weight", amount=0.5)
        >>> layer.weight_mask.sum()
        tensor(2.)
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Amount) -> None:
        self.amount = _checked(amount)

    def _order(self, t: Tensor) -> Tensor:
        """What is smallest is taken away."""
        return flambeau.rand(t.shape, device=t.device)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            chosen = flambeau.topk(self._order(t).flatten(), count, largest=False).indices
            mask = mask.flatten().index_fill(0, chosen, 0).reshape(mask.shape)
        return mask


class L1Unstructured(RandomUnstructured):
    """Takes the elements of least magnitude away.

    Args:
        amount: how many (an int), or which share of them (a float in [0, 1]).

    Example:
        >>> from flambeau.nn.utils.prune import L1Unstructured
        >>> pruning = L1Unstructured(amount=0.5)
        >>> pruning.prune(flambeau.tensor([1., -3., 2., 0.5]))
        tensor([ 0., -3.,  2.,  0.])
    """

    def _order(self, t: Tensor) -> Tensor:
        return t.abs()


class RandomStructured(BasePruningMethod):
    """Takes random slices away.

    Args:
        amount: how many (an int), or which share of them (a float in [0, 1]).
        dim: the dimension that counts the slices.

    Example:
        >>> from flambeau.nn.utils.prune import RandomStructured
        >>> pruning = RandomStructured(amount=1, dim=0)
        >>> (pruning.prune(flambeau.ones(3, 2)) != 0).all(1).sum()
        tensor(2)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        self.amount = _checked(amount)
        self.dim = dim

    def _order(self, t: Tensor) -> Tensor:
        """One number for each slice; the smallest are taken away."""
        return flambeau.rand(t.shape[self.dim], device=t.device)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                f"{type(self).__name__}: expected at least 2 dimensions, got shape {tuple(t.shape)}"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(
                f"{type(self).__name__}: dim {self.dim} is out of range for shape {tuple(t.shape)}"
            )
        count = _count(self.amount, t.shape[self.dim])
        if not count:
            return default_mask
        chosen = flambeau.topk(self._order(t), count, largest=False).indices
        return default_mask.index_fill(self.dim, chosen, 0)


class LnStructured(RandomStructured):
    """Takes the slices of least norm away.

    Args:
        amount: how many (an int), or which share of them (a float in [0, 1]).
        n: order of the norm, as of `linalg.vector_norm`; "fro" and "nuc" as of `norm`.
        dim: the dimension that counts the slices.

    Example:
        >>> from flambeau.nn.utils.prune import LnStructured
        >>> pruning = LnStructured(amount=1, n=2, dim=0)
        >>> pruning.prune(flambeau.tensor([[3., 4.], [1., 1.]]))
        tensor([[3., 4.],
                [0., 0.]])
    """

    def __init__(self, amount: Amount, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _order(self, t: Tensor) -> Tensor:
        others = [i for i in range(t.dim()) if i != self.dim % t.dim()]
        return flambeau.norm(t, p=self.n, dim=others)


class CustomFromMask(BasePruningMethod):
    """Takes away what a mask leaves out.

    Args:
        mask: of the parameter's shape.

    Example:
        >>> from flambeau.nn.utils.prune import CustomFromMask
        >>> pruning = CustomFromMask(flambeau.tensor([1., 0.]))
        >>> pruning.prune(flambeau.tensor([3., 4.]))
        tensor([3., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise ValueError(
                f"CustomFromMask: expected a mask of shape {tuple(default_mask.shape)}, got "
                f"{tuple(self.mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _checked(amount: Any) -> Amount:
    is_count = isinstance(amount, numbers.Integral)
    if isinstance(amount, bool) or not (is_count or isinstance(amount, numbers.Real)):
        raise TypeError(f"amount must be a number, got {brief(amount)}")
    if amount < 0 or (not is_count and not amount <= 1):
        expected = "at least 0" if is_count else "within [0, 1]"
        raise ValueError(f"amount must be {expected}, got {amount}")
    return int(amount) if is_count else float(amount)


def _count(amount: Amount, size: int) -> int:
    """How many of `size` things are taken away."""
    if isinstance(amount, float):
        return round(amount * size)
    if amount > size:
        raise ValueError(f"amount must be at most the {size} things to prune, got {amount}")
    return amount


# --- functions ---
