"""Steps of an earlier run are kept if it had the same settings."""

import json

import pytest

from policysieve.bench.steps import begun

EARLIER = {"code": "old", "settings": {"rounds": 5}, "one": [1], "two": [2], "codes": {"two": "x"}}


@pytest.mark.parametrize(
    ("settings", "is_kept"),
    [
        ({"rounds": 5}, True),
        ({"rounds": 5, "later": (1, 2)}, True),
        ({"rounds": 6}, False),
        ({"later": 1}, False),
    ],
)
def test_what_is_kept(tmp_path, settings, is_kept):
    kept = tmp_path / "result.json"
    kept.write_text(json.dumps(EARLIER))
    found = begun(settings, "new", ("one", "two", "three"), kept)
    assert found["code"] == "new"
    assert found["settings"] == json.loads(json.dumps(settings))
    assert found["codes"] == ({"one": "old", "two": "x"} if is_kept else {})
    assert found.get("one") == ([1] if is_kept else None)


@pytest.mark.parametrize("kept", [None, "nothing.json"])
def test_there_need_not_be_an_earlier_run(tmp_path, kept):
    found = begun({"a": 1}, "new", ("one",), None if kept is None else tmp_path / kept)
    assert found == {"code": "new", "settings": {"a": 1}, "codes": {}}
