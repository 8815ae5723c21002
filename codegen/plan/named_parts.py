"""Long formulas as short ones, whose parts have names: what readers can take in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression

_LONGEST = 20  # nodes of a formula that is still read
_MOST_PARTS = 4
_SMALLEST_PART = 4
_LETTERS = "uvrs"


def too_long(formulas: Mapping[str, Expression], parts: Mapping[str, Expression]) -> bool:
    """Whether one of them is."""
    return any(formula.size > _LONGEST for formula in (*formulas.values(), *parts.values()))


def with_named_parts(
    formulas: Mapping[str, Expression], parts: Mapping[str, Expression], taken: Set[str]
) -> tuple[dict[str, Expression], dict[str, Expression]]:
    """The formulas, and what they call by a name: more of it, as long as that makes them shorter.

    Args:
        parts: which have names already.
        taken: names that are no part's.
    """
    formulas, parts = dict(formulas), dict(parts)
    letters = [letter for letter in _LETTERS if letter not in taken]
    for letter in letters[:_MOST_PARTS]:
        if not too_long(formulas, parts):
            break
        part = _best([*formulas.values(), *parts.values()])
        if part is None:
            break
        name = {part: nodes.name(letter)}
        formulas = {n: nodes.replace_subtrees(f, name) for n, f in formulas.items()}
        after = {n: nodes.replace_subtrees(f, name) for n, f in parts.items()}
        parts = {**after, letter: part}
    return formulas, parts


def _best(formulas: list[Expression]) -> Expression | None:
    """The part whose name saves the most; it can be read itself."""
    count = Counter(part for formula in formulas for part in nodes.walk(formula))
    whole = set(formulas)
    saved = {
        part: times * (part.size - 1)
        for part, times in count.items()
        if _SMALLEST_PART <= part.size <= _LONGEST and part not in whole
    }
    return max(saved, key=lambda part: saved[part], default=None)
