"""A model of language learns what follows: here the language is Python, read from its library.

The words are names, numbers, signs and line ends; `--model` says what remembers them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from shared.data import as_code, python_tokens
from shared.options import Options, begin, parse
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.datasets import Vocabulary

RARE = "<rare>"


@dataclass(frozen=True)
class Settings(Options):
    model: Annotated[Literal["LSTM", "GRU", "Transformer"], "what remembers"] = "LSTM"
    files: Annotated[int, "modules of Python's library that are read"] = 45
    words: Annotated[int, "that are known; rarer ones are all the same"] = 1500
    epochs: Annotated[int, "passes over the text"] = 4
    batch_size: Annotated[int, "places where the text is read at once"] = 24
    window: Annotated[int, "words that gradients flow back through"] = 32
    width: Annotated[int, "features per word"] = 128
    learning_rate: Annotated[float, "of AdamW, at most"] = 6e-3
    temperature: Annotated[float, "of the sample: lower is more cautious"] = 0.8


class Recurrent(nn.Module):
    """Scores (L, N, words) of what follows each word of texts (L, N); a state goes on."""

    def __init__(self, kind: str, words: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layers = {"LSTM": nn.LSTM, "GRU": nn.GRU}
        self.memory = layers[kind](width, width)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(width, words)
        self.head.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=0.05)

    def forward(self, text: Tensor, state: object = None) -> tuple[Tensor, object]:
        output, state = self.memory(self.dropout(self.embedding(text)), state)
        return self.head(self.dropout(output)), state


class Attentive(nn.Module):
    """The same by a transformer, whose state is the text itself, as far back as two windows."""

    def __init__(self, words: int, width: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.embedding = nn.Embedding(words, width)
        self.places = nn.Parameter(0.05 * flambeau.randn(2 * window, 1, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.1, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width))
        self.head = nn.Linear(width, words)
        nn.init.normal_(self.embedding.weight, std=0.05)

    def forward(self, text: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        whole = text if state is None else flambeau.cat([state, text])
        mask = nn.Transformer.generate_square_subsequent_mask(len(whole))
        features = self.embedding(whole) + self.places[-len(whole) :]
        output = self.encoder(features, mask, is_causal=True)
        # A word at a time, or a window: at most `window` words stay.
        return self.head(output[-len(text) :]), whole[-self.window :]


def detached(state: object) -> object:
    """The state without its history, so that gradients end here."""
    if isinstance(state, tuple):
        return tuple(part.detach() for part in state)
    return state.detach() if isinstance(state, Tensor) else state


def windows(text: Tensor, size: int, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Pairs of windows (size, batch): words, and the words that follow them; columns go on."""
    length = (len(text) - 1) // batch
    inputs, targets = (part[: length * batch].reshape(batch, length).T for part in (text, text[1:]))
    for start in range(0, length - size + 1, size):
        yield inputs[start : start + size], targets[start : start + size]


def read(tokens: list[str], known: int) -> tuple[Vocabulary, Tensor]:
    """The words that are frequent, and the text as their numbers."""
    frequent = [word for word, _ in Counter(tokens).most_common(known - 1)]
    vocabulary = Vocabulary([RARE, *frequent], unknown=RARE)
    return vocabulary, vocabulary.encode(tokens)


def cost(model: nn.Module, text: Tensor, options: Settings) -> float:
    """The mean cost of a word, in nats."""
    model.eval()
    state, costs = None, []
    with flambeau.no_grad():
        for words, following in windows(text, options.window, 8):
            scores, state = model(words, state)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), following.flatten())
            costs.append(loss.item())
    return sum(costs) / len(costs)


def train(model: nn.Module, text: Tensor, options: Settings) -> None:
    optimizer = optim.AdamW(model.parameters(), lr=options.learning_rate)
    steps = options.epochs * len(list(windows(text, options.window, options.batch_size)))
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, steps, pct_start=0.2)
    bar = Progress(steps, f"{options.model} reading")
    progress = iter(bar)
    for _ in range(options.epochs):
        model.train()
        state: object = None
        for words, following in windows(text, options.window, options.batch_size):
            next(progress)
            scores, state = model(words, detached(state))
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), following.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            schedule.step()
            bar.report(perplexity=math.exp(loss.item()))
    bar.close()


@flambeau.no_grad()
def sample(model: nn.Module, vocabulary: Vocabulary, count: int, temperature: float) -> list[str]:
    """Words that the model writes, after the beginning of a function."""
    model.eval()
    words, state = vocabulary.encode(["\n", "def"])[:, None], None
    written = ["def"]
    for _ in range(count):
        scores, state = model(words, state)
        last = scores[-1, 0] / temperature
        last[vocabulary[RARE]] = -math.inf
        words = flambeau.multinomial(last.softmax(0), 1)[:, None]
        written += vocabulary.decode(words[:, 0])
    return written


def main(options: Settings) -> float:
    """Returns the perplexity of text that the model has not seen."""
    begin(options)
    vocabulary, text = read(python_tokens(options.files), options.words)
    training, test = text[: -len(text) // 10], text[-len(text) // 10 :]
    print(f"{len(training):,} words of {len(vocabulary):,} kinds")
    model: nn.Module
    if options.model == "Transformer":
        model = Attentive(len(vocabulary), options.width, options.window)
    else:
        model = Recurrent(options.model, len(vocabulary), options.width)
    train(model, training, options)
    perplexity = math.exp(cost(model, test, options))
    shares = flambeau.bincount(training, minlength=len(vocabulary)).float() + 1
    blind = (shares.sum().log() - shares.log()[test].mean()).exp().item()
    code = as_code(sample(model, vocabulary, 150, options.temperature))
    print(f"perplexity of new text: {perplexity:.1f}; by frequencies alone {blind:.1f}")
    print(f"a sample:\n\n{code}")
    options.file(f"word_language_model_{options.model}.py.txt").write_text(code + "\n")
    return perplexity


if __name__ == "__main__":
    main(parse(Settings, __doc__))
