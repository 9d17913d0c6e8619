"""The Sieve: one loop that explores, eliminates, redesigns, certifies and stops."""

from typing import Any, Literal, get_args

import numpy as np

from policysieve.checks import number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Events
from policysieve.exploration.designs.needs import NeedExploration
from policysieve.exploration.learners.log_barrier import log_barrier_weights
from policysieve.exploration.learners.sifting import Array, SiftingExplorer
from policysieve.kernels.importance import add_differences
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Sieve"]

Goal = Literal["certify", "best"]

_MIXINGS: dict[str, tuple[float, ...]] = {"certify": (1.0, 0.75, 0.5, 0.35, 0.25), "best": (0.1,)}
_FIRST_MIXING = {"certify": 0.25, "best": 0.1}
_GROWTH, _COARSE_GROWTH = 1.1, 1.3  # of the rounds between designs
_LARGE = 10_000  # policies from which designs are made less often
_SPREAD = 0.3  # share of a design that follows all survivors alike, at least
_FEW = 30  # rewarded rounds that are too few to rely on
_DOUBT = 0.5  # standard errors by which a gap is taken to be smaller than it looks


class Sieve(SiftingExplorer):
    """Explore by the low-variance principle, and let go of what is proved to be no better.

    The exploration stays fixed for an epoch. With some probability, the mixing, it shows actions
    that surviving policies would show at the context; to certify, by need: the closer a policy
    seems to the leader, the more often what it would show. Else it shows the slate of a policy
    drawn from a design, made to estimate all survivors with little variance. The first design
    follows all policies alike. When the rounds have grown by a factor, everything is made anew from
    all rewarded rounds so far, with the mixing that promises the earliest certificate
    (docs/maths.md, "The Sieve"). A betting certificate eliminates policies on the way. Exploration
    is always fixed before the contexts it is used on, so certificates are valid at any time.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    goal : {"certify", "best"}
        Fewest rounds to a certificate, or the best policy for a given number of rounds.
        Certificates want more uniform exploration, because the smallest propensity limits what one
        round can prove; picking the best wants little of it.
    rounds : int, optional
        Rounds after which to stop, certified or not. Without them a Sieve for the best never stops
        by itself.
    mixing : float, optional
        Share of exploration among all that survivors show, after the first epoch. By default chosen
        at each redesign to certify, and 0.1 for the best.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        goal: Goal = "certify",
        rounds: int | None = None,
        mixing: float | None = None,
        rng: Any = None,
    ) -> None:
        if goal not in get_args(Goal):
            raise InvalidArgumentError(f"goal must be one of {get_args(Goal)}, got {goal!r}")
        self.goal = goal
        self._mixings = _MIXINGS[goal]
        if mixing is not None:
            self._mixings = (number("mixing", mixing, above=0, below=1, closed=True),)
        super().__init__(
            policies,
            problem,
            rounds=rounds,
            first_mixing=_FIRST_MIXING[goal],
            growth=_GROWTH,
            rng=rng,
        )
        if goal == "best" or policies.n_policies >= _LARGE:
            self._growth = _COARSE_GROWTH

    @property
    def _finished(self) -> bool:
        """Whether epsilon is certified, or the rounds are used up; for "best" only the latter."""
        return self._used_up if self.goal == "best" else super()._finished

    def _explore_next(self) -> NeedExploration:
        """A design of the survivors from all rewarded rounds, needs, and the best mixing."""
        events = self.evidence.record.all_events()
        survivors, q = self.survivors, self.problem
        everyone = np.zeros(self.policies.n_policies)
        everyone[survivors] = 1 / len(survivors)
        found = log_barrier_weights(
            events,
            everyone,
            mixing=float(np.mean(self._mixings)),
            uniform=q.slate_size / min(q.n_actions, q.slate_size * len(survivors)),
        )
        spread = max(_SPREAD, _FEW / (_FEW + len(events.rounds)))
        p_hat = (1 - spread) * found + spread * everyone
        need = self._needs(events) if self.goal == "certify" else None
        designs = self._by_need(p_hat, self._mixings, need)
        if len(designs) == 1:
            return designs[0]
        return designs[int(np.argmin(self._rounds_needed(designs, events)))]

    def _needs(self, events: Events) -> Array:
        """The survivors' 1/(eps + gap), as a share of the leader's.

        About B/(eps + gap) rounds are needed, and B falls with what a need is given. The gap to the
        leader is taken to be half a standard error smaller than its estimate.
        """
        mean, square = self._differences(events, events.gains)
        n, epsilon = self.evidence.rounds, self.problem.epsilon
        error = np.sqrt(np.maximum(square - mean**2, 0.0) / n)
        gap = np.maximum(mean - _DOUBT * error, 0.0)[self.survivors]
        return np.asarray(epsilon / (epsilon + gap))

    def _rounds_needed(self, designs: list[NeedExploration], events: Events) -> list[float]:
        """Rounds that each design would still take to certify, by the estimates so far.

        Up to a factor, a rival at distance gap takes 2 V/(eps + gap)^2 + B/(eps + gap) for each
        unit of log-wealth that is missing: V the second moment of Z = R(leader) - R(rival) under
        the design, reweighted from past rewards, B the rival's range. The designs differ in their
        mixing only.
        """
        leader, epsilon = self._certificate.leader, self.problem.epsilon
        rivals = self.survivors[self.survivors != leader]
        if not len(rivals):
            return [0.0] * len(designs)
        values = self.evidence.estimates.values
        room = epsilon + np.maximum(values[leader] - values[rivals], 0.0)
        wealth = self.evidence.log_wealth(leader)[rivals]
        missing = np.maximum(self._certificate.log_threshold - wealth, 0.0)
        included, followed = (
            designs[0].shown(events.answers, events.actions, mixing) for mixing in (1.0, 0.0)
        )
        needed = []
        for design in designs:
            w = design.mixing * included + (1 - design.mixing) * followed
            w[w == 0] = 1.0  # shown by no survivor, so it touches none
            _, square = self._differences(events, events.rewards / np.sqrt(events.propensities * w))
            cost = 2 * square[rivals] / room**2 + design.ranges[rivals] / room
            needed.append(float((missing * cost).max()))
        return needed

    def _differences(self, events: Events, gains: Array) -> tuple[Array, Array]:
        """Means over rounds of Z(pi) = R(leader) - R(pi) and of its square, R made of the gains."""
        total, square = np.zeros((2, self.policies.n_policies))
        add_differences(
            events.table,
            events.rows,
            events.actions,
            gains,
            self.problem.n_actions,
            self._certificate.leader,
            total,
            square,
        )
        return total / self.evidence.rounds, square / self.evidence.rounds
