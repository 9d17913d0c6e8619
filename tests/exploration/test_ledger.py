"""Rounds on their way from decision to learning."""

import copy
import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.ledger import Ledger
from policysieve.exploration.settled import Frontier


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


START = Frontier()


def settle(ledger, decisions, reward=1.0, frontier=START):
    """What can be learnt from then, and where the learner is when it has."""
    rewards = None if reward is None else np.full((len(decisions), 1), reward)
    return ledger.settle(ledger.check(decisions, frontier), rewards, frontier)


def test_what_is_kept_is_let_go_of():
    """Under one exploration that is never changed, as uniform exploration has it."""
    ledger, frontier = Ledger(), START
    for k in range(500):
        (part,), frontier = settle(ledger, issue(ledger, 3), frontier=frontier)
        assert list(part.kept) == [3 * k, 3 * k + 1, 3 * k + 2]
        ledger.forget(frontier.learnt)
        assert ledger._starts == ledger._batches == []
    waiting = issue(ledger, 1)
    for _ in range(500):
        _, frontier = settle(ledger, waiting, frontier=frontier)
        waiting = issue(ledger, 1)
        ledger.forget(frontier.learnt)
    assert len(ledger._starts) == len(ledger._batches) == 1
    assert len(ledger._batches[0][1]) < 200


@pytest.mark.parametrize("kept", [True, False])
def test_parts_have_one_exploration_and_what_was_kept(kept):
    ledger, frontier = Ledger(), START
    sizes = [(3, "a"), (2, "a"), (4, "b")]
    batches = [issue(ledger, n, exploration, kept) for n, exploration in sizes]
    for k, batch in enumerate(batches[::-1]):
        parts, frontier = settle(ledger, batch, frontier=frontier)
        assert bool(parts) == (k == 2)
    assert frontier == (9, 0, 0)
    assert [part.exploration for part in parts] == ["a", "b"]
    assert [len(part.rounds) for part in parts] == [5, 4]
    assert parts[1].rounds.contexts.tolist() == [50, 60, 70, 80]
    if kept:
        assert [list(part.kept) for part in parts] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]


@pytest.mark.parametrize("kept", [True, False])
def test_the_rest_of_a_batch_may_be_decided_by_another(kept):
    ledger = Ledger()
    before = issue(ledger, 2, kept=kept)
    numbers = np.arange(2, 7)
    batch = ledger.issue(
        numbers * 10,
        np.zeros((5, 1), dtype=np.int32),
        np.ones((5, 1)),
        exploration="first",
        kept=Kept(numbers) if kept else None,
        rest=(3, "today"),
    )
    after = issue(ledger, 1, kept=kept)
    assert (ledger.issued, ledger.exploring) == (8, 6)
    frontier, found = START, []
    for one in (before, batch, after):
        parts, frontier = settle(ledger, one, frontier=frontier)
        found += [(part.exploration, len(part.rounds), part.kept) for part in parts]
    expected = [
        ("first", 2, [0, 1]),
        ("first", 3, [2, 3, 4]),
        ("today", 2, None),
        ("first", 1, [7]),
    ]
    assert found == [(by, n, said if kept else None) for by, n, said in expected]


def test_discarded_rounds_are_left_out_of_parts():
    ledger = Ledger()
    one, two = issue(ledger, 4), issue(ledger, 2)
    parts, frontier = settle(ledger, one[[1, 3]], None)
    assert (parts, frontier) == ([], (0, 0, 2))
    (part,), frontier = settle(ledger, one[[0, 2]], frontier=frontier)
    assert (list(part.kept), part.rounds.contexts.tolist()) == ([0, 2], [0, 20])
    assert frontier == (4, 0, 0)
    assert (ledger.pending(frontier), ledger.waiting(frontier)) == (2, 2)
    parts, frontier = settle(ledger, two, None, frontier)
    assert (parts, frontier) == ([], (6, 0, 0))
    assert (ledger.pending(frontier), ledger.waiting(frontier)) == (0, 0)


def test_what_is_left_of_a_batch_waits():
    """Told, discarded and open rounds of several batches, some of them with nothing to learn."""
    ledger = Ledger()
    batches = [issue(ledger, 3, exploration) for exploration in ("a", "b", "a", "a")]
    _, frontier = settle(ledger, batches[1], None)
    _, frontier = settle(ledger, batches[2][[0, 2]], frontier=frontier)
    assert frontier == (0, 2, 3)
    (part,), frontier = settle(ledger, batches[0], frontier=frontier)
    assert part.exploration == "a"
    assert list(part.kept) == [0, 1, 2, 6]
    assert frontier == (7, 1, 0)
    assert ledger.open(frontier).numbers.tolist() == [7, 9, 10, 11]


