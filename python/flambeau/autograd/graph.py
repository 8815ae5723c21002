"""Looking at the graph that backward walks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from flambeau import _C
from flambeau._values import brief

__all__ = [
    "GradientEdge",
    "MultiHandle",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]

Node = _C._autograd.Node


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor flows: output `output_nr` of `node`.

    Attributes:
        node: what computed the tensor, or accumulates the gradients of a leaf.
        output_nr: which of its outputs.
        ownership_token: keeps the node alive.

    Example:
        >>> from flambeau.autograd.graph import get_gradient_edge
        >>> y = flambeau.ones(2, requires_grad=True) * 2
        >>> edge = get_gradient_edge(y)
        >>> edge.node is y.grad_fn, edge.output_nr
        (True, 0)
    """

    node: _C._autograd.Node
    output_nr: int


def get_gradient_edge(tensor: _C.Tensor) -> GradientEdge:
    """The edge of a tensor that requires grad: its grad_fn, or a leaf's accumulator.

    Example:
        >>> from flambeau.autograd.graph import get_gradient_edge
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> edge = get_gradient_edge(x.exp())
        >>> edge.output_nr
        0
    """
    return GradientEdge(*_C._autograd.gradient_edge(tensor))


def saved_tensors(node: _C._autograd.Node) -> dict[str, _C.Tensor]:
    """The tensors that an operation keeps for its backward, by the names in its declaration.

    Args:
        node: `grad_fn` of a result.

    Raises:
        RuntimeError: when one was freed, or written in place since.

    Example:
        >>> from flambeau.autograd.graph import saved_tensors
        >>> x = flambeau.tensor([2.], requires_grad=True)
        >>> saved_tensors((x.exp()).grad_fn)
        {'result': tensor([7.3891], grad_fn=<ExpBackward0>)}
    """
    return dict(node._saved())


def increment_version(tensor: _C.Tensor | list[_C.Tensor]) -> None:
    """Notes that tensors were written behind autograd's back.

    Args:
        tensor: one, or several.

    Example:
        >>> from flambeau.autograd.graph import increment_version
        >>> x = flambeau.ones(2)
        >>> increment_version(x)
        >>> x._version
        1
    """
    for item in [tensor] if isinstance(tensor, _C.Tensor) else tensor:
        item._bump_version()


