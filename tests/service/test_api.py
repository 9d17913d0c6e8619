"""The verbs of a study over HTTP: what goes in, what comes out, and what is refused."""

import logging

import numpy as np
import pyarrow as pa
import pytest

import policysieve as ps
from policysieve.service import Settings
from policysieve.service.arrow import read_stream, stream_of
from policysieve.service.bodies import ARROW
from tests.service.serving import ask, create, rows, serving, tell
from tests.study.cases import PROBLEM, contexts, linear, rewards_of

SHOP = "/v1/studies/shop"


def problem(response, status):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found = response.json()
    assert found["status"] == status
    return found["detail"]


def test_ask_and_tell_are_those_of_a_study(client, url, tmp_path):
    twin = ps.Study.create(f"sqlite:///{tmp_path / 'twin.db'}", "shop", linear(), PROBLEM, seed=0)
    for seed in range(3):
        mine = twin.ask(contexts(4, seed))
        found = ask(client, 4, seed=seed).json()["decisions"]
        assert [one["actions"] for one in found] == mine.actions.tolist()
        assert [one["propensities"] for one in found] == mine.propensities.tolist()
        assert "action_names" not in found[0]
        rewards = rewards_of(mine)
        twin.tell(mine, rewards)
        told = tell(client, [one["id"] for one in found], rewards.tolist())
        assert told.json() == {"counted": 4, "again": 0, "late": []}
    assert client.get(f"{SHOP}/recommendation").json() == twin.recommend().to_dict()
    status = client.get(f"{SHOP}/status").json()
    assert (status["rounds"], status["learnt"], status["open"]) == (12, 12, 0)


def test_arrow_goes_in_and_out(client):
    table = pa.table({"id": ["a", "b"], "context": rows(2)})
    headers = {"content-type": ARROW, "accept": ARROW}
    found = client.post(f"{SHOP}/ask", content=stream_of(table), headers=headers)
    assert found.headers["content-type"] == ARROW
    decisions = read_stream(found.content, 10)
    assert decisions["id"].to_pylist() == ["a", "b"]
    assert client.get(f"{SHOP}/decisions?id=a&id=b").json()["decisions"] == decisions.to_pylist()
    rewards = pa.table({"id": ["b", "a"], "reward": [1.0, 0.0]})
    told = client.post(f"{SHOP}/tell", content=stream_of(rewards), headers=headers)
    assert read_stream(told.content, 1).to_pylist() == [{"counted": 2, "again": 0, "late": []}]
    plain = client.post(f"{SHOP}/tell", content=stream_of(rewards), headers={"content-type": ARROW})
    assert plain.json() == {"counted": 0, "again": 2, "late": []}


def by_length(contexts):
    return [len(str(one)) % 2 for one in contexts]


NAMED = ps.FunctionPolicies(
    [by_length, lambda x: [1] * len(x)], actions=["hat", "shoe"], fallback=["hat", "shoe"]
)
NAMED_PROBLEM = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)


@pytest.mark.parametrize(
    "given",
    [["red", "blue"], [{"age": 3, "land": "de"}, {"age": None, "land": "fr"}], [[1.5, 2], [3, 4]]],
    ids=["texts", "rows of a table", "numbers"],
)
@pytest.mark.parametrize("arrow", [False, True])
def test_contexts_of_all_kinds_and_actions_by_name(given, arrow, tmp_path):
    with serving(create(tmp_path, policies=NAMED, problem=NAMED_PROBLEM), NAMED) as client:
        if arrow:
            is_table = isinstance(given[0], dict)
            table = pa.Table.from_pylist(given) if is_table else pa.table({"context": given})
            table = table.append_column("available", pa.array([["hat"], ["hat", "shoe"]]))
            found = client.post(
                f"{SHOP}/ask", content=stream_of(table), headers={"content-type": ARROW}
            )
        else:
            body = {"contexts": given, "available": [["hat"], ["hat", "shoe"]]}
            found = client.post(f"{SHOP}/ask", json=body)
        first, second = found.json()["decisions"]
        assert (first["actions"], first["action_names"]) == ([0], ["hat"])
        assert second["action_names"] == [["hat", "shoe"][second["actions"][0]]]


