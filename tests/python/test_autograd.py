"""Autograd from Python, against closed forms and finite differences."""

from __future__ import annotations

import gc
import math
import threading
import warnings
import weakref

import pytest
from autograd_tools import close, f64, leaf

import flambeau
from flambeau import autograd
from flambeau.autograd import forward_ad, functional, gradcheck, gradgradcheck, graph

# backward


def test_product_and_sum():
    w = flambeau.full((5, 5), 3.0, requires_grad=True)
    ((w * w + w).sum()).backward()
    close(w.grad, [7.0] * 25)
    ((w * w + w).sum()).backward()
    close(w.grad, [14.0] * 25)


def test_versions_of_saved_tensors():
    x, y = leaf([3.0]), leaf([4.0])
    z = x * y
    q, r = z * y, z + y
    z.add_(y)
    z.backward(retain_graph=True)
    close(x.grad, [4.0])
    close(y.grad, [4.0])
    r.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match=r"version 1, expected version 0") as error:
        q.backward()
    assert "Mul" in str(error.value)


def test_second_backward_needs_retain_graph():
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_only_leaves_and_retained():
    x = leaf(2.0)
    y = x * x
    z = y * 3
    y.retain_grad()
    z.backward()
    with pytest.warns(UserWarning, match="not a leaf"):
        assert z.grad is None
    close(y.grad, 3.0)
    close(x.grad, 12.0)
    assert y.retains_grad and not z.retains_grad and x.is_leaf and not y.is_leaf


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: leaf([1.0, 2.0]).exp().backward(), "scalar root"),
        (lambda: leaf([1.0, 2.0]).exp().backward(flambeau.ones(3, dtype=f64)), "shape"),
        (lambda: flambeau.tensor(1.0).backward(), "does not require grad"),
        (lambda: leaf(1.0).exp().backward(gradient=1.0), r"Tensor \| None"),
        (lambda: leaf(1.0).exp().backward(inputs=[]), "empty"),
        (lambda: flambeau.tensor(1).requires_grad_(), "floating"),
    ],
)
def test_rejects(call, match):
    with pytest.raises((RuntimeError, TypeError), match=match):
        call()


def test_inputs_of_backward():
    a, b = leaf(2.0), leaf(3.0)
    (a * b).backward(inputs=[a])
    close(a.grad, 3.0)
    assert b.grad is None
    m = a * b
    (m * m).backward(inputs=m)
    close(m.grad, 12.0)


def test_backward_of_several():
    a = leaf([1.0, 2.0])
    autograd.backward([a.sum(), a * a], [None, flambeau.tensor([1.0, 10.0], dtype=f64)])
    close(a.grad, [3.0, 41.0])


def test_grad():
    a, b, c = leaf(2.0), leaf(3.0), leaf(5.0)
    y = a * a * b
    da, db = autograd.grad(y, (a, b), retain_graph=True)
    close(da, 12.0)
    close(db, 4.0)
    assert a.grad is None
    with pytest.raises(RuntimeError, match="allow_unused"):
        autograd.grad(y, c, retain_graph=True)
    assert autograd.grad(y, c, retain_graph=True, allow_unused=True) == (None,)
    close(autograd.grad(y, [c], retain_graph=True, materialize_grads=True)[0], 0.0)
    rows = autograd.grad(
        flambeau.stack([a, b]) * c,
        (a, c),
        flambeau.eye(2, dtype=f64),
        is_grads_batched=True,
    )
    close(rows[0], [5.0, 0.0])
    close(rows[1], [2.0, 3.0])


def test_any_order():
    x = leaf(0.7)
    y = x.sin()
    for expected in (math.cos(0.7), -math.sin(0.7), -math.cos(0.7), math.sin(0.7)):
        (y,) = autograd.grad(y, x, create_graph=True)
        close(y, expected)


def test_long_chain():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 0.0
    y.backward()
    close(x.grad, 1.0)
    del y
    y = x
    for _ in range(100_000):
        y = y * 1.0
    del y


def test_graph_is_freed():
    x = leaf([1.0])
    y = x * 2
    z = y.exp()
    node = weakref.ref(z)
    del y, z
    assert node() is None
    assert gc.collect() >= 0


# modes


