"""A backend with primitive kernels alone: on the CPU, with every other kernel left unused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import flambeau
from flambeau import _C, nn
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.tools.primitives import needs_of

LIMIT = 62  # what the guide promises


@pytest.fixture
def kernels_left() -> Iterator[set[str]]:
    """Makes the CPU compose whatever can be; the kernels of its own that it still runs."""
    origins = flambeau.backends.kernels("cpu")
    # Names with a dot are of packages that other tests have loaded.
    own = [name for name, origin in origins.items() if origin == "own" and "." not in name]
    composed = [name for name in own if _C._prefer_composition(name, True)]
    yield set(own) - set(composed)
    for name in composed:
        _C._prefer_composition(name, False)


def test_primitives_are_those_that_are_counted(kernels_left: set[str]) -> None:
    declarations = library_declarations()
    needs = needs_of(declarations, "new")
    identifiers = {o.full_name: o.identifier for o in declarations.operators}
    on_host = {o.identifier for o in declarations.operators if o.on_host}
    assert {identifiers[p.name] for p in needs.primitives} == kernels_left - on_host
    assert len(needs.primitives) < LIMIT


def losses(steps: int = 4) -> list[float]:
    """Of a network that trains on random images."""
    flambeau.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(64, 5),
    )
    optimizer = flambeau.optim.Adam(model.parameters(), lr=1e-2)
    images, labels = flambeau.rand(16, 1, 8, 8), flambeau.randint(0, 5, (16,))
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_training(request: pytest.FixtureRequest) -> None:
    wanted = losses()
    request.getfixturevalue("kernels_left")
    np.testing.assert_allclose(losses(), wanted, rtol=1e-3)


def test_second_order_and_forward_mode(kernels_left: set[str]) -> None:
    x = flambeau.linspace(-2, 2, 6, dtype=flambeau.float64).requires_grad_()
    for function in (nn.functional.silu, flambeau.tanh, flambeau.logaddexp, nn.functional.mish):
        arguments = (x, x.detach().flip(0)) if function is flambeau.logaddexp else (x,)
        assert flambeau.autograd.gradcheck(function, arguments, check_forward_ad=True)
        assert flambeau.autograd.gradgradcheck(function, arguments)


def test_half_precision_is_rounded_once(kernels_left: set[str]) -> None:
    x = flambeau.linspace(-3, 3, 101).half()
    wanted = nn.functional.silu(x.float()).half()
    assert nn.functional.silu(x).tolist() == wanted.tolist()


def test_in_place_and_out(kernels_left: set[str]) -> None:
    base = flambeau.arange(12, dtype=flambeau.float32).reshape(3, 4) - 6
    wanted = np.where(base.numpy() > 0, base.numpy(), 0.1 * base.numpy())
    out = flambeau.empty(4, 3).t()
    written = nn.functional.leaky_relu(base.t().contiguous().t(), 0.1)
    np.testing.assert_allclose(written.numpy(), wanted, rtol=1e-6)
    flambeau.square(base, out=out)
    np.testing.assert_allclose(out.numpy(), base.numpy() ** 2)
    part = base[:, ::2]
    nn.functional.leaky_relu(part, 0.1, inplace=True)
    np.testing.assert_allclose(base[:, ::2].numpy(), wanted[:, ::2], rtol=1e-6)


def test_random_numbers_are_those_of_the_kernels(request: pytest.FixtureRequest) -> None:
    def draw() -> list[list[float]]:
        flambeau.manual_seed(5)
        source = flambeau.full((3, 5), 0.5)
        return [
            flambeau.empty(4, 3).exponential_().flatten().tolist(),
            flambeau.empty(4, 3).t().log_normal_().flatten().tolist(),
            flambeau.bernoulli(source).flatten().tolist(),
            nn.functional.dropout(source.t(), 0.3).flatten().tolist(),
        ]

    wanted = draw()
    request.getfixturevalue("kernels_left")
    for found, expected in zip(draw(), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_complex_numbers_need_kernels(kernels_left: set[str]) -> None:
    with pytest.raises(NotImplementedError, match=r"tan: no kernel for .*complex64 on device cpu"):
        flambeau.tan(flambeau.ones(2, dtype=flambeau.complex64))
