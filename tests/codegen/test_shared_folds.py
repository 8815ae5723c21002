"""Reductions that fold alike have one fold, and so one set of loops."""

from __future__ import annotations

from flambeau.codegen.plan.kernel_text import FoldPart, FoldText, with_shared_parts


def fold(name: str, step: str, fields: tuple[str, ...] = ()) -> FoldText:
    parts = (FoldPart("init", "", ("return A(0);",)), FoldPart("step", "A acc, T x", (step,)))
    struct = f"{name}Parameters"
    return FoldText(name.lower(), f"{name}Kernel", struct, fields, "", "kFloats", "Element", parts)


def test_folds_with_the_same_parts_are_one() -> None:
    plain, wide, other, last = with_shared_parts(
        [
            fold("Plain", "return A(acc + x);"),
            fold("Wide", "return A(acc + x);"),
            fold("Other", "return A(acc * x);"),
            fold("Last", "return A(acc + x);"),
        ]
    )
    assert (plain.same_as, wide.same_as) == ("", "PlainKernel")
    assert (other.same_as, last.same_as) == ("", "PlainKernel")


def test_folds_that_read_parameters_of_their_own_are_not() -> None:
    scaled = fold("Scaled", "return A(acc + parameters.scale);", ("double scale;",))
    again = fold("Again", "return A(acc + parameters.scale);", ("double scale;",))
    assert [f.same_as for f in with_shared_parts([scaled, again])] == ["", ""]
