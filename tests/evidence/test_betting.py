"""The betting certificate with a floor: exact, valid at any time, seldom fooled."""

import dataclasses
import pickle
from itertools import combinations, product

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import FloorEvidence
from policysieve.evidence.betting import Betting, log_prior, stakes_for
from policysieve.evidence.record import Record
from tests.evidence.records import plus
from tests.oracles import betting as oracle
from tests.statistics import assert_at_most

STAKES = 8


def case(seed, m=1, K=6, n_policies=7, n_contexts=5, n=120, reward_share=0.3):
    rng = np.random.default_rng(seed)
    table = rng.random((n_contexts, n_policies, K)).argsort(axis=-1)[..., :m]
    policies = ps.PolicyTable(table, n_actions=K)
    problem = ps.Problem(n_actions=K, slate_size=m, sparsity=2.0, epsilon=0.3, delta=0.1)
    contexts = rng.integers(0, n_contexts, n)
    shown = rng.random((n, K)).argsort(axis=1)[:, :m]
    rewards = np.where(rng.random((n, m)) < reward_share, rng.uniform(0.2, 1, (n, m)), 0.0)
    rewards *= np.minimum(1, 2 / np.maximum(rewards.sum(axis=1, keepdims=True), 1e-9))
    log = ps.Log(
        contexts=contexts,
        actions=shown,
        propensities=rng.uniform(0.2, 1, (n, m)),
        rewards=rewards,
    )
    return policies, problem, log


def naive_rewards(policies, log):
    slates = policies.actions(log.contexts).tolist()
    return oracle.rewards_of(slates, log.actions, log.propensities, log.rewards)


def stakes_of(problem):
    low = problem.epsilon / (2 * problem.reward_cap)
    odds = np.geomspace(low / (1 - low), 9, STAKES)
    return odds / (1 + odds)


def wealth(record, leader, **arguments):
    """Log-wealth of bets on a leader, at the problem's epsilon and at 0."""
    epsilons = np.array([record.problem.epsilon, 0.0])
    bets = Betting(record.problem, leader, epsilons, record.policies.n_policies, **arguments)
    return bets.after(record).log_wealth()


def naive_wealth(R, leader, problem, ranges, epsilon):
    shares = oracle.shares_of(STAKES)
    return oracle.log_wealth(R, leader, stakes_of(problem), ranges, epsilon, shares)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_wealth_equals_the_naive_product(m):
    """Of one leader after the other, continued from where the last rounds left it."""
    policies, problem, log = case(seed=m, m=m)
    record, epsilons = Record(policies, problem), np.array([problem.epsilon, 0.0])
    held = {leader: Betting(problem, leader, epsilons, 7) for leader in (0, 3)}
    R = naive_rewards(policies, log)
    largest = problem.reward_cap / 0.2
    for end in (40, 80, 120):
        record = plus(record, log[end - 40 : end], floor=0.2)
        ranges = np.full((end, 7), largest)
        for leader, betting in held.items():
            held[leader] = betting = betting.after(record)
            some = wealth(record, leader, which=np.array([5, 1]))
            for k, epsilon in enumerate(epsilons):
                naive = naive_wealth(R[:end], leader, problem, ranges, epsilon)
                np.testing.assert_allclose(betting.log_wealth()[:, k], naive, atol=1e-9)
                np.testing.assert_allclose(some[:, k], naive[[5, 1]], atol=1e-9)


@pytest.mark.parametrize("kinds", [1, 3, 12])
def test_gains_that_come_again(kinds):
    """Hits of the first few kinds in a run of events are counted, those of others added singly."""
    policies, problem, log = case(seed=kinds, n=1500, reward_share=0.6)
    propensities = np.linspace(0.2, 1, kinds)[np.arange(1500) % kinds][:, None]
    log = ps.Log(
        contexts=log.contexts,
        actions=log.actions,
        propensities=propensities,
        rewards=(log.rewards > 0) * 1.0,
    )
    R = naive_rewards(policies, log)
    ranges = np.full((1500, 7), problem.reward_cap / 0.2)
    record = plus(Record(policies, problem), log, floor=0.2)
    naive = naive_wealth(R, 2, problem, ranges, problem.epsilon)
    np.testing.assert_allclose(wealth(record, 2)[:, 0], naive, atol=1e-9)


