"""Records from logs, and a log to select from."""

import policysieve as ps
from policysieve.evidence import rewarded_events


def plus(record, log, **arguments):
    """The record with the rounds of a log."""
    return record.plus(rewarded_events(log, record.policies), **arguments)


def uniform_case():
    """A world with one good policy of 25, its class, its problem and 4,000 uniform rounds."""
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=60, n_policies=25, profile="one_good", rng=1
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    problem = world.problem(epsilon=0.1, delta=0.05)
    learner = ps.Uniform(policies, problem, rounds=4000, rng=0)
    ps.run(learner, world, 4000)
    return world, policies, problem, learner.log
