"""What was known now and then, and how much came in each hour."""

import json
import multiprocessing
import time
from types import SimpleNamespace

import numpy as np
import pytest
from sqlalchemy import create_engine, text

import policysieve as ps
from policysieve.study.history import HistoryWriter
from tests.study.cases import PROBLEM, K, N, contexts, linear, play, rewards_of

HOUR = 3600


@pytest.fixture(autouse=True)
def all_the_time(monkeypatch):
    """Let points take all the time that they need, so that tests know when there is one."""
    monkeypatch.setattr("policysieve.study.history._TIME", np.inf)


class HistoryContract:
    @pytest.fixture
    def url(self):
        raise NotImplementedError

    @pytest.fixture
    def study(self, url):
        with ps.Study.create(url, "homepage", linear(), PROBLEM, seed=0) as made:
            yield made

    def test_a_study_without_rounds_has_none(self, study):
        found = study.history()
        assert found.points == ()
        assert found.eliminated_at.tolist() == [-1] * N
        assert found.to_dict() == {"points": [], "eliminated": []}

    def test_points_say_what_was_known_then(self, url, study):
        """A point is what `recommend` and `status` said when it was made."""
        said = {}
        for start in range(40):
            play(study, 1, 25, start=start)
            status = study.status()
            said[status.learnt] = status
        history = study.history()
        assert len(history) > 10
        for point in history.points:
            then = said[point.learnt]
            best = then.recommendation
            assert point.leader == best.policy_name
            assert (point.value, point.lower, point.upper) == (best.value, best.lower, best.upper)
            assert point.suboptimality_bound == best.suboptimality_bound
            assert (point.certified, point.survivors) == (best.certified, then.survivors)
            assert (point.earned, point.lost) == (then.cost.earned, then.cost.best.estimate)
        assert history.points[-1].certified
        assert [p.time for p in history.points] == sorted(p.time for p in history.points)

    def test_points_take_little_of_the_time_but_none_is_missed_when_it_is_proved(
        self, study, monkeypatch
    ):
        monkeypatch.setattr("policysieve.study.history._TIME", 1e-9)
        play(study, 40, 25)
        assert study.finished
        first, last = study.history().points
        assert first.learnt == 25
        assert last.certified

    def test_it_says_who_went_out_and_when(self, study):
        play(study, 60, 10)
        history, n = study.history(), 0
        left = study._worker.ready().learner.survivors
        assert 0 < len(left) < N
        np.testing.assert_array_equal(np.flatnonzero(history.eliminated_at < 0), left)
        for number, point in enumerate(history.points):
            went = (history.eliminated_at == number).sum()
            n += went
            assert point.eliminated == went
            assert point.survivors == N - n
        listed = history.to_dict()["eliminated"]
        assert len(listed) == n
        assert {one["policy"] for one in listed}.isdisjoint(left.tolist())

    def test_points_are_few_however_rounds_come(self, study):
        play(study, 300, 1)
        places = [point.learnt for point in study.history().points]
        assert 10 <= len(places) <= 32
        assert min(np.diff(places)) >= 10

    def test_asking_for_it_changes_nothing(self, url, study):
        play(study, 20, 10)
        before = _dumped(url)
        assert study.history().to_dict() == study.history().to_dict()
        study.traffic()
        json.dumps(study.history().to_dict())
        assert _dumped(url) == before
        assert study.verify().holds

    def test_no_proof_needs_it(self, url, study):
        play(study, 20, 10)
        _execute(url, "DELETE FROM ps_history")
        assert study.verify().holds
        play(study, 5, 10, start=20)
        with ps.Study.open(url, "homepage", linear()) as other:
            assert other.verify().holds
            assert other.recommend() == study.recommend()

    def test_another_process_goes_on_with_it(self, url, study):
        play(study, 20, 10)
        study.close()
        with ps.Study.open(url, "homepage", linear()) as other:
            first = other.history()
            play(other, 1, 1, start=100)  # too soon for another point
            assert other.history().to_dict() == first.to_dict()
            play(other, 10, 10, start=20)
            later = other.history()
        assert later.points[: len(first)] == first.points
        assert later.points[-1].learnt > 290

    def test_of_several_processes_those_that_learn_write_it(self, url, study):
        spawn = multiprocessing.get_context("spawn")
        study.release()
        workers = [spawn.Process(target=_play, args=(url, seed)) for seed in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
            assert worker.exitcode == 0
        study.learn()
        places = [point.learnt for point in study.history().points]
        assert places == sorted(set(places))
        assert places[-1] <= 300
        assert study.status().learnt == 300
        assert study.verify().holds

    def test_a_learner_that_only_learns_writes_it_too(self, url, study):
        study.release()
        with ps.Study.open(url, "homepage", linear(), learn=False) as decider:
            play(decider, 20, 10)
            assert len(decider.history()) == 0
        study.learn()
        assert study.history().points[-1].learnt == 200

    def test_costs_and_what_runs_today(self, url):
        problem = ps.Problem(
            n_actions=K,
            epsilon=0.1,
            delta=0.05,
            against=1,
            traffic=0.5,
            objective="minimize",
            sparsity=None,
        )
        with ps.Study.create(url, "costs", linear(), problem, seed=0) as made:
            play(made, 10, 20)
            point, cost = made.history().points[-1], made.status().cost
            assert (point.lost, point.lost_lower) == (cost.today.estimate, cost.today.lower)

    @pytest.mark.parametrize("learner", ["Uniform", "Exp4"])
    def test_learners_that_eliminate_nobody(self, url, learner):
        settings = {"rounds": 60}
        with ps.Study.create(
            url, learner, linear(), PROBLEM, learner=learner, settings=settings, seed=0
        ) as made:
            play(made, 6, 10)
            point = made.history().points[-1]
            assert point.learnt == 60
            assert (point.survivors, point.eliminated) == (None, 0)

    @pytest.mark.parametrize("learns", [True, False])
    def test_the_proof_is_a_point_as_soon_as_it_is_found(self, url, study, learns, monkeypatch):
        """Even if nothing is told any more, and no matter how long a look takes."""
        monkeypatch.setattr("policysieve.study.history._TIME", 1e-9)
        with ps.Study.open(url, study.name, study.policies, learn=learns) as other:
            for number in range(60):
                play(other, 1, 25, start=number)
                if not learns:
                    other.learn()
                if other.finished:
                    break
            last = other.history().points[-1]
            assert (last.certified, last.learnt) == (True, other.status().learnt)

    def test_rounds_and_rewards_are_counted_by_the_hour(self, url, study):
        """Against rounds and rewards one by one."""
        asked, told = [], []
        for number in range(30):
            decisions = study.ask(contexts(3, seed=number))
            study.tell(decisions.ids[:2], rewards_of(decisions)[:2])
            asked += [number // 4] * 3
            told += [number // 3] * 2
        now = time.time() // HOUR * HOUR
        earliest = now - 9 * HOUR  # as if every four batches had been asked for in an hour
        _execute(
            url,
            f"UPDATE ps_batches SET asked = {earliest} + {HOUR} * (first / 12) + 60 * (first % 12)",
            f"UPDATE ps_rewards SET told = {earliest} + {HOUR} * (place / 9) + 5",
            "DELETE FROM ps_history",
        )
        found = study.traffic(count=10)
        assert found.starts == tuple(now - (9 - k) * HOUR for k in range(10))
        assert found.rounds == tuple(np.bincount(asked, minlength=10).tolist())
        assert found.rewards == tuple(np.bincount(told, minlength=10).tolist())
        assert study.traffic(count=4).rounds == found.rounds[-4:]
        assert study.traffic(count=4).rewards == found.rewards[-4:]
        whole = study.traffic(every="1w", count=2)
        assert (sum(whole.rounds), sum(whole.rewards)) == (90, 60)
        decisions = study.ask(contexts(3, seed=30))
        study.tell(decisions.ids, rewards_of(decisions))
        anew = ps.Study.open(url, study.name, study.policies, learn=False).traffic(count=10)
        again = study.traffic(count=10), study.traffic(count=10)  # of hours that are over: counted
        assert {one.rounds for one in again} == {anew.rounds}
        assert {one.rewards for one in again} == {anew.rewards}
        assert sum(anew.rewards) == 63
        assert json.loads(json.dumps(found.to_dict()))["rounds"] == list(found.rounds)

    def test_rewards_before_the_window_are_not_read(self, study):
        """Rounds that were settled before it began are passed over, and none is missed."""
        play(study, 30, 10)
        found = study.traffic(every="1h", count=1)
        assert (sum(found.rounds), sum(found.rewards)) == (300, 300)

    def test_a_study_without_rounds_has_no_traffic(self, study):
        found = study.traffic(count=3)
        assert (found.rounds, found.rewards) == ((0, 0, 0), (0, 0, 0))

    @pytest.mark.parametrize(
        "options", [{"every": 0}, {"every": "soon"}, {"count": 0}, {"count": 1001}, {"every": 1e-9}]
    )
    def test_odd_stretches_are_refused(self, study, options):
        with pytest.raises(ps.InvalidArgumentError, match=next(iter(options))):
            study.traffic(**options)


def test_a_point_is_due_with_the_exploration_that_ends_it():
    """The newest that is published is still the one of the last point then."""
    writer = HistoryWriter(SimpleNamespace(record=SimpleNamespace(study=1)))
    writer._learnt, writer._version, writer._rest = 1000, 7, float("inf")
    ended = SimpleNamespace(learnt=1010, version=7, learner=SimpleNamespace(finished=True))
    assert writer.due(ended, changes=True)
    assert not writer.due(ended, changes=False)


class TestSqlite(HistoryContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:///{tmp_path / 'studies.db'}"


class TestPostgresql(HistoryContract):
    @pytest.fixture
    def url(self, database):
        return database


def _play(url, seed):
    with ps.Study.open(url, "homepage", linear()) as study:
        play(study, 15, 10, seed=seed + 1)


def _engine(url):
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"))


def _execute(url, *statements):
    engine = _engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def _dumped(url):
    engine = _engine(url)
    with engine.connect() as connection:
        found = {
            name: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {name}"))]
            for name in ("ps_history", "ps_explorations", "ps_counters", "ps_rewards", "ps_leases")
        }
    engine.dispose()
    return found
