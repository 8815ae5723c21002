"""Memory for time: what a function saves for backward is dropped, and computed again in backward.

Chen, Xu, Zhang and Guestrin, "Training Deep Nets with Sublinear Memory Cost" (2016).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._torch_dispatch import modes_off
from flambeau._values import brief
from flambeau.amp.autocast_mode import scope_now
from flambeau.autograd import Function, enable_grad
from flambeau.autograd.graph import saved_tensors_hooks
from flambeau.nn import Module, Sequential
from flambeau.utils._pytree import tree_leaves
from flambeau.utils.selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_stops_early: bool | None = None


class CheckpointError(RuntimeError):
    """The second run did not save what the first one did.

    Example:
        >>> from flambeau.utils.checkpoint import CheckpointError, checkpoint
        >>> calls = []
        >>> def changing(x):
        ...     calls.append(x)
        ...     return x.exp() if len(calls) == 1 else x[:1].exp()
        >>> y = checkpoint(changing, flambeau.ones(2, requires_grad=True), use_reentrant=False)
        >>> try:
        ...     y.sum().backward()
        ... except CheckpointError:
        ...     print("the runs differ")
        the runs differ
    """


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: the default of `checkpoint`'s context_fn.

    Example:
        >>> from flambeau.utils.checkpoint import noop_context_fn
        >>> first, second = noop_context_fn()
        >>> with first, second:
        ...     print("as ever")
        as ever
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside, whether second runs end as soon as they have what backward needs.

    Args:
        enable: whether.

    Example:
        >>> from flambeau.utils.checkpoint import checkpoint, set_checkpoint_early_stop
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with set_checkpoint_early_stop(False):
        ...     y = checkpoint(flambeau.exp, x, use_reentrant=False)
        >>> y.sum().backward()
        >>> x.grad
        tensor([2.7183, 2.7183])
    """
    global _stops_early
    before, _stops_early = _stops_early, enable
    try:
        yield
    finally:
        _stops_early = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Accepted: the message of a CheckpointError always says what differs.

    Args:
        enabled: changes nothing.

    Example:
        >>> from flambeau.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
        >>> with set_checkpoint_debug_enabled(True):
        ...     y = checkpoint(flambeau.exp, flambeau.ones(2), use_reentrant=False)
    """
    yield


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Calls a function without keeping what its backward needs: backward calls it again, under the
    autocast of the first call.

    Args:
        function: computes the same, from the same arguments and random numbers, each time.
        args, kwargs: what it is called with; no kwargs with use_reentrant=True.
        use_reentrant: True: the first call records nothing, and backward runs a backward of its
            own; an argument must require grad, and autograd.grad is an error. False: the graph is
            as without a checkpoint. None: True, with a warning.
        context_fn: makes the contexts of the first and of the second call, such as those of
            `create_selective_checkpoint_contexts`.
        determinism_check: "default": dtypes, shapes and devices of what both calls save are
            compared; "none": they are not.
        debug: accepted; a CheckpointError says what differs.
        early_stop: whether the second call ends as soon as it has what backward needs.
        preserve_rng_state: whether the second call starts with the random state of the first.

    Returns:
        What the function returns.

    Raises:
        CheckpointError: from backward, if the second call saves something else than the first.
        TypeError: the function cannot be called.
        ValueError: for arguments that use_reentrant=True cannot have.

    Example:
        >>> layer = flambeau.nn.Linear(4, 4)
        >>> x = flambeau.ones(2, 4)
        >>> checkpoint(layer, x, use_reentrant=False).sum().backward()
        >>> layer.weight.grad.shape
        flambeau.Size([4, 4])
    """
    if not callable(function):
        raise TypeError(f"checkpoint(): function must be callable, got {brief(function)}")
    if determinism_check not in ("default", "none"):
        raise ValueError(
            "checkpoint(): determinism_check must be 'default' or 'none', got "
            f"{brief(determinism_check)}"
        )
    if use_reentrant is None:
        warnings.warn(
            "checkpoint(): pass use_reentrant; without it, True is taken. False is recommended",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs or context_fn is not noop_context_fn:
            what = ", ".join(sorted(kwargs)) or "context_fn"
            raise ValueError(f"checkpoint(): use_reentrant=True does not take {what}")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    stop = early_stop if _stops_early is None else _stops_early
    first_context, second_context = context_fn()

    def again() -> None:
        with second_context:
            function(*args, **kwargs)

    call = _Call(again, preserve_rng_state, stop, determinism_check == "default")
    with first_context, saved_tensors_hooks(call.save, call.load):
        return function(*args, **kwargs)


def _facts(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor.device


class _Enough(Exception):
    """Ends a second run: everything that was saved is there."""


class _Surroundings:
    """What a function may depend on beside its arguments, as it was: random numbers, autocast."""

    def __init__(self, keep_random: bool) -> None:
        self._random = flambeau.get_rng_state() if keep_random else None
        self._scopes = [scope_now(kind) for kind in ("cpu", "cuda")]

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Inside, they are again; gradients are recorded."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(flambeau.random.fork_rng(enabled=self._random is not None))
            stack.enter_context(enable_grad())
            for scope in self._scopes:
                stack.enter_context(scope)
            if self._random is not None:
                flambeau.set_rng_state(self._random)
            yield


class _Call:
    """A call whose saved tensors are numbers until backward asks for them."""

    def __init__(
        self, again: Callable[[], None], keep_random: bool, stops: bool, compares: bool
    ) -> None:
        self._again = again
        self._surroundings = _Surroundings(keep_random)
        self._stops = stops
        self._compares = compares
        self._saved: list[tuple[Any, ...]] = []  # the facts of each
        self._computed: dict[int, Tensor] = {}

    def save(self, tensor: Tensor) -> int:
        """The number of a tensor that is saved in the first run."""
        self._saved.append(_facts(tensor))
        return len(self._saved) - 1

    def load(self, number: int) -> Tensor:
        """That tensor, from a second run. A further backward makes one more run."""
        if number not in self._computed:
            self._run_again()
        return self._computed.pop(number)

    def _run_again(self) -> None:
        found: list[Tensor] = []

        def collect(tensor: Tensor) -> Tensor:
            with modes_off():  # this is no call of the program's
                found.append(tensor.detach())
            if self._stops and len(found) == len(self._saved):
                raise _Enough
            return found[-1]

        with (
            self._surroundings.restored(),
            contextlib.suppress(_Enough),
            saved_tensors_hooks(collect, lambda tensor: tensor),
        ):
            self._again()
        self._check(found)
        self._computed = dict(enumerate(found))

    def _check(self, found: list[Tensor]) -> None:
        if len(found) != len(self._saved):
            raise CheckpointError(
                f"checkpoint(): the function saved {len(self._saved)} tensors for backward, and "
                f"{len(found)} when it was called again: it must compute the same each time"
            )
        if not self._compares:
            return
        for number, (tensor, facts) in enumerate(zip(found, self._saved, strict=True)):
            if _facts(tensor) != facts:
                raise CheckpointError(
                    f"checkpoint(): tensor {number} that the function saved for backward was "
                    f"{_shown(facts)}, and is {_shown(_facts(tensor))} when it is called again: "
                    "it must compute the same each time"
                )


def _shown(facts: tuple[Any, ...]) -> str:
    shape, dtype, device = facts
    return f"{dtype} of shape {shape} on {device}"


class CheckpointFunction(Function):
    """What `checkpoint(use_reentrant=True)` applies: the first call records nothing; backward calls
    again, and runs a backward through that.

    Example:
        >>> from flambeau.utils.checkpoint import CheckpointFunction
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> CheckpointFunction.apply(flambeau.exp, True, x).sum().backward()
        >>> x.grad
        tensor([2.7183, 2.7183])
    """

    @staticmethod
    def forward(
        ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        """Calls the function, and keeps what the second call needs."""
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn(
                "checkpoint(): no argument requires grad, so that use_reentrant=True records "
                "nothing: no gradients will flow to the parameters either",
                stacklevel=4,
            )
        ctx.function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Calls it again, and backward through that."""
        args = list(ctx.others)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = tensor.detach().requires_grad_(tensor.requires_grad)
        with ctx.surroundings.restored():
            results = ctx.function(*args)
        results = results if isinstance(results, tuple) else (results,)
        recorded = [
            (result, grad)
            for result, grad in zip(results, grads, strict=True)
            if isinstance(result, Tensor) and result.requires_grad and grad is not None
        ]
        if recorded:
            flambeau.autograd.backward([r for r, _ in recorded], [g for _, g in recorded])
        return None, None, *[a.grad if isinstance(a, Tensor) else None for a in args]


def checkpoint_sequential(
    functions: Sequential | Sequence[Module],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Runs modules one after the other in segments, each but the last of which is a checkpoint.

    Args:
        functions: a Sequential or a list of modules, each of one argument.
        segments: how many, of as many modules each; the last one has the rest.
        input: of the first module.
        use_reentrant, preserve_rng_state: see `checkpoint`.

    Returns:
        The result of the last module.

    Raises:
        ValueError: segments is not from 1 to the number of modules.

    Example:
        >>> from flambeau.utils.checkpoint import checkpoint_sequential
        >>> model = flambeau.nn.Sequential(*(flambeau.nn.Linear(4, 4) for _ in range(4)))
        >>> y = checkpoint_sequential(model, 2, flambeau.ones(3, 4), use_reentrant=False)
        >>> y.shape
        flambeau.Size([3, 4])
    """
    modules = list(functions.children() if isinstance(functions, Sequential) else functions)
    if not 1 <= segments <= len(modules):
        raise ValueError(
            f"checkpoint_sequential(): segments must be from 1 to {len(modules)}, the number of "
            f"modules, got {segments}"
        )
    size = len(modules) // segments
    checkpointed = size * (segments - 1)
    for start in range(0, checkpointed, size):
        input = checkpoint(
            _chain(modules[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return _chain(modules[checkpointed:])(input)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The CUDA devices of tensors among arguments, and the states of their random generators.

    Args:
        args: what a function is called with; tensors in nested containers count.

    Example:
        >>> from flambeau.utils.checkpoint import get_device_states
        >>> get_device_states(flambeau.ones(1))
        ([], [])
    """
    tensors = (a for a in tree_leaves(args) if isinstance(a, Tensor))
    devices = sorted({t.get_device() for t in tensors if t.is_cuda})
    return devices, [flambeau.cuda.get_rng_state(device) for device in devices]


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Sets the states of random generators, as `get_device_states` gave them.

    Args:
        devices: numbers of CUDA devices.
        states: of each.
        device_type: None or "cuda"; of "meta" there are none.

    Example:
        >>> from flambeau.utils.checkpoint import get_device_states, set_device_states
        >>> set_device_states(*get_device_states(flambeau.ones(1)))
    """
    if device_type not in (None, "cuda", "meta"):
        raise ValueError(f"set_device_states(): device_type must be 'cuda', got {device_type!r}")
    for device, state in zip(devices, states, strict=True):
        flambeau.cuda.set_rng_state(state, device)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments whose tensors are leaves of their own, of the same memory.

    Args:
        inputs: a tuple.

    Example:
        >>> from flambeau.utils.checkpoint import detach_variable
        >>> x = flambeau.ones(1, requires_grad=True)
        >>> detach_variable((2 * x, "other"))
        (tensor([2.], requires_grad=True), 'other')
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable(): expected a tuple, got {type(inputs).__name__}")
    return tuple(
        a.detach().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """A warning if no tensor among arguments requires grad, so that a reentrant checkpoint records
    nothing.

    Args:
        inputs: the arguments.

    Example:
        >>> from flambeau.utils.checkpoint import check_backward_validity
        >>> check_backward_validity((flambeau.ones(1, requires_grad=True),))
    """
    if not any(isinstance(a, Tensor) and a.requires_grad for a in inputs):
        warnings.warn(
            "checkpoint: none of the inputs requires grad, so that their gradients will be None",
            stacklevel=2,
        )


def _chain(modules: list[Module]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for module in modules:
            value = module(value)
        return value

    return run