def test_grad_modes():
    x = leaf(1.0)
    with flambeau.no_grad():
        assert not (x * 2).requires_grad
        with flambeau.enable_grad():
            assert (x * 2).requires_grad
    assert flambeau.is_grad_enabled()
    with flambeau.set_grad_enabled(False):
        assert not flambeau.is_grad_enabled()
    assert flambeau.is_grad_enabled()
    flambeau.set_grad_enabled(False)
    assert not flambeau.is_grad_enabled()
    flambeau.set_grad_enabled(True)


def test_grad_modes_decorate():
    @flambeau.no_grad()
    def plain():
        return flambeau.is_grad_enabled()

    @flambeau.no_grad
    def bare():
        return flambeau.is_grad_enabled()

    @flambeau.set_grad_enabled(False)
    def chosen():
        return flambeau.is_grad_enabled()

    @flambeau.no_grad()
    def generator():
        received = yield flambeau.is_grad_enabled()
        try:
            yield (received, flambeau.is_grad_enabled())
        except ValueError:
            yield "caught"
        return "end"

    assert not plain() and not bare() and not chosen()
    assert flambeau.is_grad_enabled()
    walk = generator()
    assert next(walk) is False
    assert flambeau.is_grad_enabled()
    assert walk.send("sent") == ("sent", False)
    assert walk.throw(ValueError()) == "caught"
    with pytest.raises(StopIteration, match="end"):
        next(walk)
    assert flambeau.is_grad_enabled()


def test_inference_mode():
    x = leaf([1.0, 2.0])
    with flambeau.inference_mode():
        assert flambeau.is_inference_mode_enabled() and not flambeau.is_grad_enabled()
        y = x * 2
        assert not x[0].is_inference()
    assert y.is_inference() and not y.requires_grad
    with pytest.raises(RuntimeError, match="inference mode"):
        x * y
    with pytest.raises(RuntimeError, match="inference mode"):
        y.requires_grad_()
    close((y.clone() * x).sum().detach(), 2 + 8)


def test_modes_are_per_thread():
    seen = []
    with flambeau.no_grad():
        thread = threading.Thread(target=lambda: seen.append(flambeau.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


# in place and views


def test_in_place_on_leaves():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0].add_(1)
    with flambeau.no_grad():
        x.add_(1)
    close(x.detach(), [2.0, 3.0])


def test_in_place_on_views():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    w = leaf(5.0)
    base = x * x
    other = base[1]
    base[0].mul_(w)
    other[1:].exp_()
    assert other.requires_grad
    base.sum().backward()
    close(x.grad, [10.0, 20.0, 6.0, 8 * math.exp(16)], 1e-4)
    close(w.grad, 5.0)


def test_indexed_assignment():
    x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0])
    y = x * 2
    y[1:2] = v
    y.sum().backward()
    close(x.grad, [2.0, 0.0, 2.0])
    close(v.grad, [1.0])


def test_untracked_base_takes_the_history_of_its_view():
    base, w = flambeau.zeros(2, 2, dtype=f64), leaf([3.0, 4.0])
    base[0].copy_(w)
    assert base.requires_grad
    (base * 2).sum().backward()
    close(w.grad, [2.0, 2.0])


def test_view_taken_without_grad():
    x = leaf([1.0, 2.0])
    y = x * 1
    with flambeau.no_grad():
        v = y[0]
    with pytest.raises(RuntimeError, match="grad mode"):
        v.mul_(x[0])


def test_detach():
    x = leaf([1.0])
    y = x * x
    d = y.detach()
    assert not d.requires_grad and d.is_leaf and d.data_ptr() == y.data_ptr()
    z = y * y
    d.add_(1)
    with pytest.raises(RuntimeError, match="modified in place"):
        z.backward()
    y.detach_()
    assert y.is_leaf and y.grad_fn is None


# hooks


