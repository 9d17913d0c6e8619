"""Null worlds: where certificates would be false if anything in them were wrong.

Each plays one run, looks after every batch, and says what it saw. Certificates are asked for at
delta = 0.2, so that counts of false ones can be compared with a limit after few runs. The gaps are
a little above epsilon, or nothing at all: there a false certificate is most likely.
"""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from policysieve.bench.certificates.watching import (
    CLOSE,
    DELTA,
    Array,
    Numbers,
    Small,
    Verdict,
    Watch,
    arms,
    greedy,
    play,
    uniform,
)
from policysieve.evidence import Evidence
from policysieve.exploration.designs import MixtureExploration
from policysieve.exploration.learners import PolicyElimination, Sieve
from policysieve.log import Log
from policysieve.policies import FunctionPolicies, PolicyTable
from policysieve.problem import Problem

__all__ = ["NULLS", "NullWorld", "summary"]

NullWorld = Callable[[int], Verdict]
"""From a seed to what was seen in one run."""

NULLS: dict[str, NullWorld] = {}

_GAP = 1.1  # times epsilon


def _null(world: NullWorld) -> NullWorld:
    NULLS[world.__name__] = world
    return world


def summary(world: str) -> str:
    """The first line about a world, without its full stop."""
    return (NULLS[world].__doc__ or "").splitlines()[0].rstrip(".")


def _builder(seed: int) -> np.random.Generator:
    """What a world is made with: other random numbers than those of its rounds."""
    return np.random.default_rng([seed, 1])


@_null
def two_arms(seed: int) -> Verdict:
    """Two arms, the better one ahead by a little more than epsilon."""
    return play(arms((0.449, 0.5), epsilon=0.05), uniform, seed, rounds=1000, batch=50)


@_null
def sparse(seed: int) -> Verdict:
    """One right label among 20, shown with propensity 1/20."""
    rng = _builder(seed)
    n_contexts, n_actions = 100, 20
    labels = rng.integers(n_actions, size=n_contexts)
    right = np.array([63, 63, 60, 40, 20, 80])  # contexts at which a policy has the label
    table = (
        labels[:, None] + rng.integers(1, n_actions, size=(n_contexts, len(right)))
    ) % n_actions
    for policy, count in enumerate(right):
        chosen = rng.permutation(n_contexts)[:count]
        table[chosen, policy] = labels[chosen]
    means = np.zeros((n_contexts, n_actions))
    means[np.arange(n_contexts), labels] = 1.0
    problem = Problem(n_actions=n_actions, epsilon=0.15, delta=DELTA)
    small = Small(PolicyTable(table, n_actions), problem, means)
    return play(small, uniform, seed, rounds=1500, batch=100)


@_null
def rarely_different(seed: int) -> Verdict:
    """Policies that differ at 5% of the contexts only."""
    table = np.zeros((20, 4), dtype=np.int64)
    table[0] = np.arange(4)
    means = np.full((20, 4), 0.5)
    means[0] = (0.35, 0.35, 0.3, 0.9)
    epsilon = 0.05 * 0.55 / _GAP
    problem = Problem(n_actions=4, sparsity=None, epsilon=epsilon, delta=DELTA)
    return play(
        Small(PolicyTable(table, 4), problem, means), greedy(0.4), seed, rounds=1500, batch=100
    )


@_null
def ties(seed: int) -> Verdict:
    """Forty policies, most of them as good as the best or the same as another."""
    rng = _builder(seed)
    table = rng.integers(8, size=(4, 20))
    table[:, -4:] = 8  # these four are worse
    means = np.full((4, 9), 0.5)
    means[:, 8] = 0.39
    problem = Problem(n_actions=9, sparsity=None, epsilon=0.1, delta=DELTA)
    small = Small(PolicyTable(np.hstack([table, table]), 9), problem, means)
    return play(small, greedy(0.4, first=16), seed, rounds=900, batch=60)


