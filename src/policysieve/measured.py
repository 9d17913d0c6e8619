"""What the Sieve needed on the tasks of the race: measured, and shipped with the package."""

import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from math import hypot, inf, log
from statistics import median
from typing import Any

from policysieve.problem import Problem

__all__ = ["MEASURED", "MeasuredTask", "measured_tasks", "similar_tasks"]

MEASURED = "measured.json"
"""File in the package; `make measured` writes it."""


@dataclass(frozen=True, kw_only=True)
class MeasuredTask:
    """Rounds until the Sieve certified epsilon on one task.

    Attributes
    ----------
    task, summary : str
        Its name in the race, and what it is.
    problem : Problem
    n_policies : int
    rounds : tuple of int or None
        Of each run, from the fewest to the most; None for a run that was given up.
    given_up_after : int
        Rounds after which it would have been.
    """

    task: str
    summary: str
    problem: Problem
    n_policies: int
    rounds: tuple[int | None, ...]
    given_up_after: int

    @property
    def median(self) -> float | None:
        """Median rounds of the runs; None if half of them were given up."""
        middle = median(inf if n is None else n for n in self.rounds)
        return None if middle == inf else float(middle)

    @property
    def fewest(self) -> int | None:
        """The fewest rounds of a run; None if all were given up."""
        return self.rounds[0]

    @property
    def most(self) -> int | None:
        """The most rounds of a run; None if one was given up."""
        return self.rounds[-1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **asdict(self),
            "rounds": list(self.rounds),
            "median": self.median,
            "fewest": self.fewest,
            "most": self.most,
        }


@cache
def measured_tasks() -> tuple[MeasuredTask, ...]:
    """All tasks of the race."""
    text = files("policysieve").joinpath(MEASURED).read_text(encoding="utf-8")
    found = json.loads(text)
    return tuple(
        MeasuredTask(
            task=row["task"],
            summary=row["summary"],
            problem=Problem(**row["problem"]),
            n_policies=row["n_policies"],
            rounds=tuple(sorted(row["rounds"], key=lambda n: inf if n is None else n)),
            given_up_after=found["given_up_after"],
        )
        for row in found["tasks"]
    )


def similar_tasks(problem: Problem) -> tuple[MeasuredTask, ...]:
    """The tasks nearest in the number of actions and, for slates, in their size; quickest first.

    Distances are those of logarithms. Single actions are never compared with slates. Other numbers
    of policies, epsilon and delta are not looked at: a task says at which it was measured.
    """
    q = problem
    kin = [one for one in measured_tasks() if (one.problem.slate_size == 1) == (q.slate_size == 1)]

    def distance(one: MeasuredTask) -> float:
        actions = log(one.problem.n_actions / q.n_actions)
        return hypot(actions, log(one.problem.slate_size / q.slate_size))

    nearest = min(map(distance, kin), default=inf)
    return tuple(
        sorted(
            (one for one in kin if distance(one) == nearest),
            key=lambda one: inf if one.median is None else one.median,
        )
    )
