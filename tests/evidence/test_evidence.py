"""Evidence by capped scores: what its slow twin finds, whatever the parts its rounds come in."""

import copy
import inspect
import pickle
from math import log

import numpy as np
import pytest

import policysieve as ps
from tests.evidence.capped import World

WORLDS = [
    {"seed": 0, "n": 260, "epsilon": 0.3},
    {"seed": 1, "sparsity": 0.5, "epsilon": 0.2},
    {"seed": 2, "m": 2, "sparsity": 1.5},
    {"seed": 3, "m": 3, "K": 6, "n_policies": 5, "n": 110, "sparsity": None, "epsilon": 0.4},
]
TOLERANCE = 1e-3  # of a bound, relative
STEP = 1 / 11**3  # of a limit that is found by zooming in, of what a round can earn


def assert_agrees(evidence, fold):
    """The certificate is that of the twin."""
    found, expected = evidence.certificate(), fold.proof()
    assert found.leader == expected.leader
    assert np.flatnonzero(~found.eliminated).tolist() == expected.survivors
    assert found.certified == expected.certified
    assert found.log_threshold == pytest.approx(expected.log_threshold)
    proof, epsilon = evidence.proof(), evidence.problem.epsilon
    assert proof.log_threshold == found.log_threshold
    if epsilon < evidence.problem.reward_cap:
        assert proof.holds(epsilon) == expected.certified
    bound = found.suboptimality_bound
    assert expected.bound - 1e-9 <= bound <= expected.bound + TOLERANCE * bound + 1e-9
    assert found.certified == (bound <= evidence.problem.epsilon)
    assert found.rounds == evidence.rounds
    assert evidence.survivors.tolist() == fold.standing.survivors
    assert evidence.next_look == fold.next_look


def assert_intervals_agree(evidence, fold):
    """Limits are those of the twin, or on the safe side of them by a step at most."""
    found, (expected, by_betting) = evidence.intervals(), fold.intervals()
    step = STEP * evidence.problem.reward_cap + 1e-9
    for p, (value, lower, upper) in enumerate(expected):
        assert found.values[p] == pytest.approx(value, abs=1e-6)
        slack = step if p in by_betting else 1e-9
        below, above = by_betting.get(p, (lower, upper))
        lower, upper = max(lower, below), min(upper, above)
        assert lower - slack <= found.lower[p] <= lower + 1e-9
        assert upper - 1e-9 <= found.upper[p] <= upper + slack
        alone = evidence.interval(p)
        assert alone == (found.values[p], found.lower[p], found.upper[p])


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("arguments", WORLDS)
def test_agrees_with_the_twin(arguments, listed):
    """At looks and between them."""
    world = World(**arguments)
    evidence = world.evidence(None if listed else world.unlisted)
    fold, start = world.fold(known_same=listed), 0
    for end in (7, 20, 54, len(world.log)):
        world.feed(evidence, start, end)
        world.feed_fold(fold, start, end)
        assert_agrees(evidence, fold)
        start = end
    assert len(evidence.survivors) < len(world.policies) or world.problem.sparsity == 0.5
    assert_intervals_agree(evidence, fold)
    model = evidence.standing.model
    assert dict(zip(model.voters.tolist(), model.votes, strict=True)) == pytest.approx(fold.votes)
    np.testing.assert_allclose(model.rates, fold.rates, rtol=1e-9)


@pytest.mark.parametrize("arguments", WORLDS[:3])
@pytest.mark.parametrize("forget_at", [20, 65])
def test_agrees_with_the_twin_once_the_past_is_forgotten(arguments, forget_at):
    """Bets in retrospect go on for the leader at hand; later ones start from the elimination's."""
    world = World(**arguments)
    evidence = world.evidence(memory_limit=bytes_before(world, forget_at))
    fold, start = world.fold(forget_at=forget_at), 0
    for end in (50, 81, len(world.log)):
        world.feed(evidence, start, end)
        world.feed_fold(fold, start, end)
        assert_agrees(evidence, fold)
        start = end
    assert_intervals_agree(evidence, fold)
    found, expected = evidence._incumbent, fold.incumbent
    assert found.number == expected.number
    np.testing.assert_allclose(found.epsilons, fold.epsilons)
    np.testing.assert_allclose(found.log_wealth, list(expected.log_wealth.values()), atol=1e-6)


