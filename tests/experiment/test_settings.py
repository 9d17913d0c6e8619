from typing import Any, Literal

import pytest

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.experiment.settings import SettingsTable, can_be_set, read_toml, within


def make(
    policies: object,
    *,
    size: int,
    share: float = 0.5,
    kind: Literal["fast", "slow"] = "fast",
    deep: bool = False,
    name: str | None = None,
    seeds: int | list[int] = 1,
    table: object = None,
    rng: Any = 0,
) -> None:
    """What tables are checked against."""


def arguments(**values):
    return SettingsTable("here", values).arguments(make, "policies")


class TestArguments:
    def test_are_the_values_of_the_table(self):
        assert arguments(size=3) == {"size": 3}
        given = {"size": 3, "share": 1, "kind": "slow", "deep": True, "seeds": [1, 2], "rng": 7}
        assert arguments(**given, name="x") == {**given, "name": "x"}

    def test_beside_is_left_to_others(self):
        table = SettingsTable("here", {"size": 3, "note": 1})
        assert table.arguments(make, "policies", beside=["note"]) == {"size": 3}

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({}, "here.size: missing; give a whole number"),
            ({"sise": 3}, "here.sise: unknown key, did you mean size?"),
            ({"size": 3, "shar": 0.1}, "here.shar: unknown key, did you mean share?"),
            ({"size": 3, "zzz": 1}, "here.zzz: unknown key, known: size, share, kind"),
            ({"size": 3, "policies": 1}, "here.policies: unknown key"),
            ({"size": 3, "table": 1}, "here.table: unknown key"),
            ({"size": 3.0}, "here.size: must be a whole number, got 3.0"),
            ({"size": True}, "here.size: must be a whole number, got True"),
            ({"size": 3, "share": "half"}, "here.share: must be a number, got 'half'"),
            ({"size": 3, "share": False}, "here.share: must be a number, got False"),
            ({"size": 3, "deep": 1}, "here.deep: must be true or false, got 1"),
            ({"size": 3, "kind": "quick"}, "here.kind: must be one of 'fast', 'slow', got 'quick'"),
            ({"size": 3, "name": 4}, "here.name: must be a text, got 4"),
            (
                {"size": 3, "seeds": [1, "b"]},
                "here.seeds: must be a whole number or a list of whole numbers, got [1, 'b']",
            ),
            ({"size": 3, "rng": "now"}, "here.rng: must be a whole number, got 'now'"),
        ],
    )
    def test_complaints_name_the_key(self, values, message):
        with pytest.raises(InvalidArgumentError) as error:
            arguments(**values)
        assert str(error.value).startswith(message)


def test_what_can_be_set():
    assert not can_be_set(make)
    assert can_be_set(make, "policies")


def test_tables_within_tables():
    file = SettingsTable("", {"a": {"x": 1}, "b": [{"x": 1}, {"x": 2}], "c": 3, "d": []})
    assert file.table("a").key("x") == "a.x"
    assert [table.key("x") for table in file.tables("b")] == ["b[0].x", "b[1].x"]
    assert file.table("e", optional=True).values == {}
    for call, message in [
        (lambda: file.table("e"), "e: missing; add [e]"),
        (lambda: file.tables("e"), "e: missing; add one or more tables, each headed [[e]]"),
        (lambda: file.table("c"), "c: must be a table [c], got 3"),
        (lambda: file.tables("a"), "a: must be one or more tables, each headed [[a]]"),
        (lambda: file.tables("d"), "d: must be one or more tables"),
        (lambda: file.check_keys(["a", "b", "c"]), "d: unknown key, known: a, b, c"),
    ]:
        with pytest.raises(InvalidArgumentError) as error:
            call()
        assert str(error.value).startswith(message)


def test_choices():
    table = SettingsTable("world", {"kind": "Bule", "size": [1]})
    assert SettingsTable("", {"kind": "Blue"}).choice("kind", {"Blue": 1, "Red": 2}) == 1
    for key, message in [
        ("kind", "world.kind: unknown 'Bule', did you mean Blue?"),
        ("size", r"world.size: unknown \[1\], known: Blue, Red"),
        ("knd", "world.knd: missing; is world.kind it?"),
        ("colour", "world.colour: missing; known: Blue, Red"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message.replace("?", r"\?")):
            table.choice(key, {"Blue": 1, "Red": 2})


def test_within_says_where():
    message = r"^learner\[2\]: mixing must be positive$"
    with pytest.raises(InvalidArgumentError, match=message), within("learner[2]"):
        raise InvalidArgumentError("mixing must be positive")


def test_files(tmp_path):
    path = tmp_path / "some.toml"
    with pytest.raises(FileNotFoundError, match=r"no settings at .*some\.toml"):
        read_toml(path)
    path.write_text("[run]\nrounds = 1_000\n")
    assert read_toml(path) == {"run": {"rounds": 1000}}
    for content in (b"[run\n", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"some\.toml is not a TOML file"):
            read_toml(path)
