"""The signature language: what it accepts, and where it says that something is wrong."""

from __future__ import annotations

import pytest
from support import marked

from flambeau.codegen.model.entries import Base, Signature, Type
from flambeau.codegen.read.signature import parse_signature
from flambeau.codegen.text.source import Diagnostic, Diagnostics, Span, Text

DTYPES = ("bool", "int64", "float32")


def parse(text: str) -> tuple[Signature | None, list[Diagnostic]]:
    diagnostics = Diagnostics()
    signature = None
    with diagnostics.collecting():
        located = Text(text, Span("s.yaml", 1, 1, len(text)))
        signature = parse_signature(located, DTYPES, diagnostics)
    return signature, diagnostics.sorted()


def parsed(text: str) -> Signature:
    signature, found = parse(text)
    assert not found, "\n".join(d.message for d in found)
    assert signature is not None
    return signature


TYPES = {
    "Tensor": Type(Base.TENSOR),
    "Tensor?": Type(Base.TENSOR, optional=True),
    "Tensor|Scalar": Type(Base.TENSOR, or_scalar=True),
    "Tensor(mut)": Type(Base.TENSOR, mutable=True),
    "Tensor[]": Type(Base.TENSOR, is_list=True),
    "Tensor(mut)[]": Type(Base.TENSOR, is_list=True, mutable=True),
    "Scalar?": Type(Base.SCALAR, optional=True),
    "int": Type(Base.INT),
    "int[]?": Type(Base.INT, is_list=True, optional=True),
    "int[2]": Type(Base.INT, is_list=True, list_length=2),
    "float[]": Type(Base.FLOAT, is_list=True),
    "bool?": Type(Base.BOOL, optional=True),
    "str": Type(Base.STR),
    "dtype?": Type(Base.DTYPE, optional=True),
    "device?": Type(Base.DEVICE, optional=True),
    "Generator?": Type(Base.GENERATOR, optional=True),
}


@pytest.mark.parametrize("text", TYPES)
def test_types(text: str) -> None:
    found = parsed(f"f({text} a) -> Tensor r").arguments[0].type
    assert found == TYPES[text]
    assert str(found) == text


@pytest.mark.parametrize(
    ("argument", "default"),
    [
        ("int a=-3", "-3"),
        ("float a=1e-05", "1e-05"),
        ("float a=-inf", "-inf"),
        ("float a=2", "2"),
        ("Scalar a=True", "True"),
        ("bool a = False", "False"),
        ("str a='mean, of (it)'", "'mean, of (it)'"),
        ('str a="none"', '"none"'),
        ("int[] a=[]", "[]"),
        ("int[2] a=1", "1"),
        ("int[2] a=[1, 2]", "[1, 2]"),
        ("int[]? a=None", "None"),
        ("Tensor|Scalar a=1.5", "1.5"),
        ("Tensor? a=None", "None"),
        ("dtype a=float32", "float32"),
        ("device a='cpu'", "'cpu'"),
    ],
)
def test_defaults(argument: str, default: str) -> None:
    assert parsed(f"f({argument}) -> Tensor r").arguments[0].default == default


def test_whole_signature() -> None:
    text = (
        "max.dim(Tensor self, int dim, bool keepdim=False, *, str mode='a') -> (Tensor v, int64 i)"
    )
    signature = parsed(text)
    assert (signature.name, signature.overload, signature.full_name) == ("max", "dim", "max.dim")
    assert [a.name for a in signature.arguments] == ["self", "dim", "keepdim", "mode"]
    assert [a.keyword_only for a in signature.arguments] == [False, False, False, True]
    assert [a.span.column for a in signature.arguments] == [16, 26, 36, 58]
    assert [(r.name, r.dtype) for r in signature.results] == [("v", None), ("i", "int64")]


def test_choices_are_given_and_are_no_arguments() -> None:
    signature = parsed("f(Tensor a, bool(True) b=False, int? c=None, *, bool(False) d) -> Tensor r")
    assert [a.name for a in signature.arguments] == ["a", "c"]
    assert [a.name for a in signature.given] == ["a", "b", "c", "d"]
    assert [a.type.only for a in signature.given] == [None, True, None, False]
    assert str(signature.given[1].type) == "bool(True)"


def test_spread_lists_and_lists_with_none() -> None:
    spread = parsed("f(int a, Tensor[] *b, *, int c=1) -> Tensor r").arguments
    assert [a.spread for a in spread] == [False, True, False]
    sizes = parsed("f(Tensor a, int?[2] b) -> Tensor r").arguments[1].type
    assert (sizes.none_items, sizes.optional, str(sizes)) == (True, False, "int?[2]")


def test_results() -> None:
    view = parsed("f(Tensor self) -> view(self) r").results[0]
    assert (view.view_of, view.is_list) == ("self", False)
    views = parsed("f(Tensor self) -> view(self)[] r").results[0]
    assert (views.view_of, views.is_list) == ("self", True)
    assert parsed("f(Tensor self) -> Tensor[] r").results[0].is_list
    hidden = parsed("f(Tensor self) -> (Tensor r, hidden bool mask)").results[1]
    assert (hidden.hidden, hidden.spare, hidden.dtype) == (True, False, "bool")
    spare = parsed("f(Tensor self) -> (Tensor r, spare int64 at)").results[1]
    assert (spare.hidden, spare.spare, spare.dtype) == (True, True, "int64")
    assert parsed("f() -> None").results == ()


