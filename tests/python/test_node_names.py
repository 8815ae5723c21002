"""What nodes of autograd are called, by which people read graphs: the names that PyTorch prints."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd.graph import Node
from flambeau.nn import functional

X = flambeau.ones(3, 4, requires_grad=True)
W = flambeau.eye(4).requires_grad_()
B = flambeau.ones(4, requires_grad=True)
IMAGE = flambeau.ones(1, 1, 4, 4, requires_grad=True)
FILTER = flambeau.ones(1, 1, 3, 3, requires_grad=True)

NAMES: list[tuple[str, Callable[[], Tensor]]] = [
    ("MulBackward0", lambda: X * X),
    ("RsubBackward1", lambda: 1 - X),
    ("RsubBackward0", lambda: flambeau.rsub(X, X)),
    ("PowBackward0", lambda: X**2),
    ("PowBackward0", lambda: X**3.5),
    ("PowBackward1", lambda: X**X),
    ("PowBackward2", lambda: 2**X),
    ("SumBackward0", lambda: X.sum()),
    ("SumBackward1", lambda: X.sum(0)),
    ("MeanBackward1", lambda: X.mean((0, 1))),
    ("ProdBackward0", lambda: X.prod()),
    ("ProdBackward1", lambda: X.prod(1)),
    ("MaxBackward0", lambda: X.max(1).values),
    ("SqueezeBackward0", lambda: X.squeeze()),
    ("SqueezeBackward1", lambda: X.squeeze(0)),
    ("SqueezeBackward2", lambda: X.squeeze((0, 1))),
    ("ClampBackward1", lambda: X.clamp(min=0)),
    ("LerpBackward1", lambda: X.lerp(X, X)),
    ("Log1PBackward0", lambda: X.log1p()),
    ("ViewBackward0", lambda: X.view(12)),
    ("TBackward0", lambda: X.t()),
    ("PermuteBackward0", lambda: X.T),
    ("TransposeBackward0", lambda: X.mT),
    ("SelectBackward0", lambda: X[0]),
    ("SliceBackward0", lambda: X[1:]),
    ("AddmmBackward0", lambda: functional.linear(X, W, B)),
    ("MmBackward0", lambda: functional.linear(X, W)),
    ("SoftmaxBackward0", lambda: functional.softmax(X, -1)),
    ("NllLossBackward0", lambda: functional.cross_entropy(X, flambeau.tensor([0, 1, 2]))),
    ("ConvolutionBackward0", lambda: functional.conv2d(IMAGE, FILTER)),
    ("MaxPool2DWithIndicesBackward0", lambda: functional.max_pool2d(IMAGE, 2)),
    ("AvgPool2DBackward0", lambda: functional.avg_pool2d(IMAGE, 2)),
    ("LinalgInvExBackward0", lambda: flambeau.linalg.inv(W)),
    ("IndexAddBackward0", lambda: X.index_add(0, flambeau.tensor([0]), X[:1])),
    ("AddBackward0", lambda: X.clone().add_(X)),
    ("CopyBackwards", lambda: X.clone().copy_(X)),
    # Made of other operators, the last of which has another name.
    ("MseLossBackward0", lambda: functional.mse_loss(X, X + 1)),
    ("ConvolutionBackward0", lambda: functional.conv3d(IMAGE[None], FILTER[None])),
    ("VarMeanBackward0", lambda: flambeau.var_mean(X, 0)[1]),
    ("TraceBackward0", lambda: W.trace()),
    ("AffineGridGeneratorBackward0", lambda: functional.affine_grid(X[:2, :3][None], (1, 1, 2, 2))),
    ("Col2ImBackward0", lambda: functional.fold(X.T[None], (2, 4), 2)),
    # By the number of dims, a mode, what else was asked for.
    ("DotBackward0", lambda: X[0] @ X[1]),
    ("MvBackward0", lambda: X @ X[0]),
    ("MmBackward0", lambda: X @ W),
    ("ClampBackward0", lambda: X.clamp(min=X)),
    ("SortBackward0", lambda: X.sort().values),
    ("SortBackward1", lambda: X.sort(stable=True).values),
    ("DivBackward2", lambda: X.div(X, rounding_mode="trunc")),
    ("SplitWithSizesBackward0", lambda: X.split([1, 2])[0]),
    ("NllLoss2DBackward0", lambda: functional.nll_loss(IMAGE, IMAGE[0].long() * 0)),
    (
        "GridSampler2DBackward0",
        lambda: functional.grid_sample(IMAGE, X[None, :, :2, None][..., [0, 0]]),
    ),
    ("UpsampleNearest1DBackward0", lambda: functional.interpolate(IMAGE[0], 3)),
    ("UpsampleNearest2DBackward0", lambda: functional.interpolate(IMAGE, 3)),
    (
        "UpsampleNearestExact3DBackward0",
        lambda: functional.interpolate(IMAGE[None], 3, mode="nearest-exact"),
    ),
    ("UpsampleLinear1DBackward0", lambda: functional.interpolate(IMAGE[0], 3, mode="linear")),
    ("UpsampleBilinear2DBackward0", lambda: functional.interpolate(IMAGE, 3, mode="bilinear")),
    (
        "UpsampleBicubic2DAaBackward0",
        lambda: functional.interpolate(IMAGE, 3, mode="bicubic", antialias=True),
    ),
    (
        "UpsampleTrilinear3DBackward0",
        lambda: functional.interpolate(IMAGE[None], 3, mode="trilinear"),
    ),
    ("AdaptiveAvgPool2DBackward0", lambda: functional.interpolate(IMAGE, 3, mode="area")),
    ("ConstantPadNdBackward0", lambda: functional.pad(IMAGE, (1, 1))),
    ("ReflectionPad1DBackward0", lambda: functional.pad(IMAGE[0], (1, 1), mode="reflect")),
    ("ReplicationPad2DBackward0", lambda: functional.pad(IMAGE, (1, 1, 1, 1), mode="replicate")),
    ("ExpandBackward0_copy", lambda: flambeau.expand_copy(X[:1], (3, 4))),
    ("SqueezeBackward1_copy", lambda: flambeau.squeeze_copy(IMAGE, 0)),
]


@pytest.mark.parametrize(("name", "compute"), NAMES)
def test_nodes_are_called_as_people_know_them(name: str, compute: Callable[[], Tensor]) -> None:
    node = compute().grad_fn
    assert isinstance(node, Node)
    assert node.name() == type(node).__name__ == name
    assert repr(node).startswith(f"<{name} object at 0x")


def test_leaves_writes_into_views_and_functions_have_names_of_their_own() -> None:
    class Doubled(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: object, grad: Tensor) -> Tensor:
            return grad * 2

    node = Doubled.apply(X).grad_fn
    assert type(node).__name__ == "DoubledBackward"
    ((leaf, _),) = node.next_functions
    assert type(leaf).__name__ == "AccumulateGrad"
    assert leaf.name() == "torch::autograd::AccumulateGrad"
    assert repr(leaf).startswith("<AccumulateGrad object at ")
    copy = X.clone()
    copy[0] = 1
    assert type(copy.grad_fn).__name__ == "CopySlices"
    assert copy.grad_fn.name() == "torch::autograd::CopySlices"


def test_nodes_of_one_name_have_one_type() -> None:
    first, second = (X * 2).grad_fn, (X * 3).grad_fn
    assert type(first) is type(second) is not type((X + 2).grad_fn)
    assert type(first).__mro__ == (type(first), Node, object)
    assert type(first).__module__ == Node.__module__ == "flambeau.autograd.graph"
    with pytest.raises(TypeError, match="cannot create"):
        type(first)()


def test_nodes_of_types_of_their_own_end_in_cycles_too() -> None:
    class Marker:
        pass

    y = X * 2
    y.grad_fn.metadata["marker"] = marker = Marker()
    y.grad_fn.metadata["cycle"] = y
    watch = weakref.ref(marker)
    node = weakref.ref(y.grad_fn)
    del y, marker
    gc.collect()
    assert watch() is None
    assert node() is None
