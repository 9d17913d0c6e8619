"""Vowpal Wabbit where there are candidates: it weighs the votes of the policies."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rng
from policysieve.errors import MissingExtraError
from policysieve.policies import PolicyTable
from policysieve.problem import Problem

__all__ = ["VowpalVotes"]

_OPTIONS = "--cb_explore_adf --cb_type mtr --epsilon 0.1 --quiet"


@dataclass(frozen=True)
class _Shown:
    contexts: npt.NDArray[np.intp]
    actions: npt.NDArray[np.int32]
    propensities: npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Recommended:
    policy: PolicyTable


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
        self._machine = vowpalwabbit.Workspace(_OPTIONS)
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

    def recommend(self) -> _Recommended:
        """The action it thinks best at every context, as a table of one policy."""
        best = np.empty((len(self._table), 1), dtype=np.int32)
        for context in range(len(self._table)):
            offered, lines = self._votes(context)
            best[context] = offered[int(np.argmax(self._machine.predict(lines)))]
        return _Recommended(PolicyTable(best, n_actions=self._n_actions))

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