def test_half_of_the_capital_is_on_the_boldest_stake():
    shares = np.exp(log_prior(STAKES))
    np.testing.assert_allclose(shares, oracle.shares_of(STAKES))
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("m", [1, 2])
def test_wealth_with_changing_floors(m):
    policies, problem, log = case(seed=10 + m, m=m)
    R = naive_rewards(policies, log)
    record, ranges = Record(policies, problem), np.empty((120, 7))
    for start, floor in ((0, 0.2), (30, 0.2), (60, 0.1), (90, 0.2)):
        record = plus(record, log[start : start + 30], floor=floor)
        ranges[start : start + 30] = problem.reward_cap / floor
    assert len(record.blocks) == 3
    naive = naive_wealth(R, 2, problem, ranges, problem.epsilon)
    np.testing.assert_allclose(wealth(record, 2)[:, 0], naive, atol=1e-9)


@pytest.mark.parametrize("m", [1, 2])
def test_the_bound_is_where_the_slowest_rival_passes(m):
    policies, problem, log = case(seed=20 + m, m=m, n=600)
    R = naive_rewards(policies, log)
    met = 0
    for epsilon, n in product((0.05, 0.3, 0.9), (60, 200, 600)):
        question = dataclasses.replace(problem, epsilon=epsilon, delta=0.5)
        evidence = FloorEvidence(policies, question)
        evidence.add(log[:n], floor=0.2)
        proof = evidence.certificate()
        rivals = np.flatnonzero(~proof.eliminated & (np.arange(7) != proof.leader))
        ranges = np.full((n, 7), problem.reward_cap / 0.2)

        def hardest(epsilon, n=n, proof=proof, rivals=rivals, ranges=ranges, question=question):
            found = naive_wealth(R[:n], proof.leader, question, ranges, epsilon)
            return found[rivals].min()

        bound = proof.suboptimality_bound
        assert bound <= problem.reward_cap
        if bound < problem.reward_cap:
            met += 1
            assert hardest(bound) >= proof.log_threshold - 1e-9
            assert hardest(bound * 0.995) < proof.log_threshold
    assert met > 1


def test_many_rivals_are_searched_in_parts(monkeypatch):
    policies, problem, log = case(seed=3, n_policies=60, n=500)
    found = []
    for hard in (4, 1, 100):
        monkeypatch.setattr("policysieve.evidence.certificate._HARD", hard)
        evidence = FloorEvidence(policies, problem)
        evidence.add(log, floor=0.2)
        found.append(evidence.certificate().suboptimality_bound)
    assert 0 < found[0] < problem.reward_cap
    assert found == pytest.approx([found[0]] * 3, rel=3e-3)


@pytest.mark.parametrize("m", [1, 2])
def test_the_factors_are_fair_under_the_null(m):
    """By enumeration: E Z is the difference of values, and no factor can be negative."""
    K = 4
    rng = np.random.default_rng(m)
    table = rng.random((2, 5, K)).argsort(axis=-1)[..., :m]
    rewards = rng.dirichlet(np.ones(K), size=2)
    subsets = list(combinations(range(K), m))
    values = np.array(
        [np.mean([rewards[x, table[x, p]].sum() for x in range(2)]) for p in range(5)]
    )
    for trial in range(3):  # three designs, as an adaptive explorer would use one after the other
        mixing = (1.0, 0.5, 0.2)[trial]
        shares = rng.dirichlet(np.ones(5))
        chance = np.zeros((2, len(subsets)))
        for x in range(2):
            chance[x] = mixing / len(subsets)
            for p in range(5):
                chance[x, subsets.index(tuple(sorted(table[x, p])))] += (1 - mixing) * shares[p]
        W = np.zeros((2, K))
        for x, k in product(range(2), range(len(subsets))):
            W[x, list(subsets[k])] += chance[x, k]
        ranges = 1 / (mixing * m / K + (1 - mixing) * shares)
        mean, low = np.zeros((5, 5)), np.zeros((5, 5))
        for x, k in product(range(2), range(len(subsets))):
            shown = subsets[k]
            R = np.array(
                [sum(rewards[x, j] / W[x, j] for j in shown if j in table[x, p]) for p in range(5)]
            )
            assert (ranges * (1 + 1e-12) >= R).all()
            Z = R[:, None] - R[None, :]
            mean += 0.5 * chance[x, k] * Z
            low = np.minimum(low, Z)
        np.testing.assert_allclose(mean, values[:, None] - values[None, :], atol=1e-12)
        assert (1 + 0.9 / ranges[None, :] * low > 0).all()
        for leader, rival in product(range(5), repeat=2):
            gap = values[rival] - values[leader]
            if gap > 0:
                for stake in stakes_of(ps.Problem(n_actions=K, epsilon=0.1, delta=0.1)):
                    factor = 1 + stake / ranges[rival] * (mean[leader, rival] + gap)
                    assert factor == pytest.approx(1.0)


