"""How a proof grows: rounds of the Sieve to a certificate, and what the union over the class costs.

Only certificates pay a logarithm of the class: any policy could have come to lead. Elimination pays
none, because only the one best policy must not be eliminated (docs/maths.md, "Elimination without
the union"). Four counts of rounds tell them apart, three of them from the same runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite, log
from typing import Any

import numpy as np

from policysieve.bench.rounds import DELTA, EPSILON, Game, Made, Task
from policysieve.bench.scaling.worlds import sparse_synthetic
from policysieve.evidence.certificate import delta_shares
from policysieve.exploration.learners import Sieve
from policysieve.theory import rate_sparse

__all__ = ["COUNTS", "GROWTHS", "SEEDS", "Growth", "median_rounds"]

SEEDS = 5  # runs behind each median

_MOST = 1_000_000  # rounds after which a proof is given up

COUNTS = {
    "eliminated": "half of those that are worse by more than epsilon are eliminated",
    "without_union": "certified, if there were no union over leaders",
    "certified": "certified",
    "incumbent": "certified by the rounds since the leader leads",
}
"""What rounds are counted until."""


@dataclass(frozen=True)
class Growth:
    """Worlds of the race that differ in one quantity.

    Attributes
    ----------
    name, summary : str
    axis : str
        What is varied, in words.
    varied : str
        Which setting; ``epsilon`` is drawn as 1/epsilon.
    fixed : mapping
        The other settings: of `profile`, `n_actions`, `n_policies` and `epsilon`.
    small, full : tuple
        Values of the varied one.
    """

    name: str
    summary: str
    axis: str
    varied: str
    fixed: Mapping[str, Any]
    small: tuple[float, ...]
    full: tuple[float, ...]

    def points(self, *, full: bool) -> list[tuple[float, dict[str, Any]]]:
        """Where each world lies on the axis, and its settings."""
        return [
            (1 / x if self.varied == "epsilon" else float(x), {**self.fixed, self.varied: x})
            for x in (self.full if full else self.small)
        ]


def median_rounds(settings: dict[str, Any], seeds: int) -> dict[str, Any]:
    """Median rounds over seeds for each of the counts, and the rate that each is held against.

    Parameters
    ----------
    settings : dict
        Of a point.
    seeds : int

    Returns
    -------
    dict
        ``rounds`` (None if most runs did not get there) and ``rates`` by count; ``log_thresholds``,
        what the logarithm of the wealth has to reach; ``close``, the median number of rivals within
        epsilon; ``false``, certificates that were wrong.
    """
    world = {name: value for name, value in settings.items() if name != "epsilon"}
    found: list[dict[str, float]] = []
    for seed in range(seeds):
        made = sparse_synthetic(seed, **world)
        found.append(_rounds_of(made, settings["epsilon"], seed))
    thresholds = {
        "eliminated": delta_shares.log_elimination(DELTA),
        "without_union": delta_shares.log_retrospect(DELTA, 2),
        "certified": delta_shares.log_retrospect(DELTA, settings["n_policies"]),
        "incumbent": delta_shares.log_incumbent(DELTA, 1),
    }
    problem = made[0].problem(epsilon=settings["epsilon"], delta=DELTA)
    medians = {key: float(np.median([run[key] for run in found])) for key in found[0]}
    return {
        "rounds": {c: medians[c] if isfinite(medians[c]) else None for c in COUNTS},
        "rates": {
            count: rate_sparse(problem, ell + log(DELTA)) for count, ell in thresholds.items()
        },
        "log_thresholds": thresholds,
        "close": medians["close"],
        "false": int(sum(run["false"] for run in found)),
    }


def _rounds_of(made: Made, epsilon: float, seed: int) -> dict[str, float]:
    task = Task("", "", lambda _seed: made, epsilon=epsilon)
    return {**_remembering(task, seed), **_forgetting(task, seed)}


def _remembering(task: Task, seed: int) -> dict[str, float]:
    """One run of the Sieve to its certificate, and when it passed the other counts."""
    game = Game.of(task, seed)
    learner = Sieve(game.policies, game.problem, rounds=_MOST, rng=seed)
    values = game.world.values(game.policies)
    far = values < values.max() - task.epsilon - 1e-12
    single = delta_shares.log_retrospect(DELTA, 2)  # as if one policy alone could have led
    eliminated = without_union = inf
    while not learner.finished:
        game.advance(learner, learner.evidence.next_look)
        if eliminated == inf and 2 * far[learner.survivors].sum() <= far.sum():
            eliminated = learner.rounds
        if without_union == inf:
            proof = replace(learner.evidence.proof(), log_threshold=single)
            if proof.holds(task.epsilon):
                without_union = learner.rounds
    proved = learner.evidence.certificate()
    return {
        "eliminated": eliminated,
        "without_union": without_union,
        "certified": learner.rounds if proved.certified else inf,
        "close": int((~far).sum()) - 1,
        "false": proved.certified and bool(far[proved.leader]),
    }


def _forgetting(task: Task, seed: int) -> dict[str, float]:
    """The rounds to a certificate of a Sieve that keeps no past."""
    game = Game.of(task, seed)
    learner = Sieve(game.policies, game.problem, rounds=_MOST, memory_limit=0, rng=seed)
    game.advance(learner, _MOST)
    return {"incumbent": learner.rounds if learner.evidence.certificate().certified else inf}


def _all_growths() -> list[Growth]:
    profiles = {
        "one_good": "one good policy among random ones",
        "clusters": "linear policies of different quality",
        "close": "policies of close value",
    }
    usual = {"n_policies": 300, "n_actions": 100, "epsilon": EPSILON}

    def growth(
        profile: str, varied: str, axis: str, small: tuple[float, ...], full: tuple[float, ...]
    ) -> Growth:
        fixed = {"profile": profile, **usual}
        del fixed[varied]
        name = f"{profile}_{varied.removeprefix('n_')}"
        return Growth(name, profiles[profile], axis, varied, fixed, small, full)

    found = []
    for profile in ("one_good", "clusters"):
        sizes = (300, 1000, 5000, 20_000, 100_000)
        found += [
            growth(profile, "n_policies", "policies", sizes[:3], sizes),
            growth(profile, "n_actions", "actions K", (10, 30, 100), (10, 30, 100, 300, 1000)),
            growth(
                profile,
                "epsilon",
                "1/epsilon",
                (0.2, 0.1, 0.05),
                (0.2, 0.14, 0.1, 0.07, 0.05, 0.035),
            ),
        ]
    # Where most policies survive for ten thousands of rounds, fewer are enough.
    return [*found, growth("close", "n_policies", "policies", (30, 100, 300), (30, 100, 300, 1000))]


GROWTHS = {growth.name: growth for growth in _all_growths()}
"""Every growth by its name."""
