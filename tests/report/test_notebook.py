"""Cards for notebooks: every result has one, whatever is in it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import policysieve as ps
from policysieve.report import card_of
from policysieve.reported import Carded
from tests.report.results import PROBLEM, made_up_experiment, made_up_result, no_rounds
from tests.report.test_health_report import health

VOID = {"circle", "line"}
HOSTILE = '<script>alert("1")</script><img src=https://example.org/x>'


class Reader(HTMLParser):
    """Text and tags of a card, which must be closed in order."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.text = set(), [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        assert tag in VOID

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data} "


def some_log(**changed):
    columns = {
        "contexts": np.arange(200) % 7,
        "actions": np.arange(200) % 4,
        "propensities": np.full(200, 0.25),
        "rewards": (np.arange(200) % 5 == 0).astype(float),
    }
    return ps.Log(**(columns | changed))


def some_selection(log=None):
    policies = ps.PolicyTable(np.arange(28).reshape(7, 4) % 4, n_actions=4)
    problem = ps.Problem(n_actions=4, epsilon=0.2, delta=0.1)
    return ps.select(some_log() if log is None else log, policies, problem, floor=0.25)


def log_file(folder):
    some_log().save(folder / "some.parquet")
    return ps.LogFile(folder / "some.parquet")


RESULTS = {
    "Problem": lambda _: PROBLEM,
    "Recommendation": lambda _: made_up_result().recommendation,
    "Certificate": lambda _: some_selection().certificate,
    "Selection": lambda _: some_selection(),
    "Log": lambda _: some_log(),
    "LogFile": log_file,
    "LogHealth": lambda _: health(),
    "RunResult": lambda _: made_up_result(),
    "ExperimentResult": lambda _: made_up_experiment("Sieve", "Uniform"),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_every_result_has_a_card_that_stands_by_itself(kind, tmp_path):
    html = RESULTS[kind](tmp_path)._repr_html_()
    seen = Reader(html)
    assert seen.tags <= {"div", "span", "table", "thead", "tbody", "tr", "th", "td", "svg"} | VOID
    assert "://" not in html
    assert "url(" not in html
    assert "cannot be shown" not in html


@pytest.mark.parametrize("kind", RESULTS)
def test_cards_take_their_colours_from_the_notebook(kind, tmp_path):
    """Text has no colour of its own, and no background is opaque."""
    html = RESULTS[kind](tmp_path)._repr_html_()
    assert set(re.findall(r"[;\"]color:([^;\"]*)", html)) <= {"inherit"}
    assert all(one.startswith("rgba(") for one in re.findall(r"background:([^;\"]*)", html))


@pytest.mark.parametrize("kind", RESULTS)
def test_what_is_half_made_has_a_card_too(kind, tmp_path):
    made = object.__new__(type(RESULTS[kind](tmp_path)))
    text = Reader(made._repr_html_()).text
    assert kind in text
    assert "cannot be shown: AttributeError" in text


def test_before_the_first_round_there_are_cards():
    nothing = no_rounds()
    assert "Nothing is guaranteed" in Reader(nothing._repr_html_()).text
    assert "\N{EN DASH}" in Reader(nothing.recommendation._repr_html_()).text
    Reader(no_rounds(history=False)._repr_html_())
    assert "0" in Reader(some_log()[:0]._repr_html_()).text
    learner = ps.Sieve(ps.PolicyTable(np.zeros((3, 2), int), n_actions=4), PROBLEM4, rng=0)
    for one in (
        learner.recommend(),
        ps.Evidence(learner.policies, PROBLEM4).certificate(),
        learner.log,
    ):
        assert "cannot be shown" not in Reader(one._repr_html_()).text


PROBLEM4 = ps.Problem(n_actions=4, epsilon=0.2, delta=0.1)


def test_texts_of_users_are_only_text():
    best = replace(made_up_result().recommendation, guarantee=HOSTILE)
    run = replace(made_up_result(), learner=HOSTILE, recommendation=best)
    experiment = made_up_experiment(HOSTILE)
    log = some_log(contexts=[HOSTILE] * 200)
    rules = {f"{HOSTILE}{n}": lambda rows, n=n: (rows + n) % 4 for n in range(3)}
    names = [f"{HOSTILE}{n}" for n in range(4)]
    policies = ps.FunctionPolicies(rules, actions=names)
    problem = ps.Problem(actions=names, epsilon=0.2, delta=0.1)
    selection = ps.select(some_log(), policies, problem, floor=0.25)
    for one in (best, run, experiment, log, Unknown(), problem, selection, selection.certificate):
        seen = Reader(one._repr_html_())
        assert not seen.tags & {"script", "img"}
        assert "<script>" in seen.text


class Unknown(Carded):
    def __repr__(self):
        return HOSTILE


def test_what_has_no_card_of_its_own_is_shown_as_text():
    assert "Unknown" in card_of(Unknown())


def test_a_broken_representation_is_no_error():
    class Broken(Carded):
        def __repr__(self):
            raise RuntimeError

    assert "RuntimeError" in card_of(Broken())


def test_a_selection_is_shown_with_its_intervals():
    selection = some_selection()
    seen = Reader(selection._repr_html_())
    assert selection.policy_name in seen.text
    assert selection.guarantee in seen.text
    assert selection._repr_html_().count("<svg") == 4


def test_intervals_have_one_scale():
    html = made_up_result()._repr_html_()
    ends = [float(x) for x in re.findall(r'x[12]="([\d.]+)"', html)]
    assert min(ends) == 5
    assert max(ends) == 155


def test_a_log_shows_its_first_rounds():
    seen = Reader(some_log()._repr_html_())
    assert "The first 5 of 200 rounds." in seen.text
    assert "of what was shown" in seen.text
    rows = some_log(contexts=np.full((200, 3), [1 / 3, -2.0, 1e6]))
    assert "0.3333, \N{MINUS SIGN}2, 1e+06 " in Reader(rows._repr_html_()).text
    slates = some_log(
        actions=np.tile([0, 1], (200, 1)),
        propensities=np.full((200, 2), 0.5),
        rewards=np.zeros((200, 2)),
    )
    assert "0.5, 0.5" in Reader(slates._repr_html_()).text


def test_actions_of_a_log_are_shown_by_their_names(tmp_path):
    names = ["boots", "coat", HOSTILE, "hat"]
    log = some_log(actions=[names[i % 4] for i in range(200)], action_names=names)
    seen = Reader(log._repr_html_())
    assert "boots, coat, <script>" in seen.text
    assert " 1 1 coat 0.25 0 " in seen.text
    log.save(tmp_path / "named.parquet")
    seen = Reader(ps.LogFile(tmp_path / "named.parquet")._repr_html_())
    assert "boots, coat, <script>" in seen.text


def test_a_table_of_contexts_is_shown_by_its_columns():
    rows = [{"age": 1.5, "country": None, "device": HOSTILE}] * 200
    seen = Reader(some_log(contexts=rows)._repr_html_())
    assert "3 columns: age, country, device" in seen.text
    assert f"age 1.5, country \N{EN DASH}, device {HOSTILE[:10]}" in seen.text
    assert "script" not in seen.tags


def test_findings_that_are_not_ok_are_told():
    broken = ps.check_log(some_log(propensities=np.full(200, 0.05)))
    seen = Reader(broken._repr_html_())
    told = [one for one in broken.findings if one.verdict != "ok"]
    assert told
    assert all(one.sentence in seen.text for one in told)


def test_cards_speak_of_ranges_and_costs():
    problem = ps.Problem(
        n_actions=4, epsilon=3, delta=0.1, reward_range=(-5, 20), objective="minimize"
    )
    text = Reader(problem._repr_html_()).text
    assert "Lower is better." in text
    assert "Costs" in text
    assert "in [-5, 20]" in text
    log = ps.Log(
        contexts=[0], actions=[1], propensities=[0.5], rewards=[12.5], reward_range=(-5, 20)
    )
    assert "in [-5, 20]" in Reader(log._repr_html_()).text
    assert "Lower" not in Reader(ps.Problem(n_actions=4, epsilon=0.2, delta=0.1)._repr_html_()).text