def null_world(K=4):
    """One context; arm 0 is the best, arm 1 and 2 are worse by a little more than epsilon."""
    means = np.array([0.55, 0.44, 0.44, 0.1])
    return ps.PolicyTable(np.arange(K)[None, :], n_actions=K), means


def play(evidence, means, rng, batches, size, choose):
    """Play batches of single actions from `choose(evidence)`, yield a certificate after each."""
    for _ in range(batches):
        q = choose(evidence)
        actions = rng.choice(len(q), size=size, p=q)
        log = ps.Log(
            contexts=np.zeros(size, int),
            actions=actions,
            propensities=q[actions],
            rewards=rng.random(size) < means[actions],
        )
        evidence.add(log, floor=float(q.min()))
        yield evidence.eliminate()


def uniform(_evidence):
    return np.full(4, 0.25)


def greedy(evidence):
    """Most mass on whatever leads: adaptive, and as misleading as it can be."""
    q = np.full(4, 0.1)
    leader = 1 if not evidence.rounds else int(evidence.estimates.values.argmax())
    q[leader] += 0.6
    return q


@pytest.mark.parametrize("choose", [uniform, greedy])
def test_false_certificates_are_rarer_than_delta(choose):
    """Stop at the most favourable moment: any certificate of a wrong leader counts."""
    policies, means = null_world()
    problem = ps.Problem(n_actions=4, sparsity=4.0, epsilon=0.1, delta=0.2)
    runs, false, lost = 100, 0, 0
    for seed in range(runs):
        evidence = FloorEvidence(policies, problem)
        rng = np.random.default_rng(seed)
        wrong = gone = False
        for certificate in play(evidence, means, rng, 15, 60, choose):
            gap = means.max() - means[certificate.leader]
            wrong |= gap > certificate.suboptimality_bound
            gone |= bool(certificate.eliminated[0])
        false += wrong
        lost += gone
    assert_at_most(false, runs, problem.delta, alpha=1e-3)
    assert_at_most(lost, runs, problem.delta, alpha=1e-3)


def test_the_count_of_false_certificates_can_fail(monkeypatch):
    """With a threshold that is too low, the same count does find wrong certificates."""
    policies, means = null_world()
    problem = ps.Problem(n_actions=4, sparsity=4.0, epsilon=0.1, delta=0.2)
    monkeypatch.setattr("policysieve.evidence.floored.log", lambda _ratio: -1.0)
    false = 0
    for seed in range(60):
        evidence = FloorEvidence(policies, problem)
        rng = np.random.default_rng(seed)
        false += any(
            means.max() - means[c.leader] > c.suboptimality_bound
            for c in play(evidence, means, rng, 25, 40, uniform)
        )
    assert false > 25


