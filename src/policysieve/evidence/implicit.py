"""Evidence about a class that cannot be listed: the hardest rival is found, not looked up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import log, sqrt
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_prior, stakes_for
from policysieve.evidence.certificate import TOLERANCE, Certificate
from policysieve.evidence.classical import value_limits
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.events import Events, load_unit, rewarded_events
from policysieve.evidence.record import Block, Record, check_floor
from policysieve.log import AnyLog
from policysieve.log.returning import Met, first_rounds
from policysieve.policies import Answers, ImplicitPolicies, MarginalPolicy, Policy
from policysieve.problem import Problem
from policysieve.scaling import RewardScale

__all__ = [
    "ImplicitEstimates",
    "ImplicitEvidence",
    "LeaderIntervals",
    "WeightedEvents",
    "leader_intervals",
]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeaderIntervals(ValueIntervals):
    """Estimate and limits of one policy of a class without end, arrays of shape (1,).

    Attributes
    ----------
    leading : Policy or MarginalPolicy
        The policy they are about; its limits hold although it was chosen by the data.
    best_upper : float
        Upper limit on the value of every policy of the class; of costs the lower one.
    """

    leading: Policy | MarginalPolicy
    best_upper: float

    def in_units(self, scale: RewardScale) -> Self:
        """The same in the user's units, from what they are inside."""
        best = scale.value(self.best_upper)
        return replace(super().in_units(scale), best_upper=best) if not scale.is_unit else self

    def about(self, policy: Any) -> tuple[Any, float, float, float, float]:
        """The policy they are about, its estimate, limits, and bound on its suboptimality."""
        value, lower, upper = (float(c[0]) for c in (self.values, self.lower, self.upper))
        return self.leading, value, lower, upper, max(0.0, self.best_upper - lower)

    def place_of(self, policy: Any) -> int:
        """There is only one."""
        return 0

    def name_of(self, policy: int) -> str:
        """What the policy is."""
        return repr(self.leading)

    def label_of(self, policy: int) -> str:
        """What the policy is."""
        return repr(self.leading)

    @property
    def candidates(self) -> str:
        """Whom the leader was chosen from, in words."""
        return "a class without end"


@dataclass(frozen=True, eq=False)
class WeightedEvents:
    """Contexts, actions (n,) and gains r/W (n,) of rewarded rounds."""

    contexts: npt.NDArray[Any]
    actions: npt.NDArray[np.int64]
    gains: Array

    @classmethod
    def of(cls, events: Events | None) -> "WeightedEvents":
        """Rewarded rounds of single actions; none if there are no events."""
        if events is None or not len(events):
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(events.contexts, events.actions[:, 0].astype(np.int64), events.gains[:, 0])

    def hits(self, policy: Policy) -> npt.NDArray[np.bool_]:
        """Which events the policy agrees with."""
        if not len(self.actions):
            return np.zeros(0, dtype=np.bool_)
        return np.asarray(policy.actions(self.contexts)[:, 0] == self.actions)


class ImplicitEstimates:
    """Rewarded rounds, and the policy that earned the most importance-weighted reward. A value.

    Parameters
    ----------
    policies : ImplicitPolicies
    """

    def __init__(self, policies: ImplicitPolicies) -> None:
        self.policies = policies
        self._events: Events | None = None

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return 0 if self._events is None else self._events.n_rounds

    def plus(self, events: Events) -> "ImplicitEstimates":
        """The estimates with the rounds behind these events, rewarded or not."""
        longer = ImplicitEstimates(self.policies)
        longer._events = events if self._events is None else self._events.plus(events)
        return longer

    @cached_property
    def events(self) -> WeightedEvents:
        """All rewarded rounds."""
        return WeightedEvents.of(self._events)

    @cached_property
    def leader(self) -> Policy:
        """The policy with the largest estimate."""
        return self.policies.best(self.events.contexts, self.events.actions, self.events.gains)

    def fixed_size_intervals(
        self, *, reward_cap: float, largest: float, delta: float
    ) -> LeaderIntervals:
        """Limits of the leader, and one on all values, as `Estimates` of a list have them.

        ln|Pi| takes the place of the union over a list (docs/maths.md, "Classes without end"). The
        limit on all values is that of a policy with both the largest sum and the largest sum of
        squares, so only an exact class has one.
        """
        n, log_size, events = self.rounds, self.policies.log_size, self.events
        gains = events.gains[events.hits(self.leader)]
        value = float(gains.sum()) / n if n else np.nan
        if n < 2 or log_size is None:
            return LeaderIntervals(
                np.array([value]), np.zeros(1), np.array([reward_cap]), self.leader, reward_cap
            )
        log_term = log_size + log(4 / delta)

        def radius(variance: float) -> float:
            return sqrt(2 * variance * log_term / n) + 7 * largest * log_term / (3 * (n - 1))

        own = radius(max(float((gains**2).sum()) - n * value**2, 0.0) / (n - 1))
        best_upper = reward_cap
        if self.policies.exact:
            best_upper = min(best_upper, value + radius(self.largest_square() / (n - 1)))
        return LeaderIntervals(
            np.array([value]),
            np.clip([value - own], 0.0, reward_cap),
            np.clip([value + own], 0.0, reward_cap),
            self.leader,
            best_upper,
        )

    def largest_square(self) -> float:
        """The largest sum of squared gains that a policy of the class has."""
        events, squares = self.events, self.events.gains**2
        widest = self.policies.best(events.contexts, events.actions, squares)
        return float(squares[events.hits(widest)].sum())


