"""Text as numbers: files to a vocabulary and a tensor of indices."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.utils.data import Dataset

END_OF_LINE = "<eos>"
UNKNOWN = "<unk>"


class Vocabulary:
    """Tokens with numbers from 0.

    Args:
        tokens: in the order of their numbers.
        unknown: the token, one of `tokens`, that stands for all others; None: others are mistakes.

    Raises:
        ValueError: if a token comes twice, or unknown is none of them.

    Example:
        >>> vocabulary = Vocabulary(["<unk>", "the", "cat"], unknown="<unk>")
        >>> vocabulary.encode(["the", "dog"])
        tensor([1, 0])
        >>> vocabulary.decode(flambeau.tensor([2, 1]))
        ['cat', 'the']
    """

    def __init__(self, tokens: Iterable[str], unknown: str | None = None) -> None:
        self.tokens = tuple(tokens)
        self._numbers = {token: number for number, token in enumerate(self.tokens)}
        if len(self._numbers) != len(self.tokens):
            twice = Counter(self.tokens).most_common(1)[0][0]
            raise ValueError(f"Vocabulary: the token {brief(twice)} comes twice")
        if unknown is not None and unknown not in self._numbers:
            raise ValueError(f"Vocabulary: unknown, {brief(unknown)}, is none of the tokens")
        self.unknown = unknown

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._numbers

    def __getitem__(self, token: str) -> int:
        """The number of a token.

        Raises:
            KeyError: for a token that is not there, if none stands for unknown ones.
        """
        number = self._numbers.get(token)
        if number is None:
            if self.unknown is None:
                raise KeyError(f"Vocabulary: there is no token {brief(token)}")
            number = self._numbers[self.unknown]
        return number

    def encode(self, tokens: Iterable[str]) -> Tensor:
        """The numbers of tokens, as a tensor of int64."""
        return flambeau.tensor([self[token] for token in tokens], dtype=flambeau.int64)

    def decode(self, numbers: Tensor | Iterable[int]) -> list[str]:
        """The tokens of numbers."""
        values = numbers.tolist() if isinstance(numbers, Tensor) else numbers
        return [self.tokens[number] for number in values]


class TextCorpus(Dataset[tuple[Tensor, Tensor]]):
    """Text files as one sequence of numbers, and windows of it.

    Sample i is (tokens, the tokens that follow each of them), both of shape (length,): windows
    i * length ... (i + 1) * length of the text and the same one token later.

    Args:
        files: a text file in UTF-8, or several, one after the other.
        level: "word": tokens are separated by white space, and a line ends with "<eos>";
            "character": every character is a token.
        length: tokens per sample.
        vocabulary: of another corpus, so that both agree; None: of the tokens of these files, the
            most frequent first.
        min_count: rarer tokens are unknown.
        max_size: the most tokens that a new vocabulary has; others are unknown.

    Attributes:
        vocabulary: tokens and their numbers; with "<unk>" if any token was left out.
        indices: all tokens, of shape (number of tokens,).

    Raises:
        ValueError: for another level, or numbers that are not positive.
        RuntimeError: for a file that is no UTF-8.
        KeyError: for a token that the given vocabulary lacks.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "text.txt")
        ...     _ = file.write_text("to be or not to be")
        ...     corpus = flambeau.datasets.TextCorpus(file, length=3)
        >>> len(corpus)
        2
    """

    def __init__(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        level: str = "word",
        length: int = 35,
        vocabulary: Vocabulary | None = None,
        min_count: int = 1,
        max_size: int | None = None,
    ) -> None:
        if level not in ("word", "character"):
            raise ValueError(f"TextCorpus: level must be 'word' or 'character', got {brief(level)}")
        for name, value in (("length", length), ("min_count", min_count), ("max_size", max_size)):
            if value is not None and (not isinstance(value, int) or value <= 0):
                raise ValueError(f"TextCorpus: {name} must be a positive int, got {brief(value)}")
        paths = [files] if isinstance(files, str | os.PathLike) else list(files)
        self.level = level
        self.length = length
        if vocabulary is None:
            vocabulary = _common(_tokens(paths, level), min_count, max_size)
        self.vocabulary = vocabulary
        self.indices = vocabulary.encode(_tokens(paths, level))

    def __len__(self) -> int:
        return max(len(self.indices) - 1, 0) // self.length

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """The window of an index.

        Raises:
            IndexError: if there are not so many.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"TextCorpus: index {index} is out of range for {len(self)} samples")
        start = index % len(self) * self.length
        end = start + self.length
        return self.indices[start:end], self.indices[start + 1 : end + 1]

    def text(self, numbers: Tensor | Iterable[int]) -> str:
        """The text of numbers."""
        tokens = self.vocabulary.decode(numbers)
        if self.level == "character":
            return "".join(tokens)
        words = "".join("\n" if token == END_OF_LINE else f"{token} " for token in tokens)
        return words.replace(" \n", "\n").rstrip(" ")


def _tokens(paths: list[str | os.PathLike[str]], level: str) -> Iterator[str]:
    for path in paths:
        try:
            with Path(path).open(encoding="utf-8", newline=None) as file:
                for line in file:
                    if level == "character":
                        yield from line
                    else:
                        yield from line.split()
                        yield END_OF_LINE
        except UnicodeDecodeError as error:
            raise RuntimeError(f"{os.fspath(path)} is no UTF-8 text: {error}") from error


def _common(tokens: Iterator[str], min_count: int, max_size: int | None) -> Vocabulary:
    """The frequent tokens; of equally frequent ones, those that came first."""
    counts = Counter(tokens)
    kept = [token for token, count in counts.most_common() if count >= min_count]
    if len(kept) == len(counts) <= (max_size or len(counts)):
        return Vocabulary(kept)
    others = [token for token in kept if token != UNKNOWN]
    return Vocabulary([UNKNOWN, *others][:max_size], UNKNOWN)
