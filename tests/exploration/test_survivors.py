"""Candidates that were eliminated are not asked any more, and that changes no bit."""

import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies import Slates

K, N = 8, 12
LEARNERS = [ps.Sieve, ps.PolicyElimination]


def answers(p, x, m):
    """Candidate p is right at about 1 - p/N of the contexts."""
    off = (x * 7 + 3 * p) % N < p
    return np.stack([(x + off * (1 + p % 5) + j) % K for j in range(m)], axis=-1)


class Candidate:
    """A function that writes down when it is called; at the top of a module, so that it pickles."""

    def __init__(self, p, m):
        self.p, self.m, self.called = p, m, []

    def __call__(self, x):
        self.called.append(len(x))
        return answers(self.p, x, self.m)


def both(m=1):
    """The same candidates as functions and as a table of 400 contexts."""
    asked = ps.FunctionPolicies([Candidate(p, m) for p in range(N)], n_actions=K, slate_size=m)
    known = np.stack([answers(p, np.arange(400), m) for p in range(N)], axis=1)
    return asked, ps.PolicyTable(known, n_actions=K)


def problem(m=1):
    return ps.Problem(n_actions=K, slate_size=m, epsilon=0.05, delta=0.1)


def rewards(x, actions):
    """One action earns something at each context, most of the time."""
    return ((actions == (x % K)[:, None]) * (x % 10 < 9)[:, None]).astype(float)


def state(learner):
    """Everything that can be asked of a learner."""
    found = learner.intervals()
    proof = learner.evidence.certificate()
    return (
        learner.log,
        learner.recommend(),
        learner.survivors.tolist(),
        *(column.tolist() for column in (found.values, found.lower, found.upper)),
        proof.to_dict(),
        learner.evidence.interval(N - 1),
        learner.exploration.need.tolist(),
        learner.exploration.votes.tolist(),
    )


def play(learner, rounds, batch, seed=0, *, late=0, mix=False, restart=None):
    """Batches of a size, of which so many wait at any time; told in order or in any."""
    rng, open_batches = np.random.default_rng(seed), []
    while learner.rounds + learner.pending < rounds:
        x = rng.integers(0, 400, batch)
        open_batches.append(learner.ask(x))
        if restart is not None and learner.rounds >= restart:
            learner, restart = pickle.loads(pickle.dumps(learner)), None
        if len(open_batches) > late:
            tell(learner, open_batches, rng, mix)
    while open_batches:
        tell(learner, open_batches, rng, mix)
    return learner


def tell(learner, open_batches, rng, mix):
    decisions = open_batches.pop(rng.integers(len(open_batches)) if mix else 0)
    order = rng.permutation(len(decisions)) if mix else np.arange(len(decisions))
    for part in np.array_split(order, min(len(order), 3)):
        mine = decisions[part]
        learner.tell(mine, rewards(mine.contexts, mine.actions))


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize(
    ("batch", "how"),
    [
        (1, {}),
        (7, {}),
        (7, {"late": 20, "mix": True}),
        (7, {"late": 3, "restart": 300}),
        (100, {}),
        (100, {"late": 4}),
        (100, {"late": 4, "mix": True, "restart": 300}),
    ],
)
def test_functions_and_their_table_give_the_same_bits(kind, m, batch, how):
    asked, table = both(m)
    learners = [
        play(kind(policies, problem(m), rng=3), 900, batch, **how) for policies in (asked, table)
    ]
    assert 0 < len(learners[0].survivors) < N
    assert state(learners[0]) == state(learners[1])


@pytest.mark.parametrize("kind", LEARNERS)
def test_whoever_is_eliminated_is_not_called_any_more(kind):
    asked, _ = both()
    learner, rng, out = kind(asked, problem(), rng=1), np.random.default_rng(1), 0
    while learner.rounds < 1500:
        before = [len(candidate.called) for candidate in asked.functions]
        survivors = learner.survivors
        x = rng.integers(0, 400, 50)
        decisions = learner.ask(x)
        called = [
            len(candidate.called) - n for candidate, n in zip(asked.functions, before, strict=True)
        ]
        assert np.flatnonzero(called).tolist() == survivors.tolist()
        learner.tell(decisions, rewards(x, decisions.actions))
        learner.exploration.ask(x, rng=0)  # nor where others decide
        learner.exploration.propensities(x)
        out = max(out, N - len(survivors))
    assert out > 3
    total = [sum(candidate.called) for candidate in asked.functions]
    assert total[N - 1] < total[0]


def test_what_stands_for_the_eliminated_is_never_read(monkeypatch):
    """Other numbers there change nothing."""
    learners, whole = [], ps.Policies.answers_at
    for filler in (0, 5, K - 1):

        def filled(self, contexts, which=None, available=None, filler=filler):
            said = whole(self, contexts, which, available)
            if which is None:
                return said
            table = said.table.copy()
            table[:, np.setdiff1d(np.arange(N), which)] = filler
            return Slates(table)

        monkeypatch.setattr(ps.Policies, "answers_at", filled)
        learners.append(play(ps.Sieve(both()[0], problem(), rng=3), 900, 20, late=5, mix=True))
    assert len(learners[0].survivors) < N
    assert state(learners[0]) == state(learners[1]) == state(learners[2])


@pytest.mark.parametrize("kind", LEARNERS)
def test_evidence_that_forgets_asks_survivors_alone_as_well(kind):
    learners = [
        play(kind(policies, problem(), memory_limit=0, rng=3), 900, 30, late=2)
        for policies in both()
    ]
    assert len(learners[0].survivors) < N
    assert state(learners[0]) == state(learners[1])


def test_rounds_that_were_decided_elsewhere_by_an_older_exploration():
    """Its own survivors are asked, too: its propensities are worked out from their answers."""
    asked, table = both()
    learners = [ps.Sieve(policies, problem(), rng=3) for policies in (asked, table)]
    for learner in learners:
        first = learner.exploration
        play(learner, 600, 50)
        assert len(learner.survivors) < N
        for older in (first, learner.exploration):
            x = np.arange(100)
            decisions = older.ask(x, rng=5)
            rounds = ps.Log(
                contexts=x,
                actions=decisions.actions,
                propensities=decisions.propensities,
                rewards=rewards(x, decisions.actions),
            )
            learner.learn(rounds, older)
    assert state(learners[0]) == state(learners[1])


def test_evidence_asks_survivors_alone_about_later_rounds():
    asked, table = both()
    x = np.random.default_rng(0).integers(0, 400, 2000)
    actions = np.random.default_rng(1).integers(0, K, (2000, 1))
    log = ps.Log(
        contexts=x,
        actions=actions,
        propensities=np.full((2000, 1), 1 / K),
        rewards=rewards(x, actions),
        distributions=np.full((2000, K), 1 / K),
    )
    found = []
    for policies in (asked, table):
        evidence = ps.Evidence(policies, problem())
        for start in range(0, 2000, 250):
            evidence.add(log[start : start + 250])
        found.append((evidence.certificate().to_dict(), evidence.interval(N - 1)))
    assert found[0] == found[1]
    total = [sum(candidate.called) for candidate in asked.functions]
    assert total[0] == 2000
    assert total[N - 1] < 2000