def test_row_numbers_are_contexts_of_a_table_of_policies(tmp_path):
    policies = ps.PolicyTable(np.array([[0, 1], [1, 0], [1, 1]]), n_actions=2)
    with serving(create(tmp_path, policies=policies, problem=NAMED_PROBLEM), policies) as client:
        found = client.post(f"{SHOP}/ask", json={"contexts": [0, 2, 1]})
        assert len(found.json()["decisions"]) == 3
        assert "row" in problem(client.post(f"{SHOP}/ask", json={"contexts": [7]}), 422)


def test_the_same_ask_with_the_same_ids_is_one_ask(client):
    first = ask(client, 2, ids=["a", "b"])
    assert ask(client, 2, ids=["a", "b"]).json() == first.json()
    assert "'a'" in problem(ask(client, 2, seed=1, ids=["a", "b"]), 409)
    assert "'a'" in problem(ask(client, 2, ids=["a", "c"]), 409)
    assert client.get(f"{SHOP}/status").json()["rounds"] == 2


def test_the_same_tell_again_does_no_harm_and_another_is_refused(client):
    ask(client, 2, ids=["a", "b"])
    assert tell(client, ["a"], [1]).json()["counted"] == 1
    assert tell(client, ["a", "b"], [1, 0]).json() == {"counted": 1, "again": 1, "late": []}
    assert "'a'" in problem(tell(client, ["a"], [0]), 409)
    assert "unknown" in problem(tell(client, ["unknown"], [0]), 404)
    assert client.get(f"{SHOP}/status").json()["refused"] == 1


def test_late_answers_are_named(tmp_path):
    url = create(tmp_path, deadline=0.001)
    with serving(url) as client:
        (decision,) = ask(client).json()["decisions"]
        told = tell(client, [decision["id"]], [1])
        assert told.json() == {"counted": 0, "again": 0, "late": [decision["id"]]}


def test_open_decisions_and_what_settles_them(client):
    ask(client, 3, ids=["a", "b", "c"])
    found = client.get(f"{SHOP}/open", params={"limit": 2}).json()
    assert [one["id"] for one in found["decisions"]] == ["a", "b"]
    assert found["total"] == 3
    assert client.get(f"{SHOP}/open?older_than=1h").json()["total"] == 0
    assert "duration" in problem(client.get(f"{SHOP}/open?older_than=soon"), 422)
    gone = client.post(f"{SHOP}/discard", json={"ids": ["a"], "reason": "lost"})
    assert gone.json() == {"discarded": ["a"]}
    assert "'a'" in problem(
        client.post(f"{SHOP}/discard", json={"ids": ["a"], "reason": "lost"}), 409
    )
    assert "deadline" in problem(client.post(f"{SHOP}/expire", json={}), 422)
    expired = client.post(f"{SHOP}/expire", json={"older_than": 0})
    assert expired.json() == {"expired": ["b", "c"]}


def test_an_archived_study_can_be_looked_at(client):
    ask(client, ids=["a"])
    assert client.post(f"{SHOP}/archive").json() == {"archived": True}
    assert "archived" in problem(ask(client), 409)
    assert "archived" in problem(tell(client, ["a"], [1]), 409)
    assert client.get(f"{SHOP}/status").json()["archived"]


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_rounds_go_out_in_formats_of_the_project(format, tmp_path):
    url = create(tmp_path, rounds=3)
    with serving(url) as client:
        found = client.get(f"{SHOP}/rounds", params={"format": format})
    path = tmp_path / f"out.{format}"
    path.write_bytes(found.content)
    log = ps.Study.open(url, "shop", linear()).log()
    assert len(ps.Log.load(path)) == 15
    np.testing.assert_array_equal(ps.Log.load(path).actions, log.actions)


