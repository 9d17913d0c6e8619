"""From a log to the next exploration."""

from math import expm1, sqrt
from math import log as ln
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rewards, as_rng, number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import rewarded_events
from policysieve.exploration.hedge import AveragedHedge, Hedge, HedgeSettings, SampledHedge
from policysieve.exploration.mixture import Exploration
from policysieve.log import Log
from policysieve.planning import plan
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["design", "from_hedge", "observable_variance"]

_BLOCK_BYTES = 1 << 28  # of actions evaluated at once


def design(
    log: Log,
    policies: Policies,
    problem: Problem,
    *,
    mixing: float | None = None,
    sampled: bool = False,
    rng: Any = None,
) -> Exploration:
    """Design the next exploration from a log with known propensities.

    Parameters
    ----------
    log : Log
        Rounds in the order of their decisions, explored uniformly or not; more of them make a
        better design.
    policies, problem
        They must fit the log.
    mixing : float, optional
        Share of uniform exploration in the design; by default what `plan` advises.
    sampled : bool
        Draw one policy per round, as in the paper, instead of averaging over the draw.
    rng : seed or numpy Generator
        For the draws of the design and of its `ask`.

    Raises
    ------
    InvalidArgumentError
        If the log is empty or does not fit; rows are named.
    """
    policies.check_fits(problem)
    if not len(log):
        raise InvalidArgumentError("log must have at least one round, got none")
    as_rewards(log.rewards, len(log), log.slate_size, problem.sparsity)
    generator = as_rng(rng, stream=3)
    sizes = plan(problem, policies.n_policies, sampled=sampled)
    share = sizes.mixing if mixing is None else number("mixing", mixing, above=0, below=1)
    smallest = float(log.propensities.min())
    theta = sizes.learning_rate * problem.reward_cap * problem.n_actions
    theta /= sizes.mixing * problem.slate_size
    largest = problem.reward_cap / (share * min(smallest, problem.slate_size / problem.n_actions))
    settings = HedgeSettings(
        n_policies=policies.n_policies,
        n_actions=problem.n_actions,
        slate_size=problem.slate_size,
        mixing=share,
        learning_rate=theta / largest,
        horizon=len(log),
    )
    hedge = SampledHedge(settings, generator.spawn(1)[0]) if sampled else AveragedHedge(settings)
    block = max(1, _BLOCK_BYTES // (policies.n_policies * policies.slate_size))
    if policies.n_contexts is not None:
        block = len(log)  # nothing is evaluated, the class has its table
    for start in range(0, len(log), block):
        hedge.add(rewarded_events(log[start : start + block], policies))
    return from_hedge(
        hedge, policies, problem, largest=largest, expected=sizes.variance_bound, rng=generator
    )


def from_hedge(
    hedge: Hedge,
    policies: Policies,
    problem: Problem,
    *,
    largest: float,
    expected: float,
    rng: Any,
) -> Exploration:
    """The exploration that a finished Hedge has found.

    `largest` bounds one round's u; `expected` is a guess of the variance term made before the data,
    which sets the free constant of the observed bound.
    """
    p_hat = hedge.design()
    support = np.flatnonzero(p_hat).astype(np.int32)
    shares = p_hat[support]
    variances = observable_variance(
        hedge.gains,
        problem,
        rounds=hedge.rounds,
        largest=largest,
        expected=expected,
        log_term=ln(2 * policies.n_policies / problem.delta),
    )
    return Exploration(
        policies,
        problem,
        support=support,
        shares=shares / shares.sum(),
        mixing=hedge.settings.mixing,
        variance_bound=float(variances.max()),
        rng=rng,
    )


def observable_variance(
    gains: npt.NDArray[np.float64],
    problem: Problem,
    *,
    rounds: int,
    largest: float,
    expected: float,
    log_term: float,
) -> npt.NDArray[np.float64]:
    """Bounds on every policy's variance term from what Hedge has seen, without the sparsity.

    V(pi) <= K/(m T psi(theta)) (sum_t u_t(pi) + (B/theta) log_term), for all pi with probability
    1 - |Pi| exp(-log_term) (docs/maths.md, "Observable variance"). theta balances the two terms for
    the variance that was expected before the data.
    """
    spread = problem.n_actions / (problem.slate_size * rounds)
    theta = min(2.0, sqrt(2 * largest * log_term * spread / expected))
    psi = -expm1(-theta) / theta
    return spread / psi * (gains + largest / theta * log_term)
