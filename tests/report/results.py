"""Made-up results of runs, for tests of what is drawn from them."""

from dataclasses import replace
from math import nan

import numpy as np

from policysieve.evidence import ValueIntervals
from policysieve.experiment import ExperimentResult, LearnerResult, Proof, SeedResult
from policysieve.exploration import Recommendation
from policysieve.problem import Problem
from policysieve.simulate import Checkpoint, RunResult

PROBLEM = Problem(n_actions=20, epsilon=0.1, delta=0.05)


def made_up_result(
    n_policies: int = 40,
    stops: tuple[int, ...] = (100, 300, 1000, 3000, 10_000),
    *,
    truth: bool = True,
    learner: str = "Uniform",
) -> RunResult:
    """A run whose intervals shrink like 1 / sqrt(rounds)."""
    rng = np.random.default_rng(n_policies)
    true_values = rng.uniform(0.2, 0.8, n_policies)
    values = np.clip(true_values + rng.normal(0, 0.01, n_policies), 0, 1)
    leader = int(values.argmax())
    gap = float(true_values.max() - true_values[leader]) if truth else None

    def radius(rounds: int) -> float:
        return min(1.0, 5 / rounds**0.5)

    history = tuple(
        Checkpoint(
            recommendation=Recommendation(
                policy=leader,
                value=float(values[leader]),
                lower=max(0.0, float(values[leader]) - radius(rounds)),
                upper=min(1.0, float(values[leader]) + radius(rounds)),
                suboptimality_bound=2 * radius(rounds),
                certified=2 * radius(rounds) <= PROBLEM.epsilon,
                rounds=rounds,
                guarantee="All intervals hold with probability at least 0.95.",
            ),
            suboptimality=gap,
        )
        for rounds in stops
    )
    last = radius(stops[-1])
    return RunResult(
        learner=learner,
        recommendation=history[-1].recommendation,
        rounds=stops[-1],
        history=history,
        suboptimality=gap,
        finished=True,
        problem=PROBLEM,
        intervals=ValueIntervals(values, values - last, values + last),
        true_values=true_values if truth else None,
        configuration={"world": "made up", "batch_size": 100, "checkpoints": [100, 300], "seed": 0},
    )


def no_rounds(n_policies: int = 3, *, history: bool = True) -> RunResult:
    """A run in a world that had nothing to draw: no estimates, trivial limits."""
    nothing = Recommendation(
        policy=0,
        value=nan,
        lower=0.0,
        upper=1.0,
        suboptimality_bound=1.0,
        certified=False,
        rounds=0,
        guarantee="Nothing is guaranteed at 0 rounds.",
    )
    return replace(
        made_up_result(n_policies, truth=False),
        recommendation=nothing,
        rounds=0,
        finished=False,
        history=(Checkpoint(recommendation=nothing, suboptimality=None),) if history else (),
        intervals=ValueIntervals(
            np.full(n_policies, nan), np.zeros(n_policies), np.ones(n_policies)
        ),
    )


def made_up_experiment(
    *names: str, n_seeds: int = 3, truth: bool = True, descriptions: bool = False
) -> ExperimentResult:
    """Learners whose bounds fall like 10 / sqrt(rounds), later ones and later seeds more slowly."""

    def one(slower: int, seed: int) -> SeedResult:
        stops = (100, 1000, 10_000, 20_000 + 100 * seed)
        result = made_up_result(stops=stops, truth=truth, learner=names[slower])
        proofs = [
            Proof(rounds=n, suboptimality_bound=bound, certified=bound <= 0.1, survivors=5)
            for n, bound in ((n, (10 + seed + 20 * slower) / n**0.5) for n in stops)
        ]
        return SeedResult(seed=seed, result=result, proofs=tuple(proofs))

    return ExperimentResult(
        learners=tuple(
            LearnerResult(name=name, seeds=tuple(one(number, seed) for seed in range(n_seeds)))
            for number, name in enumerate(names)
        ),
        problem=PROBLEM,
        rounds=30_000,
        descriptions=[f"kind {policy}" for policy in range(40)] if descriptions else None,
        configuration={
            "world": {"kind": "made up", "n_actions": 20},
            "learner": [{"kind": name} for name in names],
            "run": {"seeds": list(range(n_seeds))},
        },
    )