def bytes_before(world, look):
    """A memory limit that is passed at this look, and at none before."""
    evidence, start, sizes = world.evidence(), 0, [0]
    while start < look:
        end = evidence.next_look
        world.feed(evidence, start, end)
        sizes.append(evidence._past.nbytes)
        start = end
    assert start == look
    assert sizes == sorted(sizes)
    return sizes[-2]


def test_incumbents_are_counted():
    """Every new leader has a smaller part of delta, and none has the past's."""
    world = World(7, m=2, n=600, n_policies=12, epsilon=0.05, right=0)
    evidence, thresholds = world.evidence(memory_limit=0), []
    for i in range(0, 600, 5):
        world.feed(evidence, i, i + 5)
        if evidence.next_look == int(1.05 * evidence.rounds) + 1:  # it has just looked
            thresholds.append(evidence.certificate().log_threshold)
    delta = world.problem.delta
    expected = [log(11 / (0.45 * delta))]
    expected += [log(k * (k + 1) / (0.05 * delta)) for k in range(1, 20)]
    met = list(dict.fromkeys(thresholds))
    assert len(met) > 3
    assert {round(x, 9) for x in met} <= {round(x, 9) for x in expected}
    numbers = [np.isclose(expected, x).argmax() for x in thresholds]
    assert numbers == sorted(numbers)


def bits(evidence):
    """All that an evidence says, to the last bit."""
    proof, limits = evidence.certificate(), evidence.intervals()
    model = evidence.standing.model
    arrays = (
        proof.eliminated,
        limits.values,
        limits.lower,
        limits.upper,
        evidence.survivors,
        model.votes,
        model.rates,
    )
    plain = (proof.to_dict(), evidence.rounds, evidence.next_look)
    return *plain, *(array.tobytes() for array in arrays)


@pytest.mark.parametrize("memory_limit", [0, 9_000, 1 << 30])
@pytest.mark.parametrize("m", [1, 2])
def test_parts_of_the_rounds_do_not_matter(m, memory_limit):
    world = World(4, m=m, n=330, sparsity=None)
    for policies in (world.policies, world.unlisted):
        found = []
        for size in (1, 7, 330):
            evidence = world.evidence(policies, memory_limit=memory_limit)
            for start in range(0, 330, size):
                world.feed(evidence, start, start + size)
            found.append(bits(evidence))
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("m", [1, 3])
def test_lists_and_functions_give_the_same_bits(m):
    """Also when most are eliminated, and the slates of these are dropped."""
    world = World(5, m=m, n=1200, n_policies=9, n_contexts=30, epsilon=0.1, sparsity=None)
    same = world.fold().same
    assert all(len(numbers) == 1 for numbers in same)
    one, two = world.evidence(), world.evidence(world.unlisted)
    for start in range(0, 1200, 400):
        for evidence in (one, two):
            world.feed(evidence, start, start + 400)
        assert bits(one) == bits(two)
    assert len(one.survivors) < 9 / 2


@pytest.mark.parametrize("memory_limit", [0, 1 << 30])
def test_questions_change_nothing(memory_limit):
    world = World(6, n=140)
    asked, left_alone = (world.evidence(memory_limit=memory_limit) for _ in range(2))
    for start in range(0, 140, 14):
        for evidence in (asked, left_alone):
            world.feed(evidence, start, start + 14)
        before = dict(vars(asked))
        asked.certificate().to_dict()
        asked.intervals()
        asked.interval(asked.standing.leader)
        assert all(vars(asked)[name] is value for name, value in before.items())
    assert bits(asked) == bits(left_alone)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
