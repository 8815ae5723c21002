"""An actor learns to balance a pole on a cart; a critic tells it how well things stand.

The cart and the pole are those of A. Barto, R. Sutton, C. Anderson (1983), with the numbers of
gymnasium's CartPole-v1, of which this needs nothing: an episode ends when the pole leans by more
than 12 degrees, the cart is more than 2.4 away, or after 500 steps. Many carts are driven at once.
Advantages are estimated as in J. Schulman and others (2015), and steps of the actor kept small as
in their later work (2017): what it did is looked at several times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.distributions import Categorical

LONGEST = 500
WORTH = 100.0  # about as much as can be won, discounted


@dataclass(frozen=True)
class Settings(Options):
    updates: Annotated[int, "drives, after each of which actor and critic learn"] = 120
    carts: Annotated[int, "driven at once"] = 32
    steps: Annotated[int, "that each cart is driven between updates"] = 64
    looks: Annotated[int, "at each drive"] = 6
    batch_size: Annotated[int, "steps that are looked at together"] = 512
    learning_rate: Annotated[float, "of Adam, at first"] = 2.5e-3
    discount: Annotated[float, "of a reward, per step that it is away"] = 0.99
    smoothing: Annotated[float, "of advantages over steps"] = 0.95
    entropy: Annotated[float, "how much the actor is paid for doubt"] = 0.01
    clip: Annotated[float, "how far shares of actions may move until the next drive"] = 0.2


@dataclass
class Carts:
    """Carts with poles; `state` (N, 4): place, speed, angle, its speed."""

    count: int
    lengths: list[int] = field(default_factory=list)  # of the episodes that ended

    def __post_init__(self) -> None:
        self.state = self._fresh()
        self.age = flambeau.zeros(self.count, dtype=flambeau.int64)

    def _fresh(self) -> Tensor:
        return flambeau.rand(self.count, 4) * 0.1 - 0.05

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Pushes carts to the left (0) or right (1) for a fiftieth of a second.

        Returns:
            Whether each fell, and whether its episode is over; those begin anew.
        """
        place, speed, angle, turning = self.state.unbind(1)
        force = 20.0 * actions - 10.0
        sine, cosine = angle.sin(), angle.cos()
        push = (force + 0.05 * turning.square() * sine) / 1.1
        turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine.square() / 1.1))
        pull = push - 0.05 * turn * cosine / 1.1
        moved = [place + 0.02 * speed, speed + 0.02 * pull]
        moved += [angle + 0.02 * turning, turning + 0.02 * turn]
        self.state = flambeau.stack(moved, 1)
        self.age += 1
        fell = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 12 * math.pi / 180)
        over = fell | (self.age >= LONGEST)
        self.lengths += self.age[over].tolist()
        self.state = flambeau.where(over[:, None], self._fresh(), self.state)
        self.age = self.age.masked_fill(over, 0)
        return fell, over


class ActorCritic(nn.Module):
    """Of states (N, 4) the distribution of actions, and what is still to be won (N,)."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))
        self.critic = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, states: Tensor) -> tuple[Categorical, Tensor]:
        scaled = states * flambeau.tensor([0.5, 0.5, 5.0, 0.5])
        return Categorical(logits=self.actor(scaled)), WORTH * self.critic(scaled).squeeze(1)


def advantages(values: Tensor, over: Tensor, fell: Tensor, options: Settings) -> Tensor:
    """By how much more was won than the critic thought.

    Args:
        values: what the critic thought (steps + 1, N).
        over, fell: of each step (steps, N). A step is worth 1, the one that falls nothing more.
    """
    # Where time is up, the episode would have gone on: as if as much were to be won as before.
    after = flambeau.where(over, values[:-1], values[1:]).masked_fill(fell, 0)
    surprises = 1 + options.discount * after - values[:-1]
    found, running = [], flambeau.zeros_like(values[0])
    for surprise, end in zip(surprises.flip(0), over.flip(0), strict=True):
        kept = options.discount * options.smoothing * running.masked_fill(end, 0)
        running = surprise + kept
        found.append(running)
    return flambeau.stack(found).flip(0)


@flambeau.no_grad()
def drive(model: ActorCritic, carts: Carts, options: Settings) -> tuple[Tensor, ...]:
    """Of each step of a drive the state, the action, the logarithm of its share, by how much more
    was won than the critic thought, and how much was won.
    """
    states, actions, shares, values, ends, falls = ([] for _ in range(6))
    for _ in range(options.steps):
        chances, value = model(carts.state)
        action = chances.sample()
        for column, entry in (
            (states, carts.state),
            (actions, action),
            (shares, chances.log_prob(action)),
            (values, value),
        ):
            column.append(entry)
        fell, over = carts.step(action)
        ends.append(over)
        falls.append(fell)
    values.append(model(carts.state)[1])
    thought = flambeau.stack(values)
    more = advantages(thought, flambeau.stack(ends), flambeau.stack(falls), options)
    columns = [flambeau.stack(states), flambeau.stack(actions), flambeau.stack(shares)]
    return tuple(column.flatten(0, 1) for column in (*columns, more, more + thought[:-1]))


def loss_of(model: ActorCritic, steps: Sequence[Tensor], options: Settings) -> Tensor:
    """What actor and critic should do better, of some steps of a drive."""
    states, actions, log_shares, more, won = steps
    chances, value = model(states)
    better = (more - more.mean()) / (more.std() + 1e-6)
    ratio = (chances.log_prob(actions) - log_shares).exp()
    near = ratio.clamp(1 - options.clip, 1 + options.clip)
    actor = -flambeau.minimum(ratio * better, near * better).mean()
    critic = nn.functional.mse_loss(value / WORTH, won / WORTH)
    return actor + critic - options.entropy * chances.entropy().mean()


@flambeau.no_grad()
def test(model: ActorCritic) -> float:
    """The mean length of the first episodes of a hundred carts."""
    carts = Carts(100)
    standing = flambeau.ones(100, dtype=flambeau.bool)
    total = 0
    for _ in range(LONGEST):
        total += int(standing.sum())
        _, over = carts.step(model(carts.state)[0].probs.argmax(1))
        standing &= ~over
    return total / 100


def main(options: Settings) -> float:
    """Returns for how many steps the pole stands; 500 is the most."""
    begin(options)
    carts, model = Carts(options.carts), ActorCritic()
    optimizer = optim.Adam(model.parameters(), lr=options.learning_rate)
    schedule = optim.lr_scheduler.LinearLR(optimizer, 1, 0.02, options.updates)
    progress = Progress(options.updates, "balancing")
    for _ in progress:
        driven = drive(model, carts, options)
        for _ in range(options.looks):
            for chosen in flambeau.randperm(len(driven[0])).split(options.batch_size):
                optimizer.zero_grad()
                loss_of(model, [column[chosen] for column in driven], options).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
        schedule.step()
        if carts.lengths:
            progress.report(steps=carts.lengths[-1])
    balanced = test(model)
    print(f"the pole stands for {balanced:.1f} steps, of {LONGEST} at most")
    with figure(options.file("actor_critic.png")) as axes:
        lengths = flambeau.tensor(carts.lengths).float()
        axes.plot(lengths.numpy(), ".", markersize=2, alpha=0.4, label="an episode")
        window = min(50, len(lengths))
        axes.plot(lengths.unfold(0, window, 1).mean(1).numpy(), label=f"mean of {window}")
        axes.set(xlabel="episode", ylabel="steps")
        axes.legend()
    return balanced


if __name__ == "__main__":
    main(parse(Settings, __doc__))
