"""The Sieve: valid whatever it does, and sooner done than uniform exploration."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.designs.needs import needs_of
from tests.contracts.explorer_contract import ExplorerContract
from tests.exploration.cases import play
from tests.oracles import sieve as oracle
from tests.oracles.naive import importance_weighted
from tests.statistics import assert_at_most


class TestSieveForTheBest(ExplorerContract):
    def make(self, policies, problem, seed):
        return ps.Sieve(policies, problem, goal="best", rounds=5000, rng=seed)


def one_good(K=20, n_policies=40, seed=0, **arguments):
    world = ps.worlds.SparseSynthetic(
        n_actions=K,
        n_contexts=100,
        n_policies=n_policies,
        profile="one_good",
        rng=seed,
        **arguments,
    )
    return world, ps.PolicyTable(world.pool, n_actions=K)


def at(design, slates):
    """W of every item that a survivor shows at a context with these slates, by the slow twin."""
    needs = dict(zip(design.survivors.tolist(), design.need, strict=True))
    shares = dict(zip(design.support.tolist(), design.shares, strict=True))
    return oracle.propensities(design.mixing, slates, needs, shares)


def designs_met(learner, world, rounds, rng=1):
    """Play, and yield each design when it has just been made."""
    rng, last = np.random.default_rng(rng), learner.exploration
    yield last
    while learner.rounds < rounds and not learner.finished:
        draw = world.draw(min(learner.ask_limit, 50), rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))
        if learner.exploration is not last:
            last = learner.exploration
            yield last


@pytest.mark.parametrize("m", [1, 2])
def test_propensities_floors_and_ranges_are_exact(m):
    """In every epoch, at every context, for survivors and for policies that are out."""
    world, policies = one_good(K=6, n_policies=8, slate_size=m)
    learner = ps.Sieve(policies, world.problem(epsilon=0.02, delta=0.2), mixing=0.4, rng=0)
    cap, slates = learner.problem.reward_cap, policies.actions(np.arange(100))
    sizes, spread = set(), False
    for design in designs_met(learner, world, 1200):
        largest, smallest = np.zeros(8), 1.0
        for x in range(100):
            W = at(design, slates[x])
            smallest = min(smallest, *W.values())
            for p in range(8):
                earned = [cap / W[int(j)] for j in slates[x, p] if int(j) in W]
                largest[p] = max(largest[p], *earned, 0.0)
        assert design.floor == pytest.approx(smallest, rel=1e-9)
        assert (largest <= design.ranges * (1 + 1e-9)).all()
        np.testing.assert_allclose(
            design.ranges[design.survivors], largest[design.survivors], rtol=1e-9
        )
        sizes.add(len(design.survivors))
        spread |= bool(np.ptp(design.need) > 0.1)
    assert len(sizes) > 1
    assert spread
    assert learner.mixing == 0.4
    decisions = learner.ask(np.arange(100)[: learner.ask_limit])
    for x, (shown, found) in enumerate(zip(decisions.actions, decisions.propensities, strict=True)):
        W = at(learner.exploration, slates[x])
        np.testing.assert_allclose(found, [W[int(j)] for j in shown], rtol=1e-9)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("goal", ["certify", "best"])
def test_ranges_bound_what_was_earned(m, goal):
    """Every importance-weighted reward of a run is within the range its block was given."""
    world, policies = one_good(K=8, n_policies=10, slate_size=m, sparsity=float(m))
    learner = ps.Sieve(policies, world.problem(epsilon=0.02, delta=0.2), goal=goal, rng=0)
    ps.run(learner, world, 1000, rng=1)
    log = learner.log
    slates = policies.actions(log.contexts).tolist()
    earned = importance_weighted(slates, log.actions, log.propensities, log.rewards)
    start = 0
    for block in learner.evidence.record.blocks:
        end = start + block.events.n_rounds
        floor = learner.problem.reward_cap / block.largest
        assert (log.propensities[start:end] >= floor * (1 - 1e-9)).all()
        assert (earned[start:end] <= block.ranges * (1 + 1e-9)).all()
        start = end
    assert start == len(log) > 200
    assert earned.max() > 1


def functions(m, n_policies=6, K=9):
    """Functions of numbers that nobody can list, and the table of what they do below 500."""
    rules = [
        lambda x, p=p: np.stack([(x // (p + 1) + 2 * p + j) % K for j in range(m)], axis=-1)
        for p in range(n_policies)
    ]
    table = np.stack([rule(np.arange(500)) for rule in rules], axis=1)
    return (
        ps.FunctionPolicies(rules, n_actions=K, slate_size=m),
        ps.PolicyTable(table, n_actions=K),
    )


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("mixing", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("widest", [1.0, 30.0, 1e4])
def test_ranges_where_contexts_cannot_be_listed(m, mixing, widest):
    """Bounds from the needs alone hold at all contexts, and are no better than listing them."""
    unlisted, listed = functions(m)
    problem = ps.Problem(n_actions=9, slate_size=m, epsilon=0.1, delta=0.1)
    rng = np.random.default_rng(int(widest))
    p_hat, need = rng.dirichlet(np.full(6, 0.3)), widest ** -rng.random(6)
    p_hat[2] = 0.0
    arguments = {
        "survivors": np.arange(6),
        "need": need,
        "p_hat": p_hat,
        "mixings": np.array([mixing]),
    }
    (design,) = needs_of(unlisted, problem, **arguments, listed=False)
    (known,) = needs_of(listed, problem, **arguments, listed=True)
    assert known.floor >= design.floor * (1 - 1e-9)
    assert (known.ranges <= design.ranges * (1 + 1e-9)).all()
    for slates in listed.actions(np.arange(500)):
        W = at(design, slates)
        assert min(W.values()) >= design.floor * (1 - 1e-9)
        for p in range(6):
            earned = max(problem.reward_cap / W[int(j)] for j in slates[p])
            assert earned <= design.ranges[p] * (1 + 1e-9)
    assert design.floor > 0


def test_contexts_are_listed_only_when_that_is_cheap(monkeypatch):
    """From as many rounds on as there are contexts, or when there are few slates in all."""
    monkeypatch.setattr("policysieve.exploration.learners.sifting._CHEAP", 499)
    pairs = [lambda x, k=k: (x + k // 2) % 9 for k in range(6)]  # two policies of each kind
    unlisted = ps.FunctionPolicies(pairs, n_actions=9)
    listed = ps.PolicyTable(unlisted.actions(np.arange(500)), n_actions=9)
    problem = ps.Problem(n_actions=9, epsilon=0.001, delta=0.1)
    first = [ps.Sieve(one, problem, rng=0).exploration for one in (listed, unlisted)]
    np.testing.assert_array_equal(first[0].ranges, first[1].ranges)
    late = [ps.Sieve(one, problem, mixing=0.5, rng=0) for one in (listed, unlisted)]
    for learner in late:
        play(learner, np.zeros((500, 9)), 600, 20, seed=0)
    assert (late[0].exploration.ranges < late[1].exploration.ranges).all()
    monkeypatch.undo()
    cheap = ps.Sieve(listed, problem, rng=0).exploration
    assert (cheap.ranges < first[0].ranges).all()


def graded(shares=(0.9, 0.7, 0.5, 0.3, 0.0), K=5):
    """Policies that are right at these shares of 100 contexts, else one action off."""
    x = np.arange(100)
    table = np.stack([(x + (x % 10 >= 10 * share)) % K for share in shares], axis=1)
    return ps.PolicyTable(table, n_actions=K), np.eye(K)[x % K]


def test_needs_are_larger_for_policies_closer_to_the_leader():
    policies, rewards = graded()
    problem = ps.Problem(n_actions=5, epsilon=0.05, delta=1e-9)
    learner = ps.Sieve(policies, problem, rng=0)
    play(learner, rewards, 150, 10, seed=1)
    assert len(learner.survivors) == 5
    need = learner.exploration.need
    assert need[0] == 1
    assert (np.diff(need) < 0).all()
    assert need[-1] == pytest.approx(0.05 / 0.95, rel=0.5)


def test_needs_from_the_log():
    """eps/(eps + gap), each gap half a standard error smaller than its estimate."""
    policies, rewards = graded()
    problem = ps.Problem(n_actions=5, epsilon=0.1, delta=1e-9)
    learner = ps.Sieve(policies, problem, rng=2)
    rng, checked = np.random.default_rng(3), 0
    while learner.rounds < 400:
        before = learner.exploration
        contexts = rng.integers(0, 100, 1)
        decisions = learner.ask(contexts)
        learner.tell(decisions, rewards[contexts[:, None], decisions.actions])
        if learner.exploration is before:
            continue
        log = learner.log
        slates = policies.actions(log.contexts).tolist()
        earned = importance_weighted(slates, log.actions, log.propensities, log.rewards)
        leader = learner.recommend().policy
        z = earned[:, [leader]] - earned
        gap = np.maximum(z.mean(axis=0) - z.std(axis=0) / np.sqrt(len(z)) / 2, 0)
        expected = 0.1 / (0.1 + gap[learner.survivors])
        np.testing.assert_allclose(learner.exploration.need, expected, rtol=1e-9)
        checked += 1
    assert checked > 10


def test_without_rewards_only_the_ranges_matter():
    """Then all rivals look alike, and an equal chance for all actions has the smallest range."""
    policies, rewards = graded()
    learner = ps.Sieve(policies, ps.Problem(n_actions=5, epsilon=0.05, delta=0.1), rng=0)
    play(learner, 0 * rewards, 40, 10, seed=1)
    assert (learner.exploration.need == 1).all()
    even, mixed = needs_of(
        policies,
        learner.problem,
        survivors=np.arange(5),
        need=np.ones(5),
        p_hat=np.full(5, 0.2),
        mixings=np.array([1.0, 0.5]),
        listed=True,
    )
    assert even.ranges.max() < mixed.ranges.max()
    assert learner.mixing == 1


def test_finds_certifies_and_stops():
    world, policies = one_good()
    problem = world.problem(epsilon=0.05, delta=0.05)
    learner = ps.Sieve(policies, problem, rng=1)
    result = ps.run(learner, world, 50_000, rng=2)
    assert result.finished
    assert result.recommendation.certified
    assert result.suboptimality == 0
    assert "whenever you look" in result.recommendation.guarantee
    assert result.rounds < 5000
    assert len(learner.survivors) < 40


def test_needs_fewer_rounds_than_uniform_exploration():
    """On policies of close value, with the same certificate."""
    world = ps.worlds.SparseSynthetic(
        n_actions=50, n_contexts=200, n_policies=30, profile="close", rng=3
    )
    policies = ps.PolicyTable(world.pool, n_actions=50)
    problem = world.problem(epsilon=0.08, delta=0.05)
    sieve = ps.run(ps.Sieve(policies, problem, rng=0), world, 200_000, batch_size=1000)
    assert sieve.finished
    uniform = ps.Uniform(policies, problem, rounds=2 * sieve.rounds, rng=0)
    ps.run(uniform, world, 2 * sieve.rounds, batch_size=1000)
    assert not ps.select(uniform.log, policies, problem).certificate.certified


def test_certificates_of_the_sieve_are_true():
    """Adaptive designs, elimination, optional stopping: wrong ones against delta."""
    world = ps.worlds.SparseSynthetic(
        n_actions=6, n_contexts=40, n_policies=12, profile="close", noise=0.3, rng=4
    )
    policies = ps.PolicyTable(world.pool, n_actions=6)
    problem = world.problem(epsilon=0.05, delta=0.2)
    truth = world.values(policies)
    wrong = lost = 0
    for seed in range(60):
        learner = ps.Sieve(policies, problem, rng=seed)
        result = ps.run(learner, world, 3000, checkpoints=6, rng=500 + seed)
        wrong += any(
            look.suboptimality > look.recommendation.suboptimality_bound for look in result.history
        )
        lost += truth[learner.survivors].max() < truth.max()
    assert_at_most(wrong, 60, problem.delta, alpha=1e-3)
    assert_at_most(lost, 60, problem.delta, alpha=1e-3)


def test_delayed_answers_meet_their_own_design():
    """Batches that were asked before a redesign count with the design they were asked with."""
    world, policies = one_good(K=8, n_policies=10)
    problem = world.problem(epsilon=0.1, delta=0.1)
    learner = ps.Sieve(policies, problem, rng=0)
    rng, waiting = np.random.default_rng(1), []
    for _ in range(40):
        draw = world.draw(30, rng)
        waiting.append((learner.ask(draw.contexts), draw))
        if len(waiting) > 6:
            decisions, late = waiting.pop(0)
            learner.tell(decisions, late.rewards(decisions.actions))
    for decisions, late in reversed(waiting):
        learner.tell(decisions, late.rewards(decisions.actions))
    assert learner.rounds == 1200
    assert learner.pending == 0
    assert len({block.largest for block in learner.evidence.record.blocks}) > 1


def test_functions_as_policies():
    """Contexts that cannot be listed: the floor comes from the number of survivors."""
    rules = ps.FunctionPolicies([lambda x, k=k: (x + k) % 5 for k in range(5)], n_actions=5)
    learner = ps.Sieve(rules, ps.Problem(n_actions=5, epsilon=0.1, delta=0.1), rng=0)
    rng = np.random.default_rng(0)
    while not learner.finished and learner.rounds < 20_000:
        contexts = rng.integers(0, 10**6, 50)
        decisions = learner.ask(contexts)
        learner.tell(decisions, decisions.actions[:, 0] == (contexts + 2) % 5)
    assert learner.finished
    assert learner.recommend().policy == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "win"}, "goal must be one of"),
        ({"mixing": 0}, "mixing"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_bad_arguments(arguments, message):
    world, policies = one_good()
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Sieve(policies, world.problem(epsilon=0.1, delta=0.1), **arguments)
