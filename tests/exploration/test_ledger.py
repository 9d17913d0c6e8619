"""Rounds on their way from decision to learning."""

import copy
import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.ledger import Ledger


class Kept(list):
    """Something that is kept with rounds."""

    grows = True

    def take(self, which):
        return Kept(np.array(self, dtype=object)[which])

    def plus(self, later):
        return Kept([*self, *later])


def issue(ledger, n, exploration="first", kept=True):
    first = ledger.issued
    numbers = np.arange(first, first + n)
    return ledger.issue(
        numbers * 10,
        (numbers % 3)[:, None].astype(np.int32),
        np.full((n, 1), 0.5),
        exploration=exploration,
        kept=Kept(numbers) if kept else None,
    )


def settle(ledger, decisions, reward=1.0):
    rewards = None if reward is None else np.full((len(decisions), 1), reward)
    ledger.settle(ledger.check(decisions), rewards)


def test_what_is_kept_is_let_go_of():
    """Under one exploration that is never changed, as uniform exploration has it."""
    ledger, learnt = Ledger(), 0
    for k in range(500):
        settle(ledger, issue(ledger, 3))
        (part,), learnt = ledger.ready(learnt)
        assert list(part.kept) == [3 * k, 3 * k + 1, 3 * k + 2]
        ledger.forget(learnt)
    assert len(ledger._starts) == len(ledger._batches) == 1
    assert len(ledger._batches[0][1]) < 200


@pytest.mark.parametrize("kept", [True, False])
def test_parts_have_one_exploration_and_what_was_kept(kept):
    ledger = Ledger()
    sizes = [(3, "a"), (2, "a"), (4, "b")]
    batches = [issue(ledger, n, exploration, kept) for n, exploration in sizes]
    for batch in batches[::-1]:
        assert ledger.ready(0) is None
        settle(ledger, batch)
    parts, learnt = ledger.ready(0)
    assert learnt == 9
    assert [part.exploration for part in parts] == ["a", "b"]
    assert [len(part.rounds) for part in parts] == [5, 4]
    assert parts[1].rounds.contexts.tolist() == [50, 60, 70, 80]
    if kept:
        assert [list(part.kept) for part in parts] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]


def test_discarded_rounds_are_left_out_of_parts():
    ledger = Ledger()
    one, two = issue(ledger, 4), issue(ledger, 2)
    settle(ledger, one[[1, 3]], None)
    settle(ledger, one[[0, 2]])
    assert (ledger.pending(0), ledger.waiting(0)) == (2, 4)
    (part,), learnt = ledger.ready(0)
    assert (learnt, list(part.kept), part.rounds.contexts.tolist()) == (4, [0, 2], [0, 20])
    assert (ledger.pending(4), ledger.waiting(4)) == (2, 2)
    settle(ledger, two, None)
    assert ledger.ready(4) == ([], 6)
    assert (ledger.pending(6), ledger.waiting(6)) == (0, 0)


def test_counts_are_those_of_the_states():
    """Against counting anew, in a long random story."""
    rng, ledger, learnt, open_ = np.random.default_rng(0), Ledger(), 0, []
    for _ in range(400):
        open_.append(issue(ledger, int(rng.integers(1, 40)), exploration=int(rng.integers(3))))
        while len(open_) > 5:
            batch = open_.pop(0 if rng.random() < 0.8 else int(rng.integers(len(open_))))
            cut = len(batch) if rng.random() < 0.7 else int(rng.integers(0, len(batch)))
            settle(ledger, batch[:cut], None if rng.random() < 0.3 else 1.0)
            if cut < len(batch):
                open_.insert(0, batch[cut:])
        if rng.random() < 0.1:
            places = ledger.check(open_[0])
            ledger.settle(places, None)
            ledger.reopen(places)
        ready = ledger.ready(learnt)
        if ready is not None:
            learnt = ready[1]
            ledger.forget(learnt)
        states = ledger._states[learnt - ledger._first :]
        assert ledger.pending(learnt) == (states == 0).sum() == len(ledger.open())
        assert ledger.waiting(learnt) == (states != 2).sum()
    for batch in open_:
        settle(ledger, batch)
    assert ledger.ready(learnt)[1] == ledger.issued
    assert ledger._first > 0  # some were forgotten on the way


class Counted(np.ndarray):
    """States that count how many of them are looked at."""

    seen = 0

    def __getitem__(self, which):
        part = np.asarray(self)[which]
        Counted.seen += np.size(part)
        return part


def test_settling_costs_the_same_however_much_is_open(monkeypatch):
    """Rounds looked at by one tell, with ten and with a hundred thousand open ones."""
    states, looked = Ledger._states.fget, []
    spy = property(lambda ledger: states(ledger).view(Counted))
    for n_open in (10, 100_000):
        ledger = Ledger()
        issue(ledger, 1)
        issue(ledger, n_open, kept=False)
        last = issue(ledger, 1)
        ledger.pending(0)
        Counted.seen = 0
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "_states", spy)
            settle(ledger, last)
            assert ledger.ready(0) is None
            ledger.pending(0)
        looked.append(Counted.seen)
    assert looked[0] == looked[1] < 10


def test_what_it_did_not_issue_is_refused():
    ledger, other = Ledger(), Ledger()
    mine, theirs = issue(ledger, 3), issue(other, 3)
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        ledger.check(theirs)
    alone = ps.Exploration.kinds["UniformExploration"](
        ps.PolicyTable([[0, 1]], n_actions=2), ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    ).ask([0])
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        ledger.check(alone)
    with pytest.raises(ps.DecisionsError, match="twice"):
        ledger.check(mine[[0, 0]])
    settle(ledger, mine)
    with pytest.raises(ps.DecisionsError, match="before, for instance round 0"):
        ledger.check(mine)


def test_copies_of_copies_know_what_each_issued():
    original = Ledger()
    batches = {0: issue(original, 2)}
    copies = [original]
    for k in range(1, 4):
        copies.append(pickle.loads(pickle.dumps(copies[-1])))
        batches[k] = issue(copies[-1], 2)
    late = issue(original, 2)
    assert len(copies[3].check(copies[3].open())) == 8
    for k in range(4):
        assert len(copies[3].check(batches[k])) == 2
    for copied in copies[1:]:
        with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
            copied.check(late)
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        copies[1].check(batches[3])
    untouched = copy.deepcopy(copy.deepcopy(copies[3]))
    assert len(untouched.check(copies[3].open())) == 8
