"""Ways to make cycles through hooks, contexts, gradients and graphs, by name: CYCLES."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor

SIZE = 1000


def leaf() -> Tensor:
    return flambeau.ones(SIZE, requires_grad=True)


class Holder:
    """Something to hang attributes on."""

    value: Any = None


class Keeping(flambeau.autograd.Function):
    """x * 2, whose context keeps what it is told to."""

    @staticmethod
    def forward(ctx, x, holder):
        ctx.holder = holder
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * (1 if ctx.holder is not None else 0), None


class Squaring(flambeau.autograd.Function):
    """x * x, whose gradient has a gradient and whose context keeps x itself."""

    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return Keeping.apply(grad * ctx.x, ctx)


def kept_result() -> tuple[Tensor, Tensor]:
    x, holder = leaf(), Holder()
    y = Keeping.apply(x, holder)
    holder.value = y
    return x, y


def hook_on_a_leaf() -> Any:
    x = leaf()
    x.register_hook(lambda grad: x * 0)
    return x


def hook_on_a_used_leaf() -> Any:
    x = leaf()
    y = (x * 2).sum()
    x.register_hook(lambda grad: x * 0)
    return y


def hook_on_a_result() -> Any:
    y = leaf() * 2
    y.register_hook(lambda grad: y * 0)
    return y


def hook_upstream_of_what_it_keeps() -> Any:
    x = leaf() * 2
    y = x.exp()
    z = y.log()
    x.register_hook(lambda grad: z * 0)
    del x
    return z


def hook_after_accumulation() -> Any:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda leaf: x)
    return x


def hook_of_a_node() -> Any:
    y = leaf() * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (y, None)[1])
    return y


def hook_before_a_node() -> Any:
    y = leaf() * 2
    y.grad_fn.register_prehook(lambda outputs: (y, None)[1])
    return y


def hook_that_keeps_the_node() -> Any:
    node = (leaf() * 2).grad_fn
    node.register_hook(lambda inputs, outputs: (node, None)[1])
    return node


def hook_that_keeps_a_view() -> Any:
    x = leaf()
    view = x[1:]
    x.register_hook(lambda grad: (x, view)[0] * 0)
    return x


def hook_that_keeps_what_was_written_later() -> Any:
    x, total = leaf(), flambeau.zeros(SIZE)
    total += x
    x.register_hook(lambda grad: total * 0)
    return total


def hook_that_keeps_a_base_written_through_a_view() -> Any:
    x, base = leaf(), flambeau.zeros(2, SIZE)
    base[0].mul_(x)
    base[1] = x
    x.register_hook(lambda grad: base[0] * 0)
    return base


def hook_that_keeps_an_older_view() -> Any:
    x = flambeau.ones(SIZE)
    view = x[1:]
    x.requires_grad_()
    x.register_hook(lambda grad: (x, view)[0] * 0)
    return x


def hook_that_keeps_many_views() -> Any:
    x = flambeau.ones(SIZE, requires_grad=True)
    views = x.split(100)
    x.register_hook(lambda grad: (x, views)[0] * 0)
    return views


def hook_that_keeps_an_array() -> Tensor:
    """NumPy tells the collector of nothing that its arrays hold."""
    x = flambeau.ones(SIZE)
    kept = [x.numpy(), memoryview(x)]
    x.requires_grad_()
    x.register_hook(lambda g: g if kept else None)
    return x


def hook_of_a_node_that_keeps_a_view() -> Any:
    y = leaf() * 2
    view = y.view(-1, 10)
    y.grad_fn.register_hook(lambda inputs, outputs: (y, view, None)[2])
    return view


def hook_that_keeps_what_was_computed() -> Any:
    y = leaf() * 2
    results = [y.exp(), y.sin(), y[2:]]
    y.register_hook(lambda grad: (y, results)[0] * 0)
    return results[1].sum()


def context_that_keeps_several_results() -> Any:
    x, holder = leaf(), Holder()
    y = Keeping.apply(x, holder)
    holder.value = [y, y * 2, y[3:], x]
    return y


def hooks_across_two_graphs() -> Any:
    a, b = leaf() * 2, leaf() * 3
    views = a[1:], b[1:]
    a.register_hook(lambda grad: (b, views)[0] * 0)
    b.register_hook(lambda grad: (a, views)[0] * 0)
    return a, b


def attributes_of_tensors_with_a_common_base() -> Any:
    base = flambeau.ones(SIZE)
    a, b = base[1:], base[2:]
    a.other, b.other, base.parts = b, a, [a, b]
    return base


def grad_with_a_graph_beside_a_view() -> Any:
    x = leaf()
    (x * x * x).sum().backward(create_graph=True)
    x.grad.views = [x[1:], x.grad[1:], x]
    return x


def hook_shared_by_two_accumulators() -> Any:
    x = leaf()
    y, view = x * 2, x[1:]
    x.register_hook(lambda grad: (x, y, view)[0] * 0)
    x.data = flambeau.ones(SIZE // 2)
    return x, y


def packing_function_that_keeps_results() -> Any:
    results: list[Any] = []
    x = leaf()
    with flambeau.autograd.graph.saved_tensors_hooks(
        lambda t: (t.detach(), results)[0], lambda t: t
    ):
        results.extend([x * x, (x * x)[1:], x.exp()])
    return results[0]


def metadata() -> Any:
    y = leaf() * 2
    y.grad_fn.metadata["result"] = y
    return y


def attribute_of_a_node() -> Any:
    node = (leaf() * 2).grad_fn
    node.itself = [node]
    return node


def context_keeps_the_result() -> Any:
    return kept_result()[1]


def context_keeps_the_result_of_a_result() -> Any:
    holder = Holder()
    y = Keeping.apply(leaf(), holder)
    holder.value = y * y
    return holder.value


def context_keeps_itself() -> Any:
    class Own(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.itself = ctx
            ctx.result = x * 2
            ctx.save_for_backward(ctx.result)
            return ctx.result

        @staticmethod
        def backward(ctx, grad):
            return ctx.result * 0 + grad * 2

    return Own.apply(leaf())


def context_keeps_a_leaf_with_its_second_gradient() -> Any:
    x = leaf()
    Squaring.apply(x).sum().backward(create_graph=True)
    return x


def grad_with_an_attribute() -> Any:
    x = leaf()
    x.sum().backward()
    x.grad.owner = x
    return x


def grad_that_was_set() -> Any:
    x = leaf()
    x.grad = flambeau.ones(SIZE)
    x.grad.owner = [x]
    return x


def grad_with_a_graph() -> Any:
    x = leaf()
    x.grad = x * 2
    return x


def grads_of_each_other() -> Any:
    x, y = leaf(), leaf()
    x.grad, y.grad = y, x
    return x


def second_gradient() -> Any:
    x = leaf()
    (x * x * x).sum().backward(create_graph=True)
    return x


def retained_second_gradient() -> Any:
    x = leaf()
    y = x * x
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    return x, y


def parameters_with_second_gradients() -> Any:
    model = flambeau.nn.Sequential(flambeau.nn.Linear(30, 30), flambeau.nn.Linear(30, 1))
    model(flambeau.ones(2, 30)).sum().backward(create_graph=True)
    (model[0].weight.grad * model[1].weight.grad).sum().backward(create_graph=True)
    return model


def view_as_an_attribute() -> Any:
    x = flambeau.ones(SIZE)
    x.part = x[1:]
    return x.part


def result_as_an_attribute() -> Any:
    x = flambeau.ones(SIZE)
    x.result = x * leaf()
    return x.result


def packed_value() -> Any:
    holder = Holder()
    x = leaf()
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: holder, lambda h: x.detach()):
        holder.value = x * x
    return holder.value


def custom_operator() -> Any:
    return keep_output(leaf())


@flambeau.library.custom_op("garbage::keep_output", mutates_args=())
def keep_output(x: Tensor) -> Tensor:
    return x * 2


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.output = output


keep_output.register_autograd(lambda ctx, grad: grad * 2, setup_context=_setup)

CYCLES: dict[str, Callable[[], Any]] = {
    make.__name__: make
    for make in (
        hook_on_a_leaf,
        hook_on_a_used_leaf,
        hook_on_a_result,
        hook_upstream_of_what_it_keeps,
        hook_after_accumulation,
        hook_of_a_node,
        hook_before_a_node,
        hook_that_keeps_the_node,
        hook_that_keeps_a_view,
        hook_that_keeps_what_was_written_later,
        hook_that_keeps_a_base_written_through_a_view,
        hook_that_keeps_an_older_view,
        hook_that_keeps_many_views,
        hook_that_keeps_an_array,
        hook_of_a_node_that_keeps_a_view,
        hook_that_keeps_what_was_computed,
        context_that_keeps_several_results,
        hooks_across_two_graphs,
        attributes_of_tensors_with_a_common_base,
        grad_with_a_graph_beside_a_view,
        hook_shared_by_two_accumulators,
        packing_function_that_keeps_results,
        metadata,
        attribute_of_a_node,
        context_keeps_the_result,
        context_keeps_the_result_of_a_result,
        context_keeps_itself,
        context_keeps_a_leaf_with_its_second_gradient,
        grad_with_an_attribute,
        grad_that_was_set,
        grad_with_a_graph,
        grads_of_each_other,
        second_gradient,
        retained_second_gradient,
        parameters_with_second_gradients,
        view_as_an_attribute,
        result_as_an_attribute,
        packed_value,
        custom_operator,
    )
}
