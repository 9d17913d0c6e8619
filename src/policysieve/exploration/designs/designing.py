"""From a log to the next exploration."""

from dataclasses import replace
from math import expm1, sqrt
from math import log as ln
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rng, number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import rewarded_events
from policysieve.evidence.events import load_unit
from policysieve.exploration.designs.frank_wolfe import FrankWolfe
from policysieve.exploration.designs.hedge import (
    AveragedHedge,
    Hedge,
    HedgeSettings,
    SampledHedge,
    counts_squares,
)
from policysieve.exploration.designs.implicit_hedge import ImplicitHedge
from policysieve.exploration.designs.mixture import MixedExploration
from policysieve.log import AnyLog
from policysieve.log.returning import first_rounds
from policysieve.planning import plan
from policysieve.policies import AnyPolicies, check_class
from policysieve.problem import Problem
from policysieve.sizes import estimation_rounds

__all__ = [
    "AnyHedge",
    "design",
    "found_by",
    "known_log_size",
    "observable_variance",
    "rounds_needed",
    "start_hedge",
]

_STREAM = 3  # of random numbers

AnyHedge = Hedge | ImplicitHedge | FrankWolfe

_BLOCK_BYTES = 1 << 28  # of actions evaluated at once


def design(
    log: AnyLog,
    policies: Any,
    problem: Problem,
    *,
    mixing: float | None = None,
    sampled: bool = False,
    rng: Any = None,
) -> Any:
    """Design the next exploration from a log with known propensities.

    Parameters
    ----------
    log : Log, LogFile, path or paths
        Rounds in the order of their decisions, explored uniformly or not; more of them make a
        better design. Files may be of any format. Of units that are named the first round counts.
    policies : Policies or a class that cannot be listed
        They must fit the log.
    problem : Problem
        What is asked.
    mixing : float, optional
        Share of uniform exploration in the design; by default what `plan` advises.
    sampled : bool
        Draw one policy per round, as in the paper, instead of averaging over the draw.
    rng : seed or numpy Generator
        For the draws of ``sampled=True``.

    Returns
    -------
    MixedExploration
        A `MixtureExploration` of policies that can be listed, else one of their marginals.

    Raises
    ------
    InvalidArgumentError
        If the log is empty or does not fit; rows are named.
    """
    check_class(policies)
    policies.check_fits(problem)
    log, cap = load_unit(log, policies, problem), problem.unit.reward_cap
    if not len(log):
        raise InvalidArgumentError("log must have at least one round, got none")
    log, _ = first_rounds(log, None, 0)
    everywhere = replace(problem, traffic=1.0)
    sizes = plan(everywhere, log_n_policies=known_log_size(policies), sampled=sampled)
    share = sizes.mixing if mixing is None else number("mixing", mixing, above=0, below=1)
    smallest = float(log.propensities.min())
    theta = sizes.learning_rate * cap * problem.n_actions
    theta /= sizes.mixing * problem.slate_size
    largest = cap / (share * min(smallest, problem.slate_size / problem.n_actions))
    hedge = start_hedge(
        policies,
        problem,
        mixing=share,
        learning_rate=theta / largest,
        horizon=len(log),
        rng=as_rng(rng, stream=_STREAM) if sampled else None,
    )
    block, listed = len(log), policies.n_policies is not None
    if listed and (not policies.looked_up or log.available is not None):
        block = max(1, _BLOCK_BYTES // (policies.n_policies * policies.slate_size))
    for start in range(0, len(log), block):
        hedge.add(rewarded_events(log[start : start + block], policies))
    return found_by(hedge, policies, problem, largest=largest, expected=sizes.variance_bound)


def known_log_size(policies: AnyPolicies) -> float:
    """ln|Pi| for sizes, or 0 for a class that cannot say: what is sized so guarantees nothing."""
    return 0.0 if policies.log_size is None else policies.log_size


def rounds_needed(exploration: MixedExploration, policies: AnyPolicies) -> int:
    """Rounds of a design after which the best estimate is within epsilon, with 1 - delta.

    By the variance that was observed while it was made, which holds with 1 - delta/2
    (docs/maths.md, "Explicit sizes"), for the class that it was made for.
    """
    problem = exploration.problem.unit
    return estimation_rounds(
        problem,
        exploration.variance_bound,
        exploration.largest_gain,
        known_log_size(policies) + ln(2 / problem.delta),
    )


def start_hedge(
    policies: AnyPolicies,
    problem: Problem,
    *,
    mixing: float,
    learning_rate: float,
    horizon: int,
    rng: np.random.Generator | None,
) -> AnyHedge:
    """Hedge over the class before the first round; with `rng`, the variant that draws policies."""
    if policies.n_policies is None:
        if rng is not None:
            raise InvalidArgumentError(
                "sampled=True draws numbered policies; a class that cannot be listed is averaged "
                "over: leave sampled=False, which is never worse"
            )
        if not policies.hedged:
            return FrankWolfe(policies, mixing=mixing, steps=policies.fits)
        return ImplicitHedge(policies, mixing=mixing, learning_rate=learning_rate, horizon=horizon)
    settings = HedgeSettings(
        n_policies=policies.n_policies,
        n_actions=policies.n_actions,
        slate_size=policies.slate_size,
        mixing=mixing,
        learning_rate=learning_rate,
        horizon=horizon,
        squares=counts_squares(problem),
    )
    return AveragedHedge(settings) if rng is None else SampledHedge(settings, rng)


def found_by(
    hedge: AnyHedge, policies: AnyPolicies, problem: Problem, *, largest: float, expected: float
) -> MixedExploration:
    """The exploration that a finished Hedge has found.

    `largest` bounds one round's u; `expected` is a guess of the variance term made before the data,
    which sets the free constant of the observed bound.
    """
    variances = observable_variance(
        hedge.gains,
        problem,
        rounds=hedge.rounds,
        largest=largest,
        expected=expected,
        log_term=known_log_size(policies) + ln(2 / problem.delta),
    )
    find: Any = hedge.exploration
    # 1/W is larger by 1/traffic at most if only a share of the rounds explores.
    found: MixedExploration = find(policies, problem, float(variances.max()) / problem.traffic)
    return found


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
