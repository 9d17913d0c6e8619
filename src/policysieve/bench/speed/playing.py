"""Classes of policies to be timed on, and a learner that is timed call by call."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.policies import PolicyTable
from policysieve.worlds import SparseSynthetic

__all__ = ["KINDS", "Played", "make_class", "play"]

KINDS = ("clusters", "close")
"""Classes that most policies leave early, and that nearly all policies stay in for long."""

_LINEAR = 300  # policies of the race's task; more are mixtures of these
_MIXED = (0.1, 0.3)  # share of the contexts at which a mixture does as another policy


@dataclass(frozen=True)
class Played:
    """Seconds of each call, and how many rounds were played.

    Attributes
    ----------
    rounds : int
    ask_seconds, tell_seconds : float array of shape (calls,)
    """

    rounds: int
    ask_seconds: npt.NDArray[np.float64]
    tell_seconds: npt.NDArray[np.float64]

    @property
    def seconds(self) -> float:
        """Of all calls; what the world takes is left out."""
        return float(self.ask_seconds.sum() + self.tell_seconds.sum())

    @property
    def seconds_per_round(self) -> float:
        """Of ask and tell together."""
        return self.seconds / self.rounds


def make_class(
    kind: str, n_policies: int, *, n_actions: int = 100, n_contexts: int = 500
) -> tuple[SparseSynthetic, PolicyTable]:
    """A world and its policies, made within seconds also for many policies.

    Parameters
    ----------
    kind : {"clusters", "close"}
        As the race's tasks: linear policies of different quality, or policies of close value. Of
        ``"clusters"``, policies beyond 300 do as one of these, but as another one at a share of
        the contexts, so that many are close to the best.
    n_policies, n_actions, n_contexts : int
    """
    world = SparseSynthetic(
        n_actions=n_actions,
        n_contexts=n_contexts,
        n_policies=min(n_policies, _LINEAR) if kind == "clusters" else n_policies,
        profile=kind,
    )
    pool = world.pool
    n_made = pool.shape[1]
    if n_policies > n_made:
        rng = np.random.default_rng(0)
        mine, other = np.arange(n_policies) % n_made, rng.integers(n_made, size=n_policies)
        share = rng.uniform(*_MIXED, n_policies)
        share[:n_made] = 0.0
        table = np.empty((n_contexts, n_policies), dtype=pool.dtype)
        for row, shown in zip(table, pool, strict=True):
            row[:] = np.where(rng.random(n_policies) < share, shown[other], shown[mine])
        pool = table
    return world, PolicyTable(pool, n_actions=n_actions)


def play(
    learner: Any,
    world: SparseSynthetic,
    rounds: int,
    *,
    batch: int = 100,
    until_finished: bool = False,
    rng: Any = 0,
) -> Played:
    """Ask and tell `rounds` more rounds, also beyond the end unless `until_finished`."""
    generator = np.random.default_rng(rng)
    ask_seconds, tell_seconds, done = [], [], 0
    while done < rounds and not (until_finished and learner.finished):
        draw = world.draw(min(batch, rounds - done), generator)
        started = time.perf_counter()
        decisions = learner.ask(draw.contexts)
        ask_seconds.append(time.perf_counter() - started)
        rewards = draw.rewards(decisions.actions)
        started = time.perf_counter()
        learner.tell(decisions, rewards)
        tell_seconds.append(time.perf_counter() - started)
        done += len(draw.contexts)
    return Played(done, np.array(ask_seconds), np.array(tell_seconds))
