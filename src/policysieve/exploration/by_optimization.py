"""The paper's Algorithm 1: exploration by optimization, in closed form."""

from copy import deepcopy
from math import log, sqrt
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.checks import number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ContextEvents, Events, ImplicitEvidence
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designing import known_log_size
from policysieve.exploration.exponential import ImplicitWeights
from policysieve.exploration.fixed_size import fixed_size_recommendation
from policysieve.exploration.weighted import Array, WeightedExplorer
from policysieve.kernels.weights import (
    closed_form_steps,
    closed_forms,
    real_valued_forms,
    real_valued_steps,
)
from policysieve.planning import by_optimization_rounds, information_price
from policysieve.policies import (
    AnyPolicies,
    ImplicitPolicies,
    MarginalPolicy,
    Policies,
    RandomizedPolicy,
)
from policysieve.problem import Problem

__all__ = ["ExplorationByOptimization"]

Output = Literal["erm", "weights", "average", "last_half"]
Rewards = Literal["binary", "real"]

_SMALLEST = 1.2  # times the number of actions: the least information weight


class ExplorationByOptimization(WeightedExplorer):
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
        Rounds to play. By default as many as guarantee the problem's epsilon and delta for
        ``output="average"``.
    information_weight : float, optional
        G, the paper's gamma: how much regret a unit of information is worth. By default the best
        for the rounds, K - 2 + sqrt(s rounds / ln(|Pi|/delta)); at least 1.2 K.
    rewards : {"binary", "real"}
        Whether rewards are 0 or 1, or anything in [0, 1].
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
            if value not in choices:
                raise InvalidArgumentError(f"{name} must be one of {choices}, got {value!r}")
        self._check_class(policies)
        if isinstance(policies, ImplicitPolicies) and output == "last_half":
            raise InvalidArgumentError(
                'output must be "erm", "weights" or "average" for a class that cannot be listed, '
                "got 'last_half'"
            )
        log_size = known_log_size(policies)
        if rounds is None and problem.slate_size == 1:
            rounds = by_optimization_rounds(problem, log_size, binary=rewards == "binary")
            if rounds is None:
                raise InvalidArgumentError(
                    "rounds must be given when the sparsity is not known: no number of them can "
                    "guarantee epsilon in advance"
                )
        super().__init__(policies, problem, rounds=1 if rounds is None else rounds, rng=rng)
        self.rewards, self.output = rewards, output
        self._sparsity = 1.0 if problem.sparsity is None else problem.sparsity
        least = _SMALLEST * problem.n_actions
        if information_weight is None:
            self.information_weight = information_price(
                problem.n_actions,
                self._sparsity,
                self.planned_rounds,
                log_size + log(1 / problem.delta),
            )
        else:
            self.information_weight = number(
                "information_weight",
                information_weight,
                above=least * (1 - 1e-12),
                below=float("inf"),
                hint="the closed form needs a little more than the number of actions",
            )
        self._objective = 0.0
        self._sequential = True
        # Sums of weights: all rounds, the last half. A class without end keeps its own.
        self._sums = np.zeros((2, policies.n_policies if isinstance(policies, Policies) else 0))
        self._counted = 0

    def ask(self, contexts: Any) -> Decisions:
        """Decide what to show; the theorem is about one context at a time."""
        pending = self._ledger.unlearnt
        decisions = super().ask(contexts)
        self._sequential &= len(decisions) <= 1 and pending == 0
        return decisions

    @property
    def mean_objective(self) -> float:
        """Mean of Gamma over the rounds so far; NaN before the first."""
        n = self._record.rounds
        return self._objective / n if n else float("nan")

    def average_policy(self, *, last_half: bool = False) -> RandomizedPolicy | MarginalPolicy:
        """Average of the weights over all rounds, or over the second half of the planned ones."""
        if isinstance(self._weights, ImplicitWeights):
            shared = {id(self.policies): self.policies}  # only the weights will change
            return MarginalPolicy(
                self.policies, deepcopy(self._weights.state, shared), self._counted
            )
        chosen = self._sums[1] if last_half and self._sums[1].any() else self._sums[0]
        return RandomizedPolicy(self.policies, chosen if chosen.any() else self._weights.shares)

    def average_bound(self) -> float:
        """How far the average policy is from the best at most, with probability 1 - delta.

        mean Gamma + G ln(2|Pi|/delta)/T + D sqrt(ln(2/delta)/(2T)), at the planned number T of
        rounds. D bounds Gamma, and the last term passes from the contexts that were seen to their
        distribution.
        """
        n, delta = self._record.rounds, self.problem.delta
        if not n:
            return self.problem.reward_cap
        log_term = known_log_size(self.policies) + log(2 / delta)
        estimation = self.information_weight * log_term / n
        contexts = self._largest_objective * sqrt(log(2 / delta) / (2 * n))
        return min(self.problem.reward_cap, self.mean_objective + estimation + contexts)

    def recommend(self) -> Recommendation:
        """What `output` says, with what is known about it."""
        intervals = self.intervals()
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
            policy = self.average_policy(last_half=self.output == "last_half")
        if self.output == "average":
            bound = self.average_bound()
            promise = f"The average policy is within {bound:.3g} of the best {sure}."
            contradiction = self._contradiction()
            if not self.finished:
                bound = None
                promise = (
                    f"Nothing is guaranteed at {self.rounds:,} rounds: the bound of the average "
                    f"policy is a proof only at the {self.planned_rounds:,} that were planned."
                )
            elif contradiction is not None:
                bound, promise = None, contradiction
            elif self.problem.sparsity is None or not self._sequential:
                bound = None
                promise = (
                    f"All intervals hold {sure}; the theorem about the average policy needs a "
                    "known sparsity and contexts that are asked for one at a time, each after the "
                    "last answer."
                )
        if isinstance(self._record, ImplicitEvidence):
            intervals, policy = self._record.intervals(policy), None
        return fixed_size_recommendation(
            intervals,
            self.problem,
            rounds=self.rounds,
            planned=self.planned_rounds,
            complete=True,  # these limits hold at any time
            promise=promise,
            policy=policy,
            bound=bound,
        )

    @property
    def _largest_objective(self) -> float:
        """Gamma <= s/(G - K + 2) for 0/1 rewards, s/(G - K) for others, at any context."""
        room = self.information_weight - self.problem.n_actions
        return self._sparsity / (room + 2 if self.rewards == "binary" else room)

    @property
    def _largest_weight(self) -> float:
        """1/q <= G D/(D - 2) with D = G - K + 2 for 0/1 rewards, and G for others."""
        weight = self.information_weight
        if self.rewards == "real":
            return weight
        room = weight - self.problem.n_actions + 2
        return weight * room / (room - 2)

    def _solve(self, w: Array, rows: npt.NDArray[np.intp], q: Array, aside: Array) -> None:
        solve = closed_forms if self.rewards == "binary" else real_valued_forms
        solve(w, rows, self.information_weight, q, aside)

    def _steps(self, events: Events | ContextEvents, w_a: Array, aside: Array) -> Array:
        steps = np.empty(len(w_a))
        if self.rewards == "binary":
            q_a = events.propensities[:, 0]
            closed_form_steps(w_a, aside, q_a, self.information_weight, steps)
        else:
            real_valued_steps(w_a, aside, events.rewards[:, 0], steps)
        return steps

    def _count(self, aside: Array, shares: Array | None) -> None:
        """Gamma = s kappa for 0/1 rewards, at most s/(G - n) for others; and the weights' sums."""
        values = aside if self.rewards == "binary" else 1 / aside
        self._objective += self._sparsity * float(values.sum())
        half, n = self.planned_rounds // 2, len(aside)
        late = max(0, self._counted + n - max(half, self._counted))
        if isinstance(self._weights, ImplicitWeights):
            self._weights.state.wait(n)
        else:
            self._sums += np.array([n, late])[:, None] * shares
        self._counted += n

    def _check_told(self, rewards: Array) -> None:
        if self.rewards == "binary" and ((rewards > 0) & (rewards < 1)).any():
            raise InvalidArgumentError(
                "rewards must be 0 or 1, got a fraction; make the learner with rewards='real'"
            )
