"""Made-up tasks of all sizes, like those on which the forecast was chosen."""

from functools import partial

import numpy as np

from policysieve.bench.rounds import Made, Task
from policysieve.policies import PolicyTable
from policysieve.worlds import SparseSynthetic

__all__ = ["FIRST_SEED", "made_up_task"]

FIRST_SEED = 100

_PROFILES = ("one_good", "close", "clusters", "confusable")
_SLATES = 0.2  # share of the tasks


def made_up_task(seed: int) -> Task:
    """A task whose sizes are drawn from the seed; each profile has a quarter of the seeds."""
    rng = np.random.default_rng(seed)
    profile = _PROFILES[seed % len(_PROFILES)]
    n_actions = int(rng.choice([5, 10, 30, 100, 300]))
    n_policies = int(rng.choice([5, 30, 100, 300, 1000]))
    n_contexts = int(rng.choice([50, 300, 1000, 3000]))
    noise = float(rng.choice([0.0, 0.0, 0.3, 0.6]))
    epsilon = float(rng.choice([0.05, 0.1] if profile == "close" else [0.02, 0.03, 0.05, 0.1]))
    slates = rng.random() < _SLATES and n_actions >= 10
    world = partial(
        SparseSynthetic,
        n_actions=n_actions,
        n_policies=n_policies,
        n_contexts=n_contexts,
        profile=profile,
        slate_size=3 if slates else 1,
        sparsity=2.0 if slates else 1.0,
        noise=noise,
    )
    return Task(
        f"made_up_{seed}",
        f"{profile}, {n_actions} actions, {n_policies:,} policies",
        partial(_made, world),
        epsilon=2 * epsilon if slates else epsilon,
    )


def _made(world: "partial[SparseSynthetic]", seed: int) -> Made:
    built = world(rng=seed)
    return built, PolicyTable(built.pool, n_actions=built.n_actions)
