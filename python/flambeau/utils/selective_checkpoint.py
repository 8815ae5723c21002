"""Checkpoints that keep the results of some operators, and compute the others again."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flambeau import Tensor
from flambeau._values import brief
from flambeau.utils._python_dispatch import TorchDispatchMode
from flambeau.utils._pytree import tree_leaves, tree_map

__all__ = [
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
]


class CheckpointPolicy(enum.Enum):
    """What becomes of an operator's result in a checkpoint: it is kept, on its device or on the
    CPU, or computed again. MUST and PREFER differ where keeping is impossible: MUST is an error
    then.

    Example:
        >>> from flambeau.utils.checkpoint import CheckpointPolicy
        >>> CheckpointPolicy.MUST_SAVE.name
        'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_OFFLOADS = (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)
_RECOMPUTES = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)
_MUST_KEEP = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD)

Policy = Callable[..., CheckpointPolicy | bool]


@dataclass
class SelectiveCheckpointContext:
    """What a policy is told first.

    Args:
        is_recompute: False: policies are asked in the first run.
        op_output: the operator's result.

    Example:
        >>> from flambeau.utils.checkpoint import SelectiveCheckpointContext
        >>> SelectiveCheckpointContext(is_recompute=False).is_recompute
        False
    """

    is_recompute: bool
    op_output: Any = None


class _Kept:
    """A tensor as it was in the first run."""

    def __init__(self, value: Tensor, offload: bool) -> None:
        self._device = value.device
        self._value = value.detach().cpu() if offload else value.detach()
        self._version = self._value._version

    def value(self, may_be_changed: bool) -> Tensor:
        """The tensor.

        Raises:
            RuntimeError: somebody wrote into it.
        """
        if self._value._version != self._version and not may_be_changed:
            raise RuntimeError(
                "a result that a selective checkpoint kept has been changed in place since; "
                "compute it again, or copy before writing"
            )
        return self._value.to(self._device)


# What the first run found: a result, or None for an operator that is computed again.
_Results = dict[Any, list[Any]]


class _First(TorchDispatchMode):
    """Keeps what the policy says."""

    def __init__(self, policy: Policy, results: _Results) -> None:
        self._policy, self._results = policy, results

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        result = func(*args, **given)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        policy = self._policy(context, func, *args, **given)
        if isinstance(policy, bool):
            policy = CheckpointPolicy.MUST_SAVE if policy else CheckpointPolicy.PREFER_RECOMPUTE
        if not isinstance(policy, CheckpointPolicy):
            raise TypeError(
                f"a policy of a checkpoint must return a CheckpointPolicy, got {brief(policy)}"
            )
        self._results[func].append(self._kept(func, result, policy))
        return result

    @staticmethod
    def _kept(func: Any, result: Any, policy: CheckpointPolicy) -> Any:
        if policy in _RECOMPUTES:
            return None
        reason = ""
        if func._schema.is_mutable:
            reason = "it writes into an argument, which it must do again"
        elif any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in tree_leaves(result)):
            reason = "its backward needs more than its result"  # seen above autograd
        if reason:
            if policy in _MUST_KEEP:
                raise RuntimeError(
                    f"the result of {func} cannot be kept in a selective checkpoint: {reason}; "
                    f"{policy.name.replace('MUST', 'PREFER')} computes it again"
                )
            return None
        offload = policy in _OFFLOADS
        return tree_map(lambda x: _Kept(x, offload) if isinstance(x, Tensor) else x, result)


class _Second(TorchDispatchMode):
    """Gives what was kept, and computes the rest."""

    def __init__(self, results: _Results, may_be_changed: bool) -> None:
        self._results, self._may_be_changed = results, may_be_changed
        self._calls: defaultdict[Any, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self._calls.clear()
        return super().__enter__()

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        found = self._results.get(func, [])
        number = self._calls[func]
        self._calls[func] += 1
        if number >= len(found):
            raise RuntimeError(
                f"a selective checkpoint ran {func} {len(found)} times, and once more when it was "
                "called again: the function must compute the same each time"
            )
        if found[number] is None:
            return func(*args, **(kwargs or {}))
        return tree_map(
            lambda x: x.value(self._may_be_changed) if isinstance(x, _Kept) else x, found[number]
        )


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Contexts of `checkpoint` for both calls, in which the results of some operators are kept.

    Operators are those that dispatch modes see (`TorchDispatchMode`): that of `nn.Linear`, for one,
    is `ops.aten.linear.default`. What writes into an argument is done again whatever is said.

    Args:
        policy_fn_or_list: the operators whose results are kept; or a function that is called with a
            `SelectiveCheckpointContext`, an operator and its arguments, and returns a
            `CheckpointPolicy` or whether to keep.
        allow_cache_entry_mutation: whether kept results may have been changed in place.

    Returns:
        What `checkpoint(context_fn=...)` is to return.

    Raises:
        ValueError: the list has something else than overloads.
        TypeError: there is neither a list nor a function.

    Example:
        >>> from functools import partial
        >>> from flambeau.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        >>> products = [flambeau.ops.aten.mm.default]
        >>> contexts = partial(create_selective_checkpoint_contexts, products)
        >>> x = flambeau.ones(2, 2, requires_grad=True)
        >>> y = checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=contexts)
        >>> y.sum().backward()
        >>> x.grad[0, 0] / flambeau.tensor(2.0).exp()
        tensor(4.)
    """
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    elif isinstance(policy_fn_or_list, list | tuple | set):
        policy = _of_operators(list(policy_fn_or_list))
    else:
        raise TypeError(
            "create_selective_checkpoint_contexts(): expected a function or a list of operators, "
            f"got {brief(policy_fn_or_list)}"
        )
    results: _Results = defaultdict(list)
    return _First(policy, results), _Second(results, allow_cache_entry_mutation)


def _of_operators(operators: list[Any]) -> Policy:
    for operator in operators:
        if not hasattr(operator, "overloadpacket"):
            advice = f"; did you mean {operator}.default?" if hasattr(operator, "overloads") else ""
            raise ValueError(
                "create_selective_checkpoint_contexts(): expected overloads of operators, such as "
                f"ops.aten.mm.default, got {brief(operator)}{advice}"
            )

    def policy(context: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any) -> bool:
        return op in operators

    return policy