def test_certifies_and_eliminates_in_the_end():
    policies, means = null_world()
    means = np.array([0.8, 0.3, 0.2, 0.1])
    problem = ps.Problem(n_actions=4, sparsity=4.0, epsilon=0.1, delta=0.05)
    evidence = FloorEvidence(policies, problem)
    bounds = list(play(evidence, means, np.random.default_rng(0), 30, 100, uniform))
    last = bounds[-1]
    assert last.leader == 0
    assert last.certified
    assert last.eliminated.tolist() == [False, True, True, True]
    assert last.suboptimality_bound == 0.0
    assert bounds[0].suboptimality_bound > 0.1
    assert evidence.survivors.tolist() == [0]


def test_pieces_do_not_matter():
    policies, problem, log = case(seed=5, n=900)
    whole, parts = FloorEvidence(policies, problem), FloorEvidence(policies, problem)
    whole.add(log, floor=0.2)
    for start in range(0, 900, 100):
        parts.add(log[start : start + 100], floor=0.2)
        parts.certificate()
    one, two = whole.certificate(), parts.certificate()
    assert one.leader == two.leader
    assert one.suboptimality_bound == pytest.approx(two.suboptimality_bound, rel=3e-3)


def test_a_certificate_keeps_to_the_rounds_it_has_seen():
    """The bound is searched for late, but on the data of its own time; a pickle has it inside."""
    policies, problem, log = case(seed=6, n=900)
    evidence, alone = FloorEvidence(policies, problem), FloorEvidence(policies, problem)
    evidence.add(log[:500], floor=0.2)
    early = evidence.certificate()
    evidence.add(log[500:], floor=0.2)
    late = evidence.certificate()
    alone.add(log[:500], floor=0.2)
    assert early.suboptimality_bound == alone.certificate().suboptimality_bound
    assert late.suboptimality_bound != early.suboptimality_bound
    assert pickle.loads(pickle.dumps(late)).to_dict() == late.to_dict()


def test_certified_means_that_the_bound_is_at_most_epsilon():
    policies, problem, log = case(seed=7, n=1500)
    for n in range(100, 1500, 100):
        for epsilon in (0.2, 0.5, 1.0):
            evidence = FloorEvidence(policies, dataclasses.replace(problem, epsilon=epsilon / 2))
            evidence.add(log[:n], floor=0.2)
            proof = evidence.certificate()
            assert proof.certified == (proof.suboptimality_bound <= epsilon / 2)


def test_duplicates_are_not_rivals():
    table = np.array([[0, 0, 1], [1, 1, 0], [2, 2, 2]])
    policies = ps.PolicyTable(table, n_actions=3)
    problem = ps.Problem(n_actions=3, epsilon=0.1, delta=0.1)
    evidence = FloorEvidence(policies, problem)
    rng = np.random.default_rng(0)
    contexts, actions = rng.integers(0, 3, 4000), rng.integers(0, 3, 4000)
    log = ps.Log(
        contexts=contexts,
        actions=actions,
        propensities=np.full(4000, 1 / 3),
        rewards=table[contexts, 0] == actions,
    )
    evidence.add(log, floor=1 / 3)
    certificate = evidence.certificate()
    assert certificate.eliminated.tolist() == [False, False, True]
    assert certificate.suboptimality_bound == 0.0


def test_before_any_round():
    policies, problem, _ = case(seed=0)
    certificate = FloorEvidence(policies, problem).certificate()
    assert certificate.rounds == 0
    assert certificate.suboptimality_bound == problem.reward_cap
    assert not certificate.certified
    assert certificate.log_threshold == pytest.approx(np.log(6 / 0.1))
    assert certificate.to_dict()["n_eliminated"] == 0


def test_kernel_compiled_equals_interpreted(monkeypatch):
    from policysieve.kernels import betting as kernel
    from policysieve.kernels.hits import find_hits

    policies, problem, log = case(seed=9, m=2, n=40)
    answers = []
    for interpreted in (False, True):
        if interpreted:
            for name in ("_log_factors", "_slot_of", "_bet_on_tile", "bet_piece"):
                monkeypatch.setattr(kernel, name, getattr(kernel, name).py_func)
            monkeypatch.setattr(kernel, "find_hits", find_hits.py_func)
        record = Record(policies, problem)
        record = plus(record, log, floor=0.2)
        with np.errstate(over="ignore"):
            answers.append(wealth(record, 1))
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-12)


