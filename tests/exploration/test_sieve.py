"""The Sieve: valid whatever it does, and sooner done than uniform exploration."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import Evidence
from tests.contracts.explorer_contract import ExplorerContract
from tests.exploration.cases import play
from tests.oracles import sieve as oracle
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
    votes = dict(zip(design.survivors.tolist(), design.votes, strict=True))
    return oracle.propensities(design.mixing, slates, needs, votes)


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
def test_propensities_are_exact_and_floors_hold(m):
    """In every epoch, at every context."""
    world, policies = one_good(K=6, n_policies=8, slate_size=m)
    learner = ps.Sieve(policies, world.problem(epsilon=0.02, delta=0.2), mixing=0.4, rng=0)
    slates = policies.actions(np.arange(100))
    sizes, spread = set(), False
    for design in designs_met(learner, world, 1200):
        found = design.propensities(np.arange(100))
        for x in range(100):
            W = at(design, slates[x])
            assert set(np.flatnonzero(found[x])) <= set(W)
            np.testing.assert_allclose(found[x, list(W)], list(W.values()), rtol=1e-9)
            assert 0 < design.floor <= min(W.values()) * (1 + 1e-9)
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
def test_contexts_that_cannot_be_listed_make_no_difference(m):
    """The same bits from a table and from functions of the same numbers."""
    K, rewards = 9, np.eye(9)[np.arange(500) % 9]
    rules = [
        lambda x, p=p: np.stack([(x // (p + 1) + 2 * p + j) % K for j in range(m)], axis=-1)
        for p in range(6)
    ]
    unlisted = ps.FunctionPolicies(rules, n_actions=K, slate_size=m)
    listed = ps.PolicyTable(unlisted.actions(np.arange(500)), n_actions=K)
    problem = ps.Problem(n_actions=K, slate_size=m, epsilon=0.02, delta=0.1)
    both = [ps.Sieve(one, problem, rng=0) for one in (listed, unlisted)]
    for learner in both:
        play(learner, rewards, 900, 20, seed=0)
    assert len(both[0].survivors) < 6
    assert both[0].log == both[1].log
    assert both[0].recommend() == both[1].recommend()


def graded(shares=(0.9, 0.7, 0.5, 0.3, 0.0), K=5):
    """Policies that are right at these shares of 100 contexts, else one action off."""
    x = np.arange(100)
    table = np.stack([(x + (x % 10 >= 10 * share)) % K for share in shares], axis=1)
    return ps.PolicyTable(table, n_actions=K), np.eye(K)[x % K]


def test_needs_are_larger_for_policies_closer_to_the_leader():
    policies, rewards = graded()
    problem = ps.Problem(n_actions=5, epsilon=0.05, delta=1e-9)
    learner = ps.Sieve(policies, problem, rng=0)
    play(learner, rewards, 40, 10, seed=1)
    assert len(learner.survivors) == 5
    need = learner.exploration.need
    assert need[0] == 1
    assert (np.diff(need) <= 0).all()
    assert need[-1] == pytest.approx(0.05 / 0.95, rel=0.5)


def test_needs_and_votes_from_estimates_and_their_errors():
    """eps/(eps + gap), each gap an error smaller than it looks; votes fall with gaps, too."""
    policies, rewards = graded()
    problem = ps.Problem(n_actions=5, epsilon=0.1, delta=1e-9)
    learner = ps.Sieve(policies, problem, rng=2)
    play(learner, rewards, 40, 1, seed=3)
    assert len(learner.survivors) > 2
    standing, design = learner.evidence.standing, learner.exploration
    values = standing.values[design.survivors]
    gap = np.maximum(values.max() - values - standing.errors, 0)
    np.testing.assert_allclose(design.need, 0.1 / (0.1 + gap), rtol=1e-12)
    order = np.argsort(-values)
    assert (np.diff(design.need[order]) <= 0).all()
    assert (np.diff(design.votes[order]) <= 0).all()
    assert design.votes[order[0]] > 2 * design.votes[order[-1]]


def test_without_rewards_all_are_alike():
    policies, rewards = graded()
    learner = ps.Sieve(policies, ps.Problem(n_actions=5, epsilon=0.05, delta=0.1), rng=0)
    first = learner.exploration
    assert (first.need == 1).all()
    np.testing.assert_allclose(first.votes, 0.2)
    play(learner, 0 * rewards, 40, 10, seed=1)
    assert len(learner.survivors) == 5
    assert learner.exploration.need.min() > 0.3


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
    selection = ps.select(uniform.log, policies, problem, exploration=uniform.exploration)
    assert selection.certificate.method == "capped"
    assert not selection.certificate.certified


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
    learner, asked_with = ps.Sieve(policies, problem, rng=0), []
    rng, waiting = np.random.default_rng(1), []
    for _ in range(40):
        draw = world.draw(30, rng)
        asked_with.append(learner.exploration)
        waiting.append((learner.ask(draw.contexts), draw))
        if len(waiting) > 6:
            decisions, late = waiting.pop(0)
            learner.tell(decisions, late.rewards(decisions.actions))
    for decisions, late in reversed(waiting):
        learner.tell(decisions, late.rewards(decisions.actions))
    assert learner.rounds == 1200
    assert learner.pending == 0
    assert len(set(map(id, asked_with))) > 5
    evidence = Evidence(policies, problem)
    for start, design in zip(range(0, 1200, 30), asked_with, strict=True):
        evidence.add(learner.log[start : start + 30], design)
    assert evidence.certificate().to_dict() == learner.evidence.certificate().to_dict()


def test_functions_as_policies():
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
        ({"memory_limit": -1}, "memory_limit"),
    ],
)
def test_bad_arguments(arguments, message):
    world, policies = one_good()
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Sieve(policies, world.problem(epsilon=0.1, delta=0.1), **arguments)


def test_rounds_behind_the_look_that_has_ended_it_take_back_no_proof():
    """Batches end where they like, and evidence of all rounds may prove less for a while."""
    world = ps.worlds.SparseSynthetic(
        n_actions=10, n_contexts=200, n_policies=20, profile="confusable", noise=0.1, rng=16
    )
    policies = ps.PolicyTable(world.pool, n_actions=10)
    learner = ps.Sieve(policies, world.problem(epsilon=0.05, delta=0.05), rng=16)
    rng = np.random.default_rng(16)
    while not learner.finished:
        draw = world.draw(137, rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))
    assert not learner.evidence.certificate().certified
    best = learner.recommend()
    assert best.certified
    assert best.suboptimality_bound <= 0.05
    assert best.rounds == learner.rounds


@pytest.mark.parametrize("seed", range(5))
def test_later_rounds_take_back_no_proof(seed):
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 5, 40)
    says = np.where(
        rng.random((40, 8)) < np.linspace(0.3, 0.8, 8), right[:, None], rng.integers(0, 5, (40, 8))
    )
    problem = ps.Problem(n_actions=5, epsilon=0.15, delta=0.3)
    learner, finished = ps.Sieve(ps.PolicyTable(says, 5), problem, rng=seed), False
    for _ in range(150):
        x = rng.integers(0, 40, 7)
        decisions = learner.ask(x)
        learner.tell(decisions, decisions.actions[:, 0] == right[x])
        assert learner.finished >= finished
        finished = learner.finished
        best, found = learner.recommend(), learner.intervals()
        assert best.certified >= finished
        limits = (found.values, found.lower, found.upper)
        assert [limit[best.policy] for limit in limits] == [best.value, best.lower, best.upper]
    assert finished
