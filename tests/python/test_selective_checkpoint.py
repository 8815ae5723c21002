"""Checkpoints that keep some results: the same gradients, and nothing runs again that was kept."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.utils._python_dispatch import TorchDispatchMode
from flambeau.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

AT = torch.ops.aten


class Seen(TorchDispatchMode):
    """Counts operators by name."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(5, 6), nn.Linear(6, 5)
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x: Any) -> Any:
        hidden = torch.tanh(self.first(x)) @ self.second.weight.mT
        return nn.functional.dropout(self.norm(hidden).softmax(-1), 0.5)


def gradients(contexts: Any) -> tuple[list[Any], Counter[str]]:
    """Of a block's input and parameters, and what ran in the second run and in backward."""
    torch.manual_seed(0)
    block, x = Block(), torch.randn(4, 5, requires_grad=True)
    if contexts is None:
        y = block(x)
    else:
        y = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
    with Seen() as seen:
        (y.square() * torch.arange(5)).sum().backward()
    return [x.grad, *(p.grad for p in block.parameters() if p.grad is not None)], seen.counts


def prefer(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    assert context.is_recompute is False and isinstance(context.op_output, torch.Tensor | tuple)
    return CheckpointPolicy.PREFER_SAVE


def offload(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.PREFER_CPU_OFFLOAD


def never(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
    return False


@pytest.mark.parametrize(
    ("policy", "again", "kept"),
    [
        ([AT.linear.default], ["tanh"], ["linear"]),
        ([AT.linear.default, AT.tanh.default], [], ["linear", "tanh"]),
        (never, ["linear", "tanh"], []),
        (prefer, ["batch_norm_train"], ["linear", "tanh", "softmax_forward"]),
        (offload, ["batch_norm_train"], ["linear", "tanh", "softmax_forward"]),
    ],
)
def test_what_is_kept_does_not_run_again(policy: Any, again: Any, kept: Any) -> None:
    expected, _ = gradients(None)
    found, counts = gradients(partial(create_selective_checkpoint_contexts, policy))
    for a, b in zip(expected, found, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    assert all(counts[name] == 1 for name in again)
    assert all(counts[name] == 0 for name in kept)


def test_operators_of_programs_are_kept() -> None:
    calls = []

    @torch.library.custom_op("selective::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x**3

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    cube.register_autograd(lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2, setup_context=setup)
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    for policy, times in (([], 2), ([torch.ops.selective.cube.default], 1)):
        x.grad = None
        calls.clear()
        contexts = partial(create_selective_checkpoint_contexts, policy)
        checkpoint(lambda x: cube(x).exp(), x, use_reentrant=False, context_fn=contexts).sum()
        y = checkpoint(lambda x: cube(x / 3).exp(), x, use_reentrant=False, context_fn=contexts)
        calls.clear()
        calls.append(1)  # of the first run
        y.sum().backward()
        assert len(calls) == times
        expected = (x.detach() / 3).pow(2) * (x.detach() / 3).pow(3).exp()
        torch.testing.assert_close(x.grad, expected)


def test_results_that_change_are_refused() -> None:
    def changing(x: Any) -> Any:
        y = x.exp()
        z = y.sin()
        y.detach().add_(1)
        return z

    x = torch.ones(3, requires_grad=True)
    contexts = partial(create_selective_checkpoint_contexts, [AT.exp.default])
    y = checkpoint(changing, x, use_reentrant=False, context_fn=contexts)
    with pytest.raises(RuntimeError, match="kept has been changed in place"):
        y.sum().backward()


def test_a_second_run_with_more_operators_is_refused() -> None:
    times = []

    def growing(x: Any) -> Any:
        times.append(1)
        for _ in times:
            x = x.exp()
        return x

    contexts = partial(create_selective_checkpoint_contexts, never)
    y = checkpoint(
        growing,
        torch.ones(2, requires_grad=True),
        use_reentrant=False,
        early_stop=False,
        context_fn=contexts,
    )
    with pytest.raises(RuntimeError, match=r"ran aten.exp.default 1 times, and once more"):
        y.sum().backward()


def test_what_cannot_be_kept_is_refused() -> None:
    norm, x = nn.BatchNorm1d(2, track_running_stats=False), torch.randn(4, 2, requires_grad=True)
    always = partial(create_selective_checkpoint_contexts, lambda *args, **kwargs: True)
    with pytest.raises(RuntimeError, match="its backward needs more than its result; PREFER_SAVE"):
        checkpoint(lambda x: norm(x).exp(), x, use_reentrant=False, context_fn=always)
    with pytest.raises(RuntimeError, match="aten.add_.Tensor cannot be kept.*writes into an"):
        checkpoint(lambda x: x.exp().add_(1), x, use_reentrant=False, context_fn=always)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="did you mean aten.mm.default"):
        create_selective_checkpoint_contexts([AT.mm])
    with pytest.raises(TypeError, match="expected a function or a list of operators, got 3"):
        create_selective_checkpoint_contexts(3)  # type: ignore[arg-type]
    wrong = partial(create_selective_checkpoint_contexts, lambda *args, **kwargs: "save")
    with pytest.raises(TypeError, match="must return a CheckpointPolicy, got 'save'"):
        checkpoint(torch.exp, torch.ones(2), use_reentrant=False, context_fn=wrong)
