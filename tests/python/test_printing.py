"""repr(tensor): alignment, scientific notation, summaries, suffixes."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau._tensor_str import printoptions
from flambeau.autograd import forward_ad

INF, NAN = float("inf"), float("nan")


def test_limits_print_six_digits() -> None:
    assert str(flambeau.finfo(flambeau.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"
    )


@pytest.mark.parametrize("convert", [float, int, complex])
def test_tensors_of_several_elements_are_no_number(convert: type) -> None:
    with pytest.raises(ValueError, match="needs a tensor of one element, got shape"):
        convert(flambeau.ones(2))
    with pytest.raises(RuntimeError, match="needs a tensor of one element"):
        flambeau.ones(2).item()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (1, "tensor(1)"),
        (1.5, "tensor(1.5000)"),
        (True, "tensor(True)"),
        (1 + 2j, "tensor(1.+2.j)"),
        ([], "tensor([])"),
        ([1, -20], "tensor([  1, -20])"),
        ([True, False], "tensor([ True, False])"),
        ([1.0, 2.0], "tensor([1., 2.])"),
        ([1.0, -2.5], "tensor([ 1.0000, -2.5000])"),
        ([0.0, 0.0], "tensor([0., 0.])"),
        ([1.0, NAN, INF, -INF], "tensor([1., nan, inf, -inf])"),
        ([1.5, NAN, -INF], "tensor([1.5000,    nan,   -inf])"),
        ([1e-5, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
        ([1e8, 1.0], "tensor([1.0000e+08, 1.0000e+00])"),
        ([1e-5, 2e-5], "tensor([1.0000e-05, 2.0000e-05])"),
        ([999.5, 1.0], "tensor([999.5000,   1.0000])"),
        ([1001.5, 1.0], "tensor([1.0015e+03, 1.0000e+00])"),
        ([1 + 2.5j, -3j], "tensor([1.+2.5000j, -0.-3.0000j])"),
        ([[1, 2], [3, 40]], "tensor([[ 1,  2],\n        [ 3, 40]])"),
        ([[[1.0]], [[2.0]]], "tensor([[[1.]],\n\n        [[2.]]])"),
    ],
)
def test_values(data, text):
    assert repr(flambeau.tensor(data)) == text


def test_line_breaks():
    text = repr(flambeau.tensor(np.arange(20.0, dtype=np.float32)))
    assert text == (
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "        14., 15., 16., 17., 18., 19.])"
    )
    assert all(len(line) <= 80 for line in text.splitlines())


def test_summaries():
    assert (
        repr(flambeau.tensor(np.arange(1001)))
        == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    )
    text = repr(flambeau.tensor(np.arange(40_000).reshape(200, 200)))
    assert text == (
        "tensor([[    0,     1,     2,  ...,   197,   198,   199],\n"
        "        [  200,   201,   202,  ...,   397,   398,   399],\n"
        "        [  400,   401,   402,  ...,   597,   598,   599],\n"
        "        ...,\n"
        "        [39400, 39401, 39402,  ..., 39597, 39598, 39599],\n"
        "        [39600, 39601, 39602,  ..., 39797, 39798, 39799],\n"
        "        [39800, 39801, 39802,  ..., 39997, 39998, 39999]])"
    )
    assert "..." not in repr(flambeau.tensor(np.arange(1000)))


def test_many_short_dimensions_are_cut_too() -> None:
    x = flambeau.ones(2).as_strided((2,) * 62, (0,) * 61 + (1,))
    text = repr(x)
    assert len(text) < 5_000_000
    assert text.startswith("tensor([" + "[" * 61 + "1., 1.],")
    assert text.endswith("         ...],\n" + "\n" * 60 + "        ...])")


def test_six_long_dimensions_show_their_ends() -> None:
    assert repr(flambeau.ones((7,) * 6)).count("1.") == 6**6


def test_suffixes():
    assert (
        repr(flambeau.tensor([1.0], dtype=flambeau.float64))
        == "tensor([1.], dtype=flambeau.float64)"
    )
    assert repr(flambeau.tensor([1], dtype=flambeau.uint8)) == "tensor([1], dtype=flambeau.uint8)"
    assert repr(flambeau.tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert repr(flambeau.tensor(np.zeros((2, 0), np.float32))) == "tensor([], size=(2, 0))"
    assert repr(flambeau.tensor([], dtype=flambeau.int64)) == "tensor([], dtype=flambeau.int64)"
    assert repr(flambeau.tensor([1.0]).to("meta")) == "tensor(..., device='meta', size=(1,))"


def test_grad_fn():
    text = repr(flambeau.tensor([1.0], requires_grad=True) + 1)
    assert text.startswith("tensor([2.], grad_fn=<Add")
    assert text.endswith(">)")


def test_suffix_on_a_line_of_its_own():
    text = repr(flambeau.tensor(np.linspace(0.0, 1.0, 8)))
    assert text.splitlines()[-1] == "       dtype=flambeau.float64)"


def test_options():
    x = flambeau.tensor([1.23456, 100.0])
    with printoptions(precision=2):
        assert repr(x) == "tensor([  1.23, 100.00])"
    with printoptions(sci_mode=True):
        assert repr(x) == "tensor([1.2346e+00, 1.0000e+02])"
    with printoptions(profile="short"):
        assert repr(x) == "tensor([  1.23, 100.00])"
    with printoptions(threshold=3, edgeitems=1):
        assert repr(flambeau.tensor([1, 2, 3, 4])) == "tensor([1,  ..., 4])"
    with printoptions(linewidth=20):
        assert repr(flambeau.tensor([10, 20, 30])) == "tensor([10, 20, 30])"
        assert repr(flambeau.tensor([10, 20, 30, 40])) == "tensor([10, 20, 30,\n        40])"
    assert repr(x) == "tensor([  1.2346, 100.0000])"
    with pytest.raises(ValueError, match="profile"):
        flambeau.set_printoptions(profile="tall")
    with pytest.raises(TypeError, match="'edgeitems' must be an integer, got str"):
        flambeau.set_printoptions(edgeitems="3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'linewidth' must not be negative, got -1"):
        flambeau.set_printoptions(linewidth=-1)


def test_options_of_other_integer_types_do_not_overflow() -> None:
    flambeau.set_printoptions(edgeitems=np.int64(2**62), threshold=np.float32(1))
    try:
        assert str(flambeau.arange(4)) == "tensor([0, 1, 2, 3])"
    finally:
        flambeau.set_printoptions(profile="default")


def test_low_precision_and_subclasses():
    assert repr(flambeau.tensor([0.1], dtype=flambeau.float16)) == (
        "tensor([0.1000], dtype=flambeau.float16)"
    )

    class Special(flambeau.Tensor):
        pass

    assert repr(Special([1.0])) == "Special([1.])"


def test_format():
    assert f"{flambeau.tensor(1.2345):.2f}" == "1.23"
    assert f"{flambeau.tensor([1])}" == "tensor([1])"
    assert str(flambeau.tensor(2)) == "tensor(2)"


def test_tangents() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(flambeau.tensor([1.0, 2.0]), flambeau.tensor([3.0, 4.0]))
        assert repr(x) == "tensor([1., 2.], tangent=tensor([3., 4.]))"
        assert repr(x.detach() * 2) == "tensor([2., 4.])"
    assert repr(x) == "tensor([1., 2.])"
