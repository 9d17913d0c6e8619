"""Evidence in shares is that of the class itself, to the last bit, whatever is lost."""

import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import Evidence
from policysieve.evidence.divided import DividedEvidence
from policysieve.worlds import SparseSynthetic
from tests.evidence.held import HeldPolicies

WORLD = SparseSynthetic(n_actions=12, n_contexts=60, n_policies=20, profile="one_good", rng=3)
PROBLEM = ps.Problem(n_actions=12, epsilon=0.15, delta=0.1)
TABLE = ps.PolicyTable(WORLD.pool, n_actions=12)


def same(mine, theirs):
    """Two learners know and decide the same."""
    assert mine.recommend().to_dict() == theirs.recommend().to_dict()
    for name in ("contexts", "actions", "propensities", "rewards"):
        np.testing.assert_array_equal(getattr(mine.log, name), getattr(theirs.log, name))
    divided, whole = mine.evidence, theirs.evidence
    assert isinstance(divided, DividedEvidence)
    assert not isinstance(whole, DividedEvidence)
    np.testing.assert_array_equal(divided.survivors, whole.survivors)
    for one, two in (
        (divided, whole),
        (divided.at_look, whole.at_look),
        (divided.now(), whole.now()),
    ):
        totals = one.standing.gathered().totals
        np.testing.assert_array_equal(totals, two.standing.totals)
        assert one.certificate().to_dict() == two.certificate().to_dict()
    for mine_has, theirs_has in zip(divided.standing.model, whole.standing.model, strict=True):
        np.testing.assert_array_equal(mine_has, theirs_has)
    np.testing.assert_array_equal(mine.exploration.need, theirs.exploration.need)
    found, expected = mine.intervals(), theirs.intervals()
    for name in ("values", "lower", "upper"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert mine.forecast() == theirs.forecast()
    assert divided.times_to_proof() == whole.times_to_proof()
    assert divided.compare(5, 9) == whole.compare(5, 9)


def played(policies, rounds=3000, batch=100, learner=ps.Sieve, **options):
    found = learner(policies, PROBLEM, rng=0, **options)
    ps.run(found, WORLD, rounds, batch_size=batch, progress=False)
    return found


@pytest.fixture(scope="module")
def whole():
    learner = played(TABLE)
    assert len(learner.survivors) < 20
    assert learner.recommend().certified
    return learner


@pytest.mark.parametrize("n_shares", [1, 2, 3, 20])
def test_a_sieve_on_a_class_in_shares(n_shares, whole):
    same(played(HeldPolicies(TABLE, n_shares)), whole)


@pytest.mark.parametrize("rounds", [7, 30, 95])
def test_in_the_middle_of_a_run(rounds):
    """Before the first look, between two, with batches that looks cut."""
    same(played(HeldPolicies(TABLE, 3), rounds, 13), played(TABLE, rounds, 13))


def test_policy_elimination_on_a_class_in_shares():
    options = {"rounds": 300, "batch": 50, "learner": ps.PolicyElimination}
    same(played(HeldPolicies(TABLE, 2), **options), played(TABLE, **options))


@pytest.mark.parametrize("method", ["answer", "summed", "slates_of", "look", "holds", "columns"])
def test_shares_that_are_lost_are_made_again(method, whole):
    held = HeldPolicies(TABLE, 2, lambda called, count: called == method and count % 5 == 0)
    same(played(held), whole)
    assert held.lost > 0


def test_slates_and_what_is_available():
    rng = np.random.default_rng(0)
    slates = rng.permuted(np.tile(np.arange(8), (30, 12, 1)), axis=2)[:, :, :3]
    problem = ps.Problem(n_actions=8, slate_size=3, sparsity=1.5, epsilon=0.2, delta=0.1)
    table = ps.PolicyTable(slates, n_actions=8, fallback=range(8))
    found = []
    loses = lambda _, count: count % 11 == 0  # noqa: E731
    for policies in (table, HeldPolicies(table, 3), HeldPolicies(table, 2, loses)):
        learner, draws = ps.Sieve(policies, problem, rng=1), np.random.default_rng(2)
        for size in (15, 40, 7, 90):
            x = draws.integers(30, size=size)
            mask = draws.random((size, 8)) < 0.8
            mask[:, :3] = True
            some = {"available": mask} if size != 40 else {}
            decisions = learner.ask(x, **some)
            rewards = np.where(decisions.actions == x[:, None] % 8, 0.5, 0.0)
            learner.tell(decisions, rewards)
        found.append(learner)
    whole, *divided = found
    assert divided[1].policies.lost > 0
    for learner in divided:
        same(learner, whole)


def test_units_ranges_and_rounds_told_late_and_discarded():
    problem = ps.Problem(n_actions=12, epsilon=0.5, delta=0.1, reward_range=(-1, 1))
    found = []
    for policies in (TABLE, HeldPolicies(TABLE, 3)):
        learner, rng = ps.Sieve(policies, problem, rng=1), np.random.default_rng(2)
        waiting = []
        for k in range(8):
            x = rng.integers(60, size=25)
            waiting.append(learner.ask(x, units=rng.integers(120, size=25).tolist()))
            if k % 3 == 2:
                for batch in waiting[::-1]:
                    learner.discard(batch[:2])
                    right = batch.actions[2:, 0] == WORLD.pool[batch.contexts[2:], 5]
                    learner.tell(batch[2:], right * 2.0 - 1)
                waiting = []
        found.append(learner)
    same(*found[::-1])


def test_a_copy_and_a_learner_that_goes_back():
    """An ask whose tell fails, and a pickle, whose shares know nothing yet."""
    held, whole = played(HeldPolicies(TABLE, 2), 60, 20), played(TABLE, 60, 20)
    x = np.arange(40)
    decisions, expected = held.ask(x), whole.ask(x)
    np.testing.assert_array_equal(decisions.actions, expected.actions)
    with pytest.raises(ps.errors.InvalidArgumentError):
        held.tell(decisions, np.full(40, 2.0))
    twin = pickle.loads(pickle.dumps(held))
    twin.policies.shares = [type(one)() for one in twin.policies.shares]
    rewards = (decisions.actions[:, 0] == WORLD.pool[x, 5]) * 1.0
    for one in (held, twin):
        one.tell(one.open_decisions(), rewards)
    whole.tell(expected, rewards)
    same(held, whole)
    same(twin, whole)


def test_a_tell_that_is_interrupted_after_the_shares_have_looked(monkeypatch):
    held, whole = played(HeldPolicies(TABLE, 2), 60, 20), played(TABLE, 60, 20)
    decisions, expected = held.ask(np.arange(40)), whole.ask(np.arange(40))
    rewards = (decisions.actions[:, 0] == 3) * 1.0
    with monkeypatch.context() as patch:
        patch.setattr(ps.Sieve, "_look", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            held.tell(decisions, 1 - rewards)
    held.tell(decisions, rewards)
    whole.tell(expected, rewards)
    same(held, whole)


def test_rounds_that_were_decided_elsewhere():
    """What candidates have said comes with them, and is given to the shares."""
    found = []
    for policies in (TABLE, HeldPolicies(TABLE, 3)):
        learner, other = ps.Sieve(policies, PROBLEM, rng=0), ps.Sieve(TABLE, PROBLEM, rng=0)
        rng = np.random.default_rng(0)
        for _ in range(6):
            x = rng.integers(60, size=30)
            decisions = learner.exploration.ask(x, rng=rng)
            rewards = (decisions.actions == WORLD.pool[x, 5][:, None]) * 1.0
            log = ps.Log(
                contexts=x,
                actions=decisions.actions,
                propensities=decisions.propensities,
                rewards=rewards,
            )
            learner.learn(log, learner.exploration)
        found.append(learner)
        assert other.rounds == 0
    same(*found[::-1])


@pytest.mark.parametrize("every", [7, 1000])
def test_a_study_on_a_class_in_shares(every, tmp_path):
    """Its rounds come without contexts: what was lost is made from what was said."""
    contexts, found = np.random.default_rng(0).integers(60, size=(5, 40)), []
    columns = [lambda x, c=c: c[np.asarray(x)] for c in WORLD.pool.T]
    plain = ps.FunctionPolicies(columns, n_actions=12)
    held = HeldPolicies(plain, 2, lambda _, count: count % every == 0)
    for policies in (plain, held):
        name = f"sqlite:///{tmp_path / type(policies).__name__}.db"
        study = ps.Study.create(name, "s", policies, PROBLEM, seed=0)
        said = []
        for x in contexts:
            decisions = study.ask(x)
            study.tell(decisions.ids, (decisions.actions[:, 0] == WORLD.pool[x, 5]) * 1.0)
            said.append((decisions.propensities.tolist(), study.recommend().to_dict()))
        found.append(said)
    assert found[0] == found[1]
    assert (held.lost > 0) == (every == 7)


def test_how_often_shares_are_asked():
    """Once for an ask; for a tell not at all, or twice with a look, and for what is behind it."""
    held = HeldPolicies(TABLE, 4)
    learner = ps.Sieve(held, PROBLEM, rng=0)
    decisions = learner.ask(np.arange(15))
    assert held.asked == [("answer", 4)]
    held.asked.clear()
    learner.tell(decisions, np.zeros(15))
    assert held.asked == []
    decisions = learner.ask(np.arange(5))
    held.asked.clear()
    learner.tell(decisions, np.zeros(5))
    assert held.asked == [("look", 4), ("holds", 4)]
    held.asked.clear()
    learner.ask(np.arange(15))
    assert held.asked == [("answer", 4)]


def test_only_survivors_are_asked(whole):
    seen = []

    class Told(ps.PolicyTable):
        def _evaluate(self, contexts, which):
            seen.append(self.n_policies if which is None else len(which))
            return super()._evaluate(contexts, which)

    played(HeldPolicies(Told(WORLD.pool, n_actions=12), 1))
    assert seen[0] == 20
    assert seen[-1] < 20
    assert seen == sorted(seen, reverse=True)


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        ({"against": 3}, {}),
        ({"outcomes": {"sale": (0, 1)}}, {}),
        ({}, {"additions": 1}),
        ({}, {"memory_limit": 1000}),
    ],
)
def test_what_needs_all_policies_in_one_place(problem, options):
    problem = ps.Problem(n_actions=12, epsilon=0.15, delta=0.1, **problem)
    found = []
    for policies in (HeldPolicies(TABLE, 2), TABLE):
        learner = ps.Sieve(policies, problem, rng=0, **options)
        ps.run(learner, WORLD, 100, batch_size=20, progress=False)
        assert type(learner.evidence) is Evidence
        found.append(learner.recommend().to_dict())
    assert found[0] == found[1]
