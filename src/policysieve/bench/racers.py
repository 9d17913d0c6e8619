"""Who is measured: our learners, each at its best settings, and Vowpal Wabbit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.bench.voting import Deployed, VoteOfSieve, VotingSieve
from policysieve.checks import as_rng
from policysieve.errors import MissingExtraError
from policysieve.exploration.learners import (
    EpsilonGreedy,
    Exp4,
    ExplorationByOptimization,
    ListWeights,
    LogBarrier,
    LowVarianceExploration,
    PolicyElimination,
    Sieve,
    Uniform,
)
from policysieve.policies import PolicyTable
from policysieve.problem import Problem

__all__ = ["ONE_ACTION_ONLY", "RACERS", "VOTERS", "Racer", "VowpalVotes"]

Make = Callable[[PolicyTable, Problem, int, int], Any]

# The best of eleven on made-up tasks with other seeds. All candidates begin with the same weight,
# which is their plain vote; from zero it would show the lowest action until one is rewarded.
_VOWPAL_OPTIONS = "--cb_explore_adf --squarecb --gamma_scale 100 --initial_weight -0.001 --quiet"


@dataclass(frozen=True)
class Racer:
    """How a learner is made for a number of rounds and a seed, at its best settings.

    Attributes
    ----------
    make : callable
        From policies, problem, rounds and seed to a learner.
    planned : bool
        Whether it has to know the number of rounds in advance: then each budget is a run of its
        own. Others are asked for a recommendation on the way.
    most : int or None
        Rounds after which it is given up earlier than others, because it is slow.
    """

    make: Make
    planned: bool
    most: int | None = None


def _thirds(learner: type, **settings: float) -> Make:
    """A learner of two phases: a third of the rounds to find its design, the rest to use it."""

    def make(policies: PolicyTable, problem: Problem, rounds: int, seed: int) -> Any:
        explore = max(1, rounds // 3)
        return learner(
            policies,
            problem,
            explore_rounds=explore,
            estimate_rounds=rounds - explore,
            rng=seed,
            **settings,
        )

    return make


def _given(learner: type) -> Make:
    return lambda policies, problem, rounds, seed: learner(
        policies, problem, rounds=rounds, rng=seed
    )


def _voting(*, fitted: bool) -> Make:
    return lambda policies, problem, rounds, seed: VotingSieve(
        policies, problem, fitted=fitted, goal="best", rng=seed
    )


RACERS = {
    "Sieve": Racer(lambda p, q, rounds, seed: Sieve(p, q, goal="best", rng=seed), planned=False),
    "LowVarianceExploration": Racer(_thirds(LowVarianceExploration), planned=True),
    "ExplorationByOptimization": Racer(_given(ExplorationByOptimization), planned=True),
    "Exp4": Racer(_given(Exp4), planned=True),
    "EpsilonGreedy": Racer(_given(EpsilonGreedy), planned=False),
    "LogBarrier": Racer(_thirds(LogBarrier, mixing=0.1), planned=True),
    "ListWeights": Racer(_thirds(ListWeights), planned=True),
    "PolicyElimination": Racer(
        lambda p, q, rounds, seed: PolicyElimination(p, q, rng=seed), planned=False
    ),
    "Uniform": Racer(_given(Uniform), planned=False),
    "SieveWithVote": Racer(_voting(fitted=False), planned=False),
    "SieveWithFittedVotes": Racer(_voting(fitted=True), planned=False),
    "VoteOfSieve": Racer(lambda p, q, rounds, seed: VoteOfSieve(p, q, rng=seed), planned=False),
    "VowpalWabbit": Racer(
        lambda p, q, rounds, seed: VowpalVotes(p, q, rng=seed), planned=False, most=1200
    ),
}
"""Who races to be right, by name."""

ONE_ACTION_ONLY = ("ExplorationByOptimization", "Exp4", "VowpalWabbit")
"""Who cannot show slates of several items."""

VOTERS = ("SieveWithVote", "SieveWithFittedVotes", "VoteOfSieve", "VowpalWabbit")
"""Who may deploy a vote of the candidates, and so does not choose from what others choose from."""


@dataclass(frozen=True)
class _Shown:
    contexts: npt.NDArray[np.intp]
    actions: npt.NDArray[np.int32]
    propensities: npt.NDArray[np.float64]


class VowpalVotes:
    """A contextual bandit with action-dependent features, asked and told like a learner.

    It cannot choose among given policies, so it gets what it can use of them: the features of an
    action at a context are the policies that would show it there, and actions that none would show
    are left out. Its own policy weighs these votes, and need not be in the class.

    Parameters
    ----------
    policies : PolicyTable
    problem : Problem
    rng : seed or numpy Generator
    """

    finished = False
    ask_limit = None

    def __init__(self, policies: PolicyTable, problem: Problem, *, rng: Any = None) -> None:
        try:
            import vowpalwabbit
        except ImportError as error:
            raise MissingExtraError("VowpalWabbit", "vowpalwabbit", "peers") from error
        self._rng = as_rng(rng, stream=1)
        self._machine = vowpalwabbit.Workspace(_VOWPAL_OPTIONS)
        self._table = policies.actions(np.arange(policies.n_contexts or 0))[:, :, 0]
        self._n_actions = problem.n_actions
        self._lines: dict[int, tuple[list[int], list[str]]] = {}
        self.rounds = 0

    def ask(self, contexts: npt.NDArray[np.intp]) -> _Shown:
        """What to show at the contexts, drawn from the predicted probabilities."""
        actions, shares = [], []
        for context in contexts:
            offered, lines = self._votes(int(context))
            chances = np.asarray(self._machine.predict(lines))
            slot = self._rng.choice(len(offered), p=chances / chances.sum())
            actions.append(offered[slot])
            shares.append(chances[slot])
        return _Shown(
            contexts, np.array(actions, dtype=np.int32)[:, None], np.array(shares)[:, None]
        )

    def tell(self, shown: _Shown, rewards: npt.NDArray[np.float64]) -> None:
        """Learn; costs are minus rewards."""
        columns = (shown.contexts, shown.actions[:, 0], shown.propensities[:, 0], rewards[:, 0])
        for context, action, share, reward in zip(*columns, strict=True):
            offered, lines = self._votes(int(context))
            labelled = list(lines)
            slot = offered.index(int(action))
            labelled[slot] = f"0:{-reward}:{share} {labelled[slot]}"
            self._machine.learn(labelled)
        self.rounds += len(shown.contexts)

    def recommend(self) -> Deployed:
        """The action it thinks best at every context, as a table of one policy.

        Its costs are sums of weights of voters, so they are read once and not asked for anywhere.
        """
        contexts, n_policies = np.arange(len(self._table)), self._table.shape[1]
        costs = np.zeros((len(contexts), self._n_actions))
        offered = np.zeros(costs.shape, dtype=np.bool_)
        for voter in range(n_policies):
            shown = self._table[:, voter]
            costs[contexts, shown] += self._machine.get_weight_from_name(f"p{voter}", " ")
            offered[contexts, shown] = True
        costs = np.where(offered, np.round(costs, 6), np.inf)  # of equals the lowest number
        best = costs.argmin(axis=1)[:, None]
        return Deployed(PolicyTable(best, n_actions=self._n_actions))

    def _votes(self, context: int) -> tuple[list[int], list[str]]:
        """Actions that policies would show at the context, and a line of their voters each."""
        if context not in self._lines:
            row = self._table[context]
            offered = np.unique(row)
            lines = [
                "| " + " ".join(f"p{voter}" for voter in np.flatnonzero(row == action))
                for action in offered
            ]
            self._lines[context] = offered.tolist(), lines
        return self._lines[context]
