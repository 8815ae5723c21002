"""`cond`, modules of devices, and what the library says of itself."""

import pytest

import flambeau


def test_cond_calls_one_function_alone_and_keeps_gradients() -> None:
    x = flambeau.tensor([3.0, 4.0], requires_grad=True)
    y = flambeau.cond(x.sum() > 5, lambda x: (x * x).sum(), lambda x: 1 / 0, (x,))
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [6, 8]
    assert flambeau.cond(False, lambda: 1, lambda: 2) == 2


def test_cond_refuses_what_is_no_choice() -> None:
    with pytest.raises(TypeError, match=r"cond\(\): false_fn must be a function, got 3"):
        flambeau.cond(True, lambda: 1, 3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="ambiguous"):
        flambeau.cond(flambeau.tensor([True, False]), lambda: 1, lambda: 2)


def test_a_device_has_a_module() -> None:
    assert flambeau.get_device_module("cuda") is flambeau.cuda
    assert flambeau.get_device_module(flambeau.device("cpu")) is flambeau.cpu
    with pytest.raises(RuntimeError, match="no module for the device 'meta'"):
        flambeau.get_device_module("meta")


def test_the_library_says_what_it_is_made_of() -> None:
    assert flambeau.__version__ in flambeau.__config__.show()
    assert str(flambeau.get_num_threads()) in flambeau.__config__.parallel_info()


def test_memory_is_not_pinned() -> None:
    x = flambeau.zeros(2)
    assert not x.is_pinned()
    with pytest.raises(RuntimeError, match="no pinned memory"):
        x.pin_memory()


def test_map2_combines_three_elements() -> None:
    x = flambeau.tensor([1, 2])
    assert x.map2_(flambeau.tensor([10, 20]), flambeau.tensor(100), lambda a, b, c: a + b + c) is x
    assert x.tolist() == [111, 122]
