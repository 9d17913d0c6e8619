"""Who may come in: tokens, their scopes and studies, browsers, and pages of other sites."""

import logging

import pytest
from fastapi.routing import APIRoute

import policysieve as ps
from policysieve.service import Hosted, Settings
from policysieve.service.doors import COOKIE, HEADER, Requires
from policysieve.service.serving import Server
from policysieve.service.tokens import SCOPES, create_token, list_tokens, revoke_token
from policysieve.study.storage import Storage
from tests.service.serving import ask, bearer, create, serving
from tests.study.cases import linear

SHOP = "/v1/studies/shop"
PUBLIC = {"/healthz", "/readyz", "/openapi.json", "/sign-in", "/sign-out", "/assets/{name}"}
"""Doors that need no token; a new one has to be named here, or to require a scope."""

BODIES = {
    "ask": {"contexts": [[1, 2, 3, 4]]},
    "tell": {"ids": [], "rewards": []},
    "expire": {"older_than": "1h"},
    "discard": {"ids": [], "reason": "none"},
}


def doors_of(routes):
    """Every door: its method, its path, and the scope that its code requires."""
    found = []
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            found += doors_of(inner.routes)
        elif not isinstance(route, APIRoute):
            assert route.path in PUBLIC, route
        else:
            needed = route.dependant.dependencies
            scopes = [one.call.scope for one in needed if isinstance(one.call, Requires)]
            assert len(scopes) == (route.path not in PUBLIC), route.path
            scope = scopes[0] if scopes else None
            found += [(method, route.path, scope) for method in route.methods]
    return found


def call(client, method, path, headers, study="shop"):
    body = BODIES.get(path.rpartition("/")[2])
    where = path.replace("{name}", study)
    params = {"id": "missing"} if path.endswith("decisions") else None
    if path.endswith("events"):  # which never end by themselves
        with client.stream(method, where, headers=headers) as response:
            return response
    return client.request(method, where, json=body, headers=headers, params=params)


def test_a_token_of_each_scope_on_each_door(tmp_path):
    url = create(tmp_path, rounds=1)
    tokens = {scope: bearer(url, scope) for scope in SCOPES}
    restricted = bearer(url, *SCOPES, studies=["other"])
    tried = 0
    with serving(url) as client:
        doors = doors_of(client.app.routes)
        assert {scope for _, _, scope in doors if scope} == set(SCOPES)
        # what ends the study comes last
        for method, path, needed in sorted(doors, key=lambda door: door[1].endswith("archive")):
            if path in PUBLIC:
                continue
            assert call(client, method, path, {}).status_code == 401, path
            wrong = {"Authorization": "Bearer ps_0123456789abcdef_" + 43 * "a"}
            assert call(client, method, path, wrong).status_code == 401, path
            if path not in ("/v1/studies", "/"):  # which show such a token its own
                assert call(client, method, path, restricted).status_code == 403, path
            for scope, headers in tokens.items():
                status = call(client, method, path, headers).status_code
                allowed = scope in (needed, "admin")
                assert (status not in (401, 403)) == allowed, (path, scope, status)
                assert status < 500
                tried += 1
    assert tried >= 4 * 12


def test_without_tokens_a_service_on_this_machine_is_open_until_there_is_one(url):
    with serving(url, settings=Settings(token_seconds=0)) as client:
        assert ask(client).status_code == 200
        headers = bearer(url, "decide")
        assert ask(client).status_code == 401
        assert ask(client, headers=headers).status_code == 200
        (token,) = list_tokens(Storage(url))
        revoke_token(Storage(url), token.key)
        assert ask(client).status_code == 401, "a service does not open when tokens are revoked"
        assert ask(client, headers=headers).status_code == 401


@pytest.mark.parametrize("more", [{"require_tokens": True}, {"host_names": ("shop.example",)}])
def test_who_may_be_reached_by_others_needs_tokens_from_the_start(url, more):
    with serving(url, settings=Settings(**more)) as client:
        found = ask(client)
        assert found.status_code == 401
        assert found.headers["www-authenticate"].startswith("Bearer")
        assert "policysieve token create" in found.json()["detail"]


def test_other_addresses_are_not_listened_at_without_tokens(url):
    with pytest.raises(ps.InvalidArgumentError, match="token create"):
        Server(Hosted(url, linear()), Settings(host="0.0.0.0", port=0))


def test_revoked_tokens_are_believed_for_no_longer_than_said(url):
    headers = bearer(url, "read")
    with serving(url, settings=Settings(token_seconds=3600)) as client:
        assert client.get(f"{SHOP}/status", headers=headers).status_code == 200
        (token,) = list_tokens(Storage(url))
        revoke_token(Storage(url), token.key)
        assert client.get(f"{SHOP}/status", headers=headers).status_code == 200
        client.app.state.doors.forget()
        assert client.get(f"{SHOP}/status", headers=headers).status_code == 401


def test_tokens_go_out_of_date(url):
    headers = bearer(url, "read", lasts=0)
    with serving(url) as client:
        assert client.get(f"{SHOP}/status", headers=headers).status_code == 401