class saved_tensors_hooks:
    """Inside, what operations save for backward goes through a pair of functions.

    Args:
        pack_hook: gets a tensor, returns what to keep in its place.
        unpack_hook: gets that, returns a tensor of the same shape, dtype and values.

    Example:
        >>> from flambeau.autograd.graph import saved_tensors_hooks
        >>> x = flambeau.tensor([2.], requires_grad=True)
        >>> def pack(tensor):
        ...     print("saved", tuple(tensor.shape))
        ...     return tensor
        >>> with saved_tensors_hooks(pack, lambda kept: kept):
        ...     y = x ** 2
        saved (1,)
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> Self:
        _C._autograd.push_saved_tensor_hooks(self.pack_hook, self.unpack_hook)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._autograd.pop_saved_tensor_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in the CPU's memory until backward needs them.

    Args:
        pin_memory: not supported.
        device_type: accepted for compatibility.

    Example:
        >>> from flambeau.autograd.graph import save_on_cpu
        >>> x = flambeau.tensor([2.], requires_grad=True)
        >>> with save_on_cpu():
        ...     y = x ** 2
        >>> y.backward()
        >>> x.grad
        tensor([4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if pin_memory:
            raise NotImplementedError("save_on_cpu: pin_memory is not supported")

        def pack(tensor: Any) -> tuple[Any, Any]:
            return tensor.device, tensor.cpu()

        def unpack(packed: tuple[Any, Any]) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Inside, tensors that operations save for backward may be written in place: backward uses
    what they held. Each version of a tensor is copied once, when it is saved.

    Forward and backward belong inside; what was saved cannot be used after the end.

    Example:
        >>> from flambeau.autograd.graph import allow_mutation_on_saved_tensors
        >>> with allow_mutation_on_saved_tensors():
        ...     x = flambeau.tensor([2.], requires_grad=True)
        ...     kept = x.clone()
        ...     y = (kept ** 2).sum()
        ...     _ = kept.zero_()
        ...     y.backward()
        >>> x.grad
        tensor([4.])
    """

    def __init__(self) -> None:
        # The tensor stands beside its copy: while it lives, no other has its memory and version.
        self._copies: dict[tuple[Any, ...], tuple[_C.Tensor, _C.Tensor]] = {}

        def pack(tensor: Any) -> tuple[Any, ...]:
            shape = (tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
            key = (tensor.data_ptr(), tensor._version, *shape)
            if key not in self._copies:
                self._copies[key] = tensor.detach(), tensor.detach().clone()
            return key

        def unpack(key: tuple[Any, ...]) -> Any:
            if key not in self._copies:
                raise RuntimeError(
                    "allow_mutation_on_saved_tensors: backward was called after the context's end"
                )
            return self._copies[key][1]

        super().__init__(pack, unpack)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(exc_type, exc_value, traceback)
        self.clear()

    def clear(self) -> None:
        """Forgets all copies."""
        self._copies.clear()


class disable_saved_tensors_hooks:
    """Inside, saved_tensors_hooks raises.

    Args:
        error_message: what the RuntimeError says.

    Example:
        >>> from flambeau.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks
        >>> try:
        ...     with disable_saved_tensors_hooks("not here"):
        ...         with saved_tensors_hooks(lambda x: x, lambda x: x):
        ...             pass
        ... except RuntimeError as error:
        ...     print(error)
        not here
    """

    def __init__(self, error_message: str) -> None:
        if not error_message:
            raise ValueError("disable_saved_tensors_hooks: error_message must not be empty")
        self.error_message = error_message
        self._previous = ""

    def __enter__(self) -> None:
        self._previous = _C._autograd.disable_saved_tensor_hooks(self.error_message)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._autograd.disable_saved_tensor_hooks(self._previous)


class MultiHandle:
    """The hooks of register_multi_grad_hook.

    Args:
        handles: of the single hooks.

    Example:
        >>> x, y = flambeau.ones(2, requires_grad=True), flambeau.ones(2, requires_grad=True)
        >>> with flambeau.autograd.graph.register_multi_grad_hook([x, y], print, mode="any"):
        ...     (2 * x + y).sum().backward()
        tensor([1., 1.])
        >>> (x + y).sum().backward()  # the hooks are gone
    """

    def __init__(self, handles: Sequence[Any]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        """Takes all of them out again."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[_C.Tensor], fn: Callable[[Any], Any], *, mode: str = "all"
) -> MultiHandle:
    """Calls a function once per backward, on the gradients of several tensors.

    Args:
        tensors: tensors that require grad.
        fn: with mode "all" it gets the list of their gradients (None where none came) when the
            backward that reached any of them ends; with mode "any" the first gradient.
        mode: "all" or "any".

    Example:
        >>> from flambeau.autograd.graph import register_multi_grad_hook
        >>> x, y = flambeau.ones(2, requires_grad=True), flambeau.ones(2, requires_grad=True)
        >>> handle = register_multi_grad_hook([x, y], lambda grads: print(len(grads), "gradients"))
        >>> (x * y).sum().backward()
        2 gradients
        >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(
            f'register_multi_grad_hook: mode must be "all" or "any", got {brief(mode)}'
        )
    local = threading.local()

    def finish() -> None:
        gradients, local.gradients = local.gradients, None
        if mode == "all":
            fn(gradients)

    def hook_of(i: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            first = getattr(local, "gradients", None) is None
            if first:
                local.gradients = [None] * len(tensors)
                _C._autograd.queue_callback(finish)
            local.gradients[i] = gradient
            if first and mode == "any":
                fn(gradient)

        return hook

    return MultiHandle([x.register_hook(hook_of(i)) for i, x in enumerate(tensors)])


def region_activation_memory_budget(budget: float) -> Any:
    """RuntimeError: budgets are for the partitions of compiled graphs, and `compile` makes none.

    Args:
        budget: from 0 to 1.

    Example:
        >>> with flambeau.autograd.graph.region_activation_memory_budget(0.5):
        ...     pass
        Traceback (most recent call last):
            ...
        RuntimeError: region_activation_memory_budget: this is no compiled region; checkpoint()...
    """
    if not 0 <= budget <= 1:
        raise ValueError(
            f"region_activation_memory_budget: budget must be from 0 to 1, got {brief(budget)}"
        )
    raise RuntimeError(
        "region_activation_memory_budget: this is no compiled region; checkpoint() recomputes "
        "what it is given"
    )


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accepted: it says what backward does with streams of other work while kernels are recorded
    into a graph, and Flambeau records none (`cuda.CUDAGraph` refuses).

    Args:
        enabled: True or False.

    Example:
        >>> flambeau.autograd.graph.set_override_stale_capture_stream(True)  # changes nothing
    """
    _check_switch("set_override_stale_capture_stream", enabled)


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted: it silences a warning about streams of gradients, which Flambeau does not give.

    Args:
        enabled: True or False.

    Example:
        >>> flambeau.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """
    _check_switch("set_warn_on_accumulate_grad_stream_mismatch", enabled)


def _check_switch(op: str, enabled: Any) -> None:
    if not isinstance(enabled, bool):
        raise TypeError(f"{op}: enabled must be a bool, not {type(enabled).__name__}")
