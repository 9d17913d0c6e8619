"""Worlds, each with arguments that are right."""

from typing import Any

import numpy as np

import policysieve as ps
from policysieve.bench.faults.call import ACTIONS, Call, K, N, a_log, a_table, some_features

__all__ = ["WORLD_CALLS", "a_world"]


def a_world() -> Any:
    """A small world whose answers are known."""
    return ps.worlds.SparseSynthetic(n_actions=K, n_contexts=6, n_policies=5, profile="one_good")


WORLD_CALLS: dict[str, Call] = {
    "SparseSynthetic": Call(
        lambda _, **how: ps.worlds.SparseSynthetic(**how),
        lambda: {
            "n_actions": K,
            "n_contexts": 6,
            "n_policies": 5,
            "profile": "one_good",
            "slate_size": 1,
            "sparsity": 1.0,
            "noise": 0.1,
            "fractional": False,
            "rng": 0,
        },
    ),
    "Classification": Call(
        lambda _, rows, y, **how: ps.worlds.Classification(rows, y, **how),
        lambda: {
            "rows": some_features(),
            "y": np.array([0, 1, 2, 0]),
            "n_actions": K,
            "contexts": "features",
        },
    ),
    "Classification with names": Call(
        lambda _, y, actions: ps.worlds.Classification(some_features(), y, actions=actions),
        lambda: {"y": ["hats", "bags", "hats", "shoes"], "actions": list(ACTIONS)},
    ),
    "Multilabel with names": Call(
        lambda _, right, actions: ps.worlds.Multilabel(
            some_features(), right, slate_size=1, actions=actions
        ),
        lambda: {"right": [["hats"], [], ["bags", "hats"], ["bags"]], "actions": list(ACTIONS)},
    ),
    "Multilabel": Call(
        lambda _, rows, right, slate_size, **how: ps.worlds.Multilabel(
            rows, right, slate_size, **how
        ),
        lambda: {
            "rows": some_features(),
            "right": np.eye(4, 3),
            "slate_size": 1,
            "sparsity": 1.0,
            "contexts": "features",
        },
    ),
    "RareContext": Call(
        lambda _, **how: ps.worlds.RareContext(**how),
        lambda: {"n_actions": K, "epsilon": 0.1, "rng": 0},
    ),
    "HiddenArm": Call(
        lambda _, **how: ps.worlds.HiddenArm(**how),
        lambda: {"n_actions": K, "slate_size": 1, "sparsity": 2, "epsilon": 0.1, "rng": 0},
    ),
    "Replay": Call(
        lambda _, log, **how: ps.worlds.Replay(log, **how),
        lambda: {"log": a_log(), "n_actions": K, "sparsity": 1.0, "floor": 0.1},
    ),
    "World.draw": Call(
        lambda world, n, rng: world.draw(n, rng), lambda: {"n": 5, "rng": 0}, a_world
    ),
    "World.values": Call(
        lambda world, policies: world.values(policies), lambda: {"policies": a_table()}, a_world
    ),
    "Draw.rewards": Call(
        lambda draw, actions: draw.rewards(actions),
        lambda: {"actions": np.array([0, 1, 2, 0])},
        lambda: a_world().draw(N, 0),
    ),
}
