"""What processes of a checkpoint do together: what goes wrong in one is raised in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import distributed
from flambeau.distributed.checkpoint.api import CheckpointException


class Team:
    """The processes of a group, or this one alone.

    Args:
        group: None: all.
        alone: whether it is this one, whatever groups there are.
    """

    def __init__(self, group: Any, alone: bool) -> None:
        self._group = group
        self._alone = alone or not distributed.is_initialized()
        self.rank = 0 if self._alone else distributed.get_rank(group)
        self.size = 1 if self._alone else distributed.get_world_size(group)

    def each(self, what: str, act: Callable[[], Any]) -> list[Any]:
        """What `act` returns in each process.

        Raises:
            CheckpointException: it raised in one of them.
        """
        problem: Exception | None = None
        answer = None
        try:
            answer = act()
        except Exception as error:
            problem = error
        text = None if problem is None else f"{type(problem).__name__}: {problem}"
        answers: list[Any] = [(answer, text)]
        if self.size > 1:
            answers = [None] * self.size
            distributed.all_gather_object(answers, (answer, text), group=self._group)
        failures = {rank: told for rank, (_, told) in enumerate(answers) if told is not None}
        if failures:
            raise CheckpointException(what, failures) from problem
        return [given for given, _ in answers]

    def first(self, what: str, act: Callable[[], Any]) -> Any:
        """What `act` returns in the first process, in which alone it is called; as `each`."""
        return self.each(what, lambda: act() if self.rank == 0 else None)[0]
