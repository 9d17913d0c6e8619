"""Are certificates true, and how soon do they come? Counted and measured, for every method."""

from collections.abc import Iterator
from functools import partial
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from policysieve.bench.cells import SayStep, code_version
from policysieve.bench.rounds import Game, Made, Task
from policysieve.evidence import Evidence
from policysieve.evidence.certificate import Method
from policysieve.exploration import design
from policysieve.exploration.learners import Uniform
from policysieve.log import Log
from policysieve.policies import PolicyTable
from policysieve.problem import Problem
from policysieve.worlds import SparseSynthetic

__all__ = ["METHODS", "SOURCES", "false_certificates", "measure_certificates", "rounds_to_certify"]

METHODS: tuple[Method, ...] = tuple(
    method
    for method in get_args(Method)
    if method != "fixed"  # which holds at one number of rounds
)
SOURCES = ("uniform", "low_variance")
_NULL_MEANS = np.array([0.55, 0.44, 0.44, 0.1])  # the best is ahead by a little more than epsilon

Piece = tuple[Log, float, "npt.NDArray[np.float64] | None"]


def measure_certificates(
    *, runs: int, seeds: int, progress: SayStep = lambda _step: None
) -> dict[str, Any]:
    """Count false certificates in `runs` runs, and measure rounds to certify for `seeds` seeds.

    Returns
    -------
    dict
        ``code`` that measured; ``false``: a row for each method and explorer; ``power``: a row for
        each number of actions and source of data, with the median rounds of each method.
    """
    false = []
    for method in METHODS:
        for explorer in ("uniform", "greedy"):
            progress(f"false certificates of {method}, {explorer} exploration")
            false.append(false_certificates(method, explorer, runs))
    power = []
    for n_actions in (10, 100, 1000):
        for source in SOURCES:
            progress(f"rounds to certify with {n_actions} actions, {source} exploration")
            power.append(rounds_to_certify(n_actions, source, seeds))
    return {"code": code_version(), "false": false, "power": power}


def false_certificates(method: Method, explorer: str, runs: int) -> dict[str, Any]:
    """Runs in which a certificate was ever wrong, looked at after each batch of a null world.

    Wrong: the leader is worse than the best by more than the bound, or the best is eliminated.
    One context, four arms, epsilon 0.1 and delta 0.2; the best arm is ahead by 0.11. The greedy
    explorer gives most of the mass to whichever arm leads, wrong ones first.
    """
    policies = PolicyTable(np.arange(4)[None, :], n_actions=4)
    problem = Problem(n_actions=4, sparsity=4.0, epsilon=0.1, delta=0.2)
    false = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        evidence = Evidence(policies, problem, method=method)
        for _ in range(15):
            q = np.full(4, 0.25)
            if explorer == "greedy":
                q[:] = 0.1
                q[int(evidence.estimates.values.argmax()) if evidence.rounds else 1] += 0.6
            actions = rng.choice(4, size=60, p=q)
            rewards = rng.random(60) < _NULL_MEANS[actions]
            log = Log(
                contexts=np.zeros(60, dtype=np.int64),
                actions=actions,
                propensities=q[actions],
                rewards=rewards,
            )
            # The classical methods need one range for all rounds, declared in advance.
            evidence.add(log, floor=0.1 if explorer == "greedy" else 0.25)
            proof = evidence.eliminate()
            gap = _NULL_MEANS.max() - _NULL_MEANS[proof.leader]
            if gap > proof.suboptimality_bound or proof.eliminated[0]:
                false += 1
                break
    return {
        "method": method,
        "explorer": explorer,
        "runs": runs,
        "false": false,
        "delta": problem.delta,
        "limit": int(stats.binom.ppf(0.999, runs, problem.delta)),
    }


def rounds_to_certify(
    n_actions: int, source: str, seeds: int, *, max_rounds: int = 1_000_000
) -> dict[str, Any]:
    """Median rounds until each method certifies epsilon on the same data; None beyond the limit.

    50 policies of close value, epsilon = delta = 0.05. Low-variance data is uniform for the first
    20 K rounds, then follows the design made from them.
    """
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    task = Task("close", "50 policies of close value", partial(_close_policies, n_actions))
    for seed in range(seeds):
        for method, rounds in _race(Game.of(task, seed), source, max_rounds).items():
            found[method].append(rounds)
    medians = {method: float(np.median(rounds)) for method, rounds in found.items()}
    return {
        "n_actions": n_actions,
        "source": source,
        "seeds": seeds,
        "max_rounds": max_rounds,
        "rounds": {m: None if value > max_rounds else value for m, value in medians.items()},
    }


def _close_policies(n_actions: int, seed: int) -> Made:
    world = SparseSynthetic(
        n_actions=n_actions, n_contexts=500, n_policies=50, profile="close", rng=seed
    )
    return world, PolicyTable(world.pool, n_actions=n_actions)


def _race(game: Game, source: str, max_rounds: int) -> dict[str, float]:
    evidence = {method: Evidence(game.policies, game.problem, method=method) for method in METHODS}
    done: dict[str, float] = dict.fromkeys(METHODS, np.inf)
    for log, floor, ranges in _data(game, source, max_rounds):
        for method in METHODS:
            if done[method] == np.inf:
                evidence[method].add(log, floor=floor, ranges=ranges)
                if evidence[method].eliminate().certified:
                    done[method] = evidence[method].rounds
        if np.inf not in done.values():
            break
    return done


def _data(game: Game, source: str, max_rounds: int) -> Iterator[Piece]:
    """Pieces of the log that grow by a tenth, with floor and ranges fixed before each."""
    policies, problem, seed = game.policies, game.problem, game.seed
    share = 1 / problem.n_actions
    explore = 20 * problem.n_actions if source == "low_variance" else max_rounds + 1
    learner = Uniform(policies, problem, rounds=2 * max_rounds, rng=seed)
    exploration, ranges = None, None
    played = 0
    while played < max_rounds:
        if played >= explore and exploration is None:
            exploration = design(learner.log, policies, problem, rng=seed)
            share, ranges = exploration.floor, exploration.ranges
        size = max(100, played // 10)
        if exploration is None:
            size = min(size, explore - played)
        draw = game.world.draw(size, game.rng)
        decisions = (learner if exploration is None else exploration).ask(draw.contexts)
        rewards = draw.rewards(decisions.actions)
        if exploration is None:
            learner.tell(decisions, rewards)
        log = Log(
            contexts=decisions.contexts,
            actions=decisions.actions,
            propensities=decisions.propensities,
            rewards=rewards,
        )
        yield log, share, ranges
        played += size
