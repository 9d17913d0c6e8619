"""Processes that are killed or crowd each other, full disks, and connections that are cut."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import make_url, text

import policysieve as ps
from policysieve.bench.faults.apart import apart
from policysieve.bench.faults.studies import killed_studies
from tests.databases import execute
from tests.study.cases import PROBLEM, contexts, linear, play, rewards_of, same_bits

CROWD = """
import json, os, sys
import numpy as np
import policysieve as ps
from tests.study.cases import contexts, linear, play
import policysieve.study.storage as storage
storage._SYNCHRONOUS = "OFF"
url, workers, batches = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
children = []
for number in range(workers):
    child = os.fork()
    if not child:
        try:
            play(ps.Study.open(url, "crowd", linear()), batches, 5, seed=number + 1)
        except BaseException as error:
            print(repr(error), flush=True)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
print("done")
"""

FULL = """
import json, resource, signal, sys
import numpy as np
import policysieve as ps
from tests.study.cases import contexts, linear, play, rewards_of
from policysieve.errors import StorageError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
study = ps.Study.open(sys.argv[1], "full", linear())
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
refused, acknowledged = 0, 0
for round in range(3):
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000 * (round + 1), hard))
    try:
        for number in range(400):
            decisions = study.ask(contexts(20, seed=acknowledged))
            acknowledged += 1
            study.tell(decisions, rewards_of(decisions))
    except StorageError:
        refused += 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    waiting = study.open_decisions()
    study.tell(waiting, rewards_of(waiting))
status = study.status()
print(json.dumps([refused, acknowledged, status.rounds, status.told, study.verify().holds]))
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")


def _address(backend, folder, request):
    if backend == "sqlite":
        return f"sqlite:///{folder / 'study.db'}"
    return request.getfixturevalue("database")


def run(script, *arguments):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_processes_that_are_killed_lose_nothing_and_count_nothing_twice():
    found = apart(killed_studies, kills=15)
    assert found["steps"] >= 12
    faults = ("lost", "doubled", "failed", "different")
    assert {name: found[name] for name in faults} == dict.fromkeys(faults, 0)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_processes_ask_tell_and_learn_at_once(backend, tmp_path, request):
    url = _address(backend, tmp_path, request)
    study = ps.Study.create(url, "crowd", linear(), PROBLEM, seed=0, learn=False)
    study.close()
    assert run(CROWD, url, 3, 12) == ["done"]
    study.learn()
    status = study.status()
    assert (status.rounds, status.told, status.learnt) == (180, 180, 180)
    assert study.verify().holds
    rows = {row.tobytes() for row in study.log().contexts}
    assert len(rows) == 180


def test_a_full_disk_refuses_and_loses_nothing(tmp_path):
    url = f"sqlite:///{tmp_path / 'full.db'}"
    ps.Study.create(url, "full", linear(), PROBLEM, seed=0, settings={"goal": "best"}).close()
    refused, acknowledged, rounds, told, holds = json.loads(run(FULL, url)[-1])
    assert refused == 3
    assert told == rounds
    assert acknowledged * 20 <= rounds <= (acknowledged + refused) * 20
    assert holds


