"""Gradients that are declared not to be known: an error where one is asked for, not before."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import func
from flambeau.autograd import forward_ad, grad

UNKNOWN = r"igamma\(\): the derivative for argument input is not implemented"


def test_backward_names_the_argument() -> None:
    a, x = (flambeau.rand(3, requires_grad=True) for _ in range(2))
    result = flambeau.igamma(a, x)
    assert result.requires_grad
    with pytest.raises(NotImplementedError, match=UNKNOWN):
        result.sum().backward(retain_graph=True)
    # That of the other argument is known: d/dx is x**(a - 1) exp(-x) / gamma(a).
    (found,) = grad(result.sum(), x)
    expected = (x.log() * (a - 1) - x - a.lgamma()).exp()
    assert flambeau.allclose(found, expected)
    alone = flambeau.igamma(a, x.detach())
    assert alone.requires_grad
    with pytest.raises(NotImplementedError, match=UNKNOWN):
        alone.sum().backward()


def test_forward_mode() -> None:
    a, x = flambeau.rand(3), flambeau.rand(3)
    unknown = r"igamma\(\): forward mode is not implemented"
    with pytest.raises(NotImplementedError, match=unknown), forward_ad.dual_level():
        flambeau.igamma(forward_ad.make_dual(a, x), x)
    _, tangent = func.jvp(lambda y: flambeau.igamma(a, y), (x,), (flambeau.ones(3),))
    assert flambeau.allclose(tangent, (x.log() * (a - 1) - x - a.lgamma()).exp())


def test_what_is_flat_otherwise() -> None:
    x, values = (flambeau.rand(3, requires_grad=True) for _ in range(2))
    result = flambeau.heaviside(x, values)
    assert grad(result.sum(), x)[0].tolist() == [0, 0, 0]
    with pytest.raises(NotImplementedError, match="argument values"):
        flambeau.heaviside(x, values).sum().backward()
