"""Views with a form that copies: an entry of its own follows from `copied_as`."""

from __future__ import annotations

from support import load_text

VIEWS = """
- op: "turned(Tensor self, dim dim, *, int step=1) -> view(self) result"
  kind: view
  copied_as: turned_copy.dim
  shape: {geometry: "transpose"}
  derivative: {self: "turned(grad, dim)"}
- op: "parts(Tensor self) -> view(self)[] results"
  kind: view
  copied_as: parts_copy
  shape: {geometry: "unbind"}
  derivative: none
- op: "clone(Tensor self, *, str memory_format) -> Tensor result"
  kind: structured
  derivative: none
"""


def test_a_composite_of_the_same_arguments() -> None:
    loaded, diagnostics = load_text(VIEWS, "views.yaml")
    assert not len(diagnostics)
    found = {o.full_name: o for o in loaded.declarations.operators}
    copy = found["turned_copy.dim"]
    assert (
        str(copy.body) == "clone(turned(self, dim, step=step), memory_format='contiguous_format')"
    )
    assert [(a.name, a.default) for a in copy.signature.arguments][1:] == [
        ("dim", None),
        ("step", "1"),
    ]
    assert copy.variants == {"function", "out"} and copy.signature.results[0].view_of is None
    parts = found["parts_copy"]
    assert parts.variants == {"function"} and parts.signature.results[0].is_list
    assert parts.derivative is not None and parts.derivative.none


def test_what_is_no_view_has_no_copy() -> None:
    text = (
        '- op: "plain(Tensor self) -> Tensor result"\n  kind: structured\n  copied_as: plain_copy\n'
    )
    _, diagnostics = load_text(text + "  derivative: none\n", "plain.yaml")
    assert "'plain' is no view, it copies already" in [d.message for d in diagnostics]