def test_there_are_no_rounds_yet(client):
    assert "no rounds to write" in problem(client.get(f"{SHOP}/rounds"), 422)
    problem(client.get(f"{SHOP}/rounds?format=xlsx"), 422)


def test_the_exploration_goes_out_as_a_file(client, url, tmp_path):
    found = client.get(f"{SHOP}/exploration")
    path = tmp_path / "exploration.npz"
    path.write_bytes(found.content)
    loaded = ps.Exploration.load(path, linear())
    assert loaded.same_as(ps.Study.open(url, "shop", linear()).exploration)
    version = found.headers["x-policysieve-exploration"]
    again = client.get(f"{SHOP}/exploration", headers={"if-none-match": found.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-policysieve-exploration"] == version


def test_studies_are_listed_with_what_is_wrong(tmp_path):
    url = create(tmp_path)
    create(tmp_path, "other", policies=linear(5))
    create(tmp_path, "nobody")
    with serving(url, {"shop": linear(), "other": linear()}) as client:
        found = {one["name"]: one["trouble"] for one in client.get("/v1/studies").json()["studies"]}
        assert found["shop"] is None
        assert "n_policies is 12, not 5" in found["other"]
        assert "policies={'nobody': ...}" in found["nobody"]
        assert "n_policies" in problem(ask(client, study="other"), 422)
        assert "policies={'nobody': ...}" in problem(ask(client, study="nobody"), 404)
        assert "'shop'" in problem(ask(client, study="missing"), 404)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"contexts": [[1, 2]]}, "shape"),
        ({"contexts": 7}, "contexts must be a list"),
        ({}, "contexts must be a list"),
        ({"contexts": [], "hat": 1}, "'hat'"),
        ({"contexts": [[1, 2, 3, 4]], "ids": "a"}, "ids must be a list"),
        ({"contexts": [[1, 2, 3, 4]], "ids": ["a", "b"]}, "each of the 1 rounds"),
        ({"contexts": [[1, 2, 3, 4]], "ids": [""]}, "ids must be texts"),
        ({"contexts": [[1, 2, 3, 4]], "available": [[9]]}, "available"),
        ({"contexts": [[1, 2, 3, 1e999]]}, "finite"),
        ([1], "object"),
    ],
)
def test_what_is_asked_badly_is_refused_in_words(client, body, said):
    import json

    content = json.dumps(body).replace("Infinity", "1e999")
    headers = {"content-type": "application/json"}
    assert said in problem(client.post(f"{SHOP}/ask", content=content, headers=headers), 422)
    assert client.get(f"{SHOP}/status").json()["rounds"] == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"ids": ["a"]}, 422),
        ({"ids": ["a"], "rewards": [2]}, 422),
        ({"ids": ["a"], "rewards": ["much"]}, 422),
        ({"ids": ["a"], "rewards": [1, 0]}, 422),
        ({"ids": [7], "rewards": [1]}, 422),
        ({"ids": ["b"], "rewards": [1]}, 404),
    ],
)
def test_what_is_told_badly_is_refused_in_words(client, body, status):
    ask(client, ids=["a"])
    problem(client.post(f"{SHOP}/tell", json=body), status)
    assert client.get(f"{SHOP}/open").json()["total"] == 1


def test_a_candidate_that_fails_is_named(tmp_path):
    def fails(contexts):
        raise RuntimeError("model is out")

    good = ps.FunctionPolicies([by_length, by_length], n_actions=2)
    bad = ps.FunctionPolicies([by_length, fails], n_actions=2)
    with serving(create(tmp_path, policies=good, problem=NAMED_PROBLEM), bad) as client:
        assert "policy 1" in problem(client.post(f"{SHOP}/ask", json={"contexts": ["a"]}), 502)


