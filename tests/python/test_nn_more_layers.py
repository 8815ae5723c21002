"""Layers of volumes, of resizing, of bags and clusters: what they add to their operators."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import gradcheck
from flambeau.nn import functional as F


@pytest.fixture(autouse=True)
def _seed() -> None:
    flambeau.manual_seed(0)


def test_volumes_are_images_where_they_are_flat() -> None:
    x = flambeau.randn(2, 3, 5, 6)
    flat = nn.Conv2d(3, 4, 3, padding=1, stride=2)
    deep = nn.Conv3d(3, 4, (1, 3, 3), padding=(0, 1, 1), stride=(1, 2, 2))
    with flambeau.no_grad():
        deep.weight.copy_(flat.weight.unsqueeze(2))
        deep.bias.copy_(flat.bias)
    found = deep(x.unsqueeze(2)).squeeze(2)
    np.testing.assert_allclose(found.detach().numpy(), flat(x).detach().numpy(), rtol=1e-5)
    window = (1, 2, 3)
    pairs = [
        (nn.MaxPool3d(window), nn.MaxPool2d((2, 3))),
        (nn.AvgPool3d(window), nn.AvgPool2d((2, 3))),
        (nn.AdaptiveAvgPool3d((1, 2, 3)), nn.AdaptiveAvgPool2d((2, 3))),
        (nn.AdaptiveMaxPool3d((1, 2, 3)), nn.AdaptiveMaxPool2d((2, 3))),
        (nn.LPPool3d(2, window), nn.LPPool2d(2, (2, 3))),
    ]
    for volume, image in pairs:
        np.testing.assert_allclose(
            volume(x.unsqueeze(2)).squeeze(2).numpy(), image(x).numpy(), rtol=1e-5
        )


def test_conv_transpose3d_has_the_wanted_size() -> None:
    layer = nn.ConvTranspose3d(2, 3, 3, stride=2, padding=1)
    x = flambeau.randn(1, 2, 3, 4, 5)
    assert layer(x).shape == (1, 3, 5, 7, 9)
    assert layer(x, output_size=[6, 8, 9]).shape == (1, 3, 6, 8, 9)
    with pytest.raises(ValueError, match="output_size 11 of dimension 0 is outside"):
        layer(x, output_size=[11, 8, 9])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling_undoes_pooling(rank: int) -> None:
    pool = getattr(nn, f"MaxPool{rank}d")(2, return_indices=True)
    unpool = getattr(nn, f"MaxUnpool{rank}d")(2)
    x = flambeau.randn(2, 3, *[5] * rank)
    largest, indices = pool(x)
    back = unpool(largest, indices, output_size=x.shape)
    assert back.shape == x.shape
    assert (back != 0).sum() == largest.numel()
    np.testing.assert_array_equal(back[back != 0].numpy(), x[back != 0].numpy())


@pytest.mark.parametrize("rank", [2, 3])
def test_fractional_pooling(rank: int) -> None:
    layer = getattr(nn, f"FractionalMaxPool{rank}d")(2, output_ratio=0.6, return_indices=True)
    x = flambeau.randn(2, 3, *[7] * rank)
    found, indices = layer(x)
    assert found.shape == (2, 3, *[4] * rank)
    np.testing.assert_array_equal(x.flatten(2).gather(2, indices.flatten(2)), found.flatten(2))
    with pytest.raises(ValueError, match="give one of output_size and output_ratio"):
        type(layer)(2)
    with pytest.raises(ValueError, match="output_ratio must be between 0 and 1"):
        type(layer)(2, output_ratio=1.5)
    with pytest.raises(ValueError, match=r"Pool.d\(\): the 4611686018427387904 elements"):
        type(layer)(2, output_ratio=range(2**62))


def test_upsampling() -> None:
    x = flambeau.arange(4.0).reshape(1, 1, 2, 2)
    assert nn.UpsamplingNearest2d(scale_factor=2)(x)[0, 0, 0].tolist() == [0, 0, 1, 1]
    assert nn.UpsamplingBilinear2d(size=(3, 3))(x)[0, 0].tolist() == [
        [0.0, 0.5, 1.0], [1.0, 1.5, 2.0], [2.0, 2.5, 3.0],
    ]  # fmt: skip
    assert repr(nn.Upsample(scale_factor=2, mode="bilinear")) == (
        "Upsample(scale_factor=2.0, mode='bilinear')"
    )
    assert nn.Upsample(size=3, mode="bicubic")(x).shape == (1, 1, 3, 3)


def test_a_grid_that_stays_gives_the_image() -> None:
    x = flambeau.randn(2, 3, 4, 5)
    identity = flambeau.eye(2, 3).expand(2, 2, 3)
    for align in (False, True):
        grid = F.affine_grid(identity, x.shape, align_corners=align)
        for mode in ("bilinear", "nearest", "bicubic"):
            found = F.grid_sample(x, grid, mode, align_corners=align)
            np.testing.assert_allclose(found.numpy(), x.numpy(), atol=1e-5)


def test_folding_what_was_unfolded() -> None:
    x = flambeau.randn(2, 3, 4, 6)
    columns = nn.Unfold(2, stride=2)(x)
    assert columns.shape == (2, 12, 6)
    np.testing.assert_array_equal(nn.Fold((4, 6), 2, stride=2)(columns).numpy(), x.numpy())


def test_embedding_bag() -> None:
    layer = nn.EmbeddingBag(6, 4, mode="sum", padding_idx=1)
    assert not layer.weight[1].any()
    indices = flambeau.tensor([[0, 1, 5], [2, 2, 3]])
    found = layer(indices)
    np.testing.assert_allclose(
        found.detach().numpy(), layer.weight[indices].sum(1).detach().numpy(), rtol=1e-6
    )
    frozen = nn.EmbeddingBag.from_pretrained(layer.weight.detach(), mode="max")
    assert not frozen.weight.requires_grad
    assert frozen(indices).shape == (2, 4)
    with pytest.raises(ValueError, match="padding_idx 6 is out of range for 6 rows"):
        nn.EmbeddingBag(6, 4, padding_idx=6)


def test_adaptive_log_softmax() -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, head_bias=True)
    x, target = flambeau.randn(6, 8), flambeau.tensor([0, 3, 4, 9, 10, 19])
    logs = layer.log_prob(x)
    np.testing.assert_allclose(logs.exp().sum(1).detach().numpy(), 1, rtol=1e-5)
    output, loss = layer(x, target)
    expected = logs.gather(1, target.unsqueeze(1)).squeeze(1)
    np.testing.assert_allclose(output.detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    assert loss.item() == pytest.approx(-output.mean().item())
    assert layer.predict(x).tolist() == logs.argmax(1).tolist()
    assert layer(x[0], target[0]).output.item() == pytest.approx(output[0].item())
    with pytest.raises(RuntimeError, match="targets must be from 0 to 19"):
        layer(x, target + 1)
    with pytest.raises(ValueError, match="cutoffs must be increasing integers from 1 to 19"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 20, [10, 4])


def test_local_response_norm_and_margins() -> None:
    x = flambeau.randn(2, 5, 3)
    found = nn.LocalResponseNorm(3, alpha=0.5)(x)
    np.testing.assert_array_equal(found, F.local_response_norm(x, 3, 0.5))
    scores, classes = flambeau.randn(3, 4), flambeau.tensor([0, 3, 1])
    labels = flambeau.tensor([[0, 2, -1, -1], [3, -1, -1, -1], [1, 2, 3, 0]])
    assert nn.MultiMarginLoss(p=2)(scores, classes) == F.multi_margin_loss(scores, classes, 2)
    assert nn.MultiLabelMarginLoss()(scores, labels) == F.multilabel_margin_loss(scores, labels)
    with pytest.raises(ValueError, match="p must be 1 or 2"):
        nn.MultiMarginLoss(p=3)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_response_norm_over_windows_with_a_middle(size: int) -> None:
    x = flambeau.randn(2, 6, 3, 2, dtype=flambeau.float64, requires_grad=True)
    layer = nn.CrossMapLRN2d(size, alpha=0.5, beta=0.6, k=2)
    given, half = x.detach().numpy(), (size - 1) // 2
    parts = [given[:, max(0, c - half) : c + half + 1] for c in range(6)]
    sums = np.stack([(part**2).sum(1) for part in parts], 1)
    np.testing.assert_allclose(layer(x).detach(), given * (2 + 0.5 / size * sums) ** -0.6)
    assert flambeau.autograd.gradcheck(layer, x)
    assert nn.modules.normalization.CrossMapLRN2d is nn.CrossMapLRN2d
    assert repr(layer) == f"CrossMapLRN2d({size}, alpha=0.5, beta=0.6, k=2)"
    with pytest.raises(ValueError, match=r"CrossMapLRN2d: input must have 4 dims.*got \(6, 3, 2\)"):
        layer(x[0])


def test_triplets_with_a_distance() -> None:
    flambeau.manual_seed(0)
    a, b, c = (flambeau.randn(4, 3, dtype=flambeau.float64) for _ in range(3))
    own = nn.TripletMarginWithDistanceLoss(swap=True)(a, b, c)
    assert own.item() == pytest.approx(F.triplet_margin_loss(a, b, c, swap=True).item())

    def manhattan(x: flambeau.Tensor, y: flambeau.Tensor) -> flambeau.Tensor:
        return (x - y).abs().sum(-1)

    layer = nn.TripletMarginWithDistanceLoss(
        distance_function=manhattan, margin=2.0, reduction="none"
    )
    expected = (manhattan(a, b) - manhattan(a, c) + 2).clamp(min=0)
    np.testing.assert_allclose(layer(a, b, c).numpy(), expected.numpy())
    assert gradcheck(lambda x: F.triplet_margin_with_distance_loss(x, b, c), (a.requires_grad_(),))
    with pytest.raises(ValueError, match="margin must be positive"):
        F.triplet_margin_with_distance_loss(a, b, c, margin=0.0)
    with pytest.raises(ValueError, match="reduction must be"):
        F.triplet_margin_with_distance_loss(a, b, c, reduction="max")


def test_attention_is_that_of_the_module() -> None:
    layer = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, kdim=5, vdim=6)
    q, k, v = flambeau.randn(3, 2, 8), flambeau.randn(4, 2, 5), flambeau.randn(4, 2, 6)
    padding = flambeau.tensor([[False, False, True, False], [False] * 4])
    whole = layer(q, k, v, key_padding_mask=padding)
    alone = layer(q[:, 1], k[:, 1], v[:, 1], key_padding_mask=padding[1])
    np.testing.assert_allclose(alone[0].detach(), whole[0][:, 1].detach(), rtol=1e-5, atol=1e-6)
    fast = layer(q, k, v, key_padding_mask=padding, need_weights=False)
    np.testing.assert_allclose(fast[0].detach(), whole[0].detach(), rtol=1e-5, atol=1e-6)
    assert fast[1] is None
    assert whole[1].shape == (2, 3, 6) and not whole[1][0, :, 2].any()