def test_a_server_whose_disk_is_full_refuses_and_loses_nothing(server):
    """The limit of the size of a file is that of the processes that a server starts."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, hard))
    try:
        url = server()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    wide = ps.LinearPolicies(np.random.default_rng(0).normal(size=(4, 3, 250)))
    problem = ps.Problem(n_actions=3, epsilon=0.1, delta=0.05)
    study = ps.Study.create(url, "full", wide, problem, seed=0)
    acknowledged = []

    def fill():
        for number in range(20):  # of two megabytes each
            x = np.random.default_rng(number).normal(size=(1000, 250))
            acknowledged.append(study.ask(x))
            study.tell(acknowledged[-1].ids[:10], np.ones(10))

    with pytest.raises(ps.StorageError, match="File too large"):
        fill()
    n = len(acknowledged)
    status = study.status()
    assert n < 20
    assert (status.rounds, status.told) == (1000 * n, 10 * n)
    study.close()
    study = ps.Study.open(server(), "full", wide)  # after a restart there is room
    last = study.decisions(acknowledged[-1].ids)
    np.testing.assert_array_equal(last.contexts, acknowledged[-1].contexts)
    assert study.ask(np.zeros((1, 250))).numbers.tolist() == [1000 * n]
    waiting = study.open_decisions()
    assert study.tell(waiting, np.zeros(len(waiting))).counted == 990 * n + 1
    assert study.verify().holds
    study.close()


def test_a_server_that_takes_no_writes_is_named_and_loses_nothing(database, postgres):
    """As one that only follows another."""
    name = make_url(database).database
    study = ps.Study.create(database, "standby", linear(), PROBLEM, seed=0)
    twin = ps.Study.create(database, "twin", linear(), PROBLEM, seed=0)
    play(study, 2, 9), play(twin, 4, 9)
    decisions = study.ask(contexts(9, seed=2))
    execute(postgres, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    study.close()
    for call in (
        lambda: study.ask(contexts(1)),
        lambda: study.tell(decisions, rewards_of(decisions)),
        lambda: study.discard(decisions.ids, reason="lost"),
        study.learn,
    ):
        with pytest.raises(ps.StorageError, match="read-only transaction"):
            call()
    assert study.status().open == 9
    execute(postgres, f"ALTER DATABASE {name} SET default_transaction_read_only = off")
    study.close()
    study.tell(decisions, rewards_of(decisions))
    play(study, 1, 9, start=3)
    assert same_bits(study, twin)


def test_a_fork_goes_on_by_itself(tmp_path):
    url = f"sqlite:///{tmp_path / 'fork.db'}"
    study = ps.Study.create(url, "fork", linear(), PROBLEM, seed=0)
    play(study, 3, 5)
    child = os.fork()
    if not child:
        try:
            play(study, 3, 5, start=3)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    play(study, 2, 5, start=6)
    assert study.status().told == 40
    assert study.verify().holds


def test_a_fork_in_the_middle_of_a_transaction_harms_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("policysieve.study.storage._PATIENCE", 0.2)
    url = f"sqlite:///{tmp_path / 'fork.db'}"
    study = ps.Study.create(url, "fork", linear(), PROBLEM, seed=0)
    play(study, 3, 5)
    with study._storage.writing() as connection:
        connection.execute(text("UPDATE ps_counters SET rounds = rounds + 1"))
        child = os.fork()
        if not child:  # SQLite takes it for the one that writes, and lets it wait
            try:
                play(study, 3, 5, start=3)
            except ps.StorageError:
                os._exit(3)
            os._exit(0)
        _, code = os.waitpid(child, 0)
        connection.execute(text("UPDATE ps_counters SET rounds = rounds - 1"))
    assert os.waitstatus_to_exitcode(code) == 3
    play(study, 2, 5, start=3)
    assert study.status().told == 25
    assert study.verify().holds


def test_threads_share_a_study(tmp_path):
    url = f"sqlite:///{tmp_path / 'threads.db'}"
    study = ps.Study.create(url, "threads", linear(), PROBLEM, seed=0, settings={"goal": "best"})
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: play(study, 12, 5, seed=number + 1), range(6)))
        looks = [pool.submit(look) for look in (study.status, study.recommend, study.log) * 4]
        list(pool.map(lambda number: play(study, 3, 5, seed=number + 10), range(6)))
        assert all(look.result() is not None for look in looks)
    status = study.status()
    assert (status.rounds, status.told, status.learnt) == (450, 450, 450)
    assert study.verify().holds


def test_connections_that_are_cut_lose_nothing(database, monkeypatch):
    study = ps.Study.create(database, "cut", linear(), PROBLEM, seed=0)
    twin = ps.Study.create(database, "twin", linear(), PROBLEM, seed=0)
    play(twin, 12, 9)
    for number in range(6):
        play(study, 1, 9, start=2 * number)
        _cut(database)
        play(study, 1, 9, start=2 * number + 1)  # the next call finds a new connection
    assert same_bits(study, twin)
    decisions = study.ask(contexts(4))
    real = study._storage.now

    def cut(connection):
        _cut(database)
        return real(connection)

    monkeypatch.setattr(study._storage, "now", cut)
    with pytest.raises(ps.StorageError, match="changed nothing"):
        study.tell(decisions, rewards_of(decisions))
    with pytest.raises(ps.StorageError):
        study.ask(contexts(4))
    monkeypatch.undo()
    assert study.status().open == 4
    assert study.tell(decisions, rewards_of(decisions)).counted == 4
    assert study.verify().holds


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_two_learners_fight_for_the_lease(backend, tmp_path, request, monkeypatch):
    url = _address(backend, tmp_path, request)
    one = ps.Study.create(url, "fight", linear(), PROBLEM, seed=0, settings={"goal": "best"})
    two = ps.Study.open(url, "fight", linear())
    monkeypatch.setattr(one._worker._lease, "_ttl", 0.0)  # each loses it as soon as it has it
    monkeypatch.setattr(two._worker._lease, "_ttl", 0.0)
    fences = set()
    for number in range(40):
        play((one, two)[number % 2], 1, 7, start=number)
        fences.add((one, two)[number % 2]._worker._lease.fence)
    assert len(fences) > 10
    assert one.recommend() == two.recommend()
    assert one.status().exploration > 5
    assert one.verify().holds


def test_what_was_told_while_another_told_the_same_counts_once(database, monkeypatch):
    study = ps.Study.create(database, "race", linear(), PROBLEM, seed=0)
    decisions, other = study.ask(contexts(3)), ps.Study.open(database, "race", linear())
    real, first = study._ledger.settle, []

    def settle(*arguments):
        if not first:  # the other is quicker, after we have looked
            first.append(other.tell(decisions.ids[:2], [1.0, 0.0]))
        real(*arguments)

    monkeypatch.setattr(study._ledger, "settle", settle)
    told = study.tell(decisions.ids, [1.0, 0.0, 1.0])
    assert (told.counted, told.again) == (1, 2)
    assert study.log().rewards[:, 0].tolist() == [1.0, 0.0, 1.0]
    assert np.array_equal(study.decisions(decisions.ids).actions, decisions.actions)


@pytest.mark.parametrize("way", ["expire", "learn", "discard"])
def test_what_another_settles_at_this_moment_is_settled_once(database, monkeypatch, way):
    study = ps.Study.create(database, "race", linear(), PROBLEM, seed=0, deadline="1h")
    decisions, other = (
        study.ask(contexts(3)),
        ps.Study.open(database, "race", linear(), learn=False),
    )
    ahead = 0.0 if way == "discard" else 3700.0
    real_now, real, first = study._storage.now, study._ledger.settle, []
    monkeypatch.setattr(study._storage, "now", lambda connection: real_now(connection) + ahead)

    def settle(*arguments):
        if not first:  # the other is quicker, after we have looked, and by its clock in time
            first.append(other.tell(decisions.ids[:1], [1.0]))
        real(*arguments)

    monkeypatch.setattr(study._ledger, "settle", settle)
    if way == "expire":
        assert study.expire() == decisions.ids[1:].tolist()
    elif way == "learn":
        assert study.learn() == 3
    else:
        with pytest.raises(ps.DecisionsError, match="was told its reward before"):
            study.discard(decisions.ids, reason="lost")
    settled = 0 if way == "discard" else 2
    status = study.status()
    assert (status.told, status.expired, status.discarded) == (1, settled, 0)
    assert study.verify().holds


def _cut(url):
    execute(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


def test_who_asks_first_does_not_wait_for_who_tells(database, postgres, monkeypatch):
    """Who has settled a round may wait for who numbers rounds; the other way round none would end.

    The first who ask keep what the candidates say, in the row of the study.
    """
    execute(postgres, f"ALTER DATABASE {make_url(database).database} SET lock_timeout = '10s'")
    functions = ps.FunctionPolicies([lambda x: np.zeros(len(x), int)] * 2, n_actions=2)
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.05)
    one = ps.Study.create(database, "first", functions, problem, seed=0)
    two = ps.Study.open(database, "first", functions, learn=False)
    decisions = one.ask(np.zeros((1, 3)))
    real, asked = two._ledger.settle, []

    def settle(*arguments):
        real(*arguments)
        asked.append(one.ask(np.ones((1, 3))))

    monkeypatch.setattr(two._ledger, "settle", settle)
    assert two.tell(decisions.ids, [1.0]).counted == 1
    assert asked[0].numbers.tolist() == [1]


def test_two_who_tell_the_same_in_another_order_do_not_block_each_other(database):
    one = ps.Study.create(database, "order", linear(), PROBLEM, seed=0, learn=False)
    two = ps.Study.open(database, "order", linear(), learn=False)
    with ThreadPoolExecutor(2) as pool:
        for number in range(6):
            decisions = one.ask(contexts(300, seed=number))
            rewards = rewards_of(decisions)
            first = pool.submit(one.tell, decisions.ids, rewards)
            second = pool.submit(two.tell, decisions.ids[::-1], rewards[::-1])
            told = first.result(), second.result()
            assert sum(each.counted for each in told) == 300
            assert sum(each.again for each in told) == 300


def test_two_who_wait_for_each_other_both_come_through(database, monkeypatch):
    one = ps.Study.create(database, "knot", linear(), PROBLEM, seed=0, deadline="1h")
    two = ps.Study.open(database, "knot", linear(), learn=False)
    old, new = one.ask(contexts(1)), one.ask(contexts(1, seed=1))
    with one._storage.writing() as connection:
        one._ledger.set_asked(connection, 0, old.asked[0] - 7200)
    both = threading.Barrier(2)

    def meeting(ledger):
        real, first = ledger.settle, [True]

        def settle(*arguments):
            real(*arguments)
            if first and first.pop():  # each has settled one round, and wants the other
                both.wait(30)

        monkeypatch.setattr(ledger, "settle", settle)

    meeting(one._ledger), meeting(two._ledger)
    with ThreadPoolExecutor(2) as pool:
        mine = pool.submit(one.tell, new.ids, [1.0])  # and as it learns, the old one expires
        theirs = pool.submit(two.tell, [*old.ids, *new.ids], [1.0, 1.0])
        told = mine.result(), theirs.result()
    assert sum(each.counted for each in told) == 1
    assert sum(each.again for each in told) == 1
    assert told[1].late == tuple(old.ids)
    one.learn()
    status = one.status()
    assert (status.told, status.expired, status.learnt, status.late) == (1, 1, 2, 1)
    assert one.verify().holds
