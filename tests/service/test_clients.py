"""Clients that are slow, rude, broken or many: they hurt nobody but themselves."""

import contextlib
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from sqlalchemy import event

import policysieve as ps
from policysieve.service import Settings
from policysieve.service.arrow import stream_of
from policysieve.service.bodies import ARROW
from tests.service.serving import ask, create, rows, serving, tell
from tests.study.cases import contexts, linear

SHOP = "/v1/studies/shop"
JSON = {"content-type": "application/json"}


def connected(client):
    return socket.create_connection((client.base_url.host, client.base_url.port), timeout=30)


def head(length, path=f"{SHOP}/ask", kind="application/json"):
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {kind}",
        f"Content-Length: {length}",
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def everything(connection):
    """What a server sends until it closes the connection."""
    found = b""
    while part := connection.recv(65536):
        found += part
    return found


@pytest.fixture
def hasty(url):
    with serving(url, settings=Settings(request_seconds=0.5, header_seconds=0.5)) as client:
        yield client


def test_a_body_that_never_ends_is_not_waited_for(hasty):
    with connected(hasty) as slow:
        slow.sendall(head(100) + b'{"contexts"')
        assert everything(slow).startswith(b"HTTP/1.1 408 ")
    assert hasty.get("/healthz").is_success


def test_a_body_that_comes_drop_by_drop_is_not_waited_for(hasty):
    with connected(hasty) as slow:
        slow.sendall(head(10_000))
        start = time.monotonic()
        with contextlib.suppress(OSError):  # closed while it still sends
            while time.monotonic() - start < 20:
                slow.sendall(b" ")
                time.sleep(0.05)
        assert time.monotonic() - start < 20
    assert hasty.get("/healthz").is_success


@pytest.mark.parametrize("begun", [b"", b"POST /v1/stud", b"GET /healthz HTTP/1.1\r\nHost: loc"])
def test_a_head_that_never_ends_is_not_waited_for(hasty, begun):
    with connected(hasty) as slow:
        slow.sendall(begun)
        assert everything(slow) == b""
    assert hasty.get("/healthz").is_success


def test_connections_may_rest_between_requests(hasty):
    assert hasty.get("/healthz").is_success
    time.sleep(0.8)
    assert hasty.get("/healthz").is_success


def test_a_client_that_goes_away_while_it_sends_changes_nothing(client):
    for _ in range(5):
        with connected(client) as rude:
            rude.sendall(head(100) + b'{"contexts": [[1, 2')
    assert client.get(f"{SHOP}/status").json()["rounds"] == 0
    assert ask(client).status_code == 200


def test_a_client_that_goes_away_before_the_answer_has_asked(client):
    body = json.dumps({"contexts": rows(1), "ids": ["a"]}).encode()
    with connected(client) as rude:
        rude.sendall(head(len(body)) + body)
    found = ask(client, 1, ids=["a"])  # the same again: one round, not two
    assert found.status_code == 200
    assert client.get(f"{SHOP}/status").json()["rounds"] == 1


def test_bodies_without_a_length_are_limited_as_well(url):
    def parts():
        for _ in range(50):
            yield b" " * 100

    with serving(url, settings=Settings(body_bytes=1000)) as client:
        assert client.post(f"{SHOP}/ask", content=parts(), headers=JSON).status_code == 413
        assert client.post(f"{SHOP}/ask", content=b" " * 2000, headers=JSON).status_code == 413
        assert ask(client).status_code == 200


DEEP = b'{"contexts": ' + b"[" * 100_000
BAD = [
    (b"", "application/json", 400),
    (b"{", "application/json", 400),
    (b'{"contexts": [[NaN, 1, 2, 3]]}', "application/json", 400),
    (b"\xff\xfe", "application/json", 400),
    (DEEP, "application/json", 400),
    (b'{"contexts": [' + b"1" * 5000 + b"]}", "application/json", 400),
    (b'{"contexts": [1]} 2', "application/json", 400),
    (b"", ARROW, 400),
    (b"hello", ARROW, 400),
    (stream_of(pa.table({"context": [0.5]}))[:-60], ARROW, 400),
    (stream_of(pa.table({"id": ["a"]})), ARROW, 422),
    (stream_of(pa.table({"context": [0.5]})), ARROW, 422),
    (b"{}", "text/plain", 415),
    (b"{}", "", 415),
    (b"contexts=1", "application/x-www-form-urlencoded", 415),
]


