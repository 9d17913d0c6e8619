import os
import platform
from importlib import metadata
from math import nan

import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError
from policysieve.report import Page, Table, suboptimality_over_rounds, value_intervals
from policysieve.report.page import versions
from tests.report.documents import Document
from tests.report.results import made_up_result


def full_page() -> Page:
    result = made_up_result(5)
    return (
        Page(
            "A page",
            "What it is about.",
            configuration={"epsilon": 0.1, "none": None},
            made_by="policysieve demo",
        )
        .facts({"plain": 3, "noted": (0.25, "a note"), "missing": nan})
        .section("Part")
        .text("One paragraph.")
        .text("The main one.", statement=True)
        .figure(value_intervals(result), "Intervals", name="first")
        .figure(value_intervals(result), "The same again", name="again")
        .figure(suboptimality_over_rounds(result), "Distances", name="distances")
        .table(Table("A table", ["name", "x"], [["b", 1.5], ["a", None]]))
        .table(Table("Another", ["name"], [["c"]], fold="More"))
    )


def test_the_page_is_well_formed_and_ids_are_unique():
    document = Document(full_page().html())
    assert len(document.ids) == len(set(document.ids))
    assert document.references == set(document.ids)
    assert document.text_of("h1") == ["A page"]
    assert document.text_of("h2") == ["Part", "How this was made"]
    assert len(document.tags("svg")) == 2 * 3  # wide and narrow
    assert len(document.tags("table")) == 2
    assert document.text_of("summary") == ["More"]


def test_the_page_loads_nothing():
    html = full_page().html()
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    document = Document(html)
    assert [link["href"] for link in document.tags("link")] == ["data:,"]
    assert not any("src" in attributes for _, attributes in document.elements)
    rules = [str(meta.get("content")) for meta in document.tags("meta") if "http-equiv" in meta]
    assert rules[0].startswith("default-src 'none';")


def test_the_same_contents_give_the_same_bytes():
    assert full_page().html() == full_page().html()


def test_everything_is_escaped():
    evil = "<script>alert('&\"')</script>"
    page = (
        Page(evil, evil, configuration={evil: evil}, made_by=evil)
        .section(evil)
        .text(evil)
        .facts({evil: (evil, evil)})
        .table(Table(evil, [evil], [[evil]], evil, fold=evil))
        .figure(value_intervals(made_up_result()), evil, name="figure")
    )
    html = page.html()
    document = Document(html)
    assert evil not in html
    assert len(document.tags("script")) == 1
    for tag in ("title", "h1", "h2", "p", "dt", "dd", "th", "figcaption", "summary", "code"):
        assert evil in document.text_of(tag), tag
    assert {svg["aria-label"] for svg in document.tags("svg")} == {evil}


def test_cells_carry_what_they_are_sorted_by():
    dash = "\N{EN DASH}"
    rows = [["b", np.float64(0.5), True], ["a", None, False], ["c", nan, None]]
    document = Document(Page("t").table(Table("c", ["name", "x", "ok"], rows)).html())
    assert [cell["data-sort"] for cell in document.tags("td")] == ["0.5", "yes", "", "no", "", ""]
    assert document.text_of("td") == ["0.5000", "yes", dash, "no", dash, dash]
    heads = [head for head in document.tags("th") if head["scope"] == "col"]
    assert [head.get("class") for head in heads] == [None, "number", None]


def test_a_table_without_rows_is_a_table():
    assert Document(Page("t").table(Table("nothing", ["a", "b"], [])).html()).text_of("th") == [
        "a",
        "b",
    ]


def test_rows_must_fit_the_columns():
    with pytest.raises(InvalidArgumentError, match=r"2 values.*got 1 in row 1"):
        Table("t", ["a", "b"], [[1, 2], [1]])


def test_how_it_was_made_is_at_the_end():
    settings = {"epsilon": 0.123456789, "run": {"seeds": [0, 1]}, "learner": [{"rounds": 20_000}]}
    document = Document(Page("t", configuration=settings, made_by="policysieve demo").html())
    assert document.text_of("code") == ["policysieve demo"]
    assert document.text_of("h3") == ["Configuration", "Versions"]
    facts = dict(zip(document.text_of("dt"), document.text_of("dd"), strict=True))
    assert facts["epsilon"] == "0.123456789"
    assert facts["run.seeds"] == "0, 1"
    assert facts["learner[0].rounds"] == "20000"
    for name in ("policysieve", "numpy", "numba", "scipy"):
        assert facts[name] == metadata.version(name)
    assert facts["python"] == platform.python_version()
    assert platform.machine() in facts["platform"]
    assert platform.node() not in facts["platform"]


def test_names_of_settings_break_between_their_parts():
    html = Page("t", configuration={"options": {"river_linucb": {"lambda_": 1}}}).html()
    assert "<dt>options.<wbr>river_<wbr>linucb.<wbr>lambda_</dt>" in html


def test_versions_of_optional_packages_that_are_installed(monkeypatch):
    def version(package: str) -> str:
        if package == "river":
            raise metadata.PackageNotFoundError(package)
        return f"version of {package}"

    monkeypatch.setattr(metadata, "version", version)
    found = versions()
    for package in ("numpy", "scikit-learn", "vowpalwabbit", "contextualbandits", "mabwiser"):
        assert found[package] == f"version of {package}"
    assert "river" not in found


def test_figures_have_names_of_their_own():
    page = full_page()
    with pytest.raises(InvalidArgumentError, match=r"another one for each figure.*'first' again"):
        page.figure(value_intervals(made_up_result()), "caption", name="first")


def test_figures_are_saved_when_asked_for(tmp_path):
    """The same bytes each time, and readable without the page and its fonts."""
    for name in ("a", "b"):
        full_page().save(tmp_path / f"{name}.html", figures=tmp_path / name / "made")
    files = sorted(path.name for path in (tmp_path / "a" / "made").iterdir())
    assert files == sorted(
        f"{n}.{e}" for n in ("first", "again", "distances") for e in ("png", "svg")
    )
    for name in files:
        data = (tmp_path / "a" / "made" / name).read_bytes()
        assert data == (tmp_path / "b" / "made" / name).read_bytes()
        assert data.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
    assert "<text" not in (tmp_path / "a" / "made" / "first.svg").read_text()


def test_saving_replaces_the_file(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    page = full_page()
    page.save(str(path))
    assert path.read_text(encoding="utf-8") == page.html()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        Page("\ud800").save(path)

    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        Page("new").save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
