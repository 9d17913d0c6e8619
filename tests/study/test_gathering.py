"""Rounds gather before they are folded, which changes nothing that is played."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.study.learning import Learning
from tests.study.cases import PROBLEM, contexts, linear, play, rewards_of, same_bits

ROUNDS = 150


def _created(tmp_path, name, **options):
    url = f"sqlite:///{tmp_path / name}.db"
    return ps.Study.create(url, "homepage", linear(), PROBLEM, seed=0, **options)


@pytest.fixture
def folds(monkeypatch):
    """How many rounds each fold took in."""
    taken, fold = [], Learning._fold

    def counted(self, connection, units):
        taken.append(sum(len(batch) for batch, _, _ in units))
        fold(self, connection, units)

    monkeypatch.setattr(Learning, "_fold", counted)
    return taken


def _published(study):
    return study._worker.ready().version


def test_what_gathers_is_published_at_the_same_rounds_with_the_same_bits(tmp_path, monkeypatch):
    with _created(tmp_path, "gathers") as study, _created(tmp_path, "eager") as eager:
        for number in range(ROUNDS):
            play(study, 1, 1, start=number)
            with monkeypatch.context() as at_once:
                at_once.setattr("policysieve.study.learning._GATHERED", 0)
                play(eager, 1, 1, start=number)
            assert _published(study) == _published(eager), number
        assert _published(study) > 5
        assert same_bits(study, eager)
        assert study.verify().holds


def test_few_folds_take_in_many_rounds(tmp_path, folds):
    with _created(tmp_path, "few") as study:
        play(study, ROUNDS, 1)
        looks = _published(study)
        assert sum(folds) <= ROUNDS
        assert len(folds) <= looks + 2
        assert study.recommend().rounds == ROUNDS, "who asks hears of every round"
        assert sum(folds) == ROUNDS


def test_nobody_has_to_fold_very_many_at_once(tmp_path, folds, monkeypatch):
    monkeypatch.setattr("policysieve.study.learning._GATHERED", 20)
    with _created(tmp_path, "many") as study:
        play(study, 60, 10)
        assert max(folds) <= 20


def test_looking_between_changes_nothing_that_is_played(tmp_path):
    with _created(tmp_path, "looks") as study, _created(tmp_path, "alone") as alone:
        for number in range(ROUNDS):
            play(study, 1, 1, start=number)
            assert study.recommend().rounds == number + 1
            play(alone, 1, 1, start=number)
        assert same_bits(study, alone)


def test_what_a_look_has_folded_is_published_by_the_next_tell(tmp_path):
    """The rounds up to a look are told by one who does not learn; who learns only looks first."""
    with _created(tmp_path, "late") as study:
        play(study, 1, 1)
        wanted = study._worker.ready().learner._wanted
        other = ps.Study.open(str(study._storage.url), "homepage", linear(), learn=False)
        play(other, 2 * wanted + 2, 1, start=1)
        assert study.recommend().rounds == 2 * wanted + 3
        before = _published(study)
        play(study, 1, 1, start=1000)
        assert _published(study) > before
        other.close()


def test_a_round_past_its_deadline_does_not_wait_with_others(tmp_path, monkeypatch):
    with _created(tmp_path, "overdue", deadline="1h") as study:
        play(study, 101, 1)
        known = study._worker.caught_up()
        assert known.learner._wanted > 3, "so that the next tell could wait"
        lost = study.ask(contexts(1, seed=77))
        start = study._storage.now(None)
        monkeypatch.setattr(type(study._storage), "now", lambda *_: start + 7200.0)
        decisions = study.ask(contexts(1, seed=78))
        study.tell(decisions.ids, rewards_of(decisions))
        assert study.status().expired == 1
        assert study._worker.ready().learnt == 103
        assert study.tell(lost.ids, [1.0]).late == tuple(lost.ids)


def test_batches_that_were_learnt_from_leave_the_memory(tmp_path):
    with _created(tmp_path, "memory") as study:
        waiting = study.ask(contexts(3, seed=1))
        play(study, 4, 3)
        assert list(study._ledger._recent) == [0, 3, 6, 9, 12], "the first has no rewards yet"
        study.tell(waiting.ids, rewards_of(waiting))
        study.learn()
        study.ask(contexts(3, seed=2))
        assert list(study._ledger._recent) == [15]
        assert study._ledger._recent_bytes == study._ledger._size(study._ledger._recent[15])


def test_batches_in_memory_are_those_of_the_database(tmp_path):
    with _created(tmp_path, "memory") as study:
        for seed in range(6):
            study.ask(contexts(3, seed=seed))
        assert len(study._ledger._recent) == 6
        with study._storage.reading() as connection:
            kept = study._ledger.batches(connection, 0, contexts=False, most=4)
            study._ledger._recent.clear()
            read = study._ledger.batches(connection, 0, contexts=False, most=4)
        assert [batch.first for batch in kept] == [batch.first for batch in read] == [0, 3, 6, 9]
        for one, two in zip(kept, read, strict=True):
            np.testing.assert_array_equal(one.actions, two.actions)
            np.testing.assert_array_equal(one.propensities, two.propensities)