MISTAKES = [
    ("f(«Tensr» a) -> Tensor r", "unknown type 'Tensr'", "did you mean 'Tensor'?"),
    ("f(«string» a) -> Tensor r", "unknown type 'string'", "did you mean 'str'?"),
    ("f(int a=«1.5») -> Tensor r", "default 1.5 is not of type int", None),
    ("f(bool a=«1») -> Tensor r", "default 1 is not of type bool", None),
    ("f(int a=«True») -> Tensor r", "default True is not of type int", None),
    ("f(int a=«None») -> Tensor r", "default None is not of type int", "write `int?`"),
    ("f(str a=«mean») -> Tensor r", "default mean is not of type str", "quote it: 'mean'"),
    ("f(int[2] a=«[1, 2, 3]») -> Tensor r", "default [1, 2, 3] is not of type int[2]", None),
    ("f(int[] a=«0») -> Tensor r", "default 0 is not of type int[]", "write a list"),
    ("f(bool a=«Fals») -> Tensor r", "default Fals is not of type bool", "'False'"),
    ("f(Tensor a=«1») -> Tensor r", "default 1 is not of type Tensor", None),
    ("f(dtype a=«float3») -> Tensor r", "default float3 is not of type dtype", None),
    ("f(int a=«010») -> Tensor r", "010 has leading zeros", None),
    ("f(int a=1, Tensor «b») -> Tensor r", "required argument 'b' follows 'a'", "default"),
    ("f(int a, Tensor «a») -> Tensor r", "duplicate argument 'a'", None),
    ("f(int «lambda») -> Tensor r", "'lambda' is a keyword of Python", None),
    ("f(Tensor a «->» Tensor r", "expected ')' or ',' after an argument, found '->'", None),
    ("f(Tensor a«;») -> Tensor r", "unexpected character ';'", None),
    ("f(str a=«'»x) -> Tensor r", "string without a closing quote", None),
    ("f(Tensor a,«)» -> Tensor r", "expected an argument", None),
    ("f(Tensor a, *«)» -> Tensor r", "expected ',' and keyword-only arguments", None),
    ("f(*, int a, «*», int b) -> Tensor r", "a second '*'", None),
    ("f(Tensor?«[»] a) -> Tensor r", "expected an argument's name after '?'", "`Tensor[]?`"),
    ("f(int«|»Scalar a) -> Tensor r", "only a Tensor can be '|Scalar'", None),
    ("f(Tensor|«int» a) -> Tensor r", "expected 'Scalar' after 'Tensor|'", None),
    ("f(Tensor(«in») a) -> Tensor r", "expected 'mut'", None),
    ("f(int[] «*»a) -> Tensor r", "only a list of tensors", None),
    ("f(Tensor a, *, Tensor[] «*»b) -> Tensor r", "that is given by position", None),
    ("f(Tensor[] *a, int «b») -> Tensor r", "'b' follows '*a'", "put '*' before it"),
    ("f(bool(«1») a) -> Tensor r", "a bool is True or False", None),
    ("f(bool(True «a») -> Tensor r", "expected ')' after the value", None),
    ("f(int[«0»] a) -> Tensor r", "a list's length is from 1 to 99", None),
    ("f(int[2«)» a) -> Tensor r", "expected ']' after a list's length", None),
    ("f(int[] a=[1, 2«)» -> Tensor r", "expected ']' or ',' in a list", None),
    ("f(int a=«)» -> Tensor r", "expected a default", None),
    ("f(int a=«-»'x') -> Tensor r", "expected a default", None),
    ("f(int a=-«nank») -> Tensor r", "expected a number after the sign", None),
    ("f(Tensor self) «=» Tensor r", "expected '->' and the results", None),
    ("f(Tensor self) -> «Tenser» r", "unknown result type 'Tenser'", "did you mean 'Tensor'?"),
    ("f(Tensor self) -> Tensor« »", "expected the name of the result", None),
    ("f(Tensor self) -> Tensor r «extra»", "expected the end of the signature", None),
    ("f(Tensor self) -> view(«slef») r", "view of 'slef', which is not a tensor", "'self'"),
    ("f(Tensor self) -> Tensor «self»", "the result 'self' is called like an argument", None),
    ("f(Tensor self) -> «(») ", "no results between the parentheses", "write `-> None`"),
    ("f(Tensor self) -> (Tensor a, Tensor «a»)", "duplicate result 'a'", None),
    ("«(»Tensor self) -> Tensor r", "expected an operator name, found '('", None),
]


@pytest.mark.parametrize(("text", "message", "hint"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_mistakes(text: str, message: str, hint: str | None) -> None:
    plain, place = marked(text)
    _, found = parse(plain)
    matching = [d for d in found if message in d.message]
    assert matching, [d.message for d in found]
    assert matching[0].span.column == place.column
    assert matching[0].span.length == place.length
    if hint is not None:
        assert hint in (matching[0].hint or "")


def test_every_mistake_is_told() -> None:
    _, found = parse("f(Tensr a, int b=1.5, int b=2) -> Tnsor r")
    assert [d.span.column for d in found] == [3, 18, 27, 35]


@pytest.mark.parametrize("text", ["", "f", "f(", "f()", "f() ->", "f.", "f.(", "-", "f(*", "f(a=["])
def test_unfinished_signatures_are_mistakes_not_tracebacks(text: str) -> None:
    assert parse(text)[1]
