"""Einstein summation over matrix products. What is computed follows from the text of an equation,
and operands and lists of labels may take turns: neither is what a signature says. Each step calls
an operator, which checks, differentiates and computes on any device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief, elements

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums of products in Einstein's notation: `einsum("bij,bjk->bik", a, b)`.

    Every letter names a dimension; letters missing in the output are summed over; "..." stands for
    dimensions that broadcast. Without "->" the output has the letters that occur once, in
    alphabetical order. Also `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    Args:
        equation: the notation.
        operands: one tensor per term.

    Raises:
        RuntimeError: for a notation that does not fit the operands.
        ValueError: there is no operand, or no letter for a label.

    Example:
        >>> a, b = flambeau.ones(2, 3), flambeau.ones(3, 4)
        >>> flambeau.einsum("ij,jk->ik", a, b).shape
        flambeau.Size([2, 4])
        >>> flambeau.einsum("ii", flambeau.eye(3))  # the trace
        tensor(3.)
    """
    if isinstance(equation, Tensor):
        equation, operands = _from_lists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = elements("einsum", operands[0])
    if not operands:
        raise ValueError("einsum(): expected at least one operand")
    for i, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(f"einsum(): operand {i} must be a Tensor, not {brief(operand)}")
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' must be str, not {brief(equation)}")
    terms, output = _parse(equation, [t.dim() for t in operands])
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, operands, strict=True):
        for letter, size in zip(term, operand.shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known != size and 1 not in (known, size):
                raise RuntimeError(
                    f"einsum(): dimension '{letter}' has sizes {known} and {size} in '{equation}'"
                )
            sizes[letter] = max(known, size) if 0 not in (known, size) else 0
    prepared = [_diagonal(t, o) for t, o in zip(terms, operands, strict=True)]
    letters, result = prepared[0]
    for i, (right_letters, right) in enumerate(prepared[1:], start=1):
        later = set(output).union(*(p[0] for p in prepared[i + 1 :]))
        letters, result = _contract(letters, result, right_letters, right, later)
    summed = [i for i, letter in enumerate(letters) if letter not in output]
    if summed:
        result = result.sum(summed)
        letters = [letter for letter in letters if letter in output]
    order = [letters.index(letter) for letter in output]
    if order != list(range(len(order))):
        result = result.permute(order)
    full = [sizes[letter] for letter in output]
    return result if list(result.shape) == full else result.expand(full)


def _from_lists(arguments: Sequence[Any]) -> tuple[str, tuple[Tensor, ...]]:
    def spelled(labels: Any) -> str:
        return "".join(map(_label, elements("einsum", labels)))

    count = len(arguments) // 2
    operands = tuple(arguments[2 * i] for i in range(count))
    equation = ",".join(spelled(arguments[2 * i + 1]) for i in range(count))
    return (f"{equation}->{spelled(arguments[-1])}" if len(arguments) % 2 else equation), operands


def _label(label: Any) -> str:
    """The letter of a number.

    Raises:
        TypeError: it is no int.
        ValueError: there is no letter for it.
    """
    if label is Ellipsis:
        return "..."
    if not isinstance(label, int):
        raise TypeError(f"einsum(): expected labels to be ints or ..., got {brief(label)}")
    if not 0 <= label < len(_LETTERS):
        raise ValueError(f"einsum(): expected labels from 0 to {len(_LETTERS) - 1}, got {label}")
    return _LETTERS[label]


def _parse(equation: str, ranks: list[int]) -> tuple[list[list[str]], list[str]]:
    """Letters of each term and of the output; the dimensions of "..." get digits as letters,
    the last one "0"."""
    text = equation.replace(" ", "")
    inputs, arrow, output_text = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(
            f"einsum(): '{equation}' has {len(terms)} terms for {len(ranks)} operands"
        )
    parsed, widest = [], 0
    for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        head, dots, tail = term.partition("...")
        _check_letters(head + tail, equation)
        free = rank - len(head) - len(tail)
        if free < 0 or (free > 0 and not dots):
            raise RuntimeError(
                f"einsum(): term '{term}' of '{equation}' does not fit operand {i} of {rank} "
                "dimensions"
            )
        widest = max(widest, free)
        parsed.append([*head, *_ellipsis(free), *tail])
    if arrow:
        head, dots, tail = output_text.partition("...")
        _check_letters(head + tail, equation)
        output = [*head, *(_ellipsis(widest) if dots else []), *tail]
    else:
        everything = [letter for term in parsed for letter in term if letter.isalpha()]
        output = _ellipsis(widest) + sorted(x for x in everything if everything.count(x) == 1)
    known = {letter for term in parsed for letter in term}
    for letter in output:
        if letter not in known or output.count(letter) > 1:
            raise RuntimeError(
                f"einsum(): '{letter}' of the output of '{equation}' must occur in a term, and once"
            )
    return parsed, output


def _ellipsis(count: int) -> list[str]:
    return [str(i) for i in range(count - 1, -1, -1)]


def _check_letters(letters: str, equation: str) -> None:
    for letter in letters:
        if letter not in _LETTERS:
            raise RuntimeError(f"einsum(): '{letter}' of '{equation}' is not a letter")


def _diagonal(term: list[str], operand: Tensor) -> tuple[list[str], Tensor]:
    """Takes the diagonal of dimensions with the same letter."""
    letters = list(term)
    for letter in dict.fromkeys(term):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            if operand.shape[first] != operand.shape[second]:
                raise RuntimeError(
                    f"einsum(): '{letter}' repeats in a term over sizes {operand.shape[first]} and "
                    f"{operand.shape[second]}"
                )
            operand = operand.diagonal(0, first, second)
            del letters[second], letters[first]
            letters.append(letter)
    return letters, operand


def _contract(
    left_letters: list[str], left: Tensor, right_letters: list[str], right: Tensor, later: set[str]
) -> tuple[list[str], Tensor]:
    """One pairwise product: a batch of matrix products over the letters that are not needed
    later."""
    left_letters, left = _summed_early(left_letters, left, {*right_letters} | later)
    right_letters, right = _summed_early(right_letters, right, {*left_letters} | later)
    # A size of 1 against a larger one broadcasts: it is dropped and the other side keeps the
    # letter.
    for mine, theirs in ((0, 1), (1, 0)):
        sides = [(left_letters, left), (right_letters, right)]
        letters, tensor = sides[mine]
        other_letters, other = sides[theirs]
        ones = [
            i
            for i, letter in enumerate(letters)
            if tensor.shape[i] == 1
            and letter in other_letters
            and other.shape[other_letters.index(letter)] != 1
        ]
        if ones:
            tensor = tensor.squeeze(ones)
            letters = [letter for i, letter in enumerate(letters) if i not in ones]
            if mine == 0:
                left_letters, left = letters, tensor
            else:
                right_letters, right = letters, tensor
    left_letters, left = _summed_early(left_letters, left, {*right_letters} | later)
    right_letters, right = _summed_early(right_letters, right, {*left_letters} | later)
    shared = [x for x in left_letters if x in right_letters]
    batch = [x for x in shared if x in later]
    inner = [x for x in shared if x not in later]
    rows = [x for x in left_letters if x not in shared]
    columns = [x for x in right_letters if x not in shared]
    size = {**dict(zip(left_letters, left.shape, strict=True))}
    size.update(zip(right_letters, right.shape, strict=True))
    result_letters = batch + rows + columns
    if not inner:
        a = _aligned(left_letters, left, batch + rows, len(columns))
        b = right.permute([right_letters.index(x) for x in batch + columns])
        b = b.reshape([size[x] for x in batch] + [1] * len(rows) + [size[x] for x in columns])
        return result_letters, a * b
    matrices = []
    for letters, tensor, groups in (
        (left_letters, left, (batch, rows, inner)),
        (right_letters, right, (batch, inner, columns)),
    ):
        ordered = tensor.permute([letters.index(x) for group in groups for x in group])
        matrices.append(ordered.reshape([math.prod(size[x] for x in group) for group in groups]))
    product = flambeau.bmm(*matrices)
    return result_letters, product.reshape([size[x] for x in result_letters])


def _aligned(letters: list[str], tensor: Tensor, wanted: list[str], trailing: int) -> Tensor:
    ordered = tensor.permute([letters.index(x) for x in wanted])
    return ordered.reshape([*ordered.shape, *[1] * trailing])


def _summed_early(letters: list[str], tensor: Tensor, needed: set[str]) -> tuple[list[str], Tensor]:
    """Sums over letters that nothing else has."""
    dims = [i for i, letter in enumerate(letters) if letter not in needed]
    if not dims:
        return letters, tensor
    return [letter for letter in letters if letter in needed], tensor.sum(dims)