@pytest.mark.parametrize("memory_limit", [0, 1 << 30])
def test_copies_are_independent(copied, memory_limit):
    """Each goes its own way, and both ways are those of an evidence that was never copied."""
    world, other = World(8, m=2, n=120, sparsity=None), World(9, m=2, n=120, sparsity=None)
    other.table, other.policies = world.table, world.policies
    for policies in (world.policies, world.unlisted):
        one, ways = world.evidence(policies, memory_limit=memory_limit), (world, other)
        world.feed(one, 0, 50)
        two = copied(one)
        assert bits(two) == bits(one)
        for start in range(50, 120, 10):
            for evidence, way in zip((one, two), ways, strict=True):
                way.feed(evidence, start, start + 10)
        for evidence, way in zip((one, two), ways, strict=True):
            alone = world.evidence(policies, memory_limit=memory_limit)
            world.feed(alone, 0, 50)
            way.feed(alone, 50, 120)
            assert bits(evidence) == bits(alone)


def test_a_certificate_keeps_to_the_rounds_it_has_seen():
    """The bound is searched for late, but on the data of its own time; a pickle has it inside."""
    world = World(10, n=200)
    evidence, alone = world.evidence(), world.evidence()
    world.feed(evidence, 0, 90)
    early = evidence.certificate()
    world.feed(evidence, 90, 200)
    world.feed(alone, 0, 90)
    assert early.suboptimality_bound == alone.certificate().suboptimality_bound
    assert early.suboptimality_bound != evidence.certificate().suboptimality_bound
    late = evidence.certificate(pending=3)
    assert pickle.loads(pickle.dumps(late)).to_dict() == late.to_dict()
    assert late.pending == 3


def test_before_any_round():
    world = World(0)
    evidence = world.evidence()
    proof, limits = evidence.certificate(), evidence.intervals()
    assert (proof.leader, proof.certified, proof.rounds) == (0, False, 0)
    assert proof.suboptimality_bound == world.problem.reward_cap
    assert not proof.eliminated.any()
    assert proof.log_threshold == pytest.approx(log(5 / (0.45 * 0.2)))
    assert np.isnan(limits.values).all()
    assert (limits.lower == 0).all()
    assert (limits.upper == 1).all()
    world.feed(evidence, 0, 0)
    assert evidence.rounds == 0


def test_the_last_survivor_is_the_best():
    """Nobody is left to be better, with its past or without."""
    K, n = 4, 400
    policies = ps.PolicyTable(np.arange(K)[None, :], n_actions=K)
    problem = ps.Problem(n_actions=K, epsilon=0.1, delta=0.05)
    rng = np.random.default_rng(0)
    actions = rng.integers(0, K, n)
    rounds = ps.Log(
        contexts=np.zeros(n, int),
        actions=actions,
        propensities=np.full(n, 1 / K),
        rewards=actions == 2,
    )
    for memory_limit in (0, 1 << 30):
        evidence = ps.Evidence(policies, problem, memory_limit=memory_limit)
        answers = policies.answers(rounds.contexts)
        evidence.take(rounds, answers, lambda rows: np.full((rows.stop - rows.start, K), 1 / K))
        proof = evidence.certificate()
        assert evidence.survivors.tolist() == [2]
        assert proof.certified
        assert proof.suboptimality_bound == 0


def test_no_memory_is_needed_for_what_was_forgotten():
    """Neither for rounds, nor for earlier looks."""
    world, sizes = World(11, n=900, n_policies=40, epsilon=0.01, delta=0.001, right=0), []
    evidence = world.evidence(memory_limit=0)
    for start, end in ((0, 40), (40, 900)):
        world.feed(evidence, start, end)
        sizes.append(len(pickle.dumps(evidence)))
    assert len(evidence.survivors) > 30
    assert sizes[1] < 1.5 * sizes[0]


# --- rounds that do not fit --------------------------------------------------------------------


@pytest.fixture
def with_distributions(monkeypatch):
    """Let logs have none, where they cannot have any."""
    if not hasattr(ps.Log, "distributions"):
        monkeypatch.setattr(ps.Log, "distributions", None, raising=False)


