"""A package of operators beside an installed library: the example, built from its sources."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
import pytest
from example_packages import Installed

import flambeau
from flambeau.autograd import forward_ad, gradcheck, gradgradcheck


def test_wheel(installed: Installed) -> None:
    """Functions, stub, declarations; no Python version that it was not built for."""
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    assert "pure" not in installed.wheel.name
    assert installed.wheel.name.startswith("example_operators-1.0-cp3")
    expected = {"__init__.py", "py.typed", "_C/__init__.pyi"}
    expected |= {"declarations/banded.yaml", "declarations/curves.yaml"}
    assert {f"example_operators/{name}" for name in expected} <= names
    assert any(name.startswith("example_operators/_C.") for name in names)


def test_generated_tests(installed: Installed) -> None:
    """Results, gradients, dtypes, layouts, errors, docs of every operator, from its entry."""
    done = installed.run("-m", "flambeau", "ops", "test", "example_operators")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(".") > 150


def test_generated_tests_can_fail(installed: Installed) -> None:
    """A function that is not what its entry says."""
    code = (
        "import example_operators, example_operators._C as C, pytest, sys\n"
        "from flambeau.extension.testing import FOLDER, VARIABLE\n"
        "import os; os.environ[VARIABLE] = 'example_operators'\n"
        "right = C.softclip\n"
        "C.softclip = lambda *a, **k: right(*a, **k) + 0.01\n"
        "sys.exit(pytest.main([str(FOLDER / 'test_operator_results.py'), '-q', '-k', 'softclip',"
        " '-p', 'no:cacheprovider']))"
    )
    done = installed.run("-c", code)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "softclip" in done.stdout


def test_methods(example_operators: Any) -> None:
    """Tensor has the methods that are asked for, and no other."""
    x = flambeau.tensor([-3.0, 0.5, 2.0], dtype=flambeau.float64)
    wanted = 2 * np.tanh(x.numpy() / 2)
    np.testing.assert_allclose(x.softclip(2.0).numpy(), wanted)
    np.testing.assert_allclose(example_operators.softclip(x, limit=2.0).numpy(), wanted)
    np.testing.assert_allclose(x.clone().softclip_(2.0).numpy(), wanted)
    out = flambeau.empty_like(x)
    assert example_operators.softclip(x, 2.0, out=out) is out
    np.testing.assert_allclose(out.numpy(), wanted)
    assert not hasattr(x, "relative_error")
    assert not hasattr(flambeau, "softclip")


def test_derivatives(example_operators: Any) -> None:
    flambeau.manual_seed(0)
    bands = flambeau.randn(3, 6, dtype=flambeau.float64, requires_grad=True)
    vec = flambeau.randn(6, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(example_operators.tridiagonal_mv, (bands, vec))
    assert gradgradcheck(example_operators.tridiagonal_mv, (bands, vec))
    assert gradcheck(lambda x: example_operators.sum_of_squares(x.softclip(2.0), 0), (bands,))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(vec.detach(), flambeau.ones_like(vec))
        found = example_operators.tridiagonal_mv(bands.detach(), dual)
        tangent = forward_ad.unpack_dual(found).tangent
    ones = example_operators.tridiagonal_mv(bands.detach(), flambeau.ones_like(vec).detach())
    np.testing.assert_allclose(tangent.numpy(), ones.numpy())


def test_meta_and_missing_kernels(example_operators: Any) -> None:
    """Shapes follow from the entry; another device's error names the operator."""
    shape = example_operators.tridiagonal_mv(
        flambeau.empty(3, 4, device="meta"), flambeau.empty(4, device="meta")
    ).shape
    assert shape == (4,)
    with pytest.raises(ValueError, match=r"tridiagonal_mv.*expected bands of shape \(3, n\)"):
        example_operators.tridiagonal_mv(flambeau.ones(2, 4), flambeau.ones(4))


@pytest.mark.parametrize("instruction_set", flambeau._C._cpu_capabilities())
def test_instruction_sets(installed: Installed, instruction_set: str) -> None:
    """Every version of a kernel gives the same; a processor that lacks one takes a smaller one."""
    code = (
        "import flambeau, example_operators as e\n"
        "n = 100003\n"
        "bands, vec = flambeau.arange(3. * n).reshape(3, n) / n, flambeau.arange(1. * n) / n\n"
        "full = e.tridiagonal_mv(bands.double(), vec.double())\n"
        "single = e.tridiagonal_mv(bands, vec)\n"
        "print((single - full).abs().max().item() < 1e-4, vec.softclip().sum().item() > 1)\n"
    )
    done = installed.run("-c", code, FLAMBEAU_CPU=instruction_set)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_import_without_flambeau_first(installed: Installed) -> None:
    done = installed.run("-c", "import example_operators._C as m; print(m.__name__)")
    assert done.stdout.strip() == "example_operators._C", done.stderr


def test_method_of_somebody_else(installed: Installed) -> None:
    """A package does not take a name that Tensor has."""
    code = (
        "import flambeau; flambeau.Tensor.softclip = 1\n"
        "try:\n    import example_operators\n"
        "except ImportError as error:\n    print(error)"
    )
    done = installed.run("-c", code)
    message = (
        "example_operators: flambeau.Tensor has an attribute 'softclip' already, of the library"
    )
    assert done.stdout.strip() == message, done.stderr


def test_stub(installed: Installed) -> None:
    """Type checkers see the signatures."""
    code = "import example_operators as e\nreveal_type(e.softclip)\ne.softclip('text')\n"
    done = installed.run("-m", "mypy", "--strict", "-c", code, MYPYPATH=str(installed.folder))
    assert 'Argument 1 to "softclip" has incompatible type "str"; expected "Tensor"' in done.stdout
    assert "limit: float =" in done.stdout
