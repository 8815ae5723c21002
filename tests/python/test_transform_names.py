"""rearrange, debug_unwrap, functionalize, streams, and saved tensors that are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau.func import debug_unwrap, functionalize, rearrange, vmap

X = torch.arange(120).reshape(2, 3, 4, 5)
A = X.numpy()


@pytest.mark.parametrize(
    ("pattern", "lengths", "wanted"),
    [
        ("a b c d -> d c b a", {}, A.transpose(3, 2, 1, 0)),
        ("a b c d -> a (b c) d", {}, A.reshape(2, 12, 5)),
        ("a b c d -> (d a) b c", {}, A.transpose(3, 0, 1, 2).reshape(10, 3, 4)),
        ("a b (c e) d -> a e b (c d)", {"e": 2},
         A.reshape(2, 3, 2, 2, 5).transpose(0, 3, 1, 2, 4).reshape(2, 2, 3, 10)),
        ("a ... d -> d ... a", {}, A.transpose(3, 1, 2, 0)),
        ("a ... -> (...) a", {}, A.transpose(1, 2, 3, 0).reshape(60, 2)),
        ("a b c d -> a 1 b () (c d)", {}, A.reshape(2, 1, 3, 1, 20)),
        ("... -> ...", {}, A),
    ],
)  # fmt: skip
def test_rearrangements(pattern: str, lengths: dict[str, int], wanted: Any) -> None:
    np.testing.assert_array_equal(rearrange(X, pattern, **lengths).numpy(), wanted)


def test_rearranged_lists_and_gradients() -> None:
    rows = [torch.ones(2, 3), torch.zeros(2, 3)]
    assert rearrange(rows, "n a b -> a (n b)").tolist() == [[1, 1, 1, 0, 0, 0]] * 2
    leaf = torch.ones(2, 3, requires_grad=True)
    (rearrange(leaf, "a b -> (b a)") * torch.arange(6.0)).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize(
    ("pattern", "lengths", "message"),
    [
        ("a b c d", {}, "one '->'"),
        ("a b c d -> a b c", {}, "'d' stands on one side alone"),
        ("a a c d -> a c d", {}, "'a' stands twice"),
        ("a b c -> a b c", {}, "has 3 dims"),
        ("(e a) b c d -> e a b c d", {}, "all but one"),
        ("a b (c e) d -> a b c e d", {"e": 3}, "does not make 4"),
        ("a b c d -> a b c d", {"e": 3}, "no name 'e'"),
        ("(a b c d -> a b c d", {}, "not closed"),
        ("a b c+ d -> a b c d", {}, "misplaced"),
        ("(...) d -> d ...", {}, "in parentheses"),
        ("a ... -> a", {}, "stands on one side alone"),
    ],
)
def test_patterns_that_do_not_fit(pattern: str, lengths: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rearrange(X, pattern, **lengths)


def test_unwrapped_batches() -> None:
    seen: list[Any] = []

    def inner(x: Any) -> Any:
        seen.extend((debug_unwrap(x).shape, debug_unwrap(x, recurse=False).ndim))
        return x * 2

    result = vmap(vmap(inner))(torch.ones(2, 3, 4))
    assert result.shape == (2, 3, 4) and sorted(seen[0]) == [2, 3, 4] and seen[1] == 2
    plain = torch.ones(2)
    assert debug_unwrap(plain) is plain


def test_functionalized_functions_keep_results_and_effects() -> None:
    def add_one(x: Any, y: Any = 1) -> Any:
        return x.view(-1).add_(y)

    given = torch.zeros(2, 2)
    assert functionalize(add_one)(given, y=3).tolist() == [3] * 4 and given.sum() == 12
    with pytest.raises(RuntimeError, match="remove must be"):
        functionalize(add_one, remove="all")


def test_streams_of_the_cpu() -> None:
    stream, event = torch.Stream("cpu"), torch.Event("cpu", enable_timing=True)
    assert stream.query() and event.query() and stream == torch.Stream("cpu")
    assert str(stream.device) == "cpu" and not stream.is_capturing()
    stream.synchronize()
    stream.wait_event(event)
    with stream as entered:
        assert entered is stream
    for use in (event.record, stream.record_event, lambda: event.elapsed_time(event)):
        with pytest.raises(RuntimeError, match="has no events"):
            use()
    with pytest.raises(NotImplementedError, match="expected a tensor of cuda"):
        torch.ones(2).record_stream(stream)
    with pytest.raises(RuntimeError, match="no backend for xpu"):
        torch.ones(2).xpu()
    with pytest.raises(TypeError, match="complex32"):
        torch.ones(2).chalf()
    assert torch.has_lapack and torch.has_openmp is torch.backends.openmp.is_available()


def test_saved_tensors_may_be_written() -> None:
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = leaf.clone()
        result = (a**2).sum()
        a.sin_()
        (result + a.sum()).backward()
    np.testing.assert_allclose(leaf.grad, [2 + np.cos(1), 4 + np.cos(2)], rtol=1e-6)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        late = (leaf**2).sum()
        context.clear()
    with pytest.raises(RuntimeError, match="after the context's end"):
        late.backward()
    with pytest.raises(RuntimeError, match="no compiled region"):
        torch.autograd.graph.region_activation_memory_budget(0.5)


def test_saved_tensors_are_told_apart_where_memory_is_used_again() -> None:
    x = torch.full((1000,), 2.0, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        total = torch.zeros(())
        for k in range(1, 6):
            a = x * k
            total = total + (a * a).sum()
            del a
        total.backward()
    np.testing.assert_allclose(x.grad, np.full(1000, 2 * 2.0 * sum(k * k for k in range(1, 6))))


def test_multithreading_is_a_setting_of_the_thread() -> None:
    from flambeau.autograd.grad_mode import is_multithreading_enabled

    with torch.autograd.set_multithreading_enabled(False):
        assert not is_multithreading_enabled()
        leaf = torch.ones(2, requires_grad=True)
        leaf.sum().backward()
        assert leaf.grad is not None
    assert is_multithreading_enabled()