class Decider:
    """An exploration that knows its propensities by heart; it is asked in the order of rounds."""

    def __init__(self, policies, W):
        self.policies, self.W = policies, W

    def propensities(self, answers):
        now, self.W = self.W[: len(answers)], self.W[len(answers) :]
        return now


@pytest.mark.usefixtures("with_distributions")
def test_rounds_with_their_exploration():
    world = World(12)
    one, two = world.evidence(), world.evidence()
    one.add(world.log, Decider(world.policies, world.W))
    world.feed(two, 0, len(world.log))
    assert bits(one) == bits(two)


@pytest.mark.usefixtures("with_distributions")
@pytest.mark.parametrize("memory_limit", [0, 1 << 30])
def test_bad_rounds_change_nothing(memory_limit):
    world = World(13, m=2, n=100, sparsity=1.5)
    evidence = world.evidence(memory_limit=memory_limit)
    world.feed(evidence, 0, 45)
    before, later = bits(evidence), world.log[45:]
    columns = {
        "contexts": later.contexts,
        "actions": later.actions,
        "propensities": later.propensities,
    }
    rewards = later.rewards.copy()
    rewards[40] = 1.0
    with pytest.raises(ps.InvalidArgumentError, match=r"sparsity 1\.5, got 2 in row 40"):
        evidence.add(ps.Log(**columns, rewards=rewards), Decider(world.policies, world.W[45:]))
    with pytest.raises(ps.InvalidArgumentError, match="must have distributions"):
        evidence.add(later)
    wrong = world.W[45:].copy()
    wrong[30] *= 0.9
    with pytest.raises(ps.InvalidArgumentError, match=r"of the exploration .* in row 30"):
        evidence.add(later, Decider(world.policies, wrong))
    with pytest.raises(ps.InvalidArgumentError, match=r"must lie in \[0, 4\]"):
        evidence.add(ps.Log(**columns | {"actions": later.actions + 1}, rewards=later.rewards))
    with pytest.raises(ps.InvalidArgumentError, match="slate size"):
        evidence.add(World(0).log)

    def broken(rows):
        if rows.start:
            raise RuntimeError("gone")
        return world.W[45:][rows]

    with pytest.raises(RuntimeError, match="gone"):  # in the middle, after a look
        evidence.take(later, world.policies.answers(later.contexts), broken)
    assert bits(evidence) == before
    world.feed(evidence, 45, 100)
    whole = world.evidence(memory_limit=memory_limit)
    world.feed(whole, 0, 100)
    assert bits(evidence) == bits(whole)


def test_bad_arguments():
    world = World(0)
    with pytest.raises(ps.InvalidArgumentError, match="at least two, got one"):
        ps.Evidence(ps.PolicyTable([[0]], n_actions=5), world.problem)
    with pytest.raises(ps.InvalidArgumentError, match="agree on n_actions"):
        ps.Evidence(ps.PolicyTable([[0, 1]], n_actions=2), world.problem)
    with pytest.raises(ps.InvalidArgumentError, match="must be numbered"):
        ps.Evidence(ps.TabularPolicies(n_contexts=9, n_actions=5), world.problem)
    with pytest.raises(ps.InvalidArgumentError, match="must be a policy class"):
        ps.Evidence(object(), world.problem)
    with pytest.raises(ps.InvalidArgumentError, match="memory_limit"):
        world.evidence(memory_limit=-1)


@pytest.mark.skipif(
    "distributions" not in inspect.signature(ps.Log).parameters, reason="logs have none yet"
)
@pytest.mark.parametrize("m", [1, 2])
def test_a_log_with_distributions(m):
    """It has all that is needed, to the bit."""
    world = World(14, m=m)
    rounds = ps.Log(
        contexts=world.log.contexts,
        actions=world.log.actions,
        propensities=world.log.propensities,
        rewards=world.log.rewards,
        distributions=world.W,
    )
    one, two = world.evidence(), world.evidence()
    for start in range(0, len(rounds), 40):
        one.add(rounds[start : start + 40])
    world.feed(two, 0, len(rounds))
    assert bits(one) == bits(two)
