"""Bodies that never end."""

from __future__ import annotations

from support import assert_found, load_text, marked

from flambeau.codegen.check.report import Context
from flambeau.codegen.check.translation import check_translation
from flambeau.codegen.text.source import Diagnostic


def _found(text: str) -> list[Diagnostic]:
    loaded, mistakes = load_text(text)
    assert not mistakes
    return check_translation(Context.of(loaded))


def test_composites_end() -> None:
    text, place = marked(
        '- op: "f(Tensor self) -> Tensor result"\n'
        "  kind: composite\n"
        '  body: "«g(self)»"\n'
        '  summary: "F."\n'
        '- op: "g(Tensor self) -> Tensor result"\n'
        "  kind: composite\n"
        '  body: "f(self)"\n'
        '  summary: "G."\n'
    )
    found = _found(text)
    assert len(found) == 1
    assert_found(found, place, "f: the body never ends: f -> g -> f")


def test_compositions_end() -> None:
    """So do the bodies of operators that have kernels too."""
    text = "".join(
        f'- op: "{name}(Tensor self) -> Tensor result"\n'
        f"  kind: structured\n"
        f'  shape: "self.shape"\n'
        f"  kernel: {{cpu: {name}.cpp}}\n"
        f'  body: "{other}(self)"\n'
        f"  derivative: none\n"
        f'  summary: "Some."\n'
        for name, other in (("f", "g"), ("g", "f"))
    )
    assert [d.message for d in _found(text)] == ["f: the body never ends: f -> g -> f"]


def test_an_overload_that_calls_another_ends() -> None:
    text = (
        '- op: "f(Tensor self) -> Tensor result"\n'
        '  kind: structured\n  shape: "self.shape"\n  kernel: {cpu: f.cpp}\n'
        '  derivative: none\n  summary: "F."\n'
        '- op: "f.twice(Tensor self, int n) -> Tensor result"\n'
        '  kind: composite\n  body: "f(f(self)) if n == 2 else self"\n'
        '  summary: "F twice."\n  args: {n: "2"}\n'
    )
    assert _found(text) == []


def test_overloads_are_told_apart_by_their_types() -> None:
    """A number takes a parameter that wants one, not the one that may be None."""
    text = (
        '- op: "f(Tensor self, Tensor|Scalar top) -> Tensor result"\n'
        '  kind: structured\n  shape: "self.shape"\n  kernel: {cpu: f.cpp}\n  derivative: none\n'
        '  summary: "F."\n  args: {top: "number"}\n'
        '- op: "f.optional(Tensor self, Scalar? top=None) -> Tensor result"\n'
        '  kind: composite\n  body: "f(self, top) if top is not None else self"\n'
        '  summary: "F, or nothing."\n  args: {top: "number"}\n'
    )
    assert _found(text) == []
    never = text.replace('body: "f(self, top)', 'body: "f(self, top=None)')
    assert [d.message for d in _found(never)] == [
        "f.optional: the body never ends: f.optional -> f.optional"
    ]