@_null
def late_answers(seed: int) -> Verdict:
    """A Sieve is told good news of the best late, of others soon, and a tenth never.

    What is not told in time counts as 0, so every policy earns nine tenths of what it would.
    """
    rng, in_time = np.random.default_rng(seed), 0.9
    small = arms((0.44, 0.44, 0.57), epsilon=0.1)
    learner = Sieve(small.policies, small.problem, rounds=800, rng=seed)
    watch = Watch(in_time * small.values, small.problem.epsilon)
    while not learner.finished:
        batch = learner.ask(np.zeros(100, dtype=np.int64))
        shown = batch.actions[:, 0]
        rewards = small.rewards(batch.contexts, shown, rng)
        soon = (rewards == 1) != (shown == 2)
        comes = rng.random(len(batch)) < in_time
        for now in (soon, ~soon):
            for part in np.array_split(rng.permutation(np.flatnonzero(now & comes)), 3):
                learner.tell(batch[part], rewards[part])
                watch.see(learner.evidence)
        learner.expire(older_than=0)
        watch.see(learner.evidence)
    return watch.verdict


@_null
def slates(seed: int) -> Verdict:
    """Slates of three items with fractional rewards that sum to at most 1.5.

    Two items are drawn. The first earns 1 or 0.5, the second 0.5, together at most 1 if they are
    the same.
    """
    rng = np.random.default_rng(seed)
    chances, levels = np.array([0.25, 0.25, 0.25, 0.11, 0.11, 0.03]), ((1.0, 0.6), (0.5, 0.4))
    means = np.zeros((1, 6))
    for first, second, (level, chance) in product(range(6), range(6), levels):
        earned = np.zeros(6)
        earned[first] += level
        earned[second] += 0.5
        means += chances[first] * chances[second] * chance * np.minimum(earned, 1.0)
    epsilon = float(means[0, 2] - means[0, 3]) / _GAP
    table = [[[1, 0, 3], [2, 3, 0], [4, 1, 2], [0, 3, 4], [5, 3, 4], [2, 1, 0]]]
    problem = Problem(n_actions=6, slate_size=3, sparsity=1.5, epsilon=epsilon, delta=DELTA)
    small = Small(PolicyTable(table, 6), problem, means)
    evidence, watch = Evidence(small.policies, problem), Watch(small.values, epsilon)
    while evidence.rounds < 800:
        leader = 0 if watch.leader is None else watch.leader
        exploration = MixtureExploration(
            small.policies,
            problem,
            support=np.array([leader], np.int32),
            shares=np.ones(1),
            mixing=0.6,
        )
        batch = exploration.ask(np.zeros(40, dtype=np.int64), rng=rng)
        earned = np.zeros((40, 6))
        first, second = rng.choice(6, size=(2, 40), p=chances)
        earned[np.arange(40), first] += np.where(rng.random(40) < 0.6, 1.0, 0.5)
        earned[np.arange(40), second] += 0.5
        rewards = np.take_along_axis(np.minimum(earned, 1.0), batch.actions.astype(np.intp), 1)
        log = Log(
            contexts=batch.contexts,
            actions=batch.actions,
            propensities=batch.propensities,
            rewards=rewards,
        )
        evidence.add(log, exploration)
        watch.see(evidence)
    return watch.verdict


@_null
def functions(seed: int) -> Verdict:
    """Functions of contexts that cannot be listed; both come more than once."""

    def shifted(by: int, x: Array) -> Numbers:
        return np.asarray((x[:, 0] + by) % 4, dtype=np.intp)

    policies = FunctionPolicies([partial(shifted, by) for by in (0, 1, 2, 3, 0, 1, 2, 3)], 4)
    means = np.array([np.roll(CLOSE, row) for row in range(12)])
    problem = Problem(n_actions=4, sparsity=None, epsilon=0.1, delta=DELTA)
    contexts = np.repeat(np.arange(12.0)[:, None], 2, axis=1)
    small = Small(policies, problem, means, contexts=contexts)
    return play(small, greedy(0.5), seed, rounds=900, batch=60)


@_null
def missing_support(seed: int) -> Verdict:
    """At half of the contexts what the best policy shows cannot be shown."""
    table = np.array([[0, 1, 2, 2], [0, 0, 1, 0]])
    means = np.array([[0.79, 0.25, 1.0], [0.55, 0.33, 0.2]])
    problem = Problem(n_actions=3, sparsity=None, epsilon=0.1, delta=DELTA)
    small = Small(PolicyTable(table, 3), problem, means)
    w = np.array([[0.5, 0.5, 0.0], [0.4, 0.3, 0.3]])
    return play(small, lambda _small, _watch: w, seed, rounds=800, batch=50)


