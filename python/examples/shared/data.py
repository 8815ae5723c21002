"""Data that every machine has: what scikit-learn and Python bring."""

from __future__ import annotations

import ast
import pydoc_data.topics
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sklearn.datasets import load_digits, load_sample_image  # type: ignore[import-untyped]

import flambeau
from flambeau import Tensor


class Split(NamedTuple):
    """Images (N, 1, 8, 8) with pixels from -1 to 1, and what they show (N,)."""

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def digits(test: int = 360) -> Split:
    """The 1,797 handwritten digits of scikit-learn; the split is always the same."""
    pixels, labels = load_digits(return_X_y=True)
    images = flambeau.from_numpy(pixels).float().reshape(-1, 1, 8, 8) / 8 - 1
    order = flambeau.randperm(len(images), generator=flambeau.Generator().manual_seed(0))
    images, targets = images[order], flambeau.from_numpy(labels).long()[order]
    return Split(images[test:], targets[test:], images[:test], targets[:test])


def photograph(name: str) -> Tensor:
    """A photograph of scikit-learn, "china" or "flower": (3, 427, 640), from 0 to 1."""
    pixels = flambeau.tensor(load_sample_image(f"{name}.jpg"))
    return pixels.permute(2, 0, 1).float() / 255


def manual() -> tuple[str, str]:
    """The text of Python's manual that `help()` shows: 370,000 characters of English. Every tenth
    paragraph is the second part; none occurs twice, so that this one is new.
    """
    topics = (topic.split("\n\n") for topic in pydoc_data.topics.topics.values())
    unique = list(dict.fromkeys(part.rstrip() for topic in topics for part in topic))
    kept = [part for number, part in enumerate(unique) if number % 10 != 9]
    return "\n\n".join(kept), "\n\n".join(unique[9::10])


def python_tokens(files: int) -> list[str]:
    """Names, numbers, signs and ends of lines of modules of Python's own library.

    Strings are replaced by `""`, and comments left out; `<in>` and `<out>` stand for a change of
    indentation.
    """
    paths = sorted(Path(ast.__file__).parent.glob("*.py"), key=lambda path: path.name)
    known = [path for path in paths if not path.name.startswith("_")]
    return [token for path in known[:files] for token in _tokens(path)]


def _tokens(path: Path) -> Iterator[str]:
    shown = {tokenize.NEWLINE: "\n", tokenize.INDENT: "<in>", tokenize.DEDENT: "<out>"}
    left_out = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.STRING:
                yield '""'
            elif token.type not in left_out:
                yield shown.get(token.type, token.string)


def as_code(tokens: list[str]) -> str:
    """Tokens as lines of Python."""
    lines, line, depth = [], "", 0
    for token in tokens:
        if token == "\n":
            lines.append("    " * depth + line.strip())
            line = ""
        elif token in ("<in>", "<out>"):
            depth = max(0, depth + (1 if token == "<in>" else -1))
        else:
            glued = token in (",", ":", ")", "]", "(", "[", ".") or line.endswith(("(", "[", "."))
            after_word = token == "(" and line.endswith((" in", " if", " and", " or", " not"))
            line += token if glued and not after_word else f" {token}"
    return "\n".join([*lines, "    " * depth + line.strip()])
