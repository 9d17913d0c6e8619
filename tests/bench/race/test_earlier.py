"""Rows of an earlier race that a new one did not measure."""

import json

from policysieve.bench.race.earlier import with_earlier_rows

SETTINGS = {"seeds": 2}


def row(task, learner, **more):
    return {"task": task, "learner": learner, **more}


def write(folder, picking=(), proving=(), settings=SETTINGS, **more):
    text = {"settings": settings, "picking": list(picking), "proving": list(proving), **more}
    (folder / "samples.json").write_text(json.dumps(text))


def test_without_an_earlier_race(tmp_path):
    rows = {"picking": [row("a", "Sieve", code="new")], "proving": []}
    assert with_earlier_rows(rows, None, SETTINGS) == (rows, None)
    assert with_earlier_rows(rows, tmp_path, SETTINGS) == (rows, None)


def test_what_was_measured_replaces_what_was_there(tmp_path):
    """A cell is a kind, a task and a learner: each is replaced alone."""
    cells = [("a", "Sieve"), ("a", "Uniform"), ("b", "Sieve")]
    write(
        tmp_path,
        [row(*cell, code="old") for cell in cells],
        [row("a", "Sieve", code="older")],
        code="oldest",
    )
    rows = {"picking": [row("a", "Sieve", code="new")], "proving": [row("b", "Sieve", code="new")]}
    found, dropped = with_earlier_rows(rows, tmp_path, SETTINGS)
    assert dropped is None
    assert found == {
        "picking": [
            row("a", "Sieve", code="new"),
            row("a", "Uniform", code="old"),
            row("b", "Sieve", code="old"),
        ],
        "proving": [row("b", "Sieve", code="new"), row("a", "Sieve", code="older")],
    }


def test_rows_without_a_code_take_that_of_their_file(tmp_path):
    rows = {"picking": [], "proving": []}
    for more, code in (({"code": "0.1.0+1a2b3c4d"}, "0.1.0+1a2b3c4d"), ({}, "unknown")):
        write(tmp_path, [row("a", "Sieve")], **more)
        found, _ = with_earlier_rows(rows, tmp_path, SETTINGS)
        assert found["picking"] == [row("a", "Sieve", code=code)]


def test_rows_of_other_settings_are_dropped_with_a_word(tmp_path):
    write(tmp_path, [row("a", "Sieve"), row("a", "Exp4")], [row("a", "Sieve")], {"seeds": 3})
    rows = {"picking": [row("a", "Sieve", code="new")], "proving": []}
    found, dropped = with_earlier_rows(rows, tmp_path, SETTINGS)
    assert found == rows
    assert dropped == "2 of its rows were dropped, because they have other settings: seeds 3"


def test_no_word_if_all_were_measured_anew(tmp_path):
    write(tmp_path, [row("a", "Sieve")], settings={"seeds": 3})
    rows = {"picking": [row("a", "Sieve", code="new")], "proving": []}
    assert with_earlier_rows(rows, tmp_path, SETTINGS) == (rows, None)


def test_a_damaged_file(tmp_path):
    (tmp_path / "samples.json").write_text('{"settings": ')
    rows = {"picking": [row("a", "Sieve", code="new")], "proving": []}
    found, dropped = with_earlier_rows(rows, tmp_path, SETTINGS)
    assert found == rows
    assert dropped == "was not JSON, so none of its rows could be kept"