@_null
def misled(seed: int) -> Verdict:
    """Exploration follows whatever leads in 70% of the rounds, a wrong policy first."""
    return play(arms(CLOSE, epsilon=0.1), greedy(0.7), seed, rounds=1000, batch=50)


@_null
def bad_start(seed: int) -> Verdict:
    """The best policy looks the worst until a rare context comes, where it alone earns."""
    means = np.array([[0.4, 0.4, 0.3], [0.0, 0.0, 1.0]])
    chances = np.array([0.89, 0.11])
    epsilon = float(chances @ (means[:, 2] - means[:, 1])) / _GAP
    problem = Problem(n_actions=3, sparsity=None, epsilon=epsilon, delta=DELTA)
    policies = PolicyTable(np.tile(np.arange(3), (2, 1)), 3)
    small = Small(policies, problem, means, chances, coins=False)
    return play(small, greedy(0.2), seed, rounds=500, batch=25)


@_null
def adversary(seed: int) -> Verdict:
    """Equal arms, and an explorer that shows the first one least when it is behind."""
    behind, ahead = np.array([[0.04, 0.48, 0.48]]), np.array([[0.5, 0.25, 0.25]])

    def explore(_small: Small, watch: Watch) -> Array:
        return ahead if watch.leader == 0 else behind

    return play(arms((0.5, 0.5, 0.5), epsilon=0.1), explore, seed, rounds=800, batch=40)


@_null
def forgotten(seed: int) -> Verdict:
    """The past is forgotten at once or after some hundred rounds, and leaders change often."""
    small = arms((0.459, 0.459, 0.459, 0.459, 0.5), epsilon=0.04)
    limit = (0, 5_000, 20_000)[seed % 3]
    return play(small, greedy(0.4), seed, rounds=1500, batch=75, memory_limit=limit)


@_null
def tiny_propensities(seed: int) -> Verdict:
    """Propensities between 1e-6 and 1, other ones at each context."""
    rng = _builder(seed)
    means = np.tile(CLOSE, (30, 1))
    policies = PolicyTable(np.tile(np.arange(4), (30, 1)), 4)
    problem = Problem(n_actions=4, sparsity=None, epsilon=0.1, delta=DELTA)
    w = 10 ** rng.uniform(-6, 0, size=means.shape)
    w /= w.sum(axis=1, keepdims=True)
    small = Small(policies, problem, means)
    return play(small, lambda _small, _watch: w, seed, rounds=800, batch=50)


def _class_of_labels(seed: int) -> Small:
    """Twelve policies on 40 contexts with one right label of five; some are just too far off."""
    rng = _builder(seed)
    labels = rng.integers(5, size=40)
    table = (labels[:, None] + rng.integers(1, 5, size=(40, 12))) % 5
    for policy, count in enumerate((19, 19, 19, 19, 18, 16, 14, 12, 10, 8, 4, 24)):
        chosen = rng.permutation(40)[:count]
        table[chosen, policy] = labels[chosen]
    means = np.zeros((40, 5))
    means[np.arange(40), labels] = 1.0
    problem = Problem(n_actions=5, epsilon=0.12, delta=DELTA)
    return Small(PolicyTable(table, 5), problem, means)


def _end_to_end(kind: type[Sieve] | type[PolicyElimination], seed: int) -> Verdict:
    rng, small = np.random.default_rng(seed), _class_of_labels(seed)
    learner = kind(small.policies, small.problem, rounds=600, rng=seed)
    watch = Watch(small.values, small.problem.epsilon)
    looked = 0
    while not learner.finished:
        batch = learner.ask(small.draw(min(30, learner.ask_limit), rng))
        learner.tell(batch, small.rewards(batch.contexts, batch.actions[:, 0], rng))
        if learner.rounds >= looked + 30 or learner.finished:
            looked = learner.rounds
            watch.see_learner(learner)
    return watch.verdict


@_null
def sieve(seed: int) -> Verdict:
    """A Sieve until it certifies, among classifiers that are just too far from the best."""
    return _end_to_end(Sieve, seed)


@_null
def policy_elimination(seed: int) -> Verdict:
    """Policy elimination in the same world."""
    return _end_to_end(PolicyElimination, seed)
