"""Gradients of the modules in the style of Lua Torch, by finite differences; what they compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.legacy import nn
from flambeau.utils._pytree import tree_leaves, tree_map

STEP = 1e-6


def apart(*shape: int) -> Tensor:
    """Elements of both signs, no two of them near each other or near 0."""
    count = int(np.prod(shape))
    order = flambeau.randperm(count).double()
    return ((order - count / 2 + 0.5) * (4.1 / count)).reshape(shape)


def positive(*shape: int) -> Tensor:
    return apart(*shape).abs() + 0.3


def pair(*shape: int) -> list[Tensor]:
    return [apart(*shape), apart(*shape) + 0.01]


def places(*numbers: int) -> Tensor:
    return flambeau.tensor(numbers)


def partial() -> nn.PartialLinear:
    module = nn.PartialLinear(3, 5)
    module.setPartition(places(4, 1))
    return module


def unpooled(pooling: nn.Module, unpooling: type, *shape: int) -> nn.Module:
    """Pooling, and what undoes it, in one."""
    return nn.Sequential(pooling, unpooling(pooling))


CONNECTIONS = flambeau.tensor([[0, 0], [1, 0], [1, 1], [2, 2]])

Case = tuple[Callable[[], nn.Module], Callable[[], Any]]
IMAGES = (2, 3, 6, 5)
VOLUMES = (2, 2, 4, 5, 4)
MODULES: dict[str, Case] = {
    **{
        name: (getattr(nn, name), lambda: apart(3, 4))
        for name in (
            *("Abs", "ELU", "Exp", "HardShrink", "HardTanh", "LeakyReLU", "LogSigmoid", "PReLU"),
            *("ReLU", "ReLU6", "Sigmoid", "SoftMax", "SoftMin", "LogSoftMax", "SoftPlus"),
            *("SoftShrink", "SoftSign", "Square", "Tanh", "TanhShrink", "Threshold", "Identity"),
            *("Contiguous", "Max", "Min", "Mean", "Sum", "Mul"),
        )
    },
    "Log": (nn.Log, lambda: positive(3, 4)),
    "Sqrt": (nn.Sqrt, lambda: positive(3, 4)),
    "Power": (lambda: nn.Power(1.5), lambda: positive(3, 4)),
    "Clamp": (lambda: nn.Clamp(-0.5, 1), lambda: apart(3, 4)),
    "AddConstant": (lambda: nn.AddConstant(2), lambda: apart(3, 4)),
    "MulConstant": (lambda: nn.MulConstant(-2), lambda: apart(3, 4)),
    "SpatialSoftMax": (nn.SpatialSoftMax, lambda: apart(3, 4, 5)),
    "Copy": (lambda: nn.Copy(flambeau.float64, flambeau.float64), lambda: apart(3)),
    "Linear": (lambda: nn.Linear(4, 3), lambda: apart(2, 4)),
    "PartialLinear": (partial, lambda: apart(2, 3)),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 2), lambda: [apart(5, 3), apart(5, 4)]),
    "Add": (lambda: nn.Add(4), lambda: apart(3, 4)),
    "CMul": (lambda: nn.CMul(1, 3, 1), lambda: apart(2, 3, 4)),
    "LookupTable": (lambda: nn.LookupTable(5, 3, 2), lambda: places(4, 1, 2, 4)),
    "Euclidean": (lambda: nn.Euclidean(3, 4), lambda: apart(2, 3)),
    "WeightedEuclidean": (lambda: nn.WeightedEuclidean(3, 4), lambda: apart(2, 3)),
    "Cosine": (lambda: nn.Cosine(3, 4), lambda: apart(2, 3)),
    "MM": (lambda: nn.MM(False, True), lambda: [apart(2, 3, 4), apart(2, 5, 4)]),
    "MV": (lambda: nn.MV(True), lambda: [apart(2, 3, 4), apart(2, 3)]),
    "DotProduct": (nn.DotProduct, lambda: pair(3, 4)),
    "CosineDistance": (nn.CosineDistance, lambda: pair(3, 4)),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(3), lambda: pair(3, 4)),
    "View": (lambda: nn.View(-1, 6), lambda: apart(4, 3)),
    "Reshape": (lambda: nn.Reshape(2, 3), lambda: apart(4, 6)),
    "Narrow": (lambda: nn.Narrow(1, 1, -2), lambda: apart(2, 5)),
    "Select": (lambda: nn.Select(1, -1), lambda: apart(2, 5)),
    "Squeeze": (lambda: nn.Squeeze(1), lambda: apart(2, 1, 3)),
    "Unsqueeze": (lambda: nn.Unsqueeze(1), lambda: apart(2, 3)),
    "Transpose": (lambda: nn.Transpose((0, 1), (1, 2)), lambda: apart(2, 3, 4)),
    "Replicate": (lambda: nn.Replicate(3, 1), lambda: apart(2, 2)),
    "Padding": (lambda: nn.Padding(0, -2, 7, 1, 1), lambda: apart(2, 4)),
    "Index": (lambda: nn.Index(0), lambda: [apart(4, 2), places(3, 0, 3)]),
    "MaskedSelect": (nn.MaskedSelect, lambda: [apart(3, 4), apart(3, 4) > 0]),
    "Normalize": (lambda: nn.Normalize(2), lambda: apart(3, 4)),
    "CAddTable": (nn.CAddTable, lambda: pair(3, 4)),
    "CSubTable": (nn.CSubTable, lambda: pair(3, 4)),
    "CMulTable": (nn.CMulTable, lambda: [*pair(3, 4), apart(3, 4)]),
    "CDivTable": (nn.CDivTable, lambda: [apart(3, 4), positive(3, 4)]),
    "JoinTable": (lambda: nn.JoinTable(0, 1), lambda: [apart(2, 3), apart(2, 4)]),
    "SplitTable": (lambda: nn.SplitTable(1), lambda: apart(2, 3)),
    "SelectTable": (lambda: nn.SelectTable(1), lambda: pair(2, 3)),
    "NarrowTable": (lambda: nn.NarrowTable(1, 2), lambda: [*pair(2, 3), apart(2)]),
    "FlattenTable": (nn.FlattenTable, lambda: [apart(2), [apart(3), [apart(1)]]]),
    "MixtureTable": (nn.MixtureTable, lambda: [apart(3, 2), pair(3, 4)]),
    "SpatialZeroPadding": (lambda: nn.SpatialZeroPadding(1, -1, 2, 0), lambda: apart(*IMAGES)),
    "SpatialReflectionPadding": (
        lambda: nn.SpatialReflectionPadding(1, 2, 0, 1),
        lambda: apart(*IMAGES),
    ),
    "SpatialReplicationPadding": (
        lambda: nn.SpatialReplicationPadding(1, 2, 0, 1),
        lambda: apart(*IMAGES),
    ),
    "VolumetricReplicationPadding": (
        lambda: nn.VolumetricReplicationPadding(1, 0, 0, 1, 1, 0),
        lambda: apart(*VOLUMES),
    ),
    "SpatialUpSamplingNearest": (lambda: nn.SpatialUpSamplingNearest(2), lambda: apart(1, 2, 2, 3)),
    "TemporalConvolution": (lambda: nn.TemporalConvolution(3, 4, 2, 2), lambda: apart(2, 6, 3)),
    "TemporalSubSampling": (lambda: nn.TemporalSubSampling(3, 2, 2), lambda: apart(2, 6, 3)),
    "TemporalMaxPooling": (lambda: nn.TemporalMaxPooling(2), lambda: apart(2, 6, 3)),
    "SpatialConvolution": (
        lambda: nn.SpatialConvolution(3, 2, 2, 3, 2, 1, 1, 0),
        lambda: apart(*IMAGES),
    ),
    "SpatialDilatedConvolution": (
        lambda: nn.SpatialDilatedConvolution(3, 2, 2, 3, dilationW=2),
        lambda: apart(*IMAGES),
    ),
    "SpatialFullConvolution": (
        lambda: nn.SpatialFullConvolution(3, 2, 2, 3, 2, 2, 0, 1, 1, 1),
        lambda: apart(2, 3, 3, 3),
    ),
    "SpatialConvolutionLocal": (
        lambda: nn.SpatialConvolutionLocal(3, 2, 5, 6, 2, 3),
        lambda: apart(*IMAGES),
    ),
    "SpatialConvolutionMap": (
        lambda: nn.SpatialConvolutionMap(CONNECTIONS, 2, 2),
        lambda: apart(*IMAGES),
    ),
    "SpatialFullConvolutionMap": (
        lambda: nn.SpatialFullConvolutionMap(CONNECTIONS, 2, 2),
        lambda: apart(2, 3, 3, 3),
    ),
    "SpatialSubSampling": (lambda: nn.SpatialSubSampling(3, 2, 3), lambda: apart(*IMAGES)),
    "SpatialMaxPooling": (lambda: nn.SpatialMaxPooling(2, 3).ceil(), lambda: apart(*IMAGES)),
    "SpatialAveragePooling": (
        lambda: nn.SpatialAveragePooling(2, 2, padW=1, padH=1).setCountExcludePad(),
        lambda: apart(*IMAGES),
    ),
    "SpatialAdaptiveMaxPooling": (
        lambda: nn.SpatialAdaptiveMaxPooling(2, 3),
        lambda: apart(*IMAGES),
    ),
    "SpatialLPPooling": (lambda: nn.SpatialLPPooling(3, 2, 2, 2), lambda: positive(*IMAGES)),
    "SpatialMaxUnpooling": (
        lambda: unpooled(nn.SpatialMaxPooling(2, 2), nn.SpatialMaxUnpooling),
        lambda: apart(*IMAGES),
    ),
    "VolumetricMaxUnpooling": (
        lambda: unpooled(nn.VolumetricMaxPooling(2, 2, 2), nn.VolumetricMaxUnpooling),
        lambda: apart(*VOLUMES),
    ),
    "VolumetricConvolution": (
        lambda: nn.VolumetricConvolution(2, 3, 2, 3, 2, padT=1),
        lambda: apart(*VOLUMES),
    ),
    "VolumetricFullConvolution": (
        lambda: nn.VolumetricFullConvolution(2, 2, 2, 2, 3, 2, 2, 2, adjT=1),
        lambda: apart(1, 2, 2, 2, 2),
    ),
    "VolumetricMaxPooling": (lambda: nn.VolumetricMaxPooling(2, 2, 2), lambda: apart(*VOLUMES)),
    "VolumetricAveragePooling": (
        lambda: nn.VolumetricAveragePooling(2, 2, 2),
        lambda: apart(*VOLUMES),
    ),
    "BatchNormalization": (lambda: nn.BatchNormalization(3), lambda: apart(5, 3)),
    "SpatialBatchNormalization": (
        lambda: nn.SpatialBatchNormalization(3, affine=False),
        lambda: apart(*IMAGES),
    ),
    "VolumetricBatchNormalization": (
        lambda: nn.VolumetricBatchNormalization(2),
        lambda: apart(*VOLUMES),
    ),
    "SpatialCrossMapLRN": (lambda: nn.SpatialCrossMapLRN(3, 0.5), lambda: apart(*IMAGES)),
    "SpatialSubtractiveNormalization": (
        lambda: nn.SpatialSubtractiveNormalization(3, flambeau.ones(3, 3)),
        lambda: apart(*IMAGES),
    ),
    "SpatialDivisiveNormalization": (
        lambda: nn.SpatialDivisiveNormalization(3, flambeau.ones(3)),
        lambda: apart(*IMAGES),
    ),
    "SpatialContrastiveNormalization": (
        lambda: nn.SpatialContrastiveNormalization(3, flambeau.ones(3, 3)),
        lambda: apart(*IMAGES),
    ),
    "Sequential": (
        lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)),
        lambda: apart(3, 4),
    ),
    "Concat": (lambda: nn.Concat(1).add(nn.Linear(4, 2)).add(nn.Tanh()), lambda: apart(3, 4)),
    "ConcatTable": (lambda: nn.ConcatTable(nn.Linear(4, 2), nn.Tanh()), lambda: apart(3, 4)),
    "ParallelTable": (lambda: nn.ParallelTable(nn.Linear(4, 2), nn.Tanh()), lambda: pair(3, 4)),
    "Parallel": (
        lambda: nn.Parallel(1, 1).add(nn.Linear(4, 2)).add(nn.Linear(4, 3)),
        lambda: apart(3, 2, 4),
    ),
    "DepthConcat": (
        lambda: (
            nn.DepthConcat(1)
            .add(nn.SpatialConvolution(3, 2, 1, 1))
            .add(nn.SpatialConvolution(3, 1, 3, 3))
        ),
        lambda: apart(*IMAGES),
    ),
}
# What draws numbers, or whose gradient is not that of its output: tested below. Bases.
ELSEWHERE = {
    *("Dropout", "SpatialDropout", "VolumetricDropout", "RReLU", "SpatialFractionalMaxPooling"),
    *("GradientReversal", "L1Penalty", "CriterionTable", "Module", "Container"),
}


def kinds(base: type) -> set[str]:
    found = {name: getattr(nn, name) for name in nn.__all__}
    return {name for name, kind in found.items() if issubclass(kind, base)}


def test_every_module_is_tested() -> None:
    assert kinds(nn.Module) - kinds(nn.Criterion) == MODULES.keys() | ELSEWHERE


def product(output: Any, weights: Any) -> float:
    pairs = zip(tree_leaves(output), tree_leaves(weights), strict=True)
    return sum((a * b).sum().item() for a, b in pairs)


def differences(tensor: Tensor, evaluate: Callable[[], float]) -> Tensor:
    """The derivative of a number with respect to each element of a tensor."""
    found = flambeau.zeros(tensor.shape, dtype=flambeau.float64)
    for index in np.ndindex(*tensor.shape):
        kept = tensor[index].item()
        values = []
        for moved in (kept + STEP, kept - STEP):
            tensor[index] = moved
            values.append(evaluate())
        tensor[index] = kept
        found[index] = (values[0] - values[1]) / (2 * STEP)
    return found


@pytest.mark.parametrize("name", MODULES)
def test_gradients(name: str) -> None:
    flambeau.manual_seed(1)
    make, inputs = MODULES[name]
    module, input = make().double(), inputs()
    weights = tree_map(lambda out: flambeau.randn(out.shape).double(), module.forward(input))
    module.zeroGradParameters()
    module.forward(input)
    module.backward(input, weights)
    module.accGradParameters(input, weights, 0.5)
    gradients = zip(tree_leaves(input), tree_leaves(module.gradInput), strict=True)
    evaluate = lambda: product(module.forward(input), weights)  # noqa: E731
    for part, gradient in gradients:
        if part.is_floating_point():
            expected = differences(part, evaluate)
            np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
        else:
            assert gradient is None
    for parameter, gradient in zip(*module.parameters(), strict=True):
        expected = 1.5 * differences(parameter, evaluate)
        if name == "LookupTable":
            expected[2] = 0  # of the row that is not trained
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


# --- what is computed -----------------------------------------------------------------------------


def values(module: nn.Module, input: Any) -> list[Any]:
    return module.forward(tree_map(lambda x: flambeau.tensor(x), input)).tolist()


def test_padding_and_narrowing() -> None:
    row = flambeau.tensor([1.0, 2.0, 3.0])
    assert nn.Padding(0, 2, 9).forward(row).tolist() == [1, 2, 3, 9, 9]
    assert nn.Padding(0, -1, 9).forward(row).tolist() == [9, 1, 2, 3]
    assert nn.Padding(0, 1, 9, 1).forward(row).tolist() == [1, 2, 9, 3]
    assert nn.Narrow(0, 1, -1).forward(row).tolist() == [2, 3]
    assert nn.Narrow(0, 0, 2).forward(row).tolist() == [1, 2]


def test_depth_concat_centres() -> None:
    module = nn.DepthConcat(0).add(nn.Identity()).add(nn.Narrow(1, 0, 1))
    output = module.forward(flambeau.tensor([[1.0, 2.0, 3.0]]))
    assert output.tolist() == [[1, 2, 3], [0, 1, 0]]


def test_convolution_map_is_a_convolution_of_some_channels() -> None:
    flambeau.manual_seed(0)
    module = nn.SpatialConvolutionMap(CONNECTIONS, 2, 2)
    image, weight = flambeau.randn(3, 3, 3), module.weight.numpy()
    output, pixels = module.forward(image).numpy(), image.numpy()
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (2, 2), (1, 2))
    expected = np.zeros((3, 2, 2), np.float32) + module.bias.numpy()[:, None, None]
    for kernel, (source, target) in zip(weight, CONNECTIONS.tolist(), strict=True):
        expected[target] += (windows[source] * kernel).sum((-2, -1))
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


def test_local_convolution_of_equal_kernels_is_a_convolution() -> None:
    flambeau.manual_seed(0)
    local = nn.SpatialConvolutionLocal(2, 3, 5, 4, 3, 2)
    same = nn.SpatialConvolution(2, 3, 3, 2)
    local.weight.copy_(same.weight.reshape(3, -1))
    local.bias.copy_(same.bias[:, None, None])
    image = flambeau.randn(2, 2, 4, 5)
    assert flambeau.allclose(local.forward(image), same.forward(image), atol=1e-6)


def test_distances() -> None:
    flambeau.manual_seed(0)
    x = flambeau.randn(4, 3)
    module = nn.WeightedEuclidean(3, 2)
    module.diagCov.uniform_(0.5, 2)
    centres, scales = module.weight.numpy(), module.diagCov.numpy()
    expected = np.sqrt((((x.numpy()[:, :, None] - centres) * scales) ** 2).sum(1))
    np.testing.assert_allclose(module.forward(x), expected, rtol=1e-5)
    angles = nn.Cosine(3, 2)
    w = angles.weight.numpy()
    lengths = np.linalg.norm(x.numpy(), axis=1)[:, None] * np.linalg.norm(w, axis=1)
    np.testing.assert_allclose(angles.forward(x), x.numpy() @ w.T / lengths, rtol=1e-5)


def test_mixture() -> None:
    shares = [[0.25, 0.75], [1.0, 0.0]]
    experts = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
    module = nn.MixtureTable()
    tables = [flambeau.tensor(shares), [flambeau.tensor(e) for e in experts]]
    assert module.forward(tables).tolist() == [[4, 5], [3, 4]]


def test_subtractive_normalization_of_a_plane_is_zero() -> None:
    module = nn.SpatialSubtractiveNormalization(2)
    assert module.forward(flambeau.full((1, 2, 12, 12), 3.0)).abs().max().item() < 1e-5


def test_contrast_does_not_depend_on_brightness() -> None:
    flambeau.manual_seed(0)
    module = nn.SpatialContrastiveNormalization(1, flambeau.ones(5, 5))
    image = flambeau.rand(1, 1, 9, 9)
    first = module.forward(image)
    np.testing.assert_allclose(module.forward(7 * image + 2), first, rtol=1e-3, atol=1e-4)


def test_random_modules() -> None:
    flambeau.manual_seed(0)
    ones = flambeau.ones(8, 16, 8, 8)
    for module in (nn.Dropout(0.25), nn.SpatialDropout(0.25)):
        output = module.forward(ones)
        assert set(output.unique().tolist()) == {0.0, flambeau.tensor(4 / 3).item()}
        assert flambeau.equal(module.backward(ones, ones), output)  # the same mask
        module.evaluate()
        assert flambeau.equal(module.forward(ones), ones)
    volumes = nn.VolumetricDropout().forward(flambeau.ones(8, 16, 2, 2, 2))
    assert flambeau.equal(volumes.amin((2, 3, 4)), volumes.amax((2, 3, 4)))
    rrelu = nn.RReLU()
    slopes = -rrelu.forward(-ones)
    assert 1 / 8 <= slopes.min().item() < slopes.max().item() <= 1 / 3
    assert flambeau.allclose(rrelu.backward(-ones, ones), slopes)
    images = flambeau.randn(2, 3, 9, 9)
    pooled = nn.SpatialFractionalMaxPooling(2, 2, 0.5, 0.5).forward(images)
    assert pooled.shape == (2, 3, 4, 4)
    assert flambeau.isin(pooled, images).all()


def test_gradients_that_are_not_those_of_the_output() -> None:
    x, grad = flambeau.tensor([1.0, -2.0]), flambeau.tensor([3.0, 4.0])
    assert nn.GradientReversal(2).backward(x, grad).tolist() == [-6, -8]
    penalty = nn.L1Penalty(0.5, sizeAverage=True)
    assert flambeau.equal(penalty.forward(x), x)
    assert penalty.loss == pytest.approx(0.75)
    assert penalty.backward(x, grad).tolist() == [3.25, 3.75]
    penalty.provideOutput = False
    assert penalty.backward(x, grad).tolist() == [0.25, -0.25]


# --- what all modules do --------------------------------------------------------------------------


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))


def test_parameters_are_flattened() -> None:
    flambeau.manual_seed(0)
    model, x = network(), flambeau.randn(5, 3)
    before = model.forward(x).clone()
    flat, gradients = model.getParameters()
    assert flat.shape == gradients.shape == (3 * 4 + 4 + 4 * 2 + 2,)
    assert flambeau.equal(model.forward(x), before)
    model.backward(x, flambeau.ones(5, 2))
    assert gradients[-2:].tolist() == [5, 5]  # of the last bias
    flat.sub_(gradients, alpha=0.1)
    assert model.get(2).bias.data_ptr() == flat[-2:].data_ptr()
    again, _ = model.flattenParameters()
    assert flambeau.equal(again, flat)


def test_shared_parameters_are_flattened_once() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.share(first, "weight", "bias", "gradWeight", "gradBias")
    model = nn.Sequential(first, nn.Tanh(), second)
    flat, _ = model.flattenParameters()
    assert flat.numel() == 12
    flat.zero_()
    assert first.weight.abs().sum().item() == second.weight.abs().sum().item() == 0
    copied = first.clone("weight")
    first.weight.fill_(1)
    assert copied.weight.sum().item() == 9
    assert copied.bias.data_ptr() != first.bias.data_ptr()


def test_steps() -> None:
    module = nn.Linear(2, 1)
    x, grad = flambeau.tensor([[1.0, 2.0]]), flambeau.ones(1, 1)
    before = module.weight.clone()
    module.forward(x)
    module.backwardUpdate(x, grad, 0.1)
    np.testing.assert_allclose(module.weight, before - 0.1 * x, rtol=1e-6)
    assert module.gradWeight.abs().sum().item() == 0  # as it was
    module.zeroGradParameters()
    module.forward(x)
    module.backward(x, grad, 2)
    assert module.gradWeight.tolist() == [[2, 4]]
    module.updateParameters(0.5)
    np.testing.assert_allclose(module.weight, before - 1.1 * x, rtol=1e-5)
    module.reset(0.1)
    assert module.weight.abs().max().item() <= 0.1 * np.sqrt(3)


def test_training_and_evaluating() -> None:
    model = nn.Sequential(nn.Dropout(), nn.BatchNormalization(3))
    model.evaluate()
    assert [m.train for m in model.listModules()] == [False] * 3
    model.training()
    model.forward(flambeau.randn(50, 3) + 4)
    norm = model.findModules(nn.BatchNormalization)[0]
    assert 0.2 < norm.running_mean.mean().item() < 0.6
    assert norm.double().running_mean.dtype is flambeau.float64
    assert norm.weight.dtype is norm.gradWeight.dtype is flambeau.float64


def test_in_place_modules_write_to_their_input() -> None:
    x = flambeau.tensor([-1.0, 2.0])
    module = nn.Threshold(0, 0, inplace=True)
    assert module.forward(x) is x
    assert x.tolist() == [0, 2]
    assert module.backward(x, flambeau.ones(2)).tolist() == [0, 1]


def test_backward_wants_the_input_of_forward() -> None:
    module = nn.Tanh()
    with pytest.raises(RuntimeError, match=r"Tanh.updateGradInput\(\): forward\(\) was not called"):
        module.backward(flambeau.ones(2), flambeau.ones(2))
    module.forward(flambeau.ones(2))
    with pytest.raises(RuntimeError, match="expected the input of the last forward"):
        module.backward(flambeau.zeros(2), flambeau.ones(2))
    module.backward(flambeau.ones(2), flambeau.ones(2))  # equal elements: of a view, a copy


def test_lookup_tables_shorten_rows() -> None:
    table = nn.LookupTable(4, 3, maxNorm=1.0)
    table.weight.fill_(1)
    table.forward(flambeau.tensor([1, 3]))
    np.testing.assert_allclose(table.weight.norm(dim=1), [3**0.5, 1, 3**0.5, 1], rtol=1e-5)


def test_shown() -> None:
    assert repr(nn.Linear(2, 3)) == "nn.Linear(weight=(3, 2), bias=(3,))"
    shown = repr(nn.Sequential(nn.ConcatTable(nn.Tanh())))
    assert shown == "nn.Sequential {\n  (0): nn.ConcatTable {\n    (0): nn.Tanh()\n  }\n}"


def test_modules_of_ones_own() -> None:
    class Doubled(nn.Module):
        def updateOutput(self, input: Tensor) -> Tensor:
            self.output = input * 2
            return self.output

        def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
            self.gradInput = gradOutput * 2
            return self.gradInput

    model = nn.Sequential(Doubled(), nn.Square())
    output, gradient = model(flambeau.tensor([3.0]), flambeau.ones(1))
    assert (output.item(), gradient.item()) == (36, 24)
    with pytest.raises(NotImplementedError, match="Module has no compute"):
        nn.Module().forward(flambeau.ones(1))
