"""Candidates that join a learner while it runs: who counts when, what is promised, every error."""

import copy
import pickle
from threading import Thread

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence.certificate import DeltaShares
from policysieve.exploration.learners import LEARNERS
from tests.evidence.capped import Column
from tests.exploration.test_interrupts import interrupted_after
from tests.statistics import assert_at_most

K, N = 6, 40
RIGHT = np.random.default_rng(0).integers(0, K, N)


def table(*shares, seed=0):
    """Columns of policies that know the right action at these shares of the contexts."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, K, (N, len(shares)))
    for p, share in enumerate(shares):
        knows = rng.random(N) < share
        columns[knows, p] = RIGHT[knows]
    return columns


OLD, NEW = table(0.1, 0.3, 0.5, 0.6), table(0.95, 0.2, seed=1)


def policies(columns, kind="table", **given):
    if kind == "table":
        return ps.PolicyTable(columns, n_actions=K, **given)
    return ps.FunctionPolicies([Column(c) for c in columns.T], n_actions=K, **given)


def problem(**given):
    return ps.Problem(n_actions=K, **({"epsilon": 0.1, "delta": 0.1} | given))


def sieve(kind="table", seed=0, additions=1, **given):
    return ps.Sieve(policies(OLD, kind), problem(), rng=seed, additions=additions, **given)


def decided(learner, n, seed):
    """A batch and its rewards."""
    decisions = learner.ask(np.random.default_rng(seed).integers(0, N, n))
    return decisions, (decisions.actions[:, 0] == RIGHT[decisions.contexts]).astype(float)


def play(learner, batches, seed=0, size=30):
    for k in range(batches):
        learner.tell(*decided(learner, size, 1000 * seed + k))
    return learner


def seen(learner):
    """All that a user sees, and what it would do next."""
    ahead = copy.deepcopy(learner).ask(np.arange(N))
    limits = learner.intervals()
    arrays = limits.values, limits.lower, limits.upper, ahead.propensities, learner.survivors
    return learner.recommend().to_dict(), *(array.tobytes() for array in arrays)


@pytest.mark.parametrize("unseen", [False, True])
def test_a_better_candidate_joins_and_is_found(unseen):
    learner = play(sieve(), 8)
    assert learner.recommend().policy < 4
    learner.add(policies(NEW), unseen=unseen)
    assert len(learner.policies) == 6
    assert np.isin([4, 5], learner.survivors).all()
    assert learner.recommend().certified is unseen  # which knows that nobody else comes near
    while not learner.finished:
        learner.tell(*decided(learner, learner.batch_size, learner.rounds))
    best = learner.recommend()
    assert best.policy == 4
    assert best.certified
    assert best.lower <= 0.95
    assert len(learner.log) == learner.rounds


@pytest.mark.parametrize("unseen", [False, True])
@pytest.mark.parametrize("kinds", [("function", "function"), ("table", "function"), "ft"])
def test_tables_and_functions_give_the_same_bits(kinds, unseen):
    """Also of rounds that were open when candidates joined."""
    kinds = ("function", "table") if kinds == "ft" else kinds
    found = []
    for first, second in (("table", "table"), kinds):
        learner = play(sieve(first), 5)
        early = decided(learner, 40, 1)
        learner.add(policies(NEW, second), unseen=unseen)
        late = decided(learner, 40, 2)
        learner.tell(*late)
        found.append(seen(learner))
        learner.tell(*early)
        found.append(seen(learner))
        found.append(seen(play(pickle.loads(pickle.dumps(learner)), 4, seed=3)))
    assert found[:3] == found[3:]


def test_rounds_decided_before_do_not_count_though_they_are_told_later():
    learner = play(sieve(), 4)
    early = decided(learner, 50, 1)
    learner.add(policies(NEW))
    late = decided(learner, 50, 2)
    learner.tell(*late)
    assert learner.rounds == 120
    learner.tell(early[0][:10], early[1][:10])
    assert learner.rounds == 130
    assert np.isnan(learner.intervals().values[4:]).all()
    learner.discard(early[0][10:20])
    learner.tell(early[0][20:], early[1][20:])
    assert learner.rounds == 210
    standing = learner.evidence.now().standing
    assert standing.cohorts.since(np.array([3, 4])).tolist() == [0, 160]
    assert standing.of_one(4)[2] == 50
    assert not np.isnan(learner.intervals().values[4:]).any()


def test_how_answers_come_does_not_matter():
    """All at once, or in parts and in another order."""
    found = []
    for parts in ([slice(0, 60)], [slice(40, 60), slice(0, 15), slice(15, 40)]):
        learner = play(sieve(), 4)
        early = decided(learner, 60, 1)
        learner.add(policies(NEW))
        for part in parts:
            learner.tell(early[0][part], early[1][part])
        found.append(seen(play(learner, 3)))
    assert found[0] == found[1]


def test_candidates_are_asked_once_for_each_context_and_only_while_they_are_in_the_race():
    learner = play(sieve("function"), 6)
    before = [one.contexts for one in learner.policies.usage().candidates]
    asked = learner.survivors
    early = decided(learner, 20, 1)
    new = policies(NEW, "function")
    learner.add(new)
    assert not new.usage().candidates
    learner.tell(*early)
    assert not new.usage().candidates
    alive = learner.survivors
    learner.tell(*decided(learner, 25, 2))
    usage = {one.policy: one.contexts for one in learner.policies.usage().candidates}
    for p in range(4):
        assert usage[p] == before[p] + 20 * (p in asked) + 25 * (p in alive)
    assert (usage[4], usage[5]) == (25, 25)


def test_unseen_candidates_are_asked_about_every_round_once():
    learner = play(sieve("function"), 6)
    early = decided(learner, 20, 1)
    new = policies(NEW, "function")
    learner.add(new, unseen=True)
    assert [one.contexts for one in new.usage().candidates] == [180, 180]
    learner.tell(*early)
    play(learner, 2)
    assert new.usage().candidates[0].contexts == 180 + 20 + 60


def test_rounds_that_are_forgotten_before_unseen_candidates_come_do_not_count():
    """They joined while the past was there, but rounds were open then, and too many for memory."""
    learner = play(sieve(memory_limit=16_000), 5)
    early = decided(learner, 200, 1)
    learner.add(policies(NEW), unseen=True)
    assert learner.evidence.standing.of_one(4)[2] == 150
    learner.tell(*early)
    assert learner.evidence._incumbent is not None
    assert learner.evidence.standing.of_one(4)[2] == 0
    play(learner, 5)
    assert learner.evidence.now().standing.of_one(4)[2] == 150


def test_names_go_on():
    named = ps.PolicyTable(OLD, n_actions=K, names=["a", "b", "c", "d"])
    learner = ps.Sieve(named, problem(against="b"), rng=0, additions=2)
    play(learner, 3)
    learner.add(policies(NEW, names=["e", "f"]))
    play(learner, 10)
    assert learner.recommend().name == "e"
    assert learner.recommend().against == "b"
    assert learner.intervals().names == ("a", "b", "c", "d", "e", "f")
    with pytest.raises(ps.InvalidArgumentError, match="got 'f', which is the name of policy 5"):
        learner.add(policies(NEW[:, :1], names=["f"]))


def test_a_certified_learner_goes_on_when_somebody_joins():
    learner = sieve()
    while not learner.finished:
        learner.tell(*decided(learner, learner.batch_size, learner.rounds))
    assert learner.recommend().certified
    learner.add(policies(NEW))
    assert not learner.finished
    assert not learner.recommend().certified
    assert learner.ask_limit > 0


def test_slates():
    rng = np.random.default_rng(0)
    columns = rng.random((N, 7, K)).argsort(axis=-1)[..., :2]
    columns[:, 6, 0] = RIGHT
    columns[:, 6, 1] = (RIGHT + 1) % K
    q = ps.Problem(n_actions=K, slate_size=2, sparsity=1.0, epsilon=0.1, delta=0.1)
    for unseen in (False, True):
        start = ps.PolicyTable(columns[:, :5], n_actions=K)
        learner = ps.Sieve(start, q, rng=0, additions=1)
        for k in range(40):
            if k == 5:
                learner.add(ps.PolicyTable(columns[:, 5:], n_actions=K), unseen=unseen)
            decisions = learner.ask(rng.integers(0, N, 40))
            learner.tell(decisions, decisions.actions == RIGHT[decisions.contexts][:, None])
        assert learner.recommend().policy == 6
        assert learner.recommend().certified


def test_rounds_of_elsewhere_come_in_the_order_of_decisions():
    learner = play(sieve(additions=2), 3)
    before = learner.exploration
    open_ones = decided(learner, 10, 0)[0]
    learner.add(policies(NEW))
    after = learner.exploration
    assert after.period == 1

    def rounds(exploration, n=20):
        made = exploration.ask(np.arange(n), rng=0)
        return ps.Log(
            contexts=made.contexts,
            actions=made.actions,
            propensities=made.propensities,
            rewards=made.actions == RIGHT[made.contexts][:, None],
        )

    learner.learn(rounds(before), before)
    assert np.isnan(learner.intervals().values[4])
    with pytest.raises(ps.InvalidArgumentError, match="tell, expire or discard these first"):
        learner.learn(rounds(after), after)
    learner.discard(open_ones)
    learner.learn(rounds(after), after)
    assert learner.evidence.standing.cohorts.since(np.array([4])).tolist() == [110]
    with pytest.raises(ps.InvalidArgumentError, match="exploration must be one that Sieve has"):
        learner.learn(rounds(before), before)
    assert learner.rounds == 130


def test_an_exploration_that_knows_them_is_saved_and_loaded(tmp_path):
    learner = play(sieve(), 3)
    learner.add(policies(NEW))
    learner.exploration.save(tmp_path / "next.npz")
    loaded = ps.Exploration.load(tmp_path / "next.npz", learner.policies)
    assert loaded.same_as(learner.exploration)
    assert loaded.period == 1


@pytest.mark.parametrize("name", sorted(set(LEARNERS) - {"Sieve", "PolicyElimination"}))
def test_other_learners_refuse(name):
    learner = LEARNERS[name](policies(OLD), problem(sparsity=1.0), rng=0)
    with pytest.raises(ps.InvalidArgumentError, match=f"{name} takes no candidates on the way"):
        learner.add(policies(NEW))
    with pytest.raises(ps.InvalidArgumentError, match=f"{name} does not begin anew"):
        learner.restart()
    assert learner.since == 0


def test_errors_change_nothing():
    learner = play(sieve("function", additions=1, memory_limit=0), 3)
    before = seen(learner)
    narrow = ps.LinearPolicies(np.zeros((1, K, 3)))
    for bad, given, match in [
        (policies(NEW), {"unseen": 1}, "unseen must be True or False, got 1"),
        (policies(NEW), {"unseen": True}, "once they were forgotten"),
        (narrow, {}, r"contexts must be feature rows of shape \(n, 3\)"),
        (OLD, {}, "policies must be a policy class"),
    ]:
        with pytest.raises(ps.InvalidArgumentError, match=match):
            learner.add(bad, **given)
        assert seen(learner) == before
    learner.add(policies(NEW, "function"))
    with pytest.raises(ps.InvalidArgumentError, match="that was once"):
        learner.add(policies(NEW, "function"))
    with pytest.raises(ps.InvalidArgumentError, match="additions must be a whole number"):
        sieve(additions=1.5)
    with pytest.raises(ps.InvalidArgumentError, match="none may; begin anew"):
        sieve(additions=0).add(policies(NEW))


def test_who_joins_while_others_are_asked_is_asked_as_well():
    """Another thread may be in the middle of an ask; here the candidate lets somebody in."""
    learner = None

    def meddles(contexts):
        if len(learner.policies) == 2:
            learner.add(ps.FunctionPolicies([Column(NEW[:, 0])], n_actions=K))
        return OLD[contexts, 0]

    both = ps.FunctionPolicies([meddles, Column(OLD[:, 1])], n_actions=K)
    learner = ps.Sieve(both, problem(), rng=0, additions=1)
    play(learner, 3)
    assert len(learner.policies) == 3
    assert learner.evidence.now().standing.of_one(2)[2] == 90


def test_a_candidate_that_fails_changes_nothing():
    learner = play(sieve("function"), 3)
    before = seen(learner)

    def fails(contexts):
        raise KeyError("no answer")

    with pytest.raises(ps.PolicyFailureError, match="policy 0 raised KeyError"):
        learner.add(ps.FunctionPolicies([fails], n_actions=K), unseen=True)
    assert seen(learner) == before


@pytest.mark.parametrize("step", ["add", "unseen", "restart"])
def test_an_interrupt_leaves_all_or_nothing(step):
    learner = play(sieve("function"), 3)
    open_ones = decided(learner, 10, 5)
    steps = {
        "add": lambda one: one.add(policies(NEW, "function")),
        "unseen": lambda one: one.add(policies(NEW, "function"), unseen=True),
        "restart": lambda one: one.restart(),
    }
    done = copy.deepcopy(learner)
    steps[step](done)
    before, after, lines, ends = seen(learner), seen(done), 1, set()
    while len(ends) < 2 and lines < 5000:
        one = copy.deepcopy(learner)
        interrupted = interrupted_after(lines, lambda one=one: steps[step](one))
        found = seen(one)
        assert found in (before, after)
        if not interrupted:
            assert found == after
            break
        ends.add(found == after)
        one.tell(*open_ones)
        lines += 1 if lines < 20 else 17
    assert False in ends


def test_candidates_join_while_other_threads_ask_and_tell():
    learner, errors = sieve("function", additions=3), []

    def serve(seed):
        try:
            play(learner, 12, seed, size=8)
        except Exception as error:  # any is one too many
            errors.append(error)

    threads = [Thread(target=serve, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for seed in range(3):
        learner.add(policies(table(0.5, seed=seed), "function"), unseen=seed == 1)
    for thread in threads:
        thread.join()
    assert not errors
    assert (learner.rounds, learner.pending, len(learner.policies)) == (4 * 12 * 8, 0, 7)
    play(learner, 1)
    assert learner.evidence.rounds == learner.rounds
    assert len(learner._waiting) == 0


# --- what is promised --------------------------------------------------------------------------


class Count:
    """Whether a certificate was ever wrong, or the best so far ever eliminated."""

    def __init__(self):
        self.wrong = self.lost = False

    def see(self, learner, values):
        proof, best = learner.evidence.certificate(), int(np.argmax(values))
        gap = values[best] - values[proof.leader]
        self.wrong |= proof.certified and gap > learner.problem.epsilon
        self.wrong |= gap > proof.suboptimality_bound
        self.lost |= bool(proof.eliminated[best])


def fitted_on_noise(seed, *, unseen):
    """Whatever was rewarded in the rounds so far is what the new candidate shows there."""
    rng, n, count = np.random.default_rng(seed), 200, Count()
    columns = np.stack([np.zeros(n, int), *rng.integers(0, 2, (2, n))], axis=1)
    means = np.array([0.6, 0.4])
    values = list(means[columns].mean(axis=0))
    q = ps.Problem(n_actions=2, epsilon=0.05, delta=0.3)
    start = ps.PolicyTable(columns, n_actions=2)
    learner = ps.PolicyElimination(start, q, rng=seed, additions=1)
    for k in range(8):
        if k == 4:
            log, earned = learner.log, np.zeros((n, 2))
            np.add.at(earned, (log.contexts, log.actions[:, 0]), log.rewards[:, 0] - 0.5)
            new = earned.argmax(axis=1)[:, None]
            values.append(means[new].mean())
            learner.add(ps.PolicyTable(new, n_actions=2), unseen=unseen)
        decisions = learner.ask(rng.integers(0, n, 50))
        learner.tell(decisions, rng.random((50, 1)) < means[decisions.actions])
        count.see(learner, values)
    return count


def test_who_was_fitted_on_noise_is_not_believed():
    runs = [fitted_on_noise(seed, unseen=False) for seed in range(24)]
    assert_at_most(sum(run.wrong for run in runs), len(runs), 0.3)


def test_who_was_fitted_on_noise_would_be_believed_if_it_were_said_to_be_unseen():
    """So the count above can fail."""
    runs = [fitted_on_noise(seed, unseen=True) for seed in range(24)]
    assert sum(run.wrong for run in runs) > 18


def join_one_after_the_other(seed, gains, *, delta=0.1, size=6, **given):
    """Noise policies join, each time with one that is better than all before by a gain."""
    rng, n, count = np.random.default_rng(seed), 30, Count()
    good = rng.integers(0, 3, n)
    means = np.full((n, 3), 0.3)
    means[np.arange(n), good] = 0.7

    def cohort(gain):
        columns = np.array([(good + rng.integers(0, 3, n)) % 3 for _ in range(size)]).T
        knows = rng.permutation(n) < n * (1 / 3 + gain)
        columns[:, -1] = np.where(knows, good, (good + rng.integers(1, 3, n)) % 3)
        return ps.PolicyTable(columns, n_actions=3)

    def valued(policies):
        return [means[np.arange(n), column].mean() for column in policies.table[:, :, 0].T]

    start = cohort(0.0)
    values = valued(start)
    q = ps.Problem(n_actions=3, epsilon=0.04, delta=delta)
    learner = ps.Sieve(start, q, rng=seed, additions=len(gains), goal="best", **given)
    for gain in (None, *gains):
        if gain is not None:
            new = cohort(gain)
            values += valued(new)
            learner.add(new)
        for _ in range(3):
            decisions = learner.ask(rng.integers(0, n, 60))
            shown = means[decisions.contexts, decisions.actions[:, 0]]
            learner.tell(decisions, (rng.random(60) < shown).astype(float))
            count.see(learner, values)
    return count


@pytest.mark.parametrize(
    ("gains", "given"),
    [
        ((0.6,), {}),  # the best joins late, when others lead for long
        ((0.2, 0.4), {}),  # who was the best is passed twice
        ((0.0, 0.0, 0.0, 0.0), {}),  # noise, again and again
        ((0.2, 0.3), {"memory_limit": 0}),  # without a past
    ],
)
def test_the_best_so_far_is_kept_and_certificates_are_right(gains, given):
    runs = [join_one_after_the_other(seed, gains, **given) for seed in range(16)]
    assert_at_most(sum(run.wrong or run.lost for run in runs), len(runs), 0.1)


def test_a_run_goes_on_with_those_who_join():
    """What the world knows of them is known of the run, too."""
    world = ps.worlds.Classification(None, RIGHT, n_actions=K, contexts="rows")
    learner = sieve(goal="best")

    def join(rounds, exploration):
        if learner.rounds > 300 and len(learner.policies) == 4:
            learner.add(policies(NEW))

    result = ps.run(learner, world, max_rounds=1000, on_batch=join, rng=0)
    assert result.recommendation.policy == 4
    assert len(result.true_values) == 6
    assert result.suboptimality == 0


def test_the_best_so_far_would_be_lost_if_nothing_had_to_be_shown(monkeypatch):
    """So the count above can fail."""
    monkeypatch.setattr(DeltaShares, "log_elimination", lambda *_: -5.0)
    runs = [join_one_after_the_other(seed, (0.2, 0.3)) for seed in range(16)]
    assert sum(run.wrong or run.lost for run in runs) > 8
