"""The log-barrier design of earlier work: minimise a potential whose gradient is the variance."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence import Events
from policysieve.exploration.designs.mixture import MixtureExploration
from policysieve.exploration.learners.two_phase import Stop, WeighedPhasesExplorer
from policysieve.kernels.designs import barrier_gradient, hit_lists
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["LogBarrier", "log_barrier_weights"]

_GAP = 0.1  # of the potential to its minimum: variances are then within a tenth of the best
_MOST_PASSES = 10_000  # over the events; some hundred are usual


class LogBarrier(WeighedPhasesExplorer):
    """Explore uniformly, then with the design that minimises a log-barrier potential.

    The method of Erez and others (2024, 2025), which low-variance exploration improves on. Phase 1
    shows uniform slates for `explore_rounds` rounds. The design p minimises
    E[-sum_j r(j) ln W(x, j)] on their rewards, W the propensity under p: the gradient of that is
    the variance with which each policy will be estimated, so at the minimum none is large
    (docs/maths.md, "Log-barrier design"). Phase 2 shows, for `estimate_rounds` rounds, a uniform
    slate with probability `mixing` and else the slate of a policy drawn from p. The policy with the
    largest importance-weighted estimate is recommended.

    The number of rounds that was published for it grows like K^9; by default it has as many as
    LowVarianceExploration, without its guarantee.

    Parameters
    ----------
    policies, problem, rng
        As for every learner.
    explore_rounds, estimate_rounds : int, optional
        Sizes of the phases. By default those of `plan`.
    mixing : float, optional
        Share of uniform exploration in phase 2. By default that of `plan`, about one half.
    stop : {"planned", "certified"}
        End after the planned rounds, or as soon as the rounds of both phases certify epsilon, which
        holds for the recommended policy whenever you look. Every round then takes time in
        proportion to the class, not only a rewarded one, and at least two policies are needed.

    Attributes
    ----------
    design : MixtureExploration or None
        What phase 1 found; None until its last reward is in. Its variance bound is what holds for
        every design with this mixing: the data that chose it cannot vouch for more.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        explore_rounds: int | None = None,
        estimate_rounds: int | None = None,
        mixing: float | None = None,
        stop: Stop = "planned",
        rng: Any = None,
    ) -> None:
        super().__init__(
            policies,
            problem,
            explore_rounds=explore_rounds,
            estimate_rounds=estimate_rounds,
            mixing=mixing,
            stop=stop,
            rng=rng,
        )

    @property
    def _expected_variance(self) -> float:
        q = self.problem.unit
        sparsity = q.reward_cap if q.sparsity is None else q.sparsity
        return sparsity / (q.reward_cap * (1 - self.mixing))

    def _find_design(self, events: Events) -> MixtureExploration:
        n_policies, q = self.policies.n_policies, self.problem
        shares = log_barrier_weights(
            events,
            np.full(n_policies, 1 / n_policies),
            mixing=self.mixing,
            uniform=q.slate_size / q.n_actions,
        )
        support = np.flatnonzero(shares).astype(np.int32)
        return MixtureExploration(
            self.policies,
            self.problem,
            support=support,
            shares=shares[support] / shares.sum(),
            mixing=self.mixing,
        )


def log_barrier_weights(
    events: Events,
    start: npt.NDArray[np.float64],
    *,
    mixing: float,
    uniform: float,
    gap: float = _GAP,
) -> npt.NDArray[np.float64]:
    """The weights p that minimise the mean of -sum_j r(j)/b(j) ln W(x, j) over rewarded items.

    b are the propensities of the events and W(x, j) = mixing uniform + (1-mixing) Q(x, j; p)
    (docs/maths.md, "Log-barrier design"). From `start`, p(pi) is multiplied by the gradient at pi
    and normalised, which never raises the potential, until the duality gap is at most `gap`, for
    rewards scaled to sum to one. Policies without weight stay without, and without an event nothing
    changes.
    """
    which, slots = np.nonzero(events.rewards)
    keys = events.rows[which] * events.n_actions + events.actions[which, slots]
    cells, places = np.unique(keys, return_inverse=True)
    gains = events.gains[which, slots]
    summed = np.zeros(len(cells))
    np.add.at(summed, places, gains / gains.sum())
    rows, items = np.divmod(cells, events.n_actions)
    starts, hits = hit_lists(events.table, rows, items)
    p, gradient, possible = start.copy(), np.empty(len(start)), start > 0
    for _ in range(_MOST_PASSES):
        barrier_gradient(starts, hits, summed, mixing * uniform, 1 - mixing, p, gradient)
        average = p @ gradient
        if (1 - mixing) * (gradient[possible].max() - average) <= gap:
            break
        p *= gradient / average
    return p