class ImplicitEvidence:
    """What a log with predictable propensities proves about a class that cannot be listed.

    The betting certificate of `Evidence`, one stake at a time. For a leader and a stake, the
    log-wealth against pi is a constant less a loss for each rewarded round that pi agrees with. So
    the hardest rival is the best policy of the class for those losses as weights, and the leader is
    certified when for some stake with a share p of the capital even that rival reaches
    ln|Pi| + ln(1/(p delta)) (docs/maths.md, "Certificates through the best rival"). Only rewarded
    rounds are kept. Where a log names its units, the first round of each counts.

    Parameters
    ----------
    policies : ImplicitPolicies
        Certificates need an exact class of known size; of others they prove nothing.
    problem : Problem
    """

    def __init__(self, policies: ImplicitPolicies, problem: Problem) -> None:
        policies.check_fits(problem)
        self.record = Record(policies, problem.unit)
        self.policies = policies
        self.problem = problem
        self.estimates = ImplicitEstimates(policies)
        self._stakes = stakes_for(problem.unit)
        self._met: Met | None = None

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return self.estimates.rounds

    def add(self, log: AnyLog, *, floor: float | None, answers: Answers | None = None) -> None:
        """Take in the next rounds, in the order of their decisions; all or nothing.

        Parameters
        ----------
        log : Log, LogFile, path or paths
        floor : float or None
            Smallest propensity that any action could have in these rounds, fixed before them. None
            if it is not known: then nothing is proved, now or later.
        answers : Answers, optional
            The contexts, checked.
        """
        log = load_unit(log, self.policies, self.problem)
        smallest = 0.0 if floor is None else check_floor(log, floor)
        counted, met = first_rounds(log, self._met, self.rounds)
        said = answers if counted is log else None
        events = rewarded_events(counted, self.policies, said)
        record = self.record.plus(events, floor=smallest)
        self.__dict__.update(record=record, estimates=self.estimates.plus(events), _met=met)

    def certificate(self, *, pending: int = 0) -> Certificate:
        """What is proved now; `pending` rounds were left out because they have no answer yet."""
        problem, log_size = self.problem.unit, self.policies.log_size
        leader = self.estimates.leader
        method, threshold, certified = "none", np.inf, False
        find_bound = partial(float, problem.reward_cap)
        if self.policies.exact and log_size is not None and self.record.has_floor:
            method = "betting"
            threshold = log_size + log(1 / problem.delta)
            wealth = _RivalWealth(
                self.policies, leader, self.estimates.events, self._stakes, self.record.blocks
            )
            certified = wealth.passes(problem.epsilon, threshold)
            find_bound = partial(
                wealth.smallest_epsilon,
                threshold,
                low=0.0 if certified else problem.epsilon,
                high=problem.epsilon if certified else problem.reward_cap,
            )
        return Certificate(
            leader=leader,
            certified=certified,
            eliminated=np.zeros(0, dtype=np.bool_),
            rounds=self.rounds,
            pending=pending,
            log_threshold=float(threshold),
            method=method,
            find_bound=find_bound,
        ).in_units(self.problem.scale)

    def intervals(self) -> LeaderIntervals:
        """Limits of the leader that hold at any time."""
        return leader_intervals(self.record).in_units(self.problem.scale)


