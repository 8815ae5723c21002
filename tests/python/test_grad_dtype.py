"""The dtype and the layout of gradients, as a leaf and a thread choose them."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch


def weighted(leaf: torch.Tensor) -> torch.Tensor:
    return (leaf * 2).sum()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_it_is_the_tensors_own_unless_chosen(dtype: torch.dtype) -> None:
    assert torch.ones(2, dtype=dtype).grad_dtype is dtype


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_gradients_are_converted_and_added_in_it(dtype: torch.dtype) -> None:
    leaf = torch.ones(3, requires_grad=True)
    leaf.grad_dtype = dtype
    seen = []
    leaf.register_hook(lambda gradient: seen.append(gradient.dtype))
    weighted(leaf).backward()
    weighted(leaf).backward()
    assert leaf.grad is not None and leaf.grad.dtype is dtype
    assert leaf.grad.tolist() == [4.0] * 3
    assert seen == [dtype, dtype]
    assert torch.autograd.grad(weighted(leaf), leaf)[0].dtype is dtype


def test_without_one_gradients_of_any_dtype_are_taken() -> None:
    leaf = torch.ones(3, requires_grad=True)
    leaf.grad_dtype = None
    assert leaf.grad_dtype is None
    leaf.grad = torch.ones(3, dtype=torch.float16)
    weighted(leaf).backward()
    assert leaf.grad.dtype is torch.float16
    assert leaf.grad.tolist() == [3.0] * 3


def test_it_stays_when_the_data_changes() -> None:
    chosen, plain = (torch.ones(3, requires_grad=True) for _ in range(2))
    chosen.grad_dtype = torch.float64
    for leaf in (chosen, plain):
        weighted(leaf)
        leaf.data = torch.ones(4, dtype=torch.float16)
    assert (chosen.grad_dtype, plain.grad_dtype) == (torch.float64, torch.float16)
    weighted(chosen).backward()
    assert chosen.grad is not None and chosen.grad.dtype is torch.float64


def test_a_half_precision_gradient_trains_its_leaf() -> None:
    leaf = torch.ones(4, requires_grad=True)
    leaf.grad_dtype = torch.bfloat16
    (leaf * 3).sum().backward()
    torch.optim.SGD([leaf], lr=0.5).step()
    assert leaf.tolist() == [-0.5] * 4


@pytest.mark.parametrize(
    ("choice", "message"),
    [(torch.int32, "cannot have dtype int32"), (torch.complex64, "cannot have dtype complex64")],
)
def test_a_dtype_that_gradients_cannot_have(choice: torch.dtype, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.ones(2, requires_grad=True).grad_dtype = choice


def test_refusals() -> None:
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="must be a dtype or None, not int"):
        leaf.grad_dtype = 3  # type: ignore[assignment]
    result = leaf * 2
    with pytest.raises(RuntimeError, match="result of MulBackward0; only leaves"):
        _ = result.grad_dtype
    with pytest.raises(RuntimeError, match="only leaves"):
        result.grad_dtype = torch.float64
    weighted(leaf).backward()
    with pytest.raises(RuntimeError, match=r"\.grad has dtype float32.*set \.grad to None"):
        leaf.grad_dtype = torch.float64
    leaf.grad = None
    leaf.grad_dtype = torch.float64
    with pytest.raises(RuntimeError, match="expected the grad_dtype of the tensor.*float64"):
        leaf.grad = torch.ones(2)


# Layouts -----------------------------------------------------------------------------------------


def turned() -> torch.Tensor:
    return torch.ones(2, 3, 4).permute(2, 0, 1).requires_grad_()


def strides_of_gradient(leaf: torch.Tensor) -> tuple[int, ...]:
    (leaf.contiguous() * 2).sum().backward()
    assert leaf.grad is not None
    np.testing.assert_array_equal(leaf.grad.numpy(), np.full(leaf.shape, 2.0))
    return leaf.grad.stride()


def test_a_gradient_lies_as_its_leaf_unless_that_is_switched_off() -> None:
    leaf = turned()
    assert strides_of_gradient(leaf) == leaf.stride() == (1, 12, 4)
    with torch.autograd.enforce_grad_layout_policy(False):
        assert strides_of_gradient(turned()) == (6, 3, 1)
    assert strides_of_gradient(turned()) == (1, 12, 4)


def test_the_policy_switches_at_once_and_in_decorated_functions_alone() -> None:
    decorated = torch.autograd.enforce_grad_layout_policy(False)(strides_of_gradient)
    assert strides_of_gradient(turned()) == (1, 12, 4)
    assert decorated(turned()) == (6, 3, 1)
    switch = torch.autograd.enforce_grad_layout_policy(False)
    try:
        assert strides_of_gradient(turned()) == (6, 3, 1)
    finally:
        torch.autograd.enforce_grad_layout_policy(switch.prev)
    assert strides_of_gradient(turned()) == (1, 12, 4)


def test_switches_about_streams_are_bools() -> None:
    graph = torch.autograd.graph
    switches = (
        graph.set_override_stale_capture_stream,
        graph.set_warn_on_accumulate_grad_stream_mismatch,
    )
    for switch in switches:
        switch(True)
        with pytest.raises(TypeError, match="enabled must be a bool, not int"):
            switch(1)  # type: ignore[arg-type]


def test_index_is_the_former_name_of_brackets() -> None:
    rows = torch.arange(6).reshape(2, 3)
    assert rows.index(1).tolist() == [3, 4, 5]
    assert rows.index((slice(None), 2)).tolist() == [2, 5]
    with pytest.raises(TypeError, match="no dims that are objects"):
        rows.index((0,), "batch")
