"""What pages say, and that nothing on them is more than text."""

import re
import time
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

import policysieve as ps
from policysieve.service import Settings
from policysieve.service.dashboard.checkups import Checkups, concerns
from policysieve.service.dashboard.forms import mark_of
from policysieve.service.dashboard.views import candidates_of
from policysieve.service.hosting import Hosted
from policysieve.service.tokens import create_token
from policysieve.study.storage import Storage
from tests.service.dashboard.cases import EVIL, HOSTILE, with_studies
from tests.service.serving import create, serving
from tests.study.cases import PROBLEM, contexts, linear, play


class Elements(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")
        url, classes = with_studies(tmp_path_factory.mktemp("site"))
        with serving(url, classes) as client:
            yield client


def seen(client, path, status=200, **options):
    response = client.get(path, **options)
    assert response.status_code == status, response.text
    return Elements(response.text)


def study_path(name):
    return f"/studies/{quote(name, safe='')}"


def test_all_studies_at_a_glance(site):
    text = seen(site, "/").text
    for name in ("running", "proved", "empty", "large", HOSTILE):
        assert name in text
    for state in ("proved", "exploring", "no rounds yet"):
        assert state in text


@pytest.mark.parametrize("name", ["running", "proved", "empty", "large", HOSTILE])
def test_nothing_on_a_page_is_more_than_text(site, name):
    for path in (
        "/",
        study_path(name),
        f"{study_path(name)}/archive",
        f"{study_path(name)}/expire",
    ):
        page = seen(site, path)
        for tag, attributes in page.tags:
            assert tag not in ("img", "style", "iframe", "object", "base")
            assert not [key for key in attributes if key == "style" or key.startswith("on")]
            if tag == "script":
                assert attributes["src"].startswith("/assets/dashboard.js")
            for key in ("href", "src", "action"):
                assert attributes.get(key, "/")[:1] in ("/", "#")


def test_hostile_names_are_shown_as_they_are(site):
    text = seen(site, study_path(HOSTILE)).text
    assert HOSTILE in text
    for name in EVIL:
        assert name in text


def test_a_study_says_where_it_stands(site):
    status = site.get("/v1/studies/proved/status").json()
    text = seen(site, study_path("proved")).text
    assert status["recommendation"]["guarantee"] in text
    assert status["cost"]["guarantee"] in text
    assert f"{status['learnt']:,}" in text
    assert "policy 3" in text
    assert "out since round" in text


def test_a_study_that_runs_has_a_line_to_reach_and_open_answers(site):
    text = seen(site, study_path("running")).text
    assert "the line to reach" in text
    assert re.search(r"open\s*3", text)
    assert "From your program" in text


def test_an_empty_study_says_what_to_do_next(site):
    text = seen(site, study_path("empty")).text
    assert "Ready for the first round" in text
    assert "Candidates" not in text


def test_an_empty_service_says_what_to_do_next(tmp_path):
    url = f"sqlite:///{tmp_path / 'none.db'}"
    Storage(url, create=True).close()
    with serving(url) as client:
        assert "No studies yet" in seen(client, "/").text


def test_few_of_a_thousand_candidates_are_shown_and_others_found_by_name(site):
    def rows(**params):
        page = seen(site, study_path("large"), params=params)
        return [a for tag, a in page.tags if a.get("role") == "rowheader"], page.text

    first, text = rows()
    assert len(first) == 20
    assert "20 of 1,000" in text
    assert len(rows(many="true")[0]) == 200
    found, _ = rows(find="NUMBER 77")
    assert len(found) == 11
    assert all("number 77" in one["title"] for one in found)
    assert rows(find="nobody")[0] == []
    n_in, n_out = (len(rows(show=show, many="true")[0]) for show in ("in", "out"))
    assert n_in == site.get("/v1/studies/large/status").json()["survivors"] > 0
    assert n_out == 200
    assert len(rows(show="nonsense")[0]) == 20


def test_candidates_are_in_the_order_that_people_look_for(tmp_path):
    url = create(tmp_path)
    with ps.Study.open(url, "shop", linear()) as study:
        play(study, 60, 10)
        hosted = Hosted(url, linear())
        from policysieve.service.dashboard.views import Views

        view = Views(hosted).view("shop")
        rows = candidates_of(view).rows
        assert rows[0].leads
        assert rows[0].number == 3
        assert [row.is_out for row in rows] == sorted(row.is_out for row in rows)
        left = set(study.survivors().tolist())
        assert {row.number for row in rows if not row.is_out} == left
        history = study.history()
        for row in rows:
            if row.is_out and row.out_learnt is not None:
                assert row.out_learnt == history.points[history.eliminated_at[row.number]].learnt
        hosted.close()


def test_pages_change_nothing(tmp_path):
    url = create(tmp_path, rounds=30)
    with ps.Study.open(url, "shop", linear()) as study, serving(url) as client:
        before = study.pulse(), study.recommend()
        for _ in range(3):
            seen(client, "/")
            seen(client, "/studies/shop")
        assert (study.pulse(), study.recommend()) == before
        assert study.verify().holds


def test_errors_are_pages(site):
    page = seen(site, "/studies/nothing", 404)
    assert "There is no study 'nothing' here; " in page.text
    assert ("html", {"lang": "en"}) in page.tags
    seen(site, "/assets/../secret", 404)
    seen(site, "/assets/other.css", 404)


def test_names_that_no_address_leads_to_are_listed_as_such(tmp_path):
    url = create(tmp_path, "a/b")
    create(tmp_path, "..")
    with serving(url) as client:
        text = seen(client, "/").text
        assert "a/b" in text
        assert text.count("no address leads") == 2


def test_a_study_whose_policies_are_not_here_is_listed_with_the_reason(tmp_path):
    url = create(tmp_path)
    with serving(url, {"other": linear()}) as client:
        text = seen(client, "/").text
        assert "not served" in text
        assert "has no policies for study 'shop'" in text
        seen(client, "/studies/shop", 404)


def test_assets_are_kept_and_pages_are_not(site):
    page = seen(site, "/")
    (sheet,) = [a["href"] for tag, a in page.tags if a.get("rel") == "stylesheet"]
    response = site.get(sheet)
    assert "immutable" in response.headers["cache-control"]
    assert "--vermilion" in response.text
    assert "no-store" in site.get("/").headers["cache-control"]
    policy = site.get("/").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy


def test_the_report_can_be_taken_along(site):
    response = site.get(f"{study_path('proved')}/report")
    assert "attachment" in response.headers["content-disposition"]
    assert response.text.startswith("<!DOCTYPE html>")
    assert "recommends policy 3" in response.text


# Signing in, and forms


@pytest.fixture
def guarded(tmp_path):
    url = create(tmp_path, rounds=4)
    texts = {scope: create_token(Storage(url), scope, [scope])[1] for scope in ("read", "admin")}
    texts["other"] = create_token(Storage(url), "one", ["admin"], studies=["shop"])[1]
    with serving(url, settings=Settings(token_seconds=0)) as client:
        client.texts, client.database = texts, url
        yield client


def sign_in(client, who):
    client.cookies.clear()
    response = client.post("/sign-in", data={"token": client.texts[who]})
    assert response.status_code == 303


HTML = {"Accept": "text/html"}


def test_who_is_not_signed_in_is_asked_to(guarded):
    for path in ("/", "/studies/shop", "/tokens", "/studies/shop/archive"):
        response = guarded.get(path, headers=HTML)
        assert (response.status_code, response.headers["location"]) == (303, "/sign-in")
    assert guarded.get("/").status_code == 401
    page = seen(guarded, "/sign-in")
    assert ("label", {"for": "token"}) in page.tags
    refused = guarded.post("/sign-in", data={"token": "ps_x"}, headers=HTML)
    assert refused.headers["location"] == "/?refused=1"
    again = guarded.get("/?refused=1", headers=HTML)
    assert again.headers["location"] == "/sign-in?refused=1"
    assert "not known" in seen(guarded, "/sign-in?refused=1").text


def test_who_only_reads_sees_no_actions_and_may_not_act(guarded):
    sign_in(guarded, "read")
    text = seen(guarded, "/studies/shop").text
    assert "Archive" not in text
    assert "Tokens" not in text
    for path in ("/studies/shop/archive", "/studies/shop/expire", "/tokens"):
        assert "Not allowed" in seen(guarded, path, 403).text
    assert guarded.post("/studies/shop/archive", data={"mark": mark(guarded)}).status_code == 403


def mark(client, path="/studies/shop"):
    page = seen(client, path)
    return next(a["value"] for tag, a in page.tags if a.get("name") == "mark")


def test_forms_of_other_sites_do_nothing(guarded):
    sign_in(guarded, "admin")
    right = mark(guarded, "/studies/shop/archive")
    for data in ({}, {"mark": ""}, {"mark": right[:-1] + "x"}):
        assert guarded.post("/studies/shop/archive", data=data).status_code == 403
    foreign = {"Origin": "https://evil.example"}
    response = guarded.post("/studies/shop/archive", data={"mark": right}, headers=foreign)
    assert response.status_code == 403
    assert not guarded.get("/v1/studies/shop/status").json()["archived"]


def test_the_mark_is_that_of_who_is_signed_in(guarded):
    sign_in(guarded, "read")
    theirs = mark(guarded)
    sign_in(guarded, "admin")
    assert guarded.post("/studies/shop/archive", data={"mark": theirs}).status_code == 403


def test_a_study_is_archived_after_a_question(guarded):
    sign_in(guarded, "admin")
    page = seen(guarded, "/studies/shop/archive")
    assert "Archive this study?" in page.text
    assert not guarded.get("/v1/studies/shop/status").json()["archived"], "nobody has said yes"
    found = guarded.post(
        "/studies/shop/archive", data={"mark": mark(guarded, "/studies/shop/archive")}
    )
    assert found.headers["location"] == "/studies/shop?done=archived"
    assert guarded.get("/v1/studies/shop/status").json()["archived"]
    text = seen(guarded, found.headers["location"]).text
    assert "The study is archived" in text
    assert "Archive…" not in text


def test_open_decisions_are_expired_after_a_question(guarded):
    sign_in(guarded, "admin")
    with ps.Study.open(guarded.database, "shop", linear(), learn=False) as study:
        study.ask(contexts(3))
    data = {"mark": mark(guarded, "/studies/shop/expire")}
    wrong = guarded.post("/studies/shop/expire", data={**data, "older_than": "soon"})
    assert "older_than must be a duration" in Elements(wrong.text).text
    assert guarded.get("/v1/studies/shop/status").json()["open"] == 3
    found = guarded.post("/studies/shop/expire", data={**data, "older_than": "0s"})
    assert found.headers["location"] == "/studies/shop?done=expired"
    assert guarded.get("/v1/studies/shop/status").json()["expired"] == 3


def test_a_token_is_revoked_after_a_question(guarded):
    sign_in(guarded, "admin")
    page = seen(guarded, "/tokens")
    (path,) = [a["href"] for tag, a in page.tags if "revoke" in a.get("href", "")][-1:]
    assert "Revoke this token?" in seen(guarded, path).text
    found = guarded.post(path, data={"mark": mark(guarded, path)})
    assert found.headers["location"] == "/tokens"
    assert "revoked" in seen(guarded, "/tokens").text
    seen(guarded, "/tokens/0000000000000000/revoke", 404)
    assert guarded.texts["read"] not in guarded.get("/tokens").text


def test_tokens_say_until_when_they_are_valid(guarded):
    storage = Storage(guarded.database)
    create_token(storage, "short", ["read"], lasts="0s")
    create_token(storage, "long", ["read"], lasts="52w")
    sign_in(guarded, "admin")
    text = " ".join(seen(guarded, "/tokens").text.split())
    year = time.gmtime(time.time() + 52 * 7 * 86400).tm_year
    assert re.search(rf"long ?[0-9a-f]{{16}} ?read ?all ?just now until \d\d \w+ {year}", text)
    assert re.search(r"short ?[0-9a-f]{16} ?read ?all ?just now expired just now", text)
    assert re.search(r"admin yours ?[0-9a-f]{16} ?admin ?all ?just now always", text)


def test_who_may_do_everything_in_one_study_has_nothing_to_do_with_tokens(guarded):
    sign_in(guarded, "other")
    seen(guarded, "/studies/shop/archive")
    seen(guarded, "/tokens", 403)


def test_a_token_for_some_studies_shows_no_others(guarded):
    ps.Study.create(guarded.database, "hidden study", linear(), PROBLEM, seed=0).close()
    sign_in(guarded, "other")
    text = seen(guarded, "/").text
    assert "shop" in text
    assert "hidden study" not in text
    assert "Tokens" not in text
    seen(guarded, "/studies/hidden%20study", 403)


def test_the_mark_of_a_form_is_no_secret_of_the_cookie():
    class Request:
        cookies = {"policysieve_token": "ps_secret"}  # noqa: RUF012

    assert "secret" not in mark_of(Request())
    assert len(mark_of(Request())) == 64


# Health


def test_health_is_looked_at_once_there_is_enough_and_says_nothing_against_a_study(tmp_path):
    hosted = Hosted(create(tmp_path, rounds=60), linear())
    checkups = Checkups(hosted)
    checkups.maybe("shop", 99)
    assert not checkups.is_running("shop"), "too few"
    checkups.maybe("shop", 300)
    checkups._pool.shutdown(wait=True)
    found = checkups.last("shop")
    assert found.health.rounds == 300
    assert found.health.change is None
    assert concerns(found.health) == []
    hosted.close()


def test_a_changed_world_raises_an_alarm(tmp_path):
    url = create(tmp_path, learner="Uniform", settings={"rounds": 100_000})
    with ps.Study.open(url, "shop", linear()) as study:
        for half in (0, 1):
            for number in range(10):
                decisions = study.ask(contexts(100, seed=number + 10 * half))
                study.tell(decisions, (decisions.actions[:, 0] == 4 * half).astype(float))
    with serving(url) as client:
        mark = {"mark": ""}
        assert client.post("/studies/shop/checkup", data=mark).status_code == 303
        text = ""
        for _ in range(100):
            text = seen(client, "/studies/shop").text
            if "the world has changed" in text:
                break
            client.app.state.ending.wait(0.2)
        assert "The world has changed: " in text


def test_a_checkup_that_fails_says_so_and_pages_go_on(tmp_path, monkeypatch):
    hosted = Hosted(create(tmp_path, rounds=2), linear())
    checkups = Checkups(hosted)

    def broken(*_):
        raise ValueError("no")

    monkeypatch.setattr("policysieve.service.dashboard.checkups.check_log", broken)
    checkups.start("shop", 10)
    checkups._pool.shutdown(wait=True)
    assert checkups.last("shop").trouble == "it failed (ValueError)"
    assert not checkups.is_running("shop")
    hosted.close()


def test_costs_and_classes_without_elimination_have_pages(tmp_path):
    url = f"sqlite:///{tmp_path / 'service.db'}"
    costs = ps.Problem(
        n_actions=5, epsilon=2, delta=0.05, reward_range=(0, 30), objective="minimize", against=1
    )
    for name, problem, options in (
        ("costs", costs, {}),
        ("even", PROBLEM, {"learner": "Uniform", "settings": {"rounds": 60}}),
    ):
        with ps.Study.create(url, name, linear(), problem, seed=0, **options) as study:
            play(study, 5, 5)
    with serving(url) as client:
        assert "costs a round" in seen(client, "/studies/costs").text
        assert "eliminates no candidate" in seen(client, "/studies/even").text
