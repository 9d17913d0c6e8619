"""A learner after its first phase as files, and the commands that go on from them."""

import numpy as np

import policysieve as ps
from tests.cli.test_cli import invoke


def explored(folder, m):
    """A learner after phase 1, its log and its policies as files, and what contexts earn."""
    rng = np.random.default_rng(m)
    policies = ps.PolicyTable(
        rng.random((20, 15, 6)).argsort(axis=-1)[..., :m].astype(np.uint8), n_actions=6
    )
    rewards = np.eye(6)[rng.integers(0, 6, 20)]
    problem = ps.Problem(n_actions=6, slate_size=m, epsilon=0.25, delta=0.1)
    learner = ps.LowVarianceExploration(policies, problem, rng=5)
    while learner.design is None:
        decisions = learner.ask(rng.integers(0, 20, min(200, learner.ask_limit)))
        learner.tell(decisions, rewards[decisions.contexts[:, None], decisions.actions])
    assert len(learner.log) == learner.plan.explore_rounds
    learner.log.save(folder / "explored.parquet")
    policies.save(folder / "table.npy")
    return learner, rewards


def make_design(folder, *arguments, policies="table.npy"):
    return invoke(
        "design",
        folder / "explored.parquet",
        "--policies",
        folder / policies,
        "--actions",
        6,
        "--epsilon",
        0.25,
        "--delta",
        0.1,
        "--out",
        folder / "design.npz",
        *arguments,
    )


def decide(folder, contexts, out, *arguments, policies="table.npy"):
    return invoke(
        "decide",
        folder / "design.npz",
        "--policies",
        folder / policies,
        "--contexts",
        contexts,
        "--out",
        out,
        *arguments,
    )