@pytest.mark.parametrize(("body", "kind", "status"), BAD)
def test_bodies_that_are_not_what_they_say(client, body, kind, status):
    found = client.post(f"{SHOP}/ask", content=body, headers={"content-type": kind})
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    assert len(found.text) < 1000
    assert client.get(f"{SHOP}/status").json()["rounds"] == 0


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_arrow_that_would_have_to_be_unpacked_is_refused(client, codec):
    table = pa.table({"context": pa.array([0] * 100_000, pa.int64())})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    body = sink.getvalue().to_pybytes()
    found = client.post(f"{SHOP}/ask", content=body, headers={"content-type": ARROW})
    assert (found.status_code, "compressed" in found.json()["detail"]) == (422, True)


def test_bytes_that_are_not_http(client):
    with connected(client) as rude:
        rude.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 what is this\r\n\r\n")
        assert everything(rude).startswith(b"HTTP/1.1 400 ")
    assert ask(client).status_code == 200


def test_more_connections_than_allowed_are_turned_away(url):
    with serving(url, settings=Settings(connections=3)) as client:
        silent = [connected(client) for _ in range(5)]
        assert client.get("/healthz").status_code == 503
        for one in silent:
            one.close()
        for _ in range(100):
            if client.get("/healthz").is_success:
                break
        assert ask(client).status_code == 200


def test_those_who_ask_at_once_share_transactions_and_one_bad_one_fails_alone(url):
    with serving(url) as client:
        ask(client)  # the first of all says what contexts are
        commits = 0

        def count(connection):
            nonlocal commits
            commits += 1

        engine = client.app.state.hosted.storage._engine
        turn = client.app.state.hosted.storage._turn
        event.listen(engine, "commit", count)
        with ThreadPoolExecutor(20) as pool:
            with turn:  # nobody can write until all of them wait
                calls = [
                    pool.submit(ask, client, 1 + (number == 7), seed=number, ids=[f"id {number}"])
                    for number in range(20)
                ]
                while not _all_wait(client, 20):
                    time.sleep(0.01)
            found = [one.result() for one in calls]
        statuses = [one.status_code for one in found]
        assert statuses == [422 if number == 7 else 200 for number in range(20)]
        assert commits <= 4
        ids = [f"id {number}" for number in range(20) if number != 7]
        assert [one.json()["decisions"][0]["id"] for one in found if one.is_success] == ids
        assert client.get(f"{SHOP}/status").json()["rounds"] == 20


def _all_wait(client, n):
    """Whether one is being served, and all others wait for it."""
    return len(client.app.state.desks._desks["shop"]._asks._waiting) == n - 1


def test_a_study_that_too_many_wait_for_says_so(url):
    with serving(url, settings=Settings(waiting=1)) as client:
        ask(client)
        with ThreadPoolExecutor(10) as pool, client.app.state.hosted.storage._turn:
            calls = [pool.submit(ask, client, seed=number) for number in range(10)]
            refused = [one for one in calls if _status(one, 503)]
            client.app.state.hosted.storage._turn.release()
            statuses = sorted(one.result().status_code for one in calls)
            client.app.state.hosted.storage._turn.acquire()
        assert refused
        assert set(statuses) == {200, 503}


def _status(call, status):
    try:
        return call.result(timeout=1).status_code == status
    except TimeoutError:
        return False


def test_ten_thousand_open_decisions(tmp_path):
    url = create(tmp_path)
    with ps.Study.open(url, "shop", linear()) as study:
        for start in range(10):
            study.ask(contexts(1000, seed=start))
    with serving(url) as client:
        found = client.get(f"{SHOP}/open", params={"limit": 10_000}).json()
        assert (found["total"], len(found["decisions"])) == (10_000, 10_000)
        assert ask(client).status_code == 200
        ids = [one["id"] for one in found["decisions"]]
        assert tell(client, ids, [0.0] * 10_000).json()["counted"] == 10_000
        status = client.get(f"{SHOP}/status").json()
        assert (status["open"], status["learnt"]) == (1, 10_000)


def test_candidates_that_take_long_hold_up_nobody_else(tmp_path):
    held = threading.Event()

    def slow(contexts):
        if "slow" in contexts:
            held.wait(60)
        return [0] * len(contexts)

    policies = ps.FunctionPolicies([slow, slow], n_actions=2)
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    with serving(create(tmp_path, policies=policies, problem=problem), policies) as client:
        with ThreadPoolExecutor(40) as pool:
            calls = [
                pool.submit(client.post, f"{SHOP}/ask", json={"contexts": ["slow"]})
                for _ in range(30)
            ]
            found = client.post(f"{SHOP}/ask", json={"contexts": ["quick"], "ids": ["a"]})
            assert found.json()["decisions"][0]["id"] == "a"
            assert tell(client, ["a"], [1]).json()["counted"] == 1
            held.set()
            assert all(call.result().is_success for call in calls)
        assert client.get(f"{SHOP}/status").json()["rounds"] == 31