def test_limits_of_batch_and_body(url):
    with serving(url, settings=Settings(batch=3, body_bytes=500)) as client:
        assert ask(client, 3).status_code == 200
        assert "at most 3 rounds" in problem(ask(client, 4), 413)
        table = stream_of(pa.table({"context": [0, 1, 2, 3]}).slice(0, 4))
        small = client.post(f"{SHOP}/ask", content=b"[" * 500, headers={"content-type": ARROW})
        problem(small, 400)
        assert len(table) > 0
        assert "500 bytes" in problem(ask(client, 50), 413)


def test_what_takes_too_long_is_said_so_and_goes_on(tmp_path):
    import threading

    held = threading.Event()

    def slow(contexts):
        held.wait(20)
        return [0] * len(contexts)

    policies = ps.FunctionPolicies([slow, slow], n_actions=2)
    url = create(tmp_path, policies=policies, problem=NAMED_PROBLEM)
    with serving(url, policies, Settings(request_seconds=0.3)) as client:
        body = {"contexts": ["x"], "ids": ["a"]}
        assert "0.3 seconds" in problem(client.post(f"{SHOP}/ask", json=body), 504)
        held.set()
        for _ in range(100):
            found = client.post(f"{SHOP}/ask", json=body)
            if found.status_code == 200:
                break
        assert found.json()["decisions"][0]["id"] == "a"
        assert client.get(f"{SHOP}/status").json()["rounds"] == 1


def test_health_needs_nothing_and_metrics_tell_no_context(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok"}
    ask(client, 3, ids=["secret a", "secret b", "secret c"])
    tell(client, ["secret a"], [0.123456])
    text = client.get("/metrics").text
    assert 'policysieve_rounds_total{study="shop",what="decided"} 3.0' in text
    assert 'policysieve_rounds_total{study="shop",what="told"} 1.0' in text
    assert 'door="/v1/studies/{name}/ask",method="POST",status="200"' in text
    assert "secret" not in text
    assert "0.123456" not in text


def test_the_log_has_no_contexts_rewards_or_tokens(client, caplog):
    caplog.set_level(logging.DEBUG)
    ask(client, 1, ids=["secret a"], headers={"X-Other": "secret b"})
    tell(client, ["secret a"], [0.123456])
    ask(client, 1, headers={"Authorization": "Bearer secret"})
    client.get(f"{SHOP}/decisions?id=secret+a")
    lines = [one.getMessage() for one in caplog.records if one.name == "policysieve.service"]
    assert [line.split()[:3] for line in lines] == [
        ["POST", f"{SHOP}/ask", "200"],
        ["POST", f"{SHOP}/tell", "200"],
        ["POST", f"{SHOP}/ask", "401"],
        ["GET", f"{SHOP}/decisions", "200"],
    ]
    said = "\n".join(one.getMessage() for one in caplog.records if one.name != "httpx")
    assert "secret" not in said
    assert "0.123456" not in said
    assert str(rows(1)[0][0]) not in said


def test_answers_carry_headers_that_browsers_heed(client):
    for path in ("/healthz", "/nowhere", f"{SHOP}/status"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in headers
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_pages_of_other_origins_may_call_if_they_are_named(url):
    origin = {"Origin": "https://shop.example"}
    with serving(url, settings=Settings(origins=("https://shop.example",))) as client:
        found = client.get("/v1/studies", headers=origin)
        assert found.headers["access-control-allow-origin"] == "https://shop.example"
        other = client.get("/v1/studies", headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers
    with serving(url) as client:
        assert (
            "access-control-allow-origin" not in client.get("/v1/studies", headers=origin).headers
        )


def test_nothing_else_is_there(client):
    problem(client.get("/v1/studies/shop"), 404)
    problem(client.get(f"{SHOP}/ask"), 405)
    problem(client.get("/docs"), 404)
    problem(client.get("/v1/studies/%00/status"), 404)
    problem(client.get("/v1/studies/a%2Fb/status"), 404)
