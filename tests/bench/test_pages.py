import json
from functools import cache
from html import escape
from pathlib import Path

import pytest

from policysieve.bench.pages import bench_page, bench_tables
from policysieve.errors import InvalidArgumentError
from tests.bench.results import BENCHES
from tests.report.documents import Document

FIGURES = {
    "speed": ["growth", "sieve_growth"],
    "certificates": ["certificates"],
    "samples": ["right", "curves", "certified"],
    "scaling": ["right", "certified", "slopes", "proofs", "variance"],
    "classify": ["accuracy"],
    "lists": ["lists"],
    "faults": ["memory"],
    "forecast": ["forecast"],
}
NOTHING = {
    "samples": {
        "picking": [],
        "proving": [],
        "summary": {"right": {}, "right_mean": None, "right_means": {}, "proved_mean": {}},
    },
    "scaling": {"sweeps": [], "growth": [], "variance": []},
    "classify": {"rows": []},
    "lists": {"rows": []},
    "forecast": {"rows": [], "summary": []},
}

KEPT = Path(__file__).parents[2] / "benchmarks"

kinds = pytest.mark.parametrize("kind", BENCHES)


@cache
def made(kind):
    """The page of a kind's result, which takes longer to draw than tests take to look at it."""
    return bench_page(kind, BENCHES[kind])


@cache
def shown(kind):
    return made(kind).html()


def document(kind, result=None):
    return Document(bench_page(kind, result).html() if result else shown(kind))


def words(page, tag):
    return " ".join(page.text_of(tag))


@kinds
def test_axes_have_plain_numbers(kind):
    """No formula as matplotlib spells it on log scales: math is not parsed in our look."""
    texts = document(kind).text_of("text")
    assert texts
    assert not [text for text in texts if "$" in text]


@kinds
def test_a_page_for_each_kind(kind):
    page = document(kind)
    assert len(page.tags("svg")) == 2 * len(FIGURES[kind])
    captions = page.text_of("figcaption")
    assert len(captions) == len(FIGURES[kind]) + len(page.tags("table"))
    assert len(page.tags("table")) >= 1
    assert page.text_of("code") == [f"policysieve bench {kind}"]
    assert "nan" not in " ".join(text for tag, text in page.texts if tag != "style").lower()


@kinds
def test_the_report_and_its_figures(kind, tmp_path):
    folder = tmp_path / "figures"
    typed = bench_page(kind, BENCHES[kind], command="typed <this>")
    typed.save(tmp_path / "a.html", figures=folder)
    page = Document((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert page.text_of("code") == ["typed <this>"]
    names = {f"{name}.{ending}" for name in FIGURES[kind] for ending in ("png", "svg")}
    assert {path.name for path in folder.iterdir()} == names


@kinds
def test_the_terminal_shows_the_tables_of_the_page(kind):
    for table in bench_tables(kind, BENCHES[kind]):
        assert table.rows
        assert escape(f"{table.title}. {table.note}".strip()) in shown(kind)


@kinds
def test_the_code_that_measured(kind):
    """Files that were kept before benchmarks said so are shown as well."""
    kept = json.loads((KEPT / kind / f"{kind}.json").read_text())
    older = {name: kept[name] for name in kept if name != "code"}
    codes = {row.get("code", "unknown") for row in kept.get("picking", kept.get("sweeps", [{}]))}
    assert made(kind).configuration["code"] == "unknown"
    assert codes <= set(bench_page(kind, older).configuration["code"].split(", "))
    page = document(kind, {**BENCHES[kind], "code": "1.2.3+456789ab"})
    assert "1.2.3+456789ab" in page.text_of("dd")


def test_unknown_kinds():
    with pytest.raises(InvalidArgumentError, match=r"kind must be among speed, .*, got 'speeed'"):
        bench_page("speeed", {})


@pytest.mark.parametrize("kind", NOTHING)
def test_nothing_was_measured(kind):
    page = document(kind, {**BENCHES[kind], **NOTHING[kind]})
    assert page.tags("svg") == []
    if kind != "scaling":
        assert "Left out" in page.text_of("h2")


def test_speed():
    page = document("speed")
    assert page.text_of("dd")[:3] == ["99 times", "as many rounds per second", "60%"]
    assert {"133 MB", "650 MB", "12,346"} <= set(page.text_of("td"))
    skipped = {"skipped": "only measured on Linux"}
    elsewhere = {**BENCHES["speed"], "peak_memory": skipped, "sieve_memory": skipped}
    assert not [text for text in document("speed", elsewhere).text_of("td") if "MB" in text]


def test_certificates():
    page = document("certificates")
    assert page.text_of("dd")[:2] == ["7", "in 300 runs, in any world"]
    assert "None was." in words(page, "p")
    assert page.text_of("td")[:3] == ["10", "1,000", ">9,000"]
    (wrong, *others) = BENCHES["certificates"]["false"]
    broken = {**BENCHES["certificates"], "false": [{**wrong, "false": 81}, *others]}
    assert "At least one was" in words(document("certificates", broken), "p")


def test_samples():
    page = document("samples")
    first = [cell["data-sort"] for cell in page.tags("td")[:4]]
    assert first == ["400", "80", "", "45.0"]  # by task: Uniform, Sieve
    assert page.text_of("td")[:4] == ["400", "80", "\N{EN DASH}", ">45"]
    assert "0.2" in page.text_of("dd")  # 80 of 400 rounds: task two has no other learner
    assert "Wrong certificates among all of them: 0." in words(page, "figcaption")
    assert "letter could not be downloaded" in page.text_of("td")


def test_scaling():
    page = document("scaling")
    assert page.text_of("dd")[:2] == ["2", "of 3 slopes"]
    assert ">999" in page.text_of("td")
    assert "the lower bound that the world is an instance of" in words(page, "figcaption")


def test_faults():
    page = document("faults")
    assert page.text_of("dd")[:1] == ["2"]
    assert "Something went wrong: see the table." in words(page, "p")
    zeros = {**BENCHES["faults"], "kills": [{**BENCHES["faults"]["kills"][0], "left_over": 0}]}
    assert "Nothing went wrong." in words(document("faults", zeros), "p")


def test_classify():
    page = document("classify")
    assert "Bandits only hear whether the label that they showed was right" in words(page, "p")
    assert "supervised is told every label" in words(page, "p")
    assert page.text_of("dd")[:2] == ["0.75", "best other bandit: 0.6, peer_fast"]
    assert "options.digits.peer_slow.rate" in page.text_of("dt")
    assert "0.123456789" in page.text_of("dd")
    assert "\N{EN DASH}" in page.text_of("td")
    alone = {**BENCHES["classify"], "rows": BENCHES["classify"]["rows"][:1]}
    assert "no other bandit was measured" in document("classify", alone).text_of("dd")


def test_forecast():
    page = document("forecast")
    assert page.text_of("dd")[:4] == ["71%", "of 7", "80%", "of such cases"]
    assert "letter" in " ".join(page.text_of("th"))
