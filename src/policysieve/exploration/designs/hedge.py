"""Phase 1 of low-variance exploration: Hedge finds whom to follow while exploring."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from policysieve.evidence import Events
from policysieve.exploration.designs.mixture import MixtureExploration
from policysieve.kernels.designs import AVERAGE, GAIN, WEIGHT, hedge_events, settle
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["AveragedHedge", "Hedge", "HedgeSettings", "SampledHedge", "counts_squares"]


@dataclass(frozen=True, kw_only=True)
class HedgeSettings:
    """What Hedge runs with.

    Attributes
    ----------
    n_policies, n_actions, slate_size : int
    mixing : float
        Share gamma of uniform exploration.
    learning_rate : float
        Step eta.
    horizon : int
        Number T of rounds.
    squares : bool
        Whether a reward counts as g(r) = r^2, and not as r.
    """

    n_policies: int
    n_actions: int
    slate_size: int
    mixing: float
    learning_rate: float
    horizon: int
    squares: bool = True


def counts_squares(problem: Problem) -> bool:
    """Whether variance terms weigh r^2 and not r: for single actions, and where mu = m.

    r^2 <= r, so the term is smaller, and a slate's E R^2 is at most m times it. With r it is
    at most mu = min(s, m) times the term, which is better if s < m and rewards are 0 or 1.
    """
    return problem.slate_size == 1 or problem.unit.reward_cap == problem.slate_size


class Hedge(ABC):
    """Hedge over T rounds whose rewards are the variance that each policy would be estimated with.

    p_{t+1}(pi) ~ p_t(pi) exp(eta u_t(pi)), where u_t(pi) sums, over the shown items j that pi would
    show too, g(r_t(j)) / (gamma m/K + (1-gamma) c_t(x_t, j) / T); g(r) = r^2 or r, see
    `counts_squares` (docs/maths.md, "Low-variance exploration"). A policy is rewarded while what it
    would show is seldom shown, so in the end every policy is well covered.

    Only rewarded rounds touch the class: between them the weights stand still.
    """

    def __init__(self, settings: HedgeSettings) -> None:
        self.settings = settings
        self.rounds = 0
        self._uniform = settings.slate_size / settings.n_actions
        self._floor = settings.mixing * self._uniform
        self._scale = (1 - settings.mixing) / settings.horizon

    @property
    def mixing(self) -> float:
        """Share gamma of uniform exploration."""
        return self.settings.mixing

    def add(self, events: Events) -> None:
        """Take in the rounds behind these events, rewarded or not; at most T in all."""
        self._learn(events, self.rounds + events.rounds, self._gains(events))
        self.rounds += events.n_rounds

    @abstractmethod
    def design(self) -> npt.NDArray[np.float64]:
        """The average of the weights over the T rounds: p_hat, shape (n_policies,)."""

    @property
    @abstractmethod
    def gains(self) -> npt.NDArray[np.float64]:
        """Sum over the rounds of u_t(pi), shape (n_policies,)."""

    def exploration(
        self, policies: Policies, problem: Problem, variance_bound: float
    ) -> MixtureExploration:
        """What was found."""
        p_hat = self.design()
        support = np.flatnonzero(p_hat).astype(np.int32)
        shares = p_hat[support]
        return MixtureExploration(
            policies,
            problem,
            support=support,
            shares=shares / shares.sum(),
            mixing=self.mixing,
            variance_bound=variance_bound,
        )

    @abstractmethod
    def _learn(
        self,
        events: Events,
        rounds: npt.NDArray[np.int64],
        gains: npt.NDArray[np.float64],
    ) -> None: ...

    def _gains(self, events: Events) -> npt.NDArray[np.float64]:
        """g(r), times (m/K) / propensity for data that was not explored uniformly."""
        gains = events.rewards**2 if self.settings.squares else events.rewards
        return np.asarray(gains * (self._uniform / events.propensities))


class AveragedHedge(Hedge):
    """Hedge with c_t(x, j) the sum over earlier rounds of the weight of policies showing j.

    The default: the draw of one policy per round is averaged out, which has strictly better
    constants and no randomness.
    """

    def __init__(self, settings: HedgeSettings) -> None:
        super().__init__(settings)
        self._state = np.zeros((settings.n_policies, 4))
        self._state[:, WEIGHT] = 1.0
        self._clock = np.array([float(settings.n_policies), 0.0, 0.0])

    def design(self) -> npt.NDArray[np.float64]:
        """The average of the weights over the T rounds."""
        settle(self._state, self._clock, float(self.rounds))
        return self._state[:, AVERAGE] / self.rounds

    @property
    def gains(self) -> npt.NDArray[np.float64]:
        """Sum over the rounds of u_t(pi)."""
        return self._state[:, GAIN]

    def _learn(
        self,
        events: Events,
        rounds: npt.NDArray[np.int64],
        gains: npt.NDArray[np.float64],
    ) -> None:
        hedge_events(
            events.table,
            events.rows,
            rounds,
            events.actions,
            gains,
            self._floor,
            self._scale,
            self.settings.learning_rate,
            self._state,
            self._clock,
        )


class SampledHedge(Hedge):
    """Hedge as in the paper: one policy drawn per round, c_t(x, j) counts those that show j.

    Between two events the weights do not move, so the draws of a block of rounds come from one
    distribution.
    """

    def __init__(self, settings: HedgeSettings, rng: np.random.Generator) -> None:
        super().__init__(settings)
        self._rng = rng
        self._gain = np.zeros(settings.n_policies)
        self._counts = np.zeros(settings.n_policies, dtype=np.int64)
        self._drawn = 0

    def design(self) -> npt.NDArray[np.float64]:
        """Share of the T rounds in which each policy was drawn."""
        self._draw_up_to(self.rounds)
        return self._counts / self.rounds

    @property
    def gains(self) -> npt.NDArray[np.float64]:
        """Sum over the rounds of u_t(pi)."""
        return self._gain

    def _learn(
        self,
        events: Events,
        rounds: npt.NDArray[np.int64],
        gains: npt.NDArray[np.float64],
    ) -> None:
        for row, shown, gain, t in zip(events.rows, events.actions, gains, rounds, strict=True):
            self._draw_up_to(int(t))
            u = np.zeros(len(self._gain))
            for item, g in zip(shown, gain, strict=True):
                shows = (events.table[row] == item).any(axis=1)
                u[shows] += g / (self._floor + self._scale * self._counts[shows].sum())
            self._draw_up_to(int(t) + 1)  # this round's own draw precedes its update
            self._gain += u

    def _draw_up_to(self, rounds: int) -> None:
        """Draw the policies of the rounds before `rounds` from the weights as they stand."""
        if rounds > self._drawn:
            scaled = self.settings.learning_rate * self._gain
            cumulative = np.cumsum(np.exp(scaled - scaled.max()))
            places = self._rng.random(rounds - self._drawn) * cumulative[-1]
            drawn = np.searchsorted(cumulative, places, side="right")
            np.add.at(self._counts, np.minimum(drawn, len(self._gain) - 1), 1)
            self._drawn = rounds
