"""Differences of two policies where only the propensities of what was shown are known."""

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.comparing import least_difference
from policysieve.evidence.guardrails import log_bar, log_limit
from policysieve.evidence.outcomes import Outcomes
from policysieve.evidence.verdicts import Guardrail, guardrail_of, scaled_amount
from policysieve.log import Log
from policysieve.policies import Policies, Slates
from policysieve.problem import Problem

__all__ = ["PairedGuards", "known_scores", "least_of_pair", "paired_scores"]

Array = npt.NDArray[np.float64]

_SHARES = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9])  # of what could lose everything
_CELLS = 1 << 20  # scores that are worked with at once


def paired_scores(
    first: npt.NDArray[Any],
    second: npt.NDArray[Any],
    actions: npt.NDArray[np.int32],
    propensities: Array,
    rewards: Array,
) -> Array:
    """Scores whose mean is at most value(first) - value(second), and that are at least -m.

    They are r/W of what only the first shows, and (1-r)/W less one of what only the second shows:
    capped scores that expect 0 of the one and 1 of the other, which is all that can be done without
    the propensities of what was not shown (docs/maths.md, "Differences of two policies from shown
    propensities").

    Parameters
    ----------
    first, second : integer arrays of shape (n, P, m), or (n, 1, m)
        What the policies show.
    actions, propensities, rewards : arrays of shape (n, m)
    """
    m = actions.shape[1]
    shape = np.broadcast_shapes(first.shape, second.shape)[:2]
    earned, agree = np.zeros(shape), np.zeros(shape)
    for j in range(m):
        shown, w, r = actions[:, j, None], propensities[:, j, None], rewards[:, j, None]
        ours = (first == shown[:, :, None]).any(axis=2)
        theirs = (second == shown[:, :, None]).any(axis=2)
        earned += np.where(ours & ~theirs, r / w, 0.0) + np.where(theirs & ~ours, (1 - r) / w, 0.0)
        agree += (first[:, :, j, None] == second).any(axis=2)
    return np.asarray(earned - (m - agree))


def _stakes(slate_size: int, gain: float) -> Array:
    """Stakes lam for which 1 + lam (Z - gain) is positive, shape (n_stakes,)."""
    return np.asarray(_SHARES / (slate_size + max(gain, 0.0)))


def least_of_pair(scores: Array, slate_size: int, log_term: float) -> float:
    """Lower limit on the mean of scores that are at least -m, at any time."""

    def log_wealth(differences: Array) -> Array:
        found = [
            log_mean_exp(np.log1p(np.outer(_stakes(slate_size, g), scores - g)).sum(axis=1))
            for g in differences
        ]
        return np.array(found)

    if not len(scores):
        return -float(slate_size)
    return least_difference(log_wealth, float(slate_size), log_term)


class PairedGuards:
    """Bets that policies break guardrails, from the propensities of what was shown. A value.

    Parameters
    ----------
    policies : Policies
    problem : Problem
        With guardrails.
    """

    def __init__(self, policies: Policies, problem: Problem) -> None:
        self.policies, self.problem = policies, problem
        today = policies.against(problem)
        assert today is not None
        self.today = today
        names = problem.guardrails or {}
        self._known = dict.fromkeys(names, True)  # so far, without a gap
        self._log_wealth = {name: np.zeros((policies.n_policies, len(_SHARES))) for name in names}

    def plus(self, rounds: Log, answers: Slates) -> Self:
        """The same with the next rounds, as far as guarded outcomes are known in all of them."""
        then = copy(self)
        then._known, then._log_wealth = dict(self._known), dict(self._log_wealth)
        for name, known in self._known.items():
            if known:
                scores = known_scores(self.problem, name, rounds)
                then._known[name] = len(scores) == len(rounds)
                then._log_wealth[name] = self._log_wealth[name] + self._earned(
                    name, rounds, answers, scores
                )
        return then

    def _earned(self, name: str, rounds: Log, answers: Slates, scores: Array) -> Array:
        """Log-wealth from rounds whose scores are known, shape (n_policies, n_stakes)."""
        m, g = self.policies.slate_size, scaled_amount(self.problem, name)
        earned, stakes = np.zeros((self.policies.n_policies, len(_SHARES))), _stakes(m, g)
        for rows in _blocks(len(scores), self.policies.n_policies * m):
            said = answers.table[answers.rows[rows]]
            mine, shown = said[:, [self.today]], rounds.actions[rows]
            z = paired_scores(mine, said, shown, rounds.propensities[rows], scores[rows])
            for k, stake in enumerate(stakes):
                earned[:, k] += np.log1p(stake * (z - g)).sum(axis=0)
        return earned

    @property
    def barred(self) -> npt.NDArray[np.intp]:
        """Policies that are proved to break a guardrail."""
        threshold = log_bar(self.problem)
        broken = np.any([log_mean_exp(w) >= threshold for w in self._log_wealth.values()], axis=0)
        broken[self.today] = False
        return np.flatnonzero(broken)

    def about(
        self, policy: int, pieces: Iterable[Log], outcomes: Outcomes
    ) -> tuple[Guardrail, ...]:
        """What is proved of one policy, which is asked again, as the one of today is."""
        problem, m, n_policies = self.problem, self.policies.slate_size, self.policies.n_policies
        pair, pieces = np.array([policy, self.today]), list(pieces) if policy != self.today else []
        said = [
            self.policies.actions(piece.contexts, pair, available=piece.available)
            for piece in pieces
        ]
        log_term, values, found = log_limit(problem, n_policies), outcomes.intervals(), []
        for name in self._log_wealth:
            least = most = 0.0
            if policy != self.today:
                sides = _sides(problem, name, pieces, said)
                least, most = (least_of_pair(scores, m, log_term) for scores in sides)
                most = max(least, -most)
            found.append(
                guardrail_of(
                    problem,
                    name,
                    difference=float(values[name].values[policy] - values[name].values[self.today]),
                    least=least,
                    most=most,
                    rounds=len(outcomes.known(name)),
                )
            )
        return tuple(found)


def _sides(
    problem: Problem, name: str, pieces: list[Log], said: list[npt.NDArray[Any]]
) -> tuple[Array, Array]:
    """Scores of the first of two policies against the second, and the other way round."""
    found: tuple[list[Array], list[Array]] = [], []
    for piece, slates in zip(pieces, said, strict=True):
        scores = known_scores(problem, name, piece)
        rows = slice(len(scores))
        told = piece.actions[rows], piece.propensities[rows], scores
        for side, (a, b) in zip(found, ((0, 1), (1, 0)), strict=True):
            side.append(
                paired_scores(slates[rows, a : a + 1], slates[rows, b : b + 1], *told)[:, 0]
            )
        if len(scores) < len(piece):
            break
    return np.concatenate(found[0]), np.concatenate(found[1])


def known_scores(problem: Problem, name: str, rounds: Log) -> Array:
    """Scores of an outcome in the first rounds of a log, up to one in which it is not known."""
    values = rounds.outcomes.get(name)
    if values is None:
        return np.empty((0, rounds.slate_size))
    unknown = np.isnan(values).any(axis=1)
    end = int(unknown.argmax()) if unknown.any() else len(values)
    scores: Array = (problem.outcomes or {})[name].scores(values[:end])
    return scores


def _blocks(n: int, width: int) -> Iterator[slice]:
    size = max(1, _CELLS // width)
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))
