"""Custom operators whose types a text says."""

from __future__ import annotations

import pytest

import flambeau
from flambeau._schema_text import parse_schema
from flambeau.library import custom_op


def test_an_operator_with_a_schema() -> None:
    def kernel(x, scale=2.0, *, dims=None):  # type: ignore[no-untyped-def]
        return x * scale, x.sum(dims or 0)

    op = custom_op(
        "schemas::scaled",
        kernel,
        mutates_args=(),
        schema="(Tensor x, float scale=2.0, *, int[]? dims=None) -> (Tensor, Tensor)",
    )
    x = flambeau.ones(2, 3)
    doubled, summed = op(x)
    assert doubled.tolist() == [[2] * 3] * 2 and summed.tolist() == [2, 2, 2]
    assert flambeau.ops.schemas.scaled(x, 3, dims=[0, 1])[1].item() == 6
    with pytest.raises(TypeError, match="argument 'scale' must be float, got str"):
        op(x, "2")


def test_what_a_text_says() -> None:
    schema = parse_schema(
        "a::b", "b(Tensor(a!) x, Tensor?[] y, SymInt[2] n=[1, 2], Scalar? s=None) -> ()", ()
    )
    assert schema.mutated == ("x",) and schema.results == () and not schema.returns_tuple
    assert schema.parameters["y"].accepts([None, flambeau.ones(1)])
    assert not schema.parameters["y"].accepts(None) and schema.parameters["s"].accepts(None)
    assert schema.bind("a::b", (flambeau.ones(1), []), {})["n"] == [1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Tensor x", "expected a schema"),
        ("(Tensr x) -> Tensor", "parameter 'Tensr x', which cannot be read"),
        ("(Tensor x) -> Tensr", "result 'Tensr', which cannot be read"),
        ("(int n=one) -> Tensor", "default in 'int n=one'"),
    ],
)
def test_texts_that_say_nothing(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_schema("a::b", text, ())
