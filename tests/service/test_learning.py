"""Learning apart: who tells does not wait, and what is told is learnt soon."""

import threading
import time

import pytest

import policysieve as ps
from policysieve.errors import StorageError
from policysieve.service.learning import Learner
from policysieve.study.worker import Worker
from tests.service.serving import ask, create, serving, tell
from tests.study.cases import contexts, linear
from tests.waiting import until

SHOP = "/v1/studies/shop"


def decided(client, n=1):
    return [one["id"] for one in ask(client, n).json()["decisions"]]


def test_nobody_waits_for_who_learns(url, monkeypatch):
    begun, go_on, learn = threading.Event(), threading.Event(), Worker.learn

    def slowly(self):
        with self.lock:
            begun.set()
            assert go_on.wait(60)
            return learn(self)

    monkeypatch.setattr(Worker, "learn", slowly)
    with serving(url) as client:
        try:
            ids = decided(client, 5)
            assert begun.wait(30)
            assert tell(client, ids, [1] * 5).json()["counted"] == 5
            assert ask(client, 5).status_code == 200
            assert client.get(f"{SHOP}/exploration").status_code == 200
        finally:
            go_on.set()
        assert client.get(f"{SHOP}/status").json()["learnt"] == 5


def test_what_is_told_is_learnt_and_published_by_itself(tmp_path):
    url = create(tmp_path, settings={"goal": "best"})
    with serving(url) as client, ps.Study.open(url, "shop", linear(), learn=False) as other:
        first, _ = other.published()
        for _ in range(8):
            ids = decided(client, 20)
            tell(client, ids, [0.0] * len(ids))
        until(lambda: other.published()[0] > first)
        assert other.status().holder is not None
    assert other.status().holder is None, "the lease is given back at the end"
    assert other.verify().holds


def test_a_service_told_not_to_learn_does_not(url):
    with serving(url, learn=False) as client:
        tell(client, decided(client, 20), [1.0] * 20)
        time.sleep(0.3)
        assert client.get(f"{SHOP}/status").json()["holder"] is None


def test_what_others_tell_is_learnt_too(url):
    with serving(url) as client, ps.Study.open(url, "shop", linear(), learn=False) as other:
        decided(client)
        other.ask(contexts(30, 1))
        before, _ = other.published()
        mine = [one["id"] for one in client.get(f"{SHOP}/open").json()["decisions"]]
        other.tell(mine, [0.0] * len(mine))
        until(lambda: other.published()[0] > before)


def test_a_database_that_is_away_comes_back(url, caplog, monkeypatch):
    study = ps.Study.open(url, "shop", linear(), learn=False)
    away, learn = [True], ps.Study.learn

    def learns(self):
        if away[0]:
            raise StorageError("it is away")
        return learn(self)

    monkeypatch.setattr(ps.Study, "learn", learns)
    monkeypatch.setattr("policysieve.service.learning._REST", 0.01)
    monkeypatch.setattr("policysieve.service.learning._IDLE", 0.01)
    monkeypatch.setattr("policysieve.service.learning._LONGEST", 0.01)
    found = study.ask(contexts(30, 1))
    study.tell(found.ids, [0.0] * 30)
    learner = Learner(study)
    until(lambda: caplog.records)
    time.sleep(0.1)
    assert [record.getMessage() for record in caplog.records] == [
        "study 'shop' could not learn: StorageError: it is away"
    ], "it is said once"
    away[0] = False
    until(lambda: study.status().holder is not None)
    learner.end()
    learner.join(10)
    study.close()


@pytest.mark.parametrize("deadline", [None, "1h"])
def test_nothing_is_written_where_nothing_is_new(tmp_path, deadline, monkeypatch):
    from policysieve.study.storage import Storage

    url = create(tmp_path, deadline=deadline)
    with ps.Study.open(url, "shop", linear(), learn=False) as study:
        found = study.ask(contexts(12, 1))
        study.tell(found.ids[:11], [0.0] * 11)
        study.learn()
        wrote, writing = [], Storage.writing
        monkeypatch.setattr(Storage, "writing", lambda self: wrote.append(1) or writing(self))
        assert study.learn() == 0
        assert not wrote
