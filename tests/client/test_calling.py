"""What a client does with answers, lost answers and refusals, without a network."""

import gc
import json
import os
import threading

import httpx
import pytest

import policysieve as ps

URL, TOKEN = "http://127.0.0.1:8000", "ps_0123456789abcdef_secret"
ROW = {"id": "a", "actions": [2], "propensities": [0.5]}
DECIDED = {"decisions": [ROW]}


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Pauses are written down in place of waited for."""
    pauses = []
    monkeypatch.setattr("policysieve.client.calling.time.sleep", pauses.append)
    return pauses


def answering(*answers, **arguments):
    """A client whose service gives these answers, one after the other, and what it was asked."""
    seen, left = [], list(answers)

    def answer(request):
        seen.append(request)
        said = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(said, Exception):
            raise said
        status, content = said
        kind = "application/json" if status == 200 else "application/problem+json"
        return httpx.Response(status, json=content, headers={"Content-Type": kind})

    transport = httpx.MockTransport(answer)
    return ps.Client(URL, TOKEN, transport=transport, **arguments).study("homepage"), seen


def problem(status, detail, error=None, **more):
    return status, {"status": status, "detail": detail, "error": error, **more}


@pytest.mark.parametrize(
    "lost",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("too slow"),
        httpx.RemoteProtocolError("closed"),
        problem(429, "too many"),
        problem(502, "no"),
        problem(503, "the database is busy", "StorageError"),
        problem(504, "no"),
    ],
    ids=str,
)
def test_what_may_have_come_through_is_asked_again_with_the_same_bytes(lost, hurried):
    study, seen = answering(lost, lost, (200, DECIDED))
    assert study.ask([0.5]).actions.tolist() == [[2]]
    assert len({request.content for request in seen}) == 1
    assert len(seen) == 3
    assert len(json.loads(seen[0].content)["ids"][0]) > 20
    assert len(hurried) == 2
    assert 0 < hurried[0] < hurried[1] < 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(400, "that is no JSON"), ps.InvalidArgumentError),
        (problem(401, "a token is needed"), ps.AccessError),
        (problem(403, "the token must have the scope decide"), ps.AccessError),
        (problem(404, "there is no study", "NotFoundError"), ps.NotFoundError),
        (problem(404, "nothing here"), ps.NotFoundError),
        (problem(409, "ids must be new", "DecisionsError"), ps.DecisionsError),
        (problem(413, "too large"), ps.InvalidArgumentError),
        (problem(422, "contexts must be finite", "InvalidArgumentError"), ps.InvalidArgumentError),
        (problem(500, "something else"), ps.ServiceError),
        (problem(500, "no such error", "SystemExit"), ps.ServiceError),
        (
            problem(502, "policy 'hats' raised X", "PolicyFailureError", policy=3, name="hats"),
            ps.PolicyFailureError,
        ),
    ],
    ids=str,
)
def test_what_is_refused_is_raised_as_a_study_would_and_not_asked_again(answer, kind, hurried):
    study, seen = answering(answer)
    with pytest.raises(kind) as raised:
        study.ask([0.5])
    assert type(raised.value) is kind
    assert str(raised.value) == answer[1]["detail"]
    assert (len(seen), hurried) == (1, [])


def test_a_failing_policy_is_named():
    said = problem(502, "policy 3 raised X", "PolicyFailureError", policy=3, name=None)
    study, _ = answering(said)
    with pytest.raises(ps.PolicyFailureError, match="policy 3 raised X") as raised:
        study.ask([0.5])
    assert raised.value.policy == 3


def test_who_gives_up_says_which_ids_were_asked_for():
    study, seen = answering(httpx.ReadTimeout("too slow"), retries=2)
    with pytest.raises(ps.ServiceError, match=r"3 attempts \(too slow\); whether it") as raised:
        study.ask([0.5, 0.25])
    assert list(raised.value.ids) == json.loads(seen[0].content)["ids"]
    assert len(seen) == 3


def test_pauses_are_as_long_as_the_service_asks_within_bounds(monkeypatch, hurried):
    for asked, waited in (("2", 2.0), ("3600", 5.0)):
        hurried.clear()
        answers = [
            httpx.Response(503, headers={"Retry-After": asked}),
            httpx.Response(200, json=DECIDED),
        ]
        transport = httpx.MockTransport(lambda request, left=answers: left.pop(0))
        ps.Client(URL, transport=transport).study("homepage").ask([0.5])
        assert hurried == [waited]


@pytest.mark.parametrize(
    "wrong",
    [
        (200, [1, 2]),
        (200, {"ids": ["a"]}),
        (200, {"decisions": [{"id": "a"}]}),
        (200, {"decisions": [{**ROW, "actions": ["hats"]}]}),
        (200, {"decisions": [{**ROW, "propensities": [0.5, 0.5]}]}),
    ],
    ids=str,
)
def test_an_answer_that_is_none_is_said_to_be_none(wrong):
    study, _ = answering(wrong)
    with pytest.raises(ps.ServiceError, match="did not answer with decisions"):
        study.ask([0.5])


def test_the_token_is_sent_and_not_shown():
    study, seen = answering(problem(401, "the token is not known"))
    with pytest.raises(ps.AccessError) as raised:
        study.status()
    assert seen[0].headers["Authorization"] == f"Bearer {TOKEN}"
    with pytest.raises(ps.InvalidArgumentError) as refused:
        ps.Client(URL, TOKEN + "\n")
    client = ps.Client(URL, TOKEN)
    for said in (repr(client), repr(client.study("a")), str(raised.value), str(refused.value)):
        assert "secret" not in said


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:80", "127.9.9.9"])
def test_a_token_is_sent_to_this_machine_without_encryption(host):
    assert ps.Client(f"http://{host}/", TOKEN).url == f"http://{host}"


@pytest.mark.parametrize("host", ["shop.example", "10.0.0.1", "127.0.0.1.example", "[2001:db8::1]"])
def test_a_token_is_not_sent_elsewhere_without_encryption(host):
    with pytest.raises(ps.InvalidArgumentError, match="allow_plain_http=True"):
        ps.Client(f"http://{host}", TOKEN)
    ps.Client(f"http://{host}", TOKEN, allow_plain_http=True)
    ps.Client(f"https://{host}", TOKEN)
    ps.Client(f"http://{host}")


def test_a_token_is_not_sent_where_an_answer_points_to():
    moved = httpx.Response(307, headers={"Location": "http://elsewhere.example/"})
    seen = []
    transport = httpx.MockTransport(lambda request: seen.append(request) or moved)
    with pytest.raises(ps.ServiceError, match="answered with 307"):
        ps.Client(URL, TOKEN, transport=transport).study("homepage").status()
    assert len(seen) == 1


@pytest.mark.parametrize(
    "url",
    [
        "",
        "shop",
        "ftp://shop",
        "http://",
        "http://shop:99999",
        "http://shop?a=b",
        None,
        b"http://a",
    ],
    ids=repr,
)
def test_addresses_are_checked(url):
    with pytest.raises(ps.InvalidArgumentError, match="url must be that of a service"):
        ps.Client(url)


def test_secrets_do_not_stand_in_addresses():
    with pytest.raises(ps.InvalidArgumentError, match="no password") as refused:
        ps.Client("http://user:hidden@127.0.0.1:8000")
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("argument", "value"), [("timeout", 0), ("timeout", "1s"), ("retries", -1)]
)
def test_arguments_are_checked(argument, value):
    with pytest.raises(ps.InvalidArgumentError, match=argument):
        ps.Client(URL, **{argument: value})


def test_names_of_studies_are_quoted():
    study, seen = answering((200, {}))
    client = ps.Client(URL, transport=study._calling._transport)
    client.study("a/../b c?").status()
    assert seen[0].url.raw_path == b"/v1/studies/a%2F..%2Fb%20c%3F/status"
    with pytest.raises(ps.InvalidArgumentError, match="name must be"):
        client.study("")


def test_ids_are_new_with_every_ask():
    study, seen = answering((200, DECIDED))
    many = [threading.Thread(target=study.ask, args=([0.5],)) for _ in range(20)]
    for thread in many:
        thread.start()
    for thread in many:
        thread.join()
    assert len({json.loads(request.content)["ids"][0] for request in seen}) == 20


def test_what_cannot_be_sent_is_refused_before_it_is_sent():
    study, seen = answering((200, DECIDED))
    for wrong in ([float("nan")], [object()]):
        with pytest.raises(ps.InvalidArgumentError):
            study.ask(wrong)
    with pytest.raises(ps.InvalidArgumentError, match="ids must"):
        study.ask([0.5], ids=["a", "b"])
    with pytest.raises(ps.InvalidArgumentError):
        study.tell("a", float("nan"))
    assert seen == []


def test_connections_are_closed_when_nobody_has_the_client_any_more():
    closed = []

    class Transport(httpx.MockTransport):
        def close(self):
            closed.append(1)

    transport = Transport(lambda request: httpx.Response(200, json={"finished": True}))
    assert ps.Client(URL, transport=transport).study("homepage").finished
    gc.collect()
    assert closed == [1]
    with ps.Client(URL, transport=transport) as client:
        client.study("homepage").status()
    assert closed == [1, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_connections_of_its_own():
    study, _ = answering((200, {"finished": True}))
    assert study.finished
    first = study._calling._http
    child = os.fork()
    if not child:
        os._exit(0 if study.finished and study._calling._http is not first else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert study._calling._own() is first
