"""No list of operators, and no operator's name as a constant, stands outside the declarations.

Calls are no mistake, and neither are words that mean something else: what these files name is said
in `WORDS`. That no function of the library hides an operator is seen in
tests/python/test_operator_names.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from flambeau.codegen.read.loader import library_declarations

ROOT = Path(__file__).parents[2]
FOLDERS = ("python", "codegen", "build_tools", "tests/parity/databases")
PYTHON = [p for f in FOLDERS for p in sorted((ROOT / f).rglob("*.py"))]
CPP = [p for p in sorted((ROOT / "native").rglob("*")) if p.suffix in (".h", ".cpp", ".cu", ".cuh")]

# What the words are that files list, where they are no operators although some are called so.
WORDS = {
    "codegen/check/samples.py": "makers of the sample language",
    "codegen/formula/shape_rules.py": "functions of the shape language",
    "codegen/tools/diff.py": "a command of the tool",
    "codegen/plan/coverage.py": "how a derivative comes about",
    "codegen/write/stubs.py": "Python's special methods",
    "codegen/formula/to_latex.py": "letters of LaTeX",
    "codegen/formula/evaluate.py": "functions and attributes of NumPy",
    "codegen/formula/functions.py": "functions of formulas",
    "codegen/formula/sandbox.py": "functions of NumPy",
    "codegen/tensor/calls.py": "functions of formulas",
    "codegen/tensor/numbers.py": "functions of <cmath> and of formulas",
    "codegen/formula/to_cpp.py": "functions of formulas",
    "codegen/model/entries.py": "kinds, roles and words of declarations",
    "codegen/read/operator_reader.py": "Python's unary operators",
    "codegen/plan/number_slots.py": "Python's unary operators",
    "codegen/plan/kernels.py": "dtypes of results",
    "codegen/plan/compute.py": "dtypes of results",
    "codegen/read/dtype_rules.py": "categories of dtypes",
    "python/flambeau/distributed/__init__.py": "messages of processes",
    "python/flambeau/distributed/nn/__init__.py": "messages of processes",
    "python/flambeau/distributed/nn/functional.py": "messages of processes",
    "python/flambeau/distributed/tensor/placement_types.py": "values of an argument",
    "python/flambeau/docs/equations.py": "functions of equations in docstrings",
    "python/flambeau/serialization/names.py": "types of Python",
    "python/flambeau/_tensor.py": "attributes of Tensor",
    "python/flambeau/autograd/graph.py": "values of an argument",
    "python/flambeau/datasets/transforms/__init__.py": "transforms of images",
    "python/flambeau/utils/trainer/best.py": "values of an argument",
    "python/flambeau/utils/trainer/trainer.py": "values of an argument",
    "python/flambeau/distributions/constraints.py": "sets of values",
    "python/flambeau/nn/init.py": "kinds of layers, and values of an argument",
    "python/flambeau/nn/functional/projected.py": "values of an argument",
    "python/flambeau/nn/functional/reductions.py": "values of an argument",
    "python/flambeau/nn/modules/__init__.py": "modules of layers",
    "python/flambeau/nn/parallel/__init__.py": "messages of devices",
    "python/flambeau/nn/rnn.py": "values of an argument",
    "python/flambeau/nn/rnn_cells.py": "values of an argument",
    "python/flambeau/nn/transformer.py": "values of an argument",
    "python/flambeau/optim/lr_scheduler/one_cycle.py": "values of an argument",
    "python/flambeau/optim/lr_scheduler/plateau.py": "values of an argument",
}


def names() -> frozenset[str]:
    """Everything that an operator is called in Python."""
    found = set()
    for operator in library_declarations().operators:
        found |= {operator.name, *operator.aliases, *(p.name for p in operator.also_in)}
    return frozenset(found | {f"{name}_" for name in found})


NAMES = names()


def in_python(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every list of operators, constant, and attribute that is fetched by name."""
    for node in ast.walk(ast.parse(text)):
        groups: list[list[ast.expr]] = []
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                groups = [items]
            case ast.Dict(keys=keys, values=values):
                groups = [[k for k in keys if k is not None], values]
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.Constant() as value):
                if isinstance(value, ast.Constant) and value.value in NAMES:
                    yield node.lineno, f"the constant {value.value!r}"
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=name), *_]):
                if name in NAMES:
                    yield node.lineno, f"getattr of {name!r}"
        for group in groups:
            words = [i.value for i in group if isinstance(i, ast.Constant)]
            listed = [w for w in words if isinstance(w, str) and w in NAMES]
            if len(listed) >= 2:
                yield node.lineno, f"a list of {', '.join(listed)}"


def in_cpp(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every list of operators."""
    for found in re.finditer(r'\{\s*"\w+"(\s*,\s*"\w+")+', text):
        listed = [w for w in re.findall(r'"(\w+)"', found[0]) if w in NAMES]
        if len(listed) >= 2:
            yield text[: found.start()].count("\n") + 1, f"a list of {', '.join(listed)}"


@pytest.mark.parametrize(
    ("path", "find"),
    [(p, in_python) for p in PYTHON] + [(p, in_cpp) for p in CPP],
    ids=lambda v: str(v.relative_to(ROOT)) if isinstance(v, Path) else "",
)
def test_no_list_of_operators(path: Path, find) -> None:
    found = [f"{path}:{line}: {what}" for line, what in find(path.read_text(encoding="utf-8"))]
    if str(path.relative_to(ROOT)) in WORDS:
        assert found, f"WORDS excuses {path}, which lists no such words any more"
        return
    assert not found, "say it in the declarations:\n" + "\n".join(found)


PLANTED = {
    'SHARED = ("celu_", "relu_")': in_python,
    'COPY = "copy_"': in_python,
    'names: list[str] = ["softmax", "sort", "not an operator"]': in_python,
    'table = {"erf": 1, "erfc": 2}': in_python,
    'relu = getattr(space, "relu", None)': in_python,
    'const char* kNames[] = {"erf",\n    "erfc"};': in_cpp,
}


@pytest.mark.parametrize("text", PLANTED)
def test_a_list_is_seen(text: str) -> None:
    assert list(PLANTED[text](text))


@pytest.mark.parametrize("text", ["y = x.relu().sum()", 'fail("relu(): bad")', 'f(mode="sum")'])
def test_a_call_is_none(text: str) -> None:
    assert not list(in_python(text))
