"""What rounds prove in which not everything was available."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import Evidence, FloorEvidence
from policysieve.exploration.designs import MixtureExploration, UniformExploration
from policysieve.log import Beside
from tests.oracles.naive import importance_weighted
from tests.statistics import assert_at_most

K, ORDER = 5, [3, 1, 0, 2, 4]
DELTA = 0.2


def small(m=1, n_policies=6, seed=0, **how):
    table = np.random.default_rng(seed).random((7, n_policies, K)).argsort(axis=-1)[..., :m]
    sparsity = 1.0 if m == 1 else 2.0
    problem = ps.Problem(n_actions=K, slate_size=m, sparsity=sparsity, epsilon=0.1, delta=0.1)
    return ps.PolicyTable(table, n_actions=K, fallback=ORDER, **how), problem


def masks(rng, n, m):
    found = rng.random((n, K)) < 0.6
    for row in found:
        row[rng.choice(K, m, replace=False)] = True
    return found


def logged(exploration, n, seed, *, limited=True, distributions=False):
    """Rounds of an exploration; item j is rewarded iff (x + j) % K == 0."""
    m, rng = exploration.problem.slate_size, np.random.default_rng(seed)
    contexts, mask = rng.integers(0, 7, n), masks(rng, n, m) if limited else None
    decisions = exploration.ask(contexts, available=mask, rng=rng)
    every = exploration.propensities(contexts, available=mask) if distributions else None
    return ps.Log(
        contexts=contexts,
        actions=decisions.actions,
        propensities=decisions.propensities,
        rewards=((contexts[:, None] + decisions.actions) % K == 0).astype(float),
        distributions=every,
        available=mask,
    )


@pytest.mark.parametrize("m", [1, 2])
def test_a_table_is_judged_as_functions_that_look_it_up(m):
    """Also if rounds with and without limits follow each other, whatever is kept of them."""
    policies, problem = small(m)
    rules = [lambda x, p=p: policies.table[x, p] for p in range(6)]
    called = ps.FunctionPolicies(rules, K, slate_size=m, fallback=ORDER)
    for order in ((False, True, False), (True, False), (True, True)):
        one, two = Evidence(policies, problem), Evidence(called, problem)
        for seed, limited in enumerate(order):
            for evidence in (one, two):
                exploration = UniformExploration(evidence.policies, problem)
                evidence.add(logged(exploration, 150, seed, limited=limited), exploration)
        assert one.certificate().to_dict() == two.certificate().to_dict()
        assert one.survivors.tolist() == two.survivors.tolist()
        np.testing.assert_array_equal(one.intervals().values, two.intervals().values)
        assert one.compare(0, 1).to_dict() == two.compare(0, 1).to_dict()


def test_an_exploration_of_other_policies_is_asked_with_what_was_available():
    policies, problem = small()
    other, _ = small(seed=5)
    exploration = MixtureExploration(other, problem, support=[0, 1], shares=[0.5, 0.5], mixing=0.5)
    log = logged(exploration, 200, 0)
    evidence, full = Evidence(policies, problem), Evidence(policies, problem)
    evidence.add(log, exploration)
    full.add(logged(exploration, 200, 0, distributions=True))
    np.testing.assert_allclose(evidence.intervals().values, full.intervals().values)


def test_select_by_every_kind_of_proof():
    policies, problem = small()
    exploration = UniformExploration(policies, problem)
    log = logged(exploration, 1500, 0, distributions=True)
    slates = policies.actions(log.contexts, available=log.available).tolist()
    naive = importance_weighted(slates, log.actions, log.propensities, log.rewards).mean(axis=0)
    capped = ps.select(log, policies, problem)
    plain = log.without_distributions()
    assert ps.select(plain, policies, problem, exploration=exploration).policy == capped.policy
    floored = ps.select(plain, policies, problem, floor=0.2)
    unproved = ps.select(plain, policies, problem)
    for found in (floored, unproved):
        np.testing.assert_allclose(found.values, naive, rtol=1e-12)
    leader = int(naive.argmax())
    assert capped.policy == floored.policy == unproved.policy == leader
    assert capped.certificate.method == "capped"
    difference = capped.compare(leader, (leader + 1) % 6)
    assert difference.lower <= naive[leader] - naive[(leader + 1) % 6] <= difference.upper


def test_select_without_the_column_would_judge_other_policies():
    """What a policy shows in place of what is missing counts for it."""
    policies, problem = small()
    log = logged(UniformExploration(policies, problem), 1500, 0, distributions=True)
    columns = (log.contexts, log.actions, log.propensities, log.rewards)
    blind = ps.Log.trusted(*columns, distributions=log.distributions)
    seen, unseen = (ps.select(one, policies, problem).values for one in (log, blind))
    assert np.abs(seen - unseen).max() > 0.1


def test_rounds_that_show_what_was_not_available_are_named():
    policies, problem = small()
    log = logged(UniformExploration(policies, problem), 50, 0)
    mask = log.available.dense()
    mask[9] = True
    mask[9, log.actions[9]] = False
    wrong = ps.Log(
        contexts=log.contexts,
        actions=log.actions,
        propensities=log.propensities,
        rewards=log.rewards,
        available=mask,
    )
    message = r"available, got \[\d\] in row 9; run policysieve check"
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.select(wrong, policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        FloorEvidence(policies, problem).add(wrong, floor=0.2)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.design(wrong, policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match=r"were available, got .* in row 9"):
        ps.worlds.Replay(wrong, n_actions=K)


def test_files_may_list_fewer_actions_than_there_are():
    """What a file says of rounds may end at the last action that it names."""
    policies, problem = small()
    log = ps.Log(
        contexts=[0, 1],
        actions=[0, 1],
        propensities=[0.5, 0.5],
        rewards=[0, 1],
        available=[[0, 1], [1, 0]],
    )
    assert log.available.n_actions == 2
    FloorEvidence(policies, problem).add(log, floor=0.2)
    narrow = log.available
    columns = (log.contexts, log.actions + 2, log.propensities, log.rewards)
    wrong = ps.Log.trusted(*columns, beside=Beside(narrow))
    with pytest.raises(ps.InvalidArgumentError, match=r"were available, got \[2\] in row 0"):
        FloorEvidence(policies, problem).add(wrong, floor=0.2)
    with pytest.raises(ps.InvalidArgumentError, match="left out with TabularPolicies"):
        ps.select(log, ps.TabularPolicies(n_contexts=2, n_actions=K), problem, floor=0.2)


class TestWhetherALogCoversAllActions:
    def log(self, seed=0, n=800):
        """Item 4 is never available, and item 0 half of the time."""
        policies, problem = small()
        rng = np.random.default_rng(seed)
        mask = np.ones((n, K), bool)
        mask[:, 4], mask[:, 0] = False, rng.random(n) < 0.5
        exploration = UniformExploration(policies, problem)
        decisions = exploration.ask(rng.integers(0, 7, n), available=mask, rng=rng)
        columns = {"contexts": decisions.contexts, "actions": decisions.actions}
        rewards = np.zeros((n, 1))
        return policies, problem, columns, decisions.propensities, rewards, mask

    def test_what_cannot_be_shown_need_not_be(self):
        policies, problem, columns, w, rewards, mask = self.log()
        log = ps.Log(**columns, propensities=w, rewards=rewards, available=mask)
        assert ps.select(log, policies, problem, floor=0.25).certificate.rounds == 800
        with pytest.raises(ps.InvalidArgumentError, match="action 4 was never shown in 800 rounds"):
            ps.select(
                ps.Log(**columns, propensities=w, rewards=rewards), policies, problem, floor=0.25
            )

    def test_wrong_propensities_are_still_found(self):
        policies, problem, columns, w, rewards, mask = self.log()
        for factor, message in ((0.7, "too small to be probabilities"), (1.5, "does not cover")):
            log = ps.Log(**columns, propensities=w * factor, rewards=rewards, available=mask)
            with pytest.raises(ps.InvalidArgumentError, match=message):
                ps.select(log, policies, problem)

    def test_an_available_action_that_is_never_shown(self):
        policies, problem, columns, w, rewards, mask = self.log()
        columns["actions"] = np.where(columns["actions"] == 0, 1, columns["actions"])
        log = ps.Log(**columns, propensities=w, rewards=rewards, available=mask)
        message = rf"action 0 was never shown in {mask[:, 0].sum()} rounds"
        with pytest.raises(ps.InvalidArgumentError, match=message):
            ps.select(log, policies, problem, floor=0.25)


def test_a_design_from_such_a_log():
    policies, problem = small()
    log = logged(UniformExploration(policies, problem), 600, 0)
    made = ps.design(log, policies, problem)
    decisions = made.ask(log.contexts, available=log.available, rng=0)
    assert decisions.available.has(decisions.actions).all()
    assert made.floor <= decisions.propensities.min()
    columns = {
        name: getattr(log, name) for name in ("contexts", "actions", "propensities", "rewards")
    }
    blind = ps.design(ps.Log(**columns), policies, problem)
    full = ps.design(ps.Log(**columns, available=np.ones((600, K), bool)), policies, problem)
    np.testing.assert_allclose(full.propensities([0, 1]), blind.propensities([0, 1]), rtol=1e-12)
    assert np.abs(made.propensities([0, 1]) - blind.propensities([0, 1])).max() > 1e-6


# --- a world made to fool whoever does not look at what was available --------------------------


class Fooling:
    """Item 0 is worth 0.9 where it is available, half of the time; item 1 is always worth 0.6.

    Policy 0 shows item 0, and else item 1: its value is 0.75. Policy 1 shows item 1. Who counts
    nothing for policy 0 where its item is not available believes in policy 1, which is worse by
    0.15. Availability goes with the context, and the other items with policies that are worse.
    """

    problem = ps.Problem(n_actions=4, epsilon=0.1, delta=DELTA)
    policies = ps.PolicyTable([[0, 1, 2, 3], [0, 1, 3, 2]], n_actions=4, fallback=[1, 2, 3])
    values = np.array([0.75, 0.6])

    def draw(self, n, rng):
        contexts = rng.integers(0, 2, n)
        mask = np.ones((n, 4), bool)
        mask[:, 0] = rng.random(n) < np.where(contexts == 0, 0.9, 0.1)
        mask[:, 2] = rng.random(n) < 0.5
        return contexts, mask

    def rewards(self, actions, rng):
        means = np.array([0.9, 0.6, 0.3, 0.2])
        return (rng.random(actions.shape) < means[actions]).astype(float)


def certified_by_the_sieve(seed):
    """Whom it certifies in such a world, at any time; None if nobody."""
    world, rng = Fooling(), np.random.default_rng(seed)
    learner = ps.Sieve(world.policies, world.problem, rng=seed)
    for _ in range(25):
        contexts, mask = world.draw(40, rng)
        decisions = learner.ask(contexts, available=mask)
        learner.tell(decisions, world.rewards(decisions.actions, rng))
        proof = learner.evidence.certificate()
        if proof.certified:
            return proof.leader
    return None


def certified_with_a_floor(seed, *, blind):
    """The same of uniform rounds, with the column or without."""
    world, rng = Fooling(), np.random.default_rng(seed)
    exploration = UniformExploration(world.policies, world.problem)
    evidence = FloorEvidence(world.policies, world.problem)
    for _ in range(10):
        contexts, mask = world.draw(100, rng)
        decisions = exploration.ask(contexts, available=mask, rng=rng)
        log = ps.Log(
            contexts=contexts,
            actions=decisions.actions,
            propensities=decisions.propensities,
            rewards=world.rewards(decisions.actions, rng),
            available=None if blind else mask,
        )
        evidence.add(log, floor=0.25)
        proof = evidence.certificate()
        if proof.certified:
            return proof.leader
    return None


RUNS = 30


def assert_right(found):
    """Policy 0 alone is within epsilon of the best."""
    assert_at_most(sum(leader not in (0, None) for leader in found), RUNS, DELTA)
    assert sum(leader == 0 for leader in found) > RUNS / 2


def test_false_certificates_are_rare():
    assert_right([certified_by_the_sieve(seed) for seed in range(RUNS)])
    assert_right([certified_with_a_floor(seed, blind=False) for seed in range(RUNS)])


def test_who_does_not_look_at_what_was_available_is_fooled():
    with pytest.raises(AssertionError):
        assert_right([certified_with_a_floor(seed, blind=True) for seed in range(RUNS)])