def test_large_classes_are_cut_into_pieces(monkeypatch):
    policies, problem, log = case(seed=4, m=2, n_policies=50)
    answers = []
    for work in (10**9, 1):
        monkeypatch.setattr("policysieve.kernels.betting._WORK", work)
        monkeypatch.setattr("policysieve.kernels.betting._LEAST", 5)
        record = Record(policies, problem)
        record = plus(record, log, floor=0.2)
        answers.append(wealth(record, 1))
    np.testing.assert_array_equal(answers[0], answers[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"method": "fixed"}, "declared_rounds goes with"),
        ({"declared_rounds": 5}, "declared_rounds goes with"),
    ],
)
def test_bad_arguments(arguments, message):
    policies, problem, _ = case(seed=0)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        FloorEvidence(policies, problem, **arguments)


def test_bad_rounds_change_nothing():
    policies, problem, log = case(seed=0, m=1)
    evidence = FloorEvidence(policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match=r"at least the floor 0\.9"):
        evidence.add(log, floor=0.9)
    for bad in (0, 1.5, np.nan, "small"):
        with pytest.raises(ps.InvalidArgumentError, match="floor"):
            evidence.add(log, floor=bad)
    assert evidence.rounds == 0
    small = ps.Problem(n_actions=6, sparsity=0.5, epsilon=0.1, delta=0.1)
    with pytest.raises(ps.InvalidArgumentError, match=r"sparsity 0\.5"):
        FloorEvidence(policies, small).add(log, floor=0.2)
    with pytest.raises(ps.InvalidArgumentError, match="at least two"):
        FloorEvidence(ps.PolicyTable([[0]], n_actions=6), small)


def test_the_callers_arrays_are_copied():
    weights = np.full(4, 0.5)
    kept = ps.Log(
        contexts=np.arange(4), actions=np.zeros(4, int), propensities=weights, rewards=weights
    )
    weights[:] = -7
    assert (kept.propensities == 0.5).all()


@pytest.mark.parametrize("functions", [False, True])
def test_rounds_one_at_a_time_are_read_together(functions):
    """Merged blocks hold the same rounds, also for policies that are worked out each time."""
    policies, problem, log = case(seed=12, m=2, n=150, reward_share=0.2)
    if functions:
        table = policies
        policies = ps.FunctionPolicies(
            [lambda x, p=p: table.actions(x)[:, p] for p in range(7)], n_actions=6, slate_size=2
        )
    single, whole = Record(policies, problem), Record(policies, problem)
    for start, end, floor in ((0, 60, 0.2), (60, 110, 0.1), (110, 150, 0.2)):
        whole = plus(whole, log[start:end], floor=floor)
        for i in range(start, end):
            single = plus(single, log[i : i + 1], floor=floor)
    merged = single.blocks
    assert len(merged) == 3
    for one, two in zip(merged, whole.blocks, strict=True):
        assert one.events.n_rounds == two.events.n_rounds
        np.testing.assert_array_equal(one.events.rounds, two.events.rounds)
        np.testing.assert_array_equal(one.events.rewards, two.events.rewards)
        np.testing.assert_array_equal(
            one.events.table[one.events.rows], two.events.table[two.events.rows]
        )
    np.testing.assert_allclose(wealth(single, 2), wealth(whole, 2), atol=1e-10)
    nothing = Record(policies, problem)
    for _ in range(3):
        nothing = plus(nothing, log[:0], floor=0.2)
    assert nothing.blocks[0].events.n_rounds == 0


@pytest.mark.parametrize("epsilon", [0.2, 0.4, 0.6, 0.9])
def test_stakes_also_where_epsilon_exceeds_what_a_round_can_earn(epsilon):
    problem = ps.Problem(n_actions=3, sparsity=0.3, epsilon=epsilon, delta=0.1)
    stakes = stakes_for(problem)
    assert stakes[0] == pytest.approx(min(epsilon / 0.6, 0.5))
    assert stakes[-1] == pytest.approx(0.9)
    assert (np.diff(stakes) > 0).all()
