"""A study and a plain model of it: any calls in any order leave the same rounds."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import policysieve as ps
from policysieve.study import storage
from tests.study.cases import PROBLEM, contexts, linear

OPEN, GIVEN_UP = "open", "given up"
DEADLINE = 100.0
PLACES = st.lists(st.integers(1, 12), min_size=1, max_size=5)


class Machine(RuleBasedStateMachine):
    """The model is a list: for each round in the order of decisions its id, reward and batch."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{Path(self.folder.name) / 'study.db'}"
        self.ids, self.rewards, self.batch, self.asked, self.x = [], [], [], [], []
        self.late, self.refused, self.expired = set(), set(), set()
        self.clock = 1e9
        made = ps.Study.create(self.url, "s", linear(), PROBLEM, seed=0, deadline=DEADLINE)
        self._use(made)

    def _use(self, study):
        self.study = study
        study._storage.now = lambda _: self.clock

    def _pass_deadlines(self):
        """The prefix is swept whenever something is settled and learnt."""
        for place in range(len(self.ids)):
            if self.asked[place] > self.clock - DEADLINE:
                return
            if self.rewards[place] is OPEN:
                self.rewards[place] = 0.0

    @rule(n=st.integers(1, 4), named=st.booleans())
    def ask(self, n, named):
        first = len(self.ids)
        names = [f"mine {first + k}" for k in range(n)] if named else None
        x = contexts(n, seed=first)
        decisions = self.study.ask(x, ids=names)
        assert decisions.numbers.tolist() == list(range(first, first + n))
        self.ids += decisions.ids.tolist()
        self.rewards += [OPEN] * n
        self.batch += [first] * n
        self.asked += [self.clock] * n
        self.x += list(x)

    @precondition(lambda self: self.ids)
    @rule(places=PLACES, reward=st.sampled_from([0.0, 1.0]), again=st.booleans())
    def tell(self, places, reward, again):
        """The last rounds are open more often than others."""
        places = sorted({-place % len(self.ids) for place in places})
        if again and self.rewards[places[0]] in (0.0, 1.0):
            reward = self.rewards[places[0]]
            places = [place for place in places if self.rewards[place] in (OPEN, reward)]
        ids = [self.ids[place] for place in places]
        states = [self.rewards[place] for place in places]
        late = [self._is_late(place) for place in places]
        conflicts = [
            place
            for place, state, is_late in zip(places, states, late, strict=True)
            if not is_late and state is not OPEN and state != reward
        ]
        if conflicts:
            with pytest.raises(ps.DecisionsError, match="audit"):
                self.study.tell(ids, np.full(len(ids), reward))
            self.refused |= {(place, reward) for place in conflicts}
            return
        told = self.study.tell(ids, np.full(len(ids), reward))
        assert told.late == tuple(i for i, is_late in zip(ids, late, strict=True) if is_late)
        for place, is_late in zip(places, late, strict=True):
            if is_late:
                self.late.add((place, reward))
                if self.rewards[place] is OPEN:
                    self.rewards[place] = 0.0
                    self.expired.add(place)
            elif self.rewards[place] is OPEN:
                self.rewards[place] = reward
        self._sweep()

    def _is_late(self, place):
        if self.rewards[place] is GIVEN_UP or place in self.expired:
            return True
        return self.rewards[place] is OPEN and self.asked[place] + DEADLINE < self.clock

    def _sweep(self):
        before = [place for place, reward in enumerate(self.rewards) if reward is OPEN]
        self._pass_deadlines()
        self.expired |= {place for place in before if self.rewards[place] is not OPEN}

    @precondition(lambda self: self.ids)
    @rule(place=st.integers(1, 40))
    def discard(self, place):
        place = -place % len(self.ids)
        if self.rewards[place] is not OPEN or self._is_late(place):
            with pytest.raises(ps.DecisionsError):
                self.study.discard(self.ids[place], reason="lost")
            return
        self.study.discard(self.ids[place], reason="lost")
        self.rewards[place] = GIVEN_UP
        self._sweep()

    @rule(seconds=st.sampled_from([60.0, 150.0]))
    def wait(self, seconds):
        self.clock += seconds

    @rule()
    def reopen(self):
        self.study.close()
        self._use(ps.Study.open(self.url, "s", linear()))

    @rule()
    def learn(self):
        self.study.learn()
        self._sweep()

    @invariant()
    def the_same_rounds(self):
        status = self.study.status()
        assert status.rounds == len(self.ids)
        assert status.open == sum(reward is OPEN for reward in self.rewards)
        assert status.discarded == sum(reward is GIVEN_UP for reward in self.rewards)
        assert status.expired == len(self.expired)
        assert (status.late, status.refused) == (len(self.late), len(self.refused))
        end = next((b for b, r in zip(self.batch, self.rewards, strict=True) if r is OPEN), None)
        end = len(self.ids) if end is None else end
        assert status.learnt == end
        kept = [place for place in range(end) if self.rewards[place] is not GIVEN_UP]
        log = self.study.log()
        assert log.rewards[:, 0].tolist() == [self.rewards[place] for place in kept]
        if kept:
            np.testing.assert_array_equal(log.contexts, np.array(self.x)[kept])

    def teardown(self):
        assert self.study.verify().holds
        self.study.close()
        self.folder.cleanup()


def test_any_calls_in_any_order(monkeypatch):
    monkeypatch.setattr(storage, "_SYNCHRONOUS", "OFF")
    few = settings(max_examples=30, stateful_step_count=30, deadline=None, derandomize=True)
    case = Machine.TestCase
    case.settings = few
    case("runTest").runTest()
