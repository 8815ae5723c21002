"""`rearrange`: dims in another order, joined and split, by a pattern of names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

import flambeau
from flambeau import Tensor

__all__ = ["rearrange"]

_TOKEN = re.compile(r"\s*(\.\.\.|[()]|[A-Za-z]\w*|1(?!\w)|\S)")
Groups = list[list[str]]  # of each dim, the names that it is made of
_REST = "..."  # in parentheses
_EACH = "...each"  # dims of their own


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """Dims in another order, joined and split: `rearrange(x, "b (h w) c -> b c h w", h=4)`.

    Args:
        tensor: a tensor, or some of one shape, which are stacked first.
        pattern: names of dims before and after `->`; those in parentheses are one dim, `...` are
            all others, and `1` or `()` is a dim of size 1.
        axes_lengths: sizes of names; of those in parentheses one may be left out.

    Raises:
        ValueError: if the pattern is none, or does not fit the shape.

    Example:
        >>> images = flambeau.zeros(10, 4, 4, 3)
        >>> flambeau.func.rearrange(images, "b h w c -> b c h w").shape
        flambeau.Size([10, 3, 4, 4])
        >>> flambeau.func.rearrange(images, "b (h p) (w q) c -> (b h w) (p q c)", p=2, q=2).shape
        flambeau.Size([40, 12])
    """
    x = tensor if isinstance(tensor, Tensor) else flambeau.stack(list(tensor))
    left, arrow, right = pattern.partition("->")
    if not arrow or "->" in right:
        raise ValueError(f"rearrange(): expected one '->' in the pattern {pattern!r}")
    before, after = _groups(left, pattern), _groups(right, pattern)
    if any(_REST in group for group in before):
        raise ValueError(f"rearrange(): '...' in parentheses before '->' in {pattern!r}")
    _check_names(before, after, axes_lengths, pattern)
    rest = [f"...{i}" for i in range(x.ndim - len(before) + 1)] if [_EACH] in before else []
    first, last = _spread(before, rest), _spread(after, rest)
    sizes = _sizes(x, first, axes_lengths, pattern)
    names = [name for group in first for name in group]
    split = x.reshape([sizes[name] for name in names])
    moved = split.permute([names.index(name) for group in last for name in group])
    return moved.reshape([prod(sizes[name] for name in group) for group in last])


def _groups(side: str, pattern: str) -> Groups:
    found: Groups = []
    inside: list[str] | None = None
    for token in _TOKEN.findall(side):
        if token == "(" and inside is None:
            inside = []
        elif token == ")" and inside is not None:
            found.append(inside)
            inside = None
        elif token == _REST or token == "1" or token.isidentifier():
            names = [] if token == "1" else [token]
            if inside is None:
                found.append([_EACH] if token == _REST else names)
            else:
                inside += names
        else:
            raise ValueError(f"rearrange(): {token!r} is misplaced in the pattern {pattern!r}")
    if inside is not None:
        raise ValueError(f"rearrange(): a parenthesis is not closed in {pattern!r}")
    return found


def _check_names(before: Groups, after: Groups, lengths: dict[str, int], pattern: str) -> None:
    first, last = (
        [_REST if name == _EACH else name for group in side for name in group]
        for side in (before, after)
    )
    for names in (first, last):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"rearrange(): {twice[0]!r} stands twice on a side of {pattern!r}")
    alone = sorted(set(first) ^ set(last))
    if alone:
        raise ValueError(f"rearrange(): {alone[0]!r} stands on one side alone of {pattern!r}")
    unknown = sorted(set(lengths) - set(first))
    if unknown:
        raise ValueError(f"rearrange(): the pattern {pattern!r} has no name {unknown[0]!r}")


def _spread(groups: Groups, rest: list[str]) -> Groups:
    """The names of the dims that '...' stands for."""
    found: Groups = []
    for group in groups:
        if group == [_EACH]:
            found += [[name] for name in rest]
        else:
            found.append([n for name in group for n in (rest if name == _REST else [name])])
    return found


def _sizes(x: Tensor, groups: Groups, lengths: dict[str, int], pattern: str) -> dict[str, int]:
    if len(groups) != x.ndim:
        raise ValueError(
            f"rearrange(): the pattern {pattern!r} has {len(groups)} dims before '->', the tensor "
            f"has shape {tuple(x.shape)}"
        )
    sizes = dict(lengths)
    for extent, group in zip(x.shape, groups, strict=True):
        open_names = [name for name in group if name not in sizes]
        known = prod(sizes[name] for name in group if name in sizes)
        if len(open_names) > 1:
            raise ValueError(
                f"rearrange(): sizes of all but one of {group} must be given for {pattern!r}"
            )
        if open_names:
            sizes[open_names[0]] = extent // max(known, 1)
        if prod(sizes[name] for name in group) != extent:
            raise ValueError(
                f"rearrange(): {' '.join(group) or '1'} of {pattern!r} does not make {extent}"
            )
    return sizes
