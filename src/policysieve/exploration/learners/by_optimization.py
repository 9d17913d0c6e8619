"""The paper's Algorithm 1: exploration by optimization, in closed form."""

from dataclasses import replace
from math import log, sqrt
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.checks import one_of
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import anytime_intervals
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.designing import known_log_size
from policysieve.exploration.designs.optimized import OptimizedExploration
from policysieve.exploration.learners.planned import RecordedExplorer
from policysieve.exploration.learners.promises import fixed_size_recommendation
from policysieve.exploration.learners.regret import RegretBound, Transfer
from policysieve.kernels.by_optimization import closed_form_steps, real_valued_steps
from policysieve.log import Log
from policysieve.policies import Answers, AnyPolicies, MarginalPolicy, RandomizedPolicy
from policysieve.problem import Problem
from policysieve.sizes import (
    CONTEXT_SHARE,
    by_optimization_rounds,
    information_limit,
    information_price,
)

__all__ = ["ExplorationByOptimization"]

Array = npt.NDArray[np.float64]
Output = Literal["erm", "weights", "average", "last_half"]
Rewards = Literal["binary", "real"]


class ExplorationByOptimization(RecordedExplorer):
    """Play what minimises regret minus the price of what is learnt, round by round and exactly.

    At each context the marginal w of the reference weights decides what to play: for 0/1 rewards
    q_a = (w_a + kappa)(1 - w_a - kappa)/(kappa G), and a reward moves the marginal of its action
    from w_a to w_a + kappa. The value of each round's objective, Gamma = s kappa, is known exactly;
    their mean bounds how far the average of the weights is from the best policy (docs/maths.md,
    "Exploration by optimization").

    Parameters
    ----------
    policies, problem, rng
        As for every learner, or a class without end; single actions only.
    rounds : int, optional
        Rounds to play. By default as many as guarantee the problem's epsilon and delta in advance
        for ``output="average"``.
    information_weight : float, optional
        G, the paper's gamma: how much regret a unit of information is worth. By default the best
        for the rounds, K - 2 + sqrt(s rounds / ln(|Pi|/(0.95 delta))); at least 1.2 K.
    rewards : {"binary", "real"}
        Whether rewards are 0 or 1 (the ends of their range), or anything between.
    output : {"erm", "weights", "average", "last_half"}
        What to recommend: the policy with the largest importance-weighted estimate, the one with
        the largest weight, or a `RandomizedPolicy`: the average of the weights over all rounds,
        which is what the theorem is about, or over the last half. A class without end has no last
        half, and its average is over the rounds as they were answered.

    Attributes
    ----------
    mean_objective : float
        Mean of Gamma over the rounds so far; NaN before the first.
    """

    takes_implicit = True
    takes_traffic = False
    takes_slates = False
    exploration: OptimizedExploration

    def __init__(
        self,
        policies: AnyPolicies,
        problem: Problem,
        *,
        rounds: int | None = None,
        information_weight: float | None = None,
        rewards: Rewards = "binary",
        output: Output = "erm",
        rng: Any = None,
    ) -> None:
        for name, value, choices in [
            ("rewards", rewards, get_args(Rewards)),
            ("output", output, get_args(Output)),
        ]:
            one_of(name, value, choices)
        self._check_problem(policies, problem)
        if output == "last_half" and policies.n_policies is None:
            raise InvalidArgumentError(
                'output must be "erm", "weights" or "average" for a class that cannot be listed, '
                "got 'last_half'"
            )
        log_size = known_log_size(policies)
        if rounds is None:
            rounds = by_optimization_rounds(problem.unit, log_size, binary=rewards == "binary")
            if rounds is None:
                raise InvalidArgumentError(
                    "rounds must be given when the sparsity is not known: no number of them can "
                    f"guarantee epsilon in advance{_about_sparsity(problem)}"
                )
        super().__init__(policies, problem, rounds=rounds, rng=rng)
        self.rewards, self.output = rewards, output
        sparsity = problem.unit.sparsity
        self._sparsity = 1.0 if sparsity is None else sparsity
        if information_weight is None:
            information_weight = information_price(
                problem.n_actions,
                self._sparsity,
                self.planned_rounds,
                information_limit(problem, log_size),
            )
        self._objective = 0.0
        self._transfer = Transfer()
        self._sequential = True
        self.exploration = OptimizedExploration(
            policies,
            problem,
            weights=policies.prior(),
            information_weight=information_weight,
            binary=rewards == "binary",
        )
        self._weights = self.exploration.weights  # and the rounds that count in their average

    @property
    def information_weight(self) -> float:
        """G, how much regret a unit of information is worth."""
        return self.exploration.information_weight

    @property
    def weights(self) -> Array:
        """Weights of the policies, shape (n_policies,); they sum to one."""
        shares: Array | None = getattr(self.exploration.weights, "shares", None)
        if shares is None:
            raise InvalidArgumentError(
                f"the weights of {type(self.policies).__name__} cannot be listed"
            )
        return shares

    @property
    def mean_objective(self) -> float:
        """Mean of Gamma over the rounds so far; NaN before the first."""
        return self.problem.scale.distance(self._mean_objective)

    @property
    def _mean_objective(self) -> float:
        """The same for rewards in [0, 1]."""
        n = self._record.rounds
        return self._objective / n if n else float("nan")

    def average_policy(self, *, last_half: bool = False) -> RandomizedPolicy | MarginalPolicy:
        """Average of the weights over all rounds, or over the second half of the planned ones."""
        return self._snapshot()._weights.average(last_half=last_half)

    def average_bound(self) -> float:
        """How far the average policy is from the best at most, with probability 1 - delta.

        After n of T planned rounds, for all n at once,
        min(D, mean Gamma + D sqrt(ln(20/delta)/(8T)) (1 + T/n)) + G ln(|Pi|/(0.95 delta))/n.
        D bounds Gamma, and the square root passes from the contexts that were seen to their
        distribution. At the rounds of `plan` it is at most epsilon (docs/maths.md, "Exploration by
        optimization"). It is in the user's units.
        """
        return self.problem.scale.distance(self._average_bound())

    def _average_bound(self) -> float:
        """The same for rewards in [0, 1]."""
        n, planned, cap = self._record.rounds, self.planned_rounds, self.problem.unit.reward_cap
        if not n:
            return cap
        largest, log_term = self._largest_objective, -log(CONTEXT_SHARE * self.problem.delta)
        contexts = largest * sqrt(log_term / (8 * planned)) * (1 + planned / n)
        limit = information_limit(self.problem, known_log_size(self.policies))
        estimation = self.information_weight * limit / n
        objective = min(largest, self._mean_objective + contexts)
        return min(cap, objective + estimation)

    def regret_bound(self) -> RegretBound | None:
        """How much reward was lost so far at most, at any time with probability 1 - delta.

        sum Gamma + G ln(2 |Pi| max W/delta) for recommendations, and for what was played X more
        (docs/maths.md, "Regret").

        Returns
        -------
        RegretBound or None
            None where the theorem does not apply: it needs a known sparsity that rewards do not
            contradict, a class of known size, and contexts that are asked for one at a time, each
            after the last answer.
        """
        return self._snapshot()._regret_bound()

    def _regret_bound(self) -> RegretBound | None:
        n, q, G = self._record.rounds, self.problem.unit, self.information_weight
        known = q.sparsity is not None and self.policies.log_size is not None
        if not known or not self._sequential or self._contradiction() is not None:
            return None
        shares = getattr(self._weights, "shares", None)
        heaviest = 1.0 if shares is None else float(shares.max())
        estimation = known_log_size(self.policies) + log(heaviest) + log(2 / q.delta)
        recommended = self._objective + G * estimation
        room = G - q.n_actions
        most = (2 * G if self.rewards == "binary" else G) / room  # w_a/q_a is never above it
        played = recommended + self._transfer.limit(most - 1, q.delta / 2)
        trivial = n * q.reward_cap
        distance = self.problem.scale.distance
        return RegretBound(
            recommended=distance(min(trivial, recommended)),
            played=distance(min(trivial, played)),
            rounds=n,
        )

    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        counted = rounds[: self._wanted]
        n, done = len(counted), self._record.rounds
        if not n:
            return
        w_a, q_a, aside = exploration.solve(answers.take(slice(n))).at(counted.actions)
        events = self._events(counted, answers)
        self._record = self._record.plus(events, floor=exploration.floor)
        values = aside if exploration.binary else 1 / aside
        self._objective += self._sparsity * float(values.sum())
        # Exact if every round was played with the weights after the round before it.
        stale = len(events) and events.rounds[0] < n - 1
        self._sequential &= exploration is self.exploration and not stale
        late = max(0, done + n - max(self.planned_rounds // 2, done))
        self._weights = self._weights.with_rounds(exploration.weights, n, late)
        if len(events):
            steps, at = np.empty(len(events)), events.rounds
            self._transfer = self._transfer.plus(w_a[at], q_a[at], events.rewards[:, 0])
            if exploration.binary:
                price = exploration.information_weight
                closed_form_steps(w_a[at], aside[at], q_a[at], price, steps)
            else:
                real_valued_steps(w_a[at], aside[at], events.rewards[:, 0], steps)
            self._weights = self._weights.plus(events.answers, events.actions[:, 0], steps)
            self.exploration = replace(self.exploration, weights=self._weights)

    def _recommend(self) -> Recommendation:
        """What `output` says, with what is known about it."""
        sure = f"with probability at least {1 - self.problem.delta:g}"
        policy: Any = None
        bound = None
        promise = (
            f"All intervals hold {sure}; the theorem is not about this policy but about the "
            "average one: make the learner with output='average'."
        )
        if self.output == "weights":
            policy = self._weights.heaviest()
        elif self.output != "erm":
            policy = self._weights.average(last_half=self.output == "last_half")
        if self.output == "average":
            bound, promise = self._promise_of_the_average(sure)
        return fixed_size_recommendation(
            anytime_intervals(self._record, policy),
            self.problem,
            rounds=self._rounds,
            planned=self.planned_rounds,
            complete=True,  # these limits hold at any time
            promise=promise,
            policy=policy,
            bound=bound,
            against=self.policies.against(self.problem),
        )

    def _promise_of_the_average(self, sure: str) -> tuple[float | None, str]:
        contradiction = self._contradiction()
        if contradiction is not None:
            return None, contradiction
        if self.problem.sparsity is None or not self._sequential:
            return None, (
                f"All intervals hold {sure}; the theorem about the average policy needs a known "
                "sparsity and contexts that are asked for one at a time, each after the last "
                "answer."
            )
        return self._average_bound(), (
            f"The average policy is within {self.average_bound():.3g} of the best {sure}, whenever "
            "you look."
        )

    @property
    def _largest_objective(self) -> float:
        """Gamma <= s/(G - K + 2) for 0/1 rewards, s/(G - K) for others, at any context."""
        room = self.information_weight - self.problem.n_actions
        return self._sparsity / (room + 2 if self.rewards == "binary" else room)

    def _check_told(self, rewards: Array) -> None:
        if self.rewards == "binary" and ((rewards > 0) & (rewards < 1)).any():
            low, high = self.problem.scale.range
            raise InvalidArgumentError(
                f"rewards must be {low:g} or {high:g}, got a fraction; make the learner with "
                "rewards='real'"
            )


def _about_sparsity(problem: Problem) -> str:
    """Where it can be declared, that it can."""
    if problem.scale.is_unit or problem.scale.minimize or problem.scale.low:
        return ""
    return "; rewards from 0 up may declare one, Problem(sparsity=...)"
