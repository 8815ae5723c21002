"""The sample language: values that tests and checks feed in, deterministic for a seed.

randn(3, 4)  rand(3)  positive(2, 2)  randint(0, 5, 3)  boolean(3)  complex_randn(2) array([1, 2])
symmetric(2, 3, 3)  definite(2, 3, 3): symmetric matrices, of positive eigenvalues
arange(6)  zeros(2)  ones(2)  full([2], 3.0)  eye(3)  .T  [1:, ::2]  reshape  lists, numbers
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from flambeau.codegen.formula import sandbox
from flambeau.codegen.formula.evaluate import EvaluationError, Evaluator
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.parse import Language, parse_source
from flambeau.codegen.formula.sandbox import BUILTINS

MAXIMUM_ELEMENTS = 1_000_000
# The names of dtypes that NumPy has, which samples and references may mention.
DTYPES = {
    name: name
    for name, type_ in np.sctypeDict.items()
    if isinstance(name, str) and name not in BUILTINS and np.dtype(type_).kind in "biufc"
}


@lru_cache(maxsize=4096)
def parse_sample(source: str) -> Expression:
    """A sample value or a reference as a tree."""
    return parse_source(source, Language.REFERENCE, "<sample>")


def seed_of(*parts: object) -> int:
    """The same number for the same parts, on every machine and run."""
    return zlib.crc32("/".join(map(str, parts)).encode())


def sample_value(source: str, seed: int) -> Any:
    """The value of a sample: an array, a number, a string, a list of them, None.

    Raises EvaluationError where the text means nothing.
    """
    return Evaluator(DTYPES, sample_functions(seed))(parse_sample(source))


def sample_functions(seed: int) -> dict[str, Callable[..., Any]]:
    """What samples may call, drawing from one stream of random numbers."""
    random = np.random.default_rng(seed)

    def shaped(shape: tuple[Any, ...]) -> tuple[int, ...]:
        flat = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape
        if any(not isinstance(s, int) or s < 0 for s in flat):
            raise sandbox.RefusedError(f"a shape is made of sizes, not {shape}")
        count = 1
        for size in flat:
            count *= size
        if count > MAXIMUM_ELEMENTS:
            raise sandbox.RefusedError(f"a sample of {count} elements is too large")
        return flat

    def array(draw: Callable[[tuple[int, ...]], Any]) -> Callable[..., Any]:
        return lambda *shape: np.asarray(draw(shaped(shape)))

    def randint(low: int, high: int, *shape: Any) -> Any:
        return np.asarray(random.integers(low, high, shaped(shape)))

    def complex_randn(*shape: Any) -> Any:
        flat = shaped(shape)
        return np.asarray(random.standard_normal(flat) + 1j * random.standard_normal(flat))

    def full(shape: Any, value: Any) -> Any:
        return np.full(shaped((shape,) if isinstance(shape, int) else (tuple(shape),)), value)

    def symmetric(matrices: Any) -> Any:
        return matrices + np.swapaxes(matrices, -1, -2)

    def definite(matrices: Any) -> Any:
        return matrices @ np.swapaxes(matrices, -1, -2) + np.eye(matrices.shape[-1])

    return {
        "randn": array(random.standard_normal),
        "rand": array(random.random),
        "positive": array(lambda shape: random.uniform(0.5, 2.0, shape)),
        "boolean": array(lambda shape: random.random(shape) < 0.5),
        "zeros": array(np.zeros),
        "ones": array(np.ones),
        "permutation": lambda n: random.permutation(shaped((n,))[0]),
        "randint": randint,
        "complex_randn": complex_randn,
        "symmetric": lambda *shape: symmetric(random.standard_normal(shaped(shape))),
        "definite": lambda *shape: definite(random.standard_normal(shaped(shape))),
        "full": full,
        "array": np.array,
        "tensor": np.array,
        "arange": sandbox.arange,
        "linspace": lambda a, b, n: np.linspace(a, b, shaped((n,))[0]),
        "eye": lambda n, m=None: np.eye(shaped((n,))[0], m),
    }


__all__ = ["EvaluationError", "parse_sample", "sample_functions", "sample_value", "seed_of"]
