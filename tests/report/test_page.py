import os
from importlib import metadata
from math import nan

import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError
from policysieve.report import Page, suboptimality_over_rounds, value_intervals
from tests.report.documents import Document
from tests.report.results import made_up_result


def full_page() -> Page:
    result = made_up_result(5)
    return (
        Page("A page", "What it is about.", configuration={"epsilon": 0.1, "none": None})
        .facts({"plain": 3, "noted": (0.25, "a note"), "missing": nan})
        .section("Part")
        .text("One paragraph.")
        .text("The main one.", statement=True)
        .figure(value_intervals(result), "Intervals")
        .figure(value_intervals(result), "The same again")
        .figure(suboptimality_over_rounds(result), "Distances")
        .table(["name", "x"], [["b", 1.5], ["a", None]], "A table")
        .table(["name"], [["c"]], "Another", fold="More")
    )


def test_the_page_is_well_formed_and_ids_are_unique():
    document = Document(full_page().html())
    assert len(document.ids) == len(set(document.ids))
    assert document.references == set(document.ids)
    assert document.text_of("h1") == ["A page"]
    assert document.text_of("h2") == ["Part", "Configuration and versions"]
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
        Page(evil, evil, configuration={evil: evil})
        .section(evil)
        .text(evil)
        .facts({evil: (evil, evil)})
        .table([evil], [[evil]], evil, fold=evil)
        .figure(value_intervals(made_up_result()), evil)
    )
    html = page.html()
    document = Document(html)
    assert evil not in html
    assert len(document.tags("script")) == 1
    for tag in ("title", "h1", "h2", "p", "dt", "dd", "th", "figcaption", "summary"):
        assert evil in document.text_of(tag), tag
    assert {svg["aria-label"] for svg in document.tags("svg")} == {evil}


def test_cells_carry_what_they_are_sorted_by():
    dash = "\N{EN DASH}"
    rows = [["b", np.float64(0.5), True], ["a", None, False], ["c", nan, None]]
    document = Document(Page("t").table(["name", "x", "ok"], rows, "c").html())
    assert [cell["data-sort"] for cell in document.tags("td")] == ["0.5", "yes", "", "no", "", ""]
    assert document.text_of("td") == ["0.5000", "yes", dash, "no", dash, dash]
    heads = [head for head in document.tags("th") if head["scope"] == "col"]
    assert [head.get("class") for head in heads] == [None, "number", None]


def test_a_table_without_rows_is_a_table():
    assert Document(Page("t").table(["a", "b"], [], "nothing").html()).text_of("th") == ["a", "b"]


def test_rows_must_fit_the_columns():
    with pytest.raises(InvalidArgumentError, match=r"2 values.*got 1 in row 1"):
        Page("t").table(["a", "b"], [[1, 2], [1]], "c")


def test_versions_are_at_the_end():
    names = Document(Page("t").html()).text_of("dd")
    assert names[:2] == [metadata.version("policysieve"), metadata.version("numpy")]


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