def test_counts_are_those_of_the_states():
    """Against counting anew, in a long random story."""
    rng, ledger, frontier, open_ = np.random.default_rng(0), Ledger(), START, []
    for _ in range(400):
        open_.append(issue(ledger, int(rng.integers(1, 40)), exploration=int(rng.integers(3))))
        while len(open_) > 5:
            batch = open_.pop(0 if rng.random() < 0.8 else int(rng.integers(len(open_))))
            cut = len(batch) if rng.random() < 0.7 else int(rng.integers(0, len(batch)))
            if cut:
                reward = None if rng.random() < 0.3 else 1.0
                _, frontier = settle(ledger, batch[:cut], reward, frontier)
                ledger.forget(frontier.learnt)
            if cut < len(batch):
                open_.insert(0, batch[cut:])
        if rng.random() < 0.1:
            settle(ledger, open_[0], None, frontier)  # in vain: the frontier stays where it is
        waiting = ledger.open(frontier)
        assert sorted(np.concatenate([batch.numbers for batch in open_])) == list(waiting.numbers)
        assert ledger.pending(frontier) == len(waiting)
        ledger.check(waiting, frontier)
        states = ledger._columns.arrays[4][frontier.learnt - ledger._first :]
        assert ledger.pending(frontier) == (states == 0).sum()
        assert ledger.waiting(frontier) == (states != 2).sum()
    for batch in open_:
        _, frontier = settle(ledger, batch, frontier=frontier)
    assert frontier == (ledger.issued, 0, 0)
    assert ledger._first > 0  # some were forgotten on the way


def test_nothing_is_settled_before_the_frontier_moves():
    ledger = Ledger()
    batch = issue(ledger, 5)
    parts, there = settle(ledger, batch[:3])
    assert len(parts[0].rounds) == 3
    assert (ledger.pending(START), ledger.open(START).numbers.tolist()) == (5, [0, 1, 2, 3, 4])
    assert (ledger.pending(there), ledger.open(there).numbers.tolist()) == (2, [3, 4])
    taken_back, kept = ledger.as_of(START), ledger.as_of(there)
    assert len(taken_back.check(batch, START)) == 5
    with pytest.raises(ps.DecisionsError, match="before"):
        kept.check(batch, there)
    parts, there = settle(ledger, batch[1:], 0.5)  # as if the first had never been tried
    assert (parts, there) == ([], (0, 4, 0))
    (part,), there = settle(ledger, batch[:1], 1.0, there)
    assert part.rounds.rewards[:, 0].tolist() == [1.0, 0.5, 0.5, 0.5, 0.5]


class Counted(np.ndarray):
    """States that count how many of them are looked at."""

    seen = 0

    def __getitem__(self, which):
        part = np.asarray(self)[which]
        Counted.seen += np.size(part)
        return part


def test_settling_costs_the_same_however_much_is_open():
    """Rounds looked at by one tell, with ten and with a hundred thousand open ones."""
    looked = []
    for n_open in (10, 100_000):
        ledger = Ledger()
        issue(ledger, 1)
        issue(ledger, n_open, kept=False)
        last = issue(ledger, 1)
        arrays = list(ledger._columns.arrays)
        arrays[4] = arrays[4].view(Counted)
        ledger._columns.arrays = tuple(arrays)
        Counted.seen = 0
        parts, frontier = settle(ledger, last)
        assert parts == []
        assert ledger.pending(frontier) == n_open + 1
        looked.append(Counted.seen)
    assert 0 < looked[0] == looked[1] < 10


def test_what_it_did_not_issue_is_refused():
    ledger, other = Ledger(), Ledger()
    mine, theirs = issue(ledger, 3), issue(other, 3)
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        ledger.check(theirs, START)
    alone = ps.Exploration.kinds["UniformExploration"](
        ps.PolicyTable([[0, 1]], n_actions=2), ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    ).ask([0])
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        ledger.check(alone, START)
    with pytest.raises(ps.DecisionsError, match="different rounds, got round 1 twice"):
        ledger.check(mine[[1, 0, 1]], START)
    _, frontier = settle(ledger, mine)
    with pytest.raises(ps.DecisionsError, match="before, for instance round 0"):
        ledger.check(mine, frontier)


def test_copies_of_copies_know_what_each_issued():
    original = Ledger()
    batches = {0: issue(original, 2)}
    copies = [original]
    for k in range(1, 4):
        copies.append(pickle.loads(pickle.dumps(copies[-1])))
        batches[k] = issue(copies[-1], 2)
    late = issue(original, 2)
    assert len(copies[3].check(copies[3].open(START), START)) == 8
    for k in range(4):
        assert len(copies[3].check(batches[k], START)) == 2
    for copied in copies[1:]:
        with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
            copied.check(late, START)
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        copies[1].check(batches[3], START)
    untouched = copy.deepcopy(copy.deepcopy(copies[3]))
    assert len(untouched.check(copies[3].open(START), START)) == 8
