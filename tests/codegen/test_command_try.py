"""`ops try`: entries evaluated in NumPy, with derivatives beside differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support import SAMPLE, load_text

from flambeau.codegen.check.formulas import bind
from flambeau.codegen.check.samples import sample_value, seed_of
from flambeau.codegen.formula.evaluate import EvaluationError
from flambeau.codegen.model.entries import Declarations, Operator
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.tools.cli import main
from flambeau.codegen.tools.experiment import Experiment

# Some entries draw random numbers, have large samples, or no reference.
LEAST_TRIED = 0.75


@pytest.fixture(scope="module")
def library() -> Declarations:
    return library_declarations()


def trial(text: str, name: str, **values: object) -> Experiment:
    loaded, found = load_text(text)
    assert not found
    operator = next(o for o in loaded.declarations.operators if o.full_name == name)
    bound = bind(operator, (), values)
    assert bound is not None
    return Experiment(operator, bound, loaded.declarations)


def test_every_entry_of_the_library_agrees(library: Declarations) -> None:
    """Results of formulas, folds, bodies and geometries with references; gradients and tangents
    with differences.
    """
    tried = 0
    for operator in library.operators:
        found = _try(operator, library)
        if found is None:
            continue
        tried += 1
        wrong = [c for c in found.references() if c.mistake is not None]
        grads = {n: np.ones(np.shape(v)) for n, v in found.results().items() if _is_smooth(v)}
        if operator.test.gradient and grads:
            wrong += [c for c in found.gradients(grads) if c.mistake is not None]
        assert not wrong, f"{operator.full_name}: {wrong}"
    assert tried >= LEAST_TRIED * len(library.operators)


def _try(operator: Operator, library: Declarations) -> Experiment | None:
    if operator.random is not None or not operator.test.samples:
        return None
    dtypes = {d.name for d in library.dtypes}
    given = {
        name: sample_value(text, seed_of(operator.full_name, name))
        for name, text in operator.test.samples[0].items()
        if text not in dtypes
    }
    if any(isinstance(v, np.ndarray) and v.size > 60 for v in given.values()):
        return None
    bound = bind(operator, (), given)
    try:
        return Experiment(operator, bound, library) if bound is not None else None
    except EvaluationError:
        return None


def _is_smooth(value: object) -> bool:
    return isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f"


def test_a_wrong_derivative_is_seen() -> None:
    wrong = SAMPLE.replace('self: "(s + self * slope) * grad"', 'self: "(s + slope) * grad"')
    assert wrong != SAMPLE
    x = np.array([0.5, -1.0, 2.0])
    found = trial(wrong, "silu", self=x)
    (comparison,) = found.gradients({"result": np.ones(3)})
    assert comparison.mistake is not None
    sigmoid = 1 / (1 + np.exp(-x))
    assert np.allclose(comparison.found, sigmoid * (2 - sigmoid))
    assert np.allclose(comparison.expected, sigmoid * (1 + x * (1 - sigmoid)), atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('expr: "self * sigmoid(self)"', 'expr: "self * sigmoid(self) + 1e-3"'),
        ('step: "acc + x"', 'step: "acc + 2 * x"'),
        ('combine: "a + b"', 'combine: "a"'),
        ('offset: "self.offset"', 'offset: "self.offset + 1"'),
        ("else d * d", "else d"),
    ],
)
def test_wrong_formulas_of_every_kind_are_seen(old: str, new: str) -> None:
    text = SAMPLE.replace('reference: "np.sum(self)"', 'reference: "np.mean(self, dim)"')
    text = text.replace('acc / n"', 'acc / n"').replace("dim=None", "dim=0")
    assert text.count(old) == 1
    values = {
        "silu": {"self": np.array([0.5, -1.0])},
        "total": {"self": np.arange(12.0).reshape(4, 3), "dim": 0},
        "transpose": {"self": np.arange(6.0).reshape(2, 3), "dim0": 0, "dim1": 1},
        "square_error": {"self": np.ones(2), "target": np.zeros(2) - 1, "reduction": "none"},
    }
    sound, planted = [], []
    for name, given in values.items():
        for source, found in ((SAMPLE, sound), (SAMPLE.replace(old, new), planted)):
            with_mean = source.replace('"np.sum(self)"', '"np.mean(self, 0)"')
            comparisons = trial(with_mean, name, **given).references()
            found += [name for c in comparisons if c.mistake is not None]
    assert not sound and len(planted) == 1


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(small: str, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `ops try` with some arguments: its exit code and what it printed."""

    def call(*arguments: str) -> tuple[int, str]:
        code = main(["try", *arguments, "--declarations", small])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return call


def test_arguments_are_those_of_a_call(run: Run) -> None:
    code, text = run("add", "[1., 2], other=[[10.], [20]], alpha=2")
    assert code == 0 and "[21. 22.]" in text and "[41. 42.]" in text
    assert "d/d other" in text and "5 comparisons agree" in text
    code, text = run("gelu", "self=randn(3), approximate=tanh")
    assert code == 0 and "approximate = 'tanh'" in text
    code, text = run("sum", "ones(2, 3), dim=[1]", "--grad", "[1., 10.]")
    assert code == 0 and "[[ 1.  1.  1.]\n            [10. 10. 10.]]" in text


def test_the_first_sample_stands_in(run: Run) -> None:
    code, text = run("silu")
    assert code == 0 and "[3, 4]" in text and "3 comparisons agree" in text


def test_a_kink_is_no_disagreement(run: Run) -> None:
    code, text = run("relu", "[-1., 0., 1.]")
    assert code == 0 and "1 at a kink" in text


def test_numbers_differ_by_seed_alone(run: Run) -> None:
    first = run("silu", "randn(3)")
    assert run("silu", "randn(3)") == first
    assert run("silu", "randn(3)", "--seed", "1") != first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("silu", "randn(3"), "the arguments do not parse"),
        (("silu", "1, 2"), "silu(Tensor self) takes 1 argument by position, not 2"),
        (("matmul", "ones(2, 3), ones(2, 3)"), "'matmul' raises RuntimeError: shapes [2, 3] and"),
        (("silu", "nonsense(3)"), "cannot be evaluated: unknown function 'nonsense'"),
        (("silu", "__import__('os')"), "cannot be evaluated: unknown function"),
        (("dropout",), "'dropout' draws random numbers"),
        (("sum", "ones(3)", "--grad", "ones(2)"), "--grad:"),
    ],
)
def test_what_cannot_be_tried(arguments: tuple[str, ...], message: str, run: Run) -> None:
    code, text = run(*arguments)
    assert code == 2 and message in text