def test_tensor_hooks():
    x = leaf(2.0)
    y = x * x
    seen = []
    first = y.register_hook(lambda g: seen.append(g.item()))
    y.register_hook(lambda g: g * 10)
    after = []
    x.register_post_accumulate_grad_hook(lambda p: after.append(p.grad.item()))
    (y * 3).backward(retain_graph=True)
    close(x.grad, 120.0)
    assert seen == [3.0] and after == [120.0]
    first.remove()
    x.grad = None
    y.backward()
    assert seen == [3.0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        flambeau.tensor(1.0).register_hook(lambda g: g)


def test_a_hook_may_be_removed_by_with_and_may_raise():
    x = leaf(2.0)
    with x.register_hook(lambda g: g * 100):
        (x * 1).backward()
    close(x.grad, 100.0)

    class HookError(Exception):
        pass

    def fail(g):
        raise HookError("from the hook")

    y = x * 2
    y.register_hook(fail)
    with pytest.raises(HookError, match="from the hook") as error:
        (y * 2).backward()
    assert any(entry.name == "fail" for entry in error.traceback)


def test_hook_of_the_wrong_type_and_shape():
    x = leaf([1.0, 2.0])
    y = x * 2
    handle = y.register_hook(lambda g: 3)
    with pytest.raises(TypeError, match="hook"):
        y.sum().backward(retain_graph=True)
    handle.remove()
    y.register_hook(lambda g: g[0])
    with pytest.raises(RuntimeError, match="shape"):
        y.sum().backward()


def test_nodes():
    x, y = leaf([2.0]), leaf([3.0])
    z = (x * y).exp()
    node = z.grad_fn
    assert node is z.grad_fn
    assert "Exp" in node.name() and "Exp" in repr(node)
    ((product, index),) = node.next_functions
    assert index == 0 and "Mul" in product.name()
    leaves = [n.variable for n, _ in product.next_functions]
    assert leaves[0] is x and leaves[1] is y
    assert x.grad_fn is None
    close(graph.saved_tensors(product)["other"], [3.0])
    close(product._saved_other.detach(), [3.0])
    # A leaf as itself, what has a history with it.
    assert product._saved_other is y and product._saved_self is x
    assert node._saved_result is not z and node._saved_result.grad_fn is node
    assert (x * y).exp().sin().grad_fn._saved_self.grad_fn.name() == node.name()
    node.metadata["key"] = 1
    assert z.grad_fn.metadata == {"key": 1}
    calls = []
    node.register_hook(lambda grad_in, grad_out: calls.append((len(grad_in), len(grad_out))))
    product.register_prehook(lambda grad_out: (grad_out[0] * 2,))
    z.backward()
    assert calls == [(1, 1)]
    close(x.grad, [2 * 3 * math.exp(6)], 1e-6)
    edge = graph.get_gradient_edge(x)
    assert edge.node.name() == "torch::autograd::AccumulateGrad" and edge.output_nr == 0


def test_saved_tensors_hooks():
    x = leaf([1.0, 2.0])
    packed = []

    def pack(tensor):
        packed.append(tensor)
        return tensor.tolist()

    def unpack(values):
        return flambeau.tensor(values, dtype=f64)

    with graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).exp()
    assert len(packed) == 3
    (first,) = autograd.grad(y.sum(), x, create_graph=True)
    first.sum().backward()
    close(x.grad, [6 * math.exp(1), 18 * math.exp(4)], 1e-9)
    with graph.save_on_cpu():
        z = (x * x).sum()
    x.grad = None
    z.backward()
    close(x.grad, [2.0, 4.0])
    with (
        graph.disable_saved_tensors_hooks("hooks are off"),
        pytest.raises(RuntimeError, match="hooks are off"),
        graph.saved_tensors_hooks(pack, unpack),
    ):
        pass


def test_hook_on_several_tensors():
    x, y, z = leaf(2.0), leaf(3.0), leaf(4.0)
    calls = []
    handle = graph.register_multi_grad_hook([x, y, z], calls.append)
    any_calls = []
    graph.register_multi_grad_hook([x, y], any_calls.append, mode="any")
    for _ in range(2):
        (x * y).backward()
    assert [[None if g is None else g.item() for g in call] for call in calls] == [
        [3.0, 2.0, None]
    ] * 2
    assert len(any_calls) == 2
    handle.remove()
    (x * y).backward()
    assert len(calls) == 2


def test_reentrant_backward():
    x = leaf(2.0)
    y = x * x
    inner = leaf(3.0)

    def nested(g):
        with flambeau.enable_grad():
            (inner * inner).backward()
        return g * inner.grad

    y.register_hook(nested)
    y.backward()
    close(x.grad, 4 * 6)


def test_threads():
    w = flambeau.ones(10, dtype=f64, requires_grad=True)

    def work():
        for _ in range(50):
            (w * w).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    close(w.grad, [400.0] * 10)