def test_a_token_for_one_study_sees_no_other(tmp_path):
    url = create(tmp_path)
    create(tmp_path, "other")
    headers = bearer(url, "read", "decide", studies=["shop"])
    with serving(url) as client:
        found = client.get("/v1/studies", headers=headers).json()["studies"]
        assert [one["name"] for one in found] == ["shop"]
        assert ask(client, headers=headers).status_code == 200
        for study in ("other", "missing"):  # whether there is one is not said
            assert ask(client, study=study, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "text", ["", "Bearer", "Basic abc", "Bearer ps_x_y", "ps_0123456789abcdef_abc"]
)
def test_texts_that_are_no_tokens(url, text):
    with serving(url) as client:  # also while it is open: who shows a token must have one
        assert client.get(f"{SHOP}/status", headers={"Authorization": text}).status_code == 401


def test_secrets_are_not_kept(url, tmp_path):
    _, text = create_token(Storage(url), "x", ["read"])
    key, secret = text.split("_", 2)[1:]
    assert len(secret) == 43, "256 bits"
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert key.encode() in content
    assert secret.encode() not in content


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("", ["read"]), "label"),
        (("x", []), "scopes"),
        (("x", ["write"]), "scopes"),
    ],
)
def test_tokens_that_cannot_be(url, arguments, said):
    with pytest.raises(ps.InvalidArgumentError, match=said):
        create_token(Storage(url), *arguments)
    with pytest.raises(ps.InvalidArgumentError, match="studies"):
        create_token(Storage(url), "x", ["read"], studies=[])
    with pytest.raises(ps.NotFoundError, match="there is none"):
        revoke_token(Storage(url), "abc")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8000", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8000", 200),
        ("LOCALHOST", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:8000", 421),
        ("10.0.0.1", 421),
        ("", 421),
    ],
)
def test_requests_that_call_another_host_are_refused(client, host, status):
    assert client.get("/v1/studies", headers={"Host": host}).status_code == status


def test_hosts_that_were_named_are_called(url):
    headers = bearer(url, "read")
    with serving(url, settings=Settings(host_names=("shop.example",))) as client:
        for host, status in (("shop.example", 200), ("shop.example:443", 200), ("x.example", 421)):
            found = client.get("/v1/studies", headers={**headers, "Host": host})
            assert found.status_code == status
    with serving(url, settings=Settings(host="0.0.0.0")) as client:
        client.base_url = client.base_url.copy_with(host="127.0.0.1")
        for host, status in (("10.0.0.1", 200), ("[fe80::1]:80", 200), ("x.example", 421)):
            found = client.get("/v1/studies", headers={**headers, "Host": host})
            assert found.status_code == status


def sign_in(client, text, **headers):
    return client.post("/sign-in", data={"token": text}, headers=headers)


def test_a_browser_signs_in_and_out(url):
    _, text = create_token(Storage(url), "x", ["read", "decide"])
    with serving(url) as client:
        assert client.get(f"{SHOP}/status").status_code == 401
        assert sign_in(client, "ps_nothing").headers["location"] == "/?refused=1"
        found = sign_in(client, f" {text} ")
        assert (found.status_code, found.headers["location"]) == (303, "/")
        cookie = found.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Path=/"):
            assert part in cookie
        assert "Secure" not in cookie, "this is no TLS"
        assert client.get(f"{SHOP}/status").status_code == 200
        assert "X-PolicySieve" in ask(client).json()["detail"]
        assert ask(client, headers={HEADER: "1"}).status_code == 200
        client.post("/sign-out")
        assert client.get(f"{SHOP}/status").status_code == 401


FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://127.0.0.1:1"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_change_nothing(url, headers):
    with serving(url) as client:
        assert ask(client, headers=headers).status_code == 403, "while it is open"
        assert sign_in(client, "x", **headers).status_code == 403
        assert client.post("/sign-out", headers=headers).status_code == 403
        own = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        assert ask(client, headers=own).status_code == 200
    _, text = create_token(Storage(url), "x", ["read", "decide"])
    with serving(url) as client:
        sign_in(client, text)
        assert ask(client, headers={**headers, HEADER: "1"}).status_code == 403, "with a cookie"
        client.cookies.clear()
        assert ask(client, headers={**headers, "Authorization": f"Bearer {text}"}).is_success


def test_a_header_goes_before_a_cookie(url):
    _, text = create_token(Storage(url), "x", ["read"])
    with serving(url) as client:
        client.cookies.set(COOKIE, text)
        wrong = {"Authorization": "Bearer nothing"}
        assert client.get(f"{SHOP}/status", headers=wrong).status_code == 401
        assert client.get(f"{SHOP}/status").status_code == 200


def test_forms_that_are_too_long_are_not_read(client):
    assert sign_in(client, "x" * 5000).status_code == 413


def test_the_log_names_the_key_and_not_the_secret(url, caplog):
    headers = bearer(url, "read")
    key, secret = headers["Authorization"].removeprefix("Bearer ps_").split("_", 1)
    caplog.set_level(logging.INFO, "policysieve.service")
    with serving(url) as client:
        client.get(f"{SHOP}/status", headers=headers)
    said = [one.getMessage() for one in caplog.records if one.name == "policysieve.service"]
    assert said[0].endswith(f" {key}")
    assert secret not in "\n".join(said)
