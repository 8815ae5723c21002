"""`ops.aten`: operators as objects, and what modes count with them."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, _ops, nn, ops
from flambeau.func import _batching_table
from flambeau.nn import functional
from flambeau.utils._python_dispatch import TorchDispatchMode
from flambeau.utils.flop_counter import FlopCounterMode, register_flop_formula, shape_wrapper
from flambeau.utils.module_tracker import ModuleTracker

aten = ops.aten


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        self.calls: list[tuple[Any, tuple[Any, ...]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((func, args))
        return func(*args, **(kwargs or {}))


def test_modes_are_asked_about_operators() -> None:
    x = flambeau.tensor([-1.0, 2.0])
    with Seen() as seen:
        x + x
        x + 1
        x.clone().mul_(x)
        x.max()
        x.reshape(1, 2).max(1)
        functional.relu(x.clone(), inplace=True)
        flambeau.div(x, 2, rounding_mode="floor")
    called = [func for func, _ in seen.calls]
    known = {func for func in called if func.overloadpacket not in (aten.view, aten.reshape)}
    assert known == {
        aten.add.Tensor,  # also of a number
        aten.clone.default,
        aten.mul_.Tensor,
        aten.amax.default,  # what max is composed of
        aten.max.dim,
        aten.relu_.default,
        aten.floor_divide.default,  # and a rounded quotient
    }
    assert called[:2] == [aten.add.Tensor] * 2
    assert all(isinstance(func, _ops.OpOverload) for func in called)


def test_overloads_write_into_tensors_of_the_caller() -> None:
    x = flambeau.tensor([[3.0, 1.0], [2.0, 5.0]])
    out = flambeau.empty(2)
    assert aten.sum.IntList_out(x, [0], out=out) is out
    assert out.tolist() == [5.0, 6.0]
    assert aten.mul.Scalar_out(x, 2, out=flambeau.empty(2, 2)).tolist() == [[6.0, 2.0], [4.0, 10.0]]
    values, indices = flambeau.empty(2, 2), flambeau.empty(2, 2, dtype=flambeau.int64)
    found = aten.sort.values(x, values=values, indices=indices)
    assert type(found) is tuple and found[0] is values
    assert indices.tolist() == [[1, 0], [0, 1]]
    assert [a.name for a in aten.add.out._schema.arguments if a.is_write] == ["out"]
    assert aten.add.out._schema.is_mutable
    assert aten.add.out.name() == "aten::add.out"
    with pytest.raises(TypeError, match=r"sum.IntList_out\(\): missing keyword argument 'out'"):
        aten.sum.IntList_out(x, [0])
    with pytest.raises(AttributeError, match="has no overload 'out'"):
        _ = aten.add_.out


@pytest.mark.parametrize(
    "name",
    ["add.out", "mean.out", "mean.dtype_out", "max.unary_out", "max.out", "any.out", "any.all_out",
     "any.dims_out", "prod.int_out", "std.correction_out", "clamp.Tensor_out", "clamp.out",
     "eq.Scalar_out", "pow.Tensor_Tensor_out", "arange.start_out", "cummax.out", "topk.values",
     "median.dim_values", "linalg_inv_ex.inverse", "where.self_out", "cat.out"],
)  # fmt: skip
def test_overloads_with_out_have_the_names_of_pytorch(name: str) -> None:
    operator, overload = name.split(".")
    assert overload in getattr(aten, operator).overloads()


def test_one_dim_and_several_are_two_overloads_of_any_and_all() -> None:
    x = flambeau.tensor([[True, False], [True, True]])
    with Seen() as seen:
        assert x.any(0).tolist() == [True, True]
        assert x.all(dim=0).tolist() == [True, False]
        assert x.all((0, 1)).item() is False
        assert x.any(axis=-1).tolist() == [True, True]
    assert [func for func, _ in seen.calls if func.__name__[:3] in ("any", "all")] == [
        aten.any.dim,
        aten.all.dim,
        aten.all.dims,
        aten.any.dim,
    ]


def test_what_an_operator_says_of_itself() -> None:
    add, largest = aten.add.Tensor, aten.max.dim
    assert add is aten.add.Tensor and add == aten.add.Tensor and add != aten.add.Scalar
    assert add.overloadpacket is add._overloadpacket is aten.add
    assert (add.name(), add.__name__, str(add)) == (
        "aten::add.Tensor",
        "add.Tensor",
        "aten.add.Tensor",
    )
    assert (aten.exp.default.name(), str(aten.exp)) == ("aten::exp", "aten.exp")
    assert repr(largest) == "<OpOverload(op='aten.max', overload='dim')>"
    assert repr(aten.max) == "<OpOverloadPacket(op='aten.max')>"
    plain, with_out = ["default", "other", "dim"], ["unary_out", "out", "dim_max"]
    assert aten.max.overloads() == [*plain, *with_out]
    assert [argument.name for argument in largest._schema.arguments] == ["self", "dim", "keepdim"]
    assert not add._schema.is_mutable and aten.add_.Tensor._schema.is_mutable
    assert str(aten.add_.Tensor._schema) == "aten::add_.Tensor(self(!), other, alpha)"
    for operator in (add, aten.add):
        assert pickle.loads(pickle.dumps(operator)) is operator
        assert copy.deepcopy(operator) is operator
    assert "add" in dir(aten) and "Tensor" in dir(aten.add)


def test_operators_are_functions() -> None:
    x = flambeau.tensor([-1.0, 2.0])
    assert aten.add.Tensor(x, x, alpha=2).tolist() == [-3.0, 6.0]
    assert aten.add(x, 1).tolist() == [0.0, 3.0]
    y = x.clone()
    assert aten.relu_.default(y) is y and y.tolist() == [0.0, 2.0]
    assert aten.linear.default(x, flambeau.ones(3, 2)).tolist() == [1.0] * 3
    assert aten.linalg_det.default(flambeau.eye(2)).item() == 1


def test_every_declared_function_is_one_operator() -> None:
    functions = _batching_table.functions_in(flambeau._C)
    assert len(functions) > 1000
    for function in functions:
        called = _batching_table.called_in(flambeau._C, function)
        assert called is not None
        numbers = [
            0 if name in called.overload.entry.get("operands", ()) else None
            for name in called.arguments
        ]
        for values in (numbers, [flambeau.ones(1)] * len(numbers)):
            found = _ops.overload_of(called, values)
            assert found._overloadname in [name for name, _, _ in called.aten_overloads]
            assert (
                getattr(getattr(aten, found.overloadpacket.__name__), found._overloadname) is found
            )


def test_overloads_are_called_as_in_pytorch() -> None:
    x = flambeau.rand(2, 2)
    with Seen() as seen:
        x.sum()
        x.sum(0)
        x.mean(1)
        x**2
        x.clone().pow_(2)
        x.transpose(0, 1)
        x.clone().transpose_(0, 1)
        x.split(1)
        x.unbind()
        x.clamp(min=0.5)
        x.index_fill(0, flambeau.tensor([0]), 1.0)
        flambeau.maximum(x, x)
        flambeau.special.zeta(x, 2)
        x.std(0)
    names = [str(func) for func, _ in seen.calls]
    wanted = ["sum.default", "sum.dim_IntList", "mean.dim", "pow.Tensor_Scalar", "pow_.Scalar"]
    wanted += ["transpose.int", "transpose_.default", "split.Tensor", "unbind.int"]
    wanted += ["clamp.default", "index_fill_.int_Scalar", "maximum.default"]
    wanted += ["special_zeta.other_scalar", "std.correction"]
    assert [name for name in wanted if f"aten.{name}" not in names] == []
    assert aten.sum.overloads() == ["dim_IntList", "default", "IntList_out", "out"]
    assert aten.relu.overloads() == ["default"]  # of every layout


def test_what_there_is_not() -> None:
    with pytest.raises(AttributeError, match="there is no operator 'add_and_more'"):
        _ = aten.add_and_more
    with pytest.raises(
        AttributeError, match="max has no overload 'many', only default, other, dim"
    ):
        _ = aten.max.many


def flops(compute: Any, *given: Tensor) -> tuple[int, int]:
    """Of forward, and of both."""
    with FlopCounterMode(display=False) as counter:
        result = compute(*given)
        forward = counter.get_total_flops()
        result.sum().backward()
    return forward, counter.get_total_flops()


def leaf(*shape: int) -> Tensor:
    return flambeau.ones(shape, requires_grad=True)


@pytest.mark.parametrize(
    ("compute", "shapes", "multiplications"),
    [
        (flambeau.mm, [(3, 4), (4, 5)], 3 * 4 * 5),
        (flambeau.bmm, [(2, 3, 4), (2, 4, 5)], 2 * 3 * 4 * 5),
        (flambeau.matmul, [(3, 4), (4, 5)], 3 * 4 * 5),
        (flambeau.matmul, [(2, 3, 4), (4, 5)], 2 * 3 * 4 * 5),
        (flambeau.matmul, [(2, 1, 3, 4), (6, 4, 5)], 2 * 6 * 3 * 4 * 5),
        (flambeau.addmm, [(5,), (3, 4), (4, 5)], 3 * 4 * 5),
        (flambeau.baddbmm, [(2, 3, 5), (2, 3, 4), (2, 4, 5)], 2 * 3 * 4 * 5),
        (functional.linear, [(2, 6, 4), (5, 4), (5,)], 2 * 6 * 4 * 5),
        (functional.conv1d, [(2, 3, 9), (4, 3, 2)], 2 * 4 * 8 * 3 * 2),
        (functional.conv2d, [(2, 3, 9, 7), (4, 3, 2, 3), (4,)], 2 * 4 * 8 * 5 * 3 * 2 * 3),
        (functional.conv3d, [(1, 2, 4, 5, 6), (3, 2, 2, 2, 2)], 3 * 3 * 4 * 5 * 2 * 8),
        (functional.conv_transpose2d, [(1, 2, 5, 5), (2, 3, 3, 3)], 2 * 25 * 3 * 9),
        (functional.scaled_dot_product_attention, [(2, 7, 4), (2, 5, 4), (2, 5, 4)], 2 * 7 * 5 * 8),
    ],
)
def test_operations_are_counted(compute: Any, shapes: Any, multiplications: int) -> None:
    forward, both = flops(compute, *(leaf(*shape) for shape in shapes))
    # The gradient of each operand takes as many as the product.
    assert (forward, both) == (2 * multiplications, 3 * 2 * multiplications)


def test_operations_of_attention_and_recurrences() -> None:
    q = flambeau.ones(2, 8, 128, 64)
    with FlopCounterMode(display=False) as counter:
        functional.scaled_dot_product_attention(q, q, q)
    assert counter.get_total_flops() == 2 * 2 * (2 * 8 * 128 * 128 * 64)
    lstm = nn.LSTM(3, 4)
    forward, both = flops(lambda x: lstm(x)[0], leaf(5, 2, 3))
    assert forward == 2 * 5 * 2 * (16 * 3 + 16 * 4) and both == 3 * forward


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(self.conv(x).mean((2, 3)))


def test_operations_belong_to_modules() -> None:
    net = Net()
    with FlopCounterMode(display=False) as counter:
        net(flambeau.ones(2, 3, 9, 9)).sum().backward()
    counts = {name: sum(found.values()) for name, found in counter.get_flop_counts().items()}
    conv = 2 * 2 * 8 * 7 * 7 * 3 * 9  # its input needs no gradient
    first, last = 2 * 2 * 8 * 16, 2 * 2 * 16 * 4
    assert counts["Net.conv"] == 2 * conv
    assert counts["Net.body.0"] == 3 * first and counts["Net.body.2"] == 3 * last
    assert counts["Net.body"] == 3 * (first + last)
    assert counts["Net"] == counts["Global"] == 2 * conv + 3 * (first + last)
    assert counter.get_flop_counts()["Net.body.0"][aten.linear] == first
    table = counter.get_table(depth=1).splitlines()
    assert table[0].split() == ["Module", "FLOP", "%", "Total"]
    assert any(line.split()[0] == "Net" for line in table)
    assert not any("body" in line for line in table)
    assert any("body.0" in line for line in counter.get_table(depth=3).splitlines())


def test_formulas_of_users() -> None:
    def count(x_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
        assert out_shape == x_shape
        return int(x_shape.numel())

    with FlopCounterMode(display=False, custom_mapping={aten.sin: count}) as counter:
        flambeau.ones(2, 3).sin()
    assert counter.get_flop_counts() == {"Global": {aten.sin: 6}}
    assert shape_wrapper(count)(flambeau.ones(4), out_val=flambeau.ones(4)) == 4
    with pytest.raises(ValueError, match="must be operators such as"):
        register_flop_formula("sin")


def test_meta_tensors_are_counted() -> None:
    x = flambeau.ones(1000, 2000, device="meta")
    with FlopCounterMode(display=False) as counter:
        x @ x.T
    assert counter.get_total_flops() == 2 * 1000 * 2000 * 1000


def test_trackers_leave_nothing_behind() -> None:
    net = Net()
    with ModuleTracker() as tracker:
        y = net(flambeau.ones(1, 3, 5, 5))
        assert tracker.parents == {"Global"} and not tracker.is_bw
        y.sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    gone = weakref.ref(net)
    del net, y
    gc.collect()
    assert gone() is None and tracker.parents == {"Global"}
