"""Every exploration where not everything is available, against enumeration."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.designs import (
    ListExploration,
    MixtureExploration,
    NeedExploration,
    OptimizedExploration,
    UniformExploration,
)
from policysieve.exploration.designs.frank_wolfe import FittedMixture
from tests.oracles import available as oracle
from tests.oracles import sieve
from tests.statistics import assert_binomial

K, N_CONTEXTS, N_POLICIES = 6, 5, 7
ORDER = [4, 2, 0, 5, 1, 3]


def policies(m):
    table = np.random.default_rng(m).random((N_CONTEXTS, N_POLICIES, K)).argsort(axis=-1)[..., :m]
    return ps.PolicyTable(table, n_actions=K, fallback=ORDER)


def problem(m):
    return ps.Problem(n_actions=K, slate_size=m, sparsity=1.0, epsilon=0.2, delta=0.1)


def masks(n, m, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.random((n, K)) < 0.6
    for row in found:
        row[rng.choice(K, m, replace=False)] = True
    return found


SHARES = {1: 0.5, 4: 0.3, 6: 0.2}
NEEDS, VOTES = {0: 1.0, 2: 0.5, 3: 0.2}, {0: 0.25, 2: 0.75, 3: 0.0}


def mixture(m):
    support = np.array([*SHARES])
    return MixtureExploration(
        policies(m), problem(m), support=support, shares=np.array([*SHARES.values()]), mixing=0.2
    )


def needed(m):
    return NeedExploration(
        policies(m),
        problem(m),
        survivors=np.array([*NEEDS]),
        need=np.array([*NEEDS.values()]),
        votes=np.array([*VOTES.values()]),
        mixing=0.5,
    )


def optimized(binary):
    candidates = policies(1)
    weights = candidates.prior().plus(
        candidates.answers([0, 1, 2, 4]), np.array([0, 1, 2, 3]), np.array([0.5, 2.0, 1.0, 0.3])
    )
    return OptimizedExploration(
        candidates, problem(1), weights=weights, information_weight=9.0, binary=binary
    )


def by_real_form(w, G):
    n = sum(share > 0 for share in w)
    return [(1 + (G - n) * share) / G if share > 0 else 0.0 for share in w]


def twin(kind, m, slates, allowed):
    """Propensities of all items at one context."""
    if kind == "uniform":
        return oracle.uniform(K, m, allowed)
    if kind == "mixture":
        return oracle.mixed(K, m, allowed, 0.2, oracle.followed(K, slates, SHARES))
    if kind == "list":
        return oracle.mixed(K, m, allowed, 0.4, oracle.of_a_list(K, m, allowed, slates, [3, 0]))
    if kind == "no list":
        return oracle.uniform(K, m, allowed)
    if kind == "needs":
        found = sieve.propensities(0.5, slates, NEEDS, VOTES)
        return [found.get(item, 0.0) for item in range(K)]
    shares = dict(enumerate(optimized(True).weights.shares.tolist()))
    w = oracle.followed(K, slates, shares)
    return (oracle.by_optimization if kind == "optimized" else by_real_form)(w, 9.0)


MADE = {
    "uniform": lambda m: UniformExploration(policies(m), problem(m)),
    "mixture": mixture,
    "list": lambda m: ListExploration(policies(m), problem(m), listed=np.array([3, 0]), mixing=0.4),
    "no list": lambda m: ListExploration(policies(m), problem(m), listed=[], mixing=0.4),
    "needs": needed,
    "optimized": lambda m: optimized(True),
    "optimized for fractions": lambda m: optimized(False),
}
CASES = [(kind, m) for kind in MADE for m in (1, 3) if m == 1 or "optimized" not in kind]
cases = pytest.mark.parametrize(("kind", "m"), CASES)


@cases
def test_propensities_are_those_of_enumeration(kind, m):
    exploration, n = MADE[kind](m), 60
    contexts, mask = np.arange(n) % N_CONTEXTS, masks(n, m)
    raw = exploration.policies.actions(contexts)
    found = exploration.propensities(contexts, available=mask)
    np.testing.assert_allclose(found.sum(axis=1), m)
    assert (found[~mask] == 0).all()
    for i in range(n):
        allowed = set(np.flatnonzero(mask[i]).tolist())
        slates = [oracle.mended(slate, allowed, ORDER) for slate in raw[i].tolist()]
        np.testing.assert_allclose(found[i], twin(kind, m, slates, allowed), atol=1e-12)
    assert (found[found > 0] >= exploration.floor * (1 - 1e-12)).all()


@cases
def test_what_is_shown_is_available_and_as_frequent_as_its_propensity(kind, m):
    exploration, n = MADE[kind](m), 4000
    mask = masks(1, m, seed=4)
    contexts = np.full(n, 2)
    decisions = exploration.ask(contexts, available=np.tile(mask, (n, 1)), rng=0)
    assert decisions.available.has(decisions.actions).all()
    assert all(len(set(slate)) == m for slate in decisions.actions.tolist())
    every = exploration.propensities([2], available=mask)[0]
    np.testing.assert_allclose(every[decisions.actions], decisions.propensities, rtol=1e-12)
    for item in range(K):
        shown = int((decisions.actions == item).any(axis=1).sum())
        assert_binomial(shown, n, min(1.0, every[item]))


@cases
def test_everything_available_changes_nothing(kind, m):
    exploration, contexts = MADE[kind](m), np.arange(40) % N_CONTEXTS
    everything = np.ones((40, K), bool)
    plain, limited = (
        exploration.ask(contexts, available=available, rng=1) for available in (None, everything)
    )
    assert plain.available is None
    np.testing.assert_array_equal(plain.actions, limited.actions)
    np.testing.assert_allclose(plain.propensities, limited.propensities, rtol=1e-14)


@cases
def test_batches_may_be_split(kind, m):
    exploration, mask = MADE[kind](m), masks(30, m)
    contexts, rng = np.arange(30) % N_CONTEXTS, np.random.default_rng(3)
    uniforms = rng.random((30, exploration.draws_per_round))
    whole = exploration.choose(contexts, uniforms, available=mask)
    answers = exploration.policies.answers(contexts, mask)
    for part in (slice(0, 7), slice(7, 8), slice(8, 30)):
        some = exploration.choose(contexts[part], uniforms[part], available=mask[part])
        same = exploration.choose(answers.take(part), uniforms[part])
        for one, two, every in zip(some, same, whole, strict=True):
            np.testing.assert_array_equal(one, every[part])
            np.testing.assert_array_equal(two, every[part])


def test_names_will_do():
    names = [f"item {item}" for item in range(K)]
    candidates = ps.PolicyTable(policies(1).table, actions=names, fallback=names)
    exploration = UniformExploration(candidates, ps.Problem(actions=names, epsilon=0.1, delta=0.1))
    decisions = exploration.ask([0, 1], available=[["item 3"], ["item 5", "item 2"]], rng=0)
    assert decisions.action_names[0, 0] == "item 3"
    assert decisions.propensities[:, 0].tolist() == [1.0, 0.5]


def test_answers_know_what_is_available():
    exploration = mixture(1)
    answers = exploration.policies.answers([0], masks(1, 1))
    with pytest.raises(ps.InvalidArgumentError, match="answers know what was available"):
        exploration.propensities(answers, available=masks(1, 1))


def test_classes_that_cannot_be_listed_refuse_it():
    tabular = ps.TabularPolicies(n_contexts=3, n_actions=K)
    learner = ps.Uniform(tabular, problem(1), rounds=5)
    for ask in (learner.ask, learner.exploration.ask):
        with pytest.raises(ps.InvalidArgumentError, match=r"TabularPolicies: .* cannot be listed"):
            ask([0], available=[[1, 2]])
    assert learner.pending == 0
    log = ps.Log(contexts=[0], actions=[1], propensities=[0.5], rewards=[1], available=[[1, 2]])
    with pytest.raises(ps.InvalidArgumentError, match=r"TabularPolicies: .* cannot be listed"):
        ps.design(log, tabular, problem(1))


def test_policies_that_were_fitted_for_an_exploration_refuse_it():
    fitted = FittedMixture(
        ps.FunctionPolicies([lambda x: x * 0], K), problem(1), support=[0], shares=[1.0], mixing=0.5
    )
    assert fitted.propensities(np.arange(2)).shape == (2, K)
    with pytest.raises(ps.InvalidArgumentError, match="left out with policies that were fitted"):
        fitted.ask(np.arange(2), available=masks(2, 1))


def test_a_saved_exploration_knows_the_fallback(tmp_path):
    exploration = mixture(1)
    exploration.save(tmp_path / "design.npz")
    loaded = ps.Exploration.load(tmp_path / "design.npz", policies(1))
    np.testing.assert_array_equal(
        loaded.propensities([1], available=masks(1, 1)),
        exploration.propensities([1], available=masks(1, 1)),
    )
    for order, words in ((ORDER[::-1], r"fallback=\[3, 1, 5"), (None, "none")):
        other = ps.PolicyTable(policies(1).table, n_actions=K, fallback=order)
        with pytest.raises(ps.InvalidArgumentError, match=rf"fallback .* made for, .*got {words}"):
            ps.Exploration.load(tmp_path / "design.npz", other)
