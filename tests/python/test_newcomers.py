"""What someone meets in the first hour: the demo, what is printed, warnings, names in messages."""

from __future__ import annotations

import os
import pty
import pydoc
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import flambeau
from flambeau import nn
from flambeau._command_line import main


def test_demo_on_a_device_without_a_backend(capsys: pytest.CaptureFixture[str]) -> None:
    """No machine has so many, if it has any."""
    assert main(["demo", "--device", "cuda:99"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("flambeau demo: --device cuda:99: ")


def test_progress_fits_a_terminal(tmp_path: Path) -> None:
    """The last number of each line is there in 80 columns."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "flambeau", "demo", "--epochs", "10"]
    process = subprocess.Popen(
        [*command, "--output", str(tmp_path / "digits.png")],
        stdout=follower,
        env={**os.environ, "COLUMNS": "80", "LINES": "24"},
    )
    os.close(follower)
    written = b""
    while True:
        try:
            written += os.read(leader, 65536)
        except OSError:  # nobody writes any more
            break
    assert process.wait() == 0
    os.close(leader)
    bars = [line for line in re.split(r"[\r\n]+", written.decode()) if "│" in line]
    assert max(map(len, bars)) <= 80
    finished = [line for line in bars if re.search(r"test +\d+\.\d\d%\s*$", line)]
    assert {line[:11] for line in finished} == {f"Epoch {i:>2}/10" for i in range(1, 11)}


def test_parameters_and_repeated_layers_are_printed_shortly() -> None:
    assert repr(nn.Parameter(flambeau.ones(2))) == (
        "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )
    assert repr(nn.ModuleList([nn.Linear(2, 3) for _ in range(3)])) == (
        "ModuleList(\n  (0-2): 3 x Linear(in_features=2, out_features=3, bias=True)\n)"
    )
    assert repr(nn.ModuleList([nn.Tanh(), nn.Tanh(), nn.ReLU()])) == (
        "ModuleList(\n  (0-1): 2 x Tanh()\n  (2): ReLU()\n)"
    )


def test_results_with_names_are_printed_with_a_field_on_each_line() -> None:
    assert repr(flambeau.tensor([[3.0, 5.0]]).max(1)) == (
        "flambeau.return_types.max(\nvalues=tensor([5.]),\nindices=tensor([1]))"
    )
    found = flambeau.tensor([2, 1]).sort()
    assert str(found).splitlines()[1:] == ["values=tensor([1, 2]),", "indices=tensor([1, 0]))"]


def test_grad_of_what_keeps_none_warns() -> None:
    leaf = flambeau.ones(2, requires_grad=True)
    product = leaf * 2
    with pytest.warns(UserWarning, match=r"not a leaf .* retain_grad\(\)"):
        assert product.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert leaf.grad is None
        assert flambeau.ones(2).grad is None
        assert (flambeau.ones(2) * 2).grad is None
        product.retain_grad()
        assert product.grad is None
        product.sum().backward()
        assert product.grad is not None
        assert leaf.grad is not None
        with pytest.raises(UserWarning, match="not a leaf"):
            _ = (leaf * 2).grad


@pytest.mark.parametrize("layer", [nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss])
def test_losses_of_two_shapes_warn(layer: Callable[[], nn.Module]) -> None:
    loss = layer()
    with pytest.warns(
        UserWarning, match=r"input of shape \[3, 1\] and target of shape \[3\]"
    ) as seen:
        loss(flambeau.ones(3, 1), flambeau.ones(3))
    assert [warning.filename for warning in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loss(flambeau.ones(3, 1), flambeau.zeros(3, 1)).item() > 0


def test_names_that_are_not_there_are_answered_with_near_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As Python prints errors that nobody catches."""

    def said_of(call: Callable[[], object]) -> str:
        with pytest.raises(AttributeError) as error:
            call()
        sys.__excepthook__(error.type, error.value, error.tb)
        return capsys.readouterr().err

    assert "flambeau.convv2d is not in Flambeau yet" in said_of(lambda: flambeau.convv2d)
    assert "Did you mean: 'logsumexp'" in said_of(lambda: flambeau.logsumexpp)
    assert "Did you mean: 'histogram'" in said_of(lambda: flambeau.histogramm)
    assert "Did you mean: 'Linear'" in said_of(lambda: nn.Linnear)
    assert "Did you mean: 'relu'" in said_of(lambda: nn.functional.reluu)
    for module in (nn.functional, nn.init, flambeau.optim, flambeau.linalg, flambeau.distributions):
        assert ".nowhere is not in Flambeau yet" in said_of(lambda module=module: module.nowhere)
    assert "Did you mean: 'Adam'" in said_of(lambda: flambeau.optim.Addam)
    assert "Did you mean: 'sum'" in said_of(lambda: flambeau.ones(2).summ)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: nn.BCELoss()(flambeau.tensor([1.5]), flambeau.tensor([1.0])),
            RuntimeError,
            r"binary_cross_entropy.*input must lie in \[0, 1\], got 1.5",
        ),
        (
            lambda: nn.functional.softmax(flambeau.ones(2, 2), 5),
            IndexError,
            r"softmax\(\): dim 5 is out of range .* expected -2 to 1",
        ),
        (
            lambda: nn.functional.cross_entropy(flambeau.ones(1, 3), flambeau.tensor([7])),
            IndexError,
            "cross_entropy: argument target holds class 7 .* expected 0 <= class < 3",
        ),
        (lambda: flambeau.ones(6).reshape(4, 2), RuntimeError, r"^reshape: shape \[4, 2\]"),
        (lambda: flambeau.ones(6).sum(3), IndexError, r"^sum\(\): dim 3 is out of range"),
        (
            lambda: nn.functional.conv2d(flambeau.ones(1, 1, 2, 2), flambeau.ones(1, 1, 5, 5)),
            RuntimeError,
            r"^conv2d\(\): the kernel, 5 long",
        ),
    ],
    ids=["BCELoss", "softmax", "cross_entropy", "reshape", "sum", "conv2d"],
)
def test_messages_name_what_was_called(
    call: Callable[[], object], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    "value",
    [
        *(nn.Linear, nn.Conv2d, nn.LSTM, nn.MSELoss, nn.CrossEntropyLoss, nn.Sequential),
        *(flambeau.optim.SGD, flambeau.optim.Adam, flambeau.utils.data.DataLoader),
        *(flambeau.relu, flambeau.Tensor.sum, nn.functional.conv2d),
    ],
    ids=lambda value: value.__name__,
)
def test_help_shows_an_example(value: object) -> None:
    """tests/docs runs them."""
    text = pydoc.render_doc(value, renderer=pydoc.plaintext)
    assert re.search(r"^[ |]*>>> ", text, re.M)
