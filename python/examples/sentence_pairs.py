"""An LSTM reads two sentences and says whether the second follows from the first.

The three answers are those of S. Bowman and others (2015): it follows, it contradicts, or neither.
The sentences are made by a small grammar, whose words are of kinds: a dog is an animal, and who
sleeps does not run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated

from shared.options import Options, begin, parse
from shared.pictures import confusion
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.nn.utils.rnn import pack_sequence

ANSWERS = ["follows", "neither", "contradicts"]
# Words, each under what it is a kind of.
SUBJECTS = {
    "animal": ["dog", "cat", "horse", "rabbit"],
    "person": ["girl", "boy", "farmer", "singer"],
    "vehicle": ["car", "bus", "train", "lorry"],
}
DEEDS = {
    "moves": ["runs", "jumps", "swims", "turns"],
    "rests": ["sleeps", "waits", "stands", "sits"],
}
PLACES = {
    "outdoors": ["in the park", "in the field", "at the river", "on the road"],
    "indoors": ["in the house", "in the hall", "in the kitchen", "in the barn"],
}
LOOKS = ["big", "small"]
KINDS = {
    word: kind for words in (SUBJECTS, DEEDS, PLACES) for kind in words for word in words[kind]
}


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 1200
    pairs: Annotated[int, "of sentences, of which a fifth is for testing"] = 12000
    batch_size: Annotated[int, "pairs per step"] = 64
    width: Annotated[int, "features that the LSTM remembers, per direction"] = 48
    learning_rate: Annotated[float, "of AdamW, at most"] = 6e-3


@dataclass(frozen=True)
class Pair:
    premise: str
    hypothesis: str
    answer: int  # a place in ANSWERS


@dataclass(frozen=True)
class Scene:
    """What a sentence says; "" where it says nothing."""

    look: str
    subject: str
    deed: str
    place: str

    def sentence(self) -> str:
        return " ".join(
            part for part in ("a", self.look, self.subject, self.deed, self.place) if part
        )


def some_scene(choose: random.Random) -> Scene:
    parts = [choose.choice(list(KINDS_OF[kinds])) for kinds in ("subject", "deed", "place")]
    return Scene(choose.choice(LOOKS), *parts)


KINDS_OF = {
    name: [word for words in kinds.values() for word in words]
    for name, kinds in (("subject", SUBJECTS), ("deed", DEEDS), ("place", PLACES))
}


def some_pair(choose: random.Random) -> Pair:
    """A premise and a hypothesis made from it, part by part."""
    scene = some_scene(choose)
    other = some_scene(choose)
    look = choose.choice([scene.look, ""])
    subject = choose.choice([scene.subject, KINDS[scene.subject]])
    deed = choose.choice([scene.deed, KINDS[scene.deed]])
    place = choose.choice([scene.place, KINDS[scene.place], ""])
    answer = choose.randrange(3)
    if answer == 1:  # the premise leaves open what the hypothesis says
        left_open = choose.choice(["look", "place"])
        if left_open == "look":
            premise = Scene("", scene.subject, scene.deed, scene.place)
            look = scene.look
        else:
            premise = Scene(scene.look, scene.subject, scene.deed, "")
            place = choose.choice([scene.place, KINDS[scene.place]])
        return Pair(premise.sentence(), Scene(look, subject, deed, place).sentence(), answer)
    if answer == 2:  # one part cannot be
        wrong = choose.choice(["look", "deed", "place"])
        if wrong == "look":
            look = LOOKS[1 - LOOKS.index(scene.look)]
        elif wrong == "deed":
            while KINDS[other.deed] == KINDS[scene.deed]:
                other = some_scene(choose)
            deed = choose.choice([other.deed, KINDS[other.deed]])
        else:
            while KINDS[other.place] == KINDS[scene.place]:
                other = some_scene(choose)
            place = choose.choice([other.place, KINDS[other.place]])
    return Pair(scene.sentence(), Scene(look, subject, deed, place).sentence(), answer)


class Reader(nn.Module):
    """Scores (N, 3) of answers, of two lists of N sentences: tensors of numbers of words."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.memory = nn.LSTM(width, width, bidirectional=True)
        self.answer = nn.Sequential(
            nn.Linear(8 * width, 2 * width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2 * width, 3)
        )

    def read(self, sentences: list[Tensor]) -> Tensor:
        """What stays in memory of each sentence, (N, 2 width)."""
        packed = pack_sequence([self.words(each) for each in sentences], enforce_sorted=False)
        _, (kept, _) = self.memory(packed)
        return flambeau.cat([kept[0], kept[1]], 1)

    def forward(self, premises: list[Tensor], hypotheses: list[Tensor]) -> Tensor:
        first, second = self.read(premises), self.read(hypotheses)
        parts = [first, second, first * second, (first - second).abs()]
        return self.answer(flambeau.cat(parts, 1))


def encoded(
    pairs: list[Pair], numbers: dict[str, int]
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    def encode(sentence: str) -> Tensor:
        return flambeau.tensor([numbers[word] for word in sentence.split()])

    answers = flambeau.tensor([pair.answer for pair in pairs])
    return [encode(p.premise) for p in pairs], [encode(p.hypothesis) for p in pairs], answers


def main(options: Settings) -> float:
    """Returns the share of new pairs that are answered rightly."""
    begin(options)
    choose = random.Random(options.seed)
    unique = {some_pair(choose): None for _ in range(options.pairs)}
    pairs = list(unique)
    sentences = [s for pair in pairs for s in (pair.premise, pair.hypothesis)]
    words = sorted({word for sentence in sentences for word in sentence.split()})
    numbers = {word: number for number, word in enumerate(words)}
    training, test = pairs[len(pairs) // 5 :], pairs[: len(pairs) // 5]
    model = Reader(len(words), options.width)
    optimizer = optim.AdamW(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, options.steps)
    progress = Progress(options.steps, "reading pairs")
    for _ in progress:
        *texts, answers = encoded(choose.sample(training, options.batch_size), numbers)
        loss = nn.functional.cross_entropy(model(*texts), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        progress.report(loss=loss.item())
    model.eval()
    *texts, answers = encoded(test, numbers)
    with flambeau.no_grad():
        found = model(*texts).argmax(1)
    share = (found == answers).float().mean().item()
    same = (answers.bincount().max() / len(test)).item()
    print(f"{share:.1%} of {len(test)} new pairs are answered rightly, by one answer {same:.1%};")
    print("such as")
    for pair, answer in zip(test[:6], found.tolist(), strict=False):
        print(f"  {pair.premise!r} - {pair.hypothesis!r}: {ANSWERS[answer]}")
    confusion(options.file("sentence_pairs.png"), ANSWERS, answers, found)
    return share


if __name__ == "__main__":
    main(parse(Settings, __doc__))
