"""Live events: with every change, again after a break, and not at everybody's expense."""

import json
import threading
import time

import pytest

import policysieve as ps
from policysieve.service.dashboard import events
from policysieve.study import Pulse
from tests.service.serving import ask, create, serving, tell
from tests.study.cases import contexts, linear, play

EVENTS = "/v1/studies/shop/events"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(events, "_EVERY", 0.05)


def stream(client, **headers):
    return client.stream("GET", EVENTS, headers=headers)


def heard(lines, count=1):
    """The next events: their ids and what they say."""
    found, name = [], ""
    for line in lines:
        if line.startswith("id: "):
            name = line[4:]
        elif line.startswith("data: "):
            found.append((name, json.loads(line[6:])))
            if len(found) == count:
                return found
    return found


def test_the_first_event_says_where_the_study_stands(client, url):
    with stream(client) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        ((_, said),) = heard(response.iter_lines())
    assert said == {
        "rounds": 0,
        "settled": 0,
        "learnt": 0,
        "exploration": 1,
        "archived": False,
    }


def test_every_change_is_an_event(client, url):
    with stream(client) as response:
        lines = response.iter_lines()
        heard(lines)
        decided = ask(client, 3).json()["decisions"]
        assert heard(lines)[0][1]["rounds"] == 3
        tell(client, [decided[0]["id"]], [1.0])
        assert heard(lines)[0][1]["settled"] == 1
        with ps.Study.open(url, "shop", linear(), learn=False) as other:  # another process
            other.ask(contexts(4))
        assert heard(lines)[0][1]["rounds"] == 7
        client.post("/v1/studies/shop/archive")
        assert heard(lines)[0][1]["archived"]


def test_who_comes_back_hears_the_newest_unless_that_was_the_last(client, monkeypatch):
    monkeypatch.setattr(events, "_HEARTBEAT", 0.2)
    with stream(client) as response:
        ((last, _),) = heard(response.iter_lines())
    with stream(client, **{"Last-Event-ID": last}) as response:
        lines = response.iter_lines()
        assert [next(lines) for _ in range(4)] == ["retry: 3000", "", ": still here", ""]
        ask(client, 2)
        ((newest, said),) = heard(lines)
        assert said["rounds"] == 2
    ask(client, 2)
    with stream(client, **{"Last-Event-ID": newest}) as response:
        assert heard(response.iter_lines())[0][1]["rounds"] == 4


def test_many_listeners_share_one_look(client, monkeypatch):
    looks = []
    pulse = ps.Study.pulse
    monkeypatch.setattr(
        ps.Study, "pulse", lambda self: looks.append(time.monotonic()) or pulse(self)
    )
    opened = [stream(client) for _ in range(10)]
    try:
        lines = [one.__enter__().iter_lines() for one in opened]  # who lets go of them hangs up
        for one in lines:
            heard(one)
        looks.clear()
        time.sleep(0.5)
        assert 1 <= len(looks) <= 12, "ten listeners would be a hundred"
    finally:
        for one in opened:
            one.__exit__(None, None, None)
    for _ in range(100):
        looks.clear()
        time.sleep(0.2)
        if not looks:
            break
    assert not looks, "nobody listens any more"


def test_no_more_than_some_may_listen(client, monkeypatch):
    monkeypatch.setattr(events, "_MOST", 1)
    with stream(client) as response:
        lines = response.iter_lines()
        heard(lines)
        refused = client.get(EVENTS)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "30"
        assert "at most 1" in refused.json()["detail"]


def test_streams_end_when_the_server_ends(tmp_path):
    url, ended = create(tmp_path), threading.Event()

    def listen(client):
        with stream(client) as response:
            for line in response.iter_lines():
                if line.startswith("data"):
                    ready.set()
        ended.set()

    ready = threading.Event()
    with serving(url) as client:
        threading.Thread(target=listen, args=(client,)).start()
        assert ready.wait(30)
        start = time.monotonic()
        client.app.state.ending.set()
        assert ended.wait(10)
        assert time.monotonic() - start < 10
        assert client.get(EVENTS).status_code == 503


def test_an_unknown_study_has_none(client):
    assert client.get("/v1/studies/nothing/events").status_code == 404


def test_a_pulse_is_what_the_status_says(tmp_path):
    with ps.Study.open(create(tmp_path), "shop", linear()) as study:
        play(study, 7, 5)
        waiting = study.ask(contexts(4))
        study.tell(waiting.ids[1:2], [1.0])
        status = study.status()
        assert study.pulse() == Pulse(
            rounds=39,
            settled=36,
            learnt=status.learnt,
            exploration=status.exploration,
            archived=False,
        )