# forward mode, functional, anomaly


def test_forward_mode():
    x, t = flambeau.tensor([1.0, 2.0], dtype=f64), flambeau.tensor([1.0, 0.5], dtype=f64)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        close(forward_ad.unpack_dual(dual * dual).tangent, [2.0, 2.0])
        close(forward_ad.unpack_dual(dual.sin()).tangent, [math.cos(1), 0.5 * math.cos(2)])
        assert forward_ad.unpack_dual(x).tangent is None
        with pytest.raises(RuntimeError, match="nest"):
            forward_ad.enter_dual_level()
        with pytest.raises(RuntimeError, match="shape"):
            forward_ad.make_dual(x, t[:1])
    assert forward_ad.unpack_dual(dual).tangent is None
    with pytest.raises(RuntimeError, match="level"):
        forward_ad.make_dual(x, t)


def test_functional():
    def f(x, y):
        return (x * x).sum() * y, x * y

    x, y = flambeau.tensor([1.0, 2.0], dtype=f64), flambeau.tensor(3.0, dtype=f64)
    (a, b), (c, d) = functional.jacobian(f, (x, y))
    close(a, [6.0, 12.0])
    close(b, 5.0)
    close(c, [[3.0, 0.0], [0.0, 3.0]])
    close(d, [1.0, 2.0])
    forward = functional.jacobian(f, (x, y), strategy="forward-mode")
    close(forward[1][0], [[3.0, 0.0], [0.0, 3.0]])
    hessian = functional.hessian(lambda x: (x**3).sum(), x)
    close(hessian, [[6.0, 0.0], [0.0, 12.0]])
    v = flambeau.tensor([1.0, -1.0], dtype=f64)
    value, product = functional.vjp(lambda x: x * x, x, v)
    close(value, [1.0, 4.0])
    close(product, [2.0, -4.0])
    close(functional.jvp(lambda x: x * x, x, v)[1], [2.0, -4.0])
    close(functional.hvp(lambda x: (x**3).sum(), x, v)[1], [6.0, -12.0])
    close(functional.vhp(lambda x: (x**3).sum(), x, v)[1], [6.0, -12.0])
    with pytest.raises(RuntimeError, match="depend"):
        functional.jacobian(lambda x: x.detach(), x, strict=True)


def test_complex():
    z = flambeau.tensor([1 + 2j, -0.5j], dtype=flambeau.complex128, requires_grad=True)
    assert gradcheck(lambda z: z * z.conj() * z, z)


def test_anomaly_mode():
    x = leaf([0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.detect_anomaly():
            y = x.sqrt() * 0
            with pytest.raises(RuntimeError, match="(?s)NaN.*test_anomaly_mode"):
                y.sum().backward()
    assert not flambeau.is_anomaly_enabled()


def test_elements_at_one_place_share_the_gradient_of_as_strided() -> None:
    """Whatever reads the place reads one of them: the derivative by the one behind is 1, once."""
    leaf = flambeau.tensor([2.0], dtype=flambeau.float64, requires_grad=True)
    read = leaf.expand(3).as_strided((2,), (0,))
    (read * flambeau.tensor([1.0, 10.0], dtype=flambeau.float64)).sum().backward()
    assert leaf.grad.tolist() == [11.0]

    def windows(x: flambeau.Tensor) -> flambeau.Tensor:
        overlapping = (x * x).as_strided((3, 2), (1, 1))
        return overlapping.as_strided((2, 2), (2, 1), 0) ** 2

    start = flambeau.randn(4, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(windows, start)
    assert gradgradcheck(windows, start)


@pytest.mark.parametrize("operator", ["pow_", "mul_", "float_power_"])
def test_a_view_that_is_written_has_gradients_for_all_that_it_shows(operator: str) -> None:
    """Also for what lies outside the view that it was taken of."""
    leaf = flambeau.tensor([3.0, 4.0, 5.0, 6.0], dtype=flambeau.float64, requires_grad=True)
    shown = (leaf * 1)[2:].as_strided((2, 2), (2, 1), 0)
    getattr(shown, operator)(2).sum().backward()
    expected = [2.0] * 4 if operator == "mul_" else [6.0, 8.0, 10.0, 12.0]
    assert leaf.grad.tolist() == expected
