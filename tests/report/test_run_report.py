from dataclasses import replace

import pytest

from policysieve.problem import Problem
from tests.report.documents import Document
from tests.report.results import made_up_result, no_rounds


def report(result, path, **options) -> Document:
    result.report(path, **options)
    return Document(path.read_text(encoding="utf-8"))


def test_the_report_says_what_came_out(tmp_path):
    result = made_up_result()
    document = report(result, tmp_path / "run.html")
    best = result.recommendation
    assert document.text_of("h1") == [f"Uniform recommends policy {best.policy}"]
    assert best.guarantee in document.text_of("p")
    facts = document.text_of("dd")
    assert facts[0] == f"policy {best.policy}"
    assert f"{best.value:.4g}" in facts
    assert "the bound proves epsilon" in facts
    assert len(document.tags("svg")) == 2 * 3
    assert len(document.tags("tr")) == 1 + 15 + 1 + len(result.history)
    assert "true value" in document.text_of("th")
    assert "true distance" in document.text_of("th")
    assert {"n_actions", "epsilon", "delta", "seed", "numba"} <= set(document.text_of("dt"))
    assert document.text_of("code") == ["policysieve.run"]


def test_the_result_writes_its_own_report(tmp_path):
    figures = tmp_path / "figures"
    made_up_result().report(tmp_path / "run.html", title="Mine & yours", figures=figures)
    assert {path.stem for path in figures.iterdir()} == {"leaders", "estimate", "suboptimality"}
    html = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert Document(html).text_of("title") == ["Mine & yours"]


def test_the_same_result_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        made_up_result().report(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_without_the_truth_none_is_shown(tmp_path):
    document = report(made_up_result(truth=False), tmp_path / "run.html")
    assert not [text for text in document.text_of("th") if "true" in text]
    assert "this world cannot know it" in document.text_of("dd")
    assert not [text for text in document.text_of("figcaption") if "true" in text]


@pytest.mark.parametrize("history", [True, False])
def test_a_run_without_rounds_has_a_report(tmp_path, history):
    document = report(no_rounds(history=history), tmp_path / "run.html")
    assert "nan" not in " ".join(text for tag, text in document.texts if tag != "style").lower()
    assert len(document.tags("svg")) == 2 * 3
    assert document.text_of("text").count("No rounds were played.") == 2 * 2


def test_slates_and_unknown_sparsity(tmp_path):
    problem = Problem(n_actions=1000, slate_size=3, sparsity=None, epsilon=0.5, delta=0.1)
    document = report(replace(made_up_result(), problem=problem), tmp_path / "run.html")
    assert "1,000 actions, 3 shown in each of 10,000 rounds" in document.text_of("p")[1]
    assert "not known" in document.text_of("dd")
