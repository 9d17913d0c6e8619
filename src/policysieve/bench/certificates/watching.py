"""Small worlds whose values are known, and who watches whether evidence is right about them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.evidence import Evidence, FloorEvidence, Selection
from policysieve.evidence.evidence import MEMORY_LIMIT
from policysieve.exploration.learners.sifting import SiftingExplorer
from policysieve.log import Log
from policysieve.policies import Policies, PolicyTable
from policysieve.problem import Problem

__all__ = [
    "CLOSE",
    "DELTA",
    "Array",
    "Explore",
    "Numbers",
    "Small",
    "Verdict",
    "Watch",
    "arms",
    "drawn",
    "feed",
    "greedy",
    "play",
    "played",
    "uniform",
]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]
Whole = npt.NDArray[np.integer[Any]]

DELTA = 0.2
CLOSE = (0.44, 0.44, 0.55, 0.1)  # means of arms, the best ahead by a little more than 0.1
_ROUNDING = 1e-9  # of true values


class Verdict(NamedTuple):
    """What was seen in one run, at any of its looks.

    Attributes
    ----------
    false : bool
        The leader was certified, or bounded, closer to the best policy than it is, or the best
        policy was eliminated.
    missed : bool
        The leader's interval did not hold its value.
    certified : bool
        Some leader was certified.
    """

    false: bool
    missed: bool
    certified: bool


@dataclass(frozen=True, eq=False)
class Small:
    """A few contexts, and what is to be expected of every action there.

    Attributes
    ----------
    policies : Policies
    problem : Problem
    means : float array of shape (n_contexts, n_actions)
        Expected rewards.
    chances : float array of shape (n_contexts,), optional
        How often each context comes; equally often by default.
    contexts : array of shape (n_contexts, ...), optional
        What policies are told of them; their numbers by default.
    coins : bool
        Whether rewards are 0 or 1, or always as expected.
    """

    policies: Policies
    problem: Problem
    means: Array
    chances: Array | None = None
    contexts: npt.NDArray[Any] | None = None
    coins: bool = True

    @property
    def seen(self) -> npt.NDArray[Any]:
        """All contexts, as policies see them."""
        return np.arange(len(self.means)) if self.contexts is None else self.contexts

    @cached_property
    def slates(self) -> npt.NDArray[Any]:
        """What every policy shows at each context, shape (n_contexts, n_policies, slate_size)."""
        return self.policies.actions(self.seen)

    @cached_property
    def values(self) -> Array:
        """Expected reward of every policy, shape (n_policies,)."""
        numbers = np.arange(len(self.means))[:, None, None]
        earned = self.means[numbers, self.slates].sum(axis=2)
        return np.asarray(np.average(earned, axis=0, weights=self.chances))

    def draw(self, n: int, rng: np.random.Generator) -> Numbers:
        """Numbers of n contexts."""
        return rng.choice(len(self.means), size=n, p=self.chances)

    def rewards(self, numbers: Numbers, actions: Whole, rng: np.random.Generator) -> Array:
        """What the actions earn at contexts of these numbers."""
        means = self.means[numbers, actions]
        return (rng.random(len(means)) < means).astype(np.float64) if self.coins else means


class Watch:
    """Compares what evidence says with true values, each time that it looks.

    Parameters
    ----------
    values : float array of shape (n_policies,)
        The true ones. Of equal policies the one with the lowest number is the best.
    epsilon : float
    """

    def __init__(self, values: Array, epsilon: float) -> None:
        self._values, self._epsilon = values, epsilon
        self.best = int((values >= values.max() - _ROUNDING).argmax())
        self.leader: int | None = None  # of the last look
        self.verdict = Verdict(false=False, missed=False, certified=False)

    def see(self, evidence: Evidence | FloorEvidence) -> None:
        """Look at evidence."""
        proof = evidence.certificate()
        self.leader = proof.leader
        if isinstance(evidence, Evidence):
            _, lower, upper = evidence.interval(self.leader)
        else:
            found = evidence.intervals()
            lower, upper = found.lower[self.leader], found.upper[self.leader]
        self._note(proof, bool(proof.eliminated[self.best]), lower, upper)

    def see_learner(self, learner: SiftingExplorer) -> None:
        """Look at what a learner recommends, and at the policies that it still considers."""
        found = learner.recommend()
        assert isinstance(found.policy, int)
        self.leader = found.policy
        self._note(found, self.best not in learner.survivors, found.lower, found.upper)

    def see_selection(self, found: Selection) -> None:
        """Look at what was selected from a log."""
        assert isinstance(found.policy, int)
        self.leader, proof = found.policy, found.certificate
        lower, upper = found.lower[self.leader], found.upper[self.leader]
        self._note(proof, bool(proof.eliminated[self.best]), lower, upper)

    def _note(self, said: Any, eliminated: bool, lower: float, upper: float) -> None:
        value = self._values[self.leader]
        gap = self._values[self.best] - value
        false = eliminated
        if gap > _ROUNDING:  # else no bound can be too small, and it need not be searched for
            false |= said.suboptimality_bound < gap - _ROUNDING
            false |= said.certified and gap > self._epsilon
        missed = not lower - _ROUNDING <= value <= upper + _ROUNDING
        now = (false, missed, said.certified)
        self.verdict = Verdict(*(a or bool(b) for a, b in zip(self.verdict, now, strict=True)))


Explore = Callable[[Small, Watch], Array]
"""From what was seen so far to propensities at each context, shape (n_contexts, n_actions)."""


def arms(means: Any, *, epsilon: float, copies: int = 1) -> Small:
    """One context, and a policy for each action, or several that are the same."""
    n_actions = len(means)
    problem = Problem(n_actions=n_actions, sparsity=None, epsilon=epsilon, delta=DELTA)
    table = np.tile(np.arange(n_actions), copies)[None, :]
    return Small(PolicyTable(table, n_actions), problem, np.array([means]))


def play(
    small: Small,
    explore: Explore,
    seed: int,
    *,
    rounds: int,
    batch: int,
    memory_limit: int = MEMORY_LIMIT,
) -> Verdict:
    """Give evidence batches of rounds with all their propensities, and look after each."""
    rng, q = np.random.default_rng(seed), small.problem
    evidence = Evidence(small.policies, q, memory_limit=memory_limit)
    watch = Watch(small.values, q.epsilon)
    while evidence.rounds < rounds:
        x = small.draw(batch, rng)
        w = explore(small, watch)[x]
        log = played(small, x, w, rng)
        feed(evidence, log, w)
        watch.see(evidence)
    return watch.verdict


def feed(evidence: Evidence, log: Log, w: Array) -> None:
    """Give evidence rounds with the propensities of all actions."""
    evidence.take(log, evidence.policies.answers(log.contexts), lambda rows: w[rows])


def played(small: Small, numbers: Numbers, w: Array, rng: np.random.Generator) -> Log:
    """Rounds at contexts of these numbers, with actions drawn by their propensities."""
    actions = drawn(w, rng)
    return Log(
        contexts=small.seen[numbers],
        actions=actions,
        propensities=w[np.arange(len(w)), actions],
        rewards=small.rewards(numbers, actions, rng),
    )


def drawn(w: Array, rng: np.random.Generator) -> Numbers:
    """An action for each row of propensities, never one that has none."""
    ends = w.cumsum(axis=1)
    return np.asarray((ends <= rng.random((len(w), 1)) * ends[:, -1:]).sum(axis=1))


def uniform(small: Small, _watch: Watch) -> Array:
    """All actions alike."""
    return np.full(small.means.shape, 1 / small.problem.n_actions)


def greedy(share: float, first: int = 0) -> Explore:
    """Explore with this share of the rounds for what leads, and at the beginning for `first`."""

    def explore(small: Small, watch: Watch) -> Array:
        w = (1 - share) * uniform(small, watch)
        leader = first if watch.leader is None else watch.leader
        w[np.arange(len(w)), small.slates[:, leader, 0]] += share
        return w

    return explore