def leader_intervals(
    record: Record, policy: Policy | MarginalPolicy | None = None
) -> LeaderIntervals:
    """Limits of one policy, by default the leader, that hold at any time for any choice of it.

    As for lists (docs/maths.md, "Intervals at any time"), with ln|Pi| for the union. Of a
    randomised policy there is only the estimate.
    """
    policies, cap = record.policies, record.problem.reward_cap
    assert isinstance(policies, ImplicitPolicies)
    estimates = ImplicitEstimates(policies)
    if record.blocks:
        estimates = estimates.plus(record.all_events())
    events, chosen = estimates.events, estimates.leader if policy is None else policy
    if isinstance(chosen, MarginalPolicy):
        value = _estimate(events, chosen, record.rounds)
        return LeaderIntervals(value, np.zeros(1), np.full(1, cap), chosen, cap)
    hits = events.hits(chosen)
    # Without a floor there is no range: then gains count as they are, and only from below.
    largest = _largest(record.blocks) if record.has_floor else np.ones(len(events.gains))
    weight = np.array([record.rounds])
    if record.has_floor:
        weight = np.array([sum(b.events.n_rounds / b.largest for b in record.blocks)])
    shares = events.gains / largest  # Y, at most one
    total = np.array([shares[hits].sum()])
    values = total / weight if record.rounds else np.full(1, np.nan)
    if not record.rounds or policies.log_size is None:
        return LeaderIntervals(values, np.zeros(1), np.full(1, cap), chosen, cap)
    log_term = policies.log_size + log(2 / record.problem.delta)
    square = np.array([(shares[hits] ** 2).sum()])
    lower, upper = value_limits(total, square, weight, log_term)
    best_upper = cap
    if not record.has_floor:
        upper = np.full(1, cap)
    elif policies.exact:
        most: list[Array] = []
        for powers in (shares, shares**2):
            best = policies.best(events.contexts, events.actions, powers)
            most.append(np.array([powers[events.hits(best)].sum()]))
        best_upper = min(cap, float(value_limits(most[0], most[1], weight, log_term)[1][0]))
    return LeaderIntervals(
        values, np.clip(lower, 0.0, cap), np.clip(upper, 0.0, cap), chosen, best_upper
    )


def _estimate(events: WeightedEvents, policy: MarginalPolicy, rounds: int) -> Array:
    if not len(events.actions):
        return np.array([0.0 if rounds else np.nan])
    chances = policy.probabilities(events.contexts)
    followed = np.take_along_axis(chances, events.actions[:, None], axis=1)[:, 0]
    return np.array([followed @ events.gains / rounds])


def _largest(blocks: Sequence[Block]) -> Array:
    """The range B of each event."""
    return np.repeat([block.largest for block in blocks], [len(block.events) for block in blocks])


class _RivalWealth:
    """Smallest log-wealth over the class of bets on one leader, on the blocks as they were."""

    def __init__(
        self,
        policies: ImplicitPolicies,
        leader: Policy,
        events: WeightedEvents,
        stakes: Array,
        blocks: Sequence[Block],
    ) -> None:
        self._policies = policies
        self._stakes = dict(zip(stakes.tolist(), log_prior(len(stakes)).tolist(), strict=True))
        self._events = events
        self._ranges = _largest(blocks)
        self._own = np.where(self._events.hits(leader), self._events.gains, 0.0)
        self._quiet = np.array([b.events.n_rounds - len(b.events) for b in blocks])
        self._quiet_ranges = np.array([block.largest for block in blocks])

    def smallest(self, epsilon: float, stake: float) -> float:
        """Min over pi of ln p prod_i (1 + lam_i (Z_i + eps)), lam_i = stake/B_i."""
        events, lam = self._events, stake / self._ranges
        missed = np.log1p(lam * (self._own + epsilon))
        hit = np.log1p(lam * (self._own - events.gains + epsilon))
        losses = np.maximum(missed - hit, 0.0)
        rival = self._policies.best(events.contexts, events.actions, losses)
        quiet = self._quiet @ np.log1p(stake / self._quiet_ranges * epsilon)
        earned = quiet + missed.sum() - losses[events.hits(rival)].sum()
        return float(self._stakes[stake] + earned)

    def passes(self, epsilon: float, threshold: float) -> bool:
        """Whether for some stake all of the class reaches the threshold."""
        return any(self.smallest(epsilon, stake) >= threshold for stake in self._stakes)

    def smallest_epsilon(self, threshold: float, *, low: float, high: float) -> float:
        """Bisect for the smallest epsilon in (low, high] that passes; `high` if there is none.

        Wealth grows with epsilon, so a stake that fails at `high` is out of the search.
        """
        stakes = self._passing(high, threshold, self._stakes)
        if self._passing(low, threshold, stakes):
            return low
        while stakes and high - low > TOLERANCE * high:
            middle = (low + high) / 2
            if passing := self._passing(middle, threshold, stakes):
                high, stakes = middle, passing
            else:
                low = middle
        return high

    def _passing(self, epsilon: float, threshold: float, stakes: Iterable[float]) -> list[float]:
        return [stake for stake in stakes if self.smallest(epsilon, stake) >= threshold]
