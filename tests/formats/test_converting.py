"""Conversion: all of a file or nothing, and what is said about it."""

import json

import numpy as np
import pytest

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import FORMATS, convert
from policysieve.formats.rules import MISSING
from policysieve.log import Log, LogFile, Rounds
from tests.formats.rounds import read, write

GOOD = "context,action,propensity,reward\n1,0,0.5,1\n2,3,0.25,0\n"
BAD = "3,0,0,1\n4,1.5,0.5,1\n5,1,0.5,\n6,1,0.5,1\n"


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def slates():
    return Rounds(
        np.arange(2),
        np.array([[0, 1], [1, 0]], np.int32),
        np.full((2, 2), 0.5),
        np.zeros((2, 2)),
    )


def test_says_what_was_converted(tmp_path):
    (tmp_path / "a.csv").write_text(GOOD)
    done = convert(tmp_path / "a.csv", tmp_path / "a.parquet")
    assert done.to_dict() == {
        "target_format": "parquet",
        "rounds": 2,
        "contexts": "row numbers",
        "slate_size": 1,
        "actions_seen": 2,
        "mean_reward": 0.5,
        "smallest_propensity": 0.25,
        "skipped": 0,
        "skipped_file": None,
        "not_held": [],
    }
    log = Log.load(tmp_path / "a.parquet")
    assert (log.contexts.tolist(), log.actions.tolist()) == ([1, 2], [[0], [3]])


@pytest.mark.parametrize("format", FORMATS)
def test_a_bad_row_leaves_everything_as_it_was(tmp_path, format):
    (tmp_path / "a.csv").write_text(GOOD + BAD)
    (tmp_path / "out").write_text("before")
    with pytest.raises(FileFormatError, match="line 4: a propensity must lie"):
        convert(tmp_path / "a.csv", tmp_path / "out", to_format=format, overwrite=True)
    assert files(tmp_path) == ["a.csv", "out"]
    assert (tmp_path / "out").read_text() == "before"


def test_a_row_that_is_found_bad_while_writing(tmp_path):
    lines = [{"context": c, "actions": [0], "propensities": [1], "rewards": [0]} for c in (1, "a")]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(FileFormatError, match="line 2: context"):
        convert(tmp_path / "a.jsonl", tmp_path / "a.csv")
    assert files(tmp_path) == ["a.jsonl"]


def test_a_missing_reward_is_a_bad_row(tmp_path):
    (tmp_path / "a.csv").write_text(GOOD + "3,0,0.5,\n")
    with pytest.raises(FileFormatError, match="line 4: the reward is missing"):
        convert(tmp_path / "a.csv", tmp_path / "a.parquet")


def test_bad_rows_can_be_skipped(tmp_path):
    (tmp_path / "a.csv").write_text(GOOD + BAD)
    done = convert(tmp_path / "a.csv", tmp_path / "a.jsonl", skip_bad=True)
    assert (done.rounds, done.skipped) == (3, 3)
    assert done.skipped_file == str(tmp_path / "a.jsonl.skipped.jsonl")
    assert files(tmp_path) == ["a.csv", "a.jsonl", "a.jsonl.skipped.jsonl"]
    skipped = (tmp_path / "a.jsonl.skipped.jsonl").read_text().splitlines()
    assert [tuple(json.loads(line).values()) for line in skipped] == [
        (str(tmp_path / "a.csv"), 4, "a propensity must lie in (0, 1], got 0", "3,0,0,1"),
        (str(tmp_path / "a.csv"), 5, "an action must be a whole number, got '1.5'", "4,1.5,0.5,1"),
        (str(tmp_path / "a.csv"), 6, MISSING, "5,1,0.5,"),
    ]
    assert read(tmp_path / "a.jsonl").contexts.tolist() == [1, 2, 6]


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        (
            "obp-csv",
            "item_id,position,click,propensity_score,user_feature_0\n1,1,0,0.5,word\n",
            "1,1,1,0,other",
        ),
        ("vw", "1:0.0:0.5 | c=1\n", "1:0.0:0 | other features"),
        ("vw", "1:0.0:0.5 | f0:1 f1:2\n", "1:0.0:0 | f9:1"),
        (
            "dsjson",
            '{"a":[1],"p":[0.5],"_label_cost":0,"c":{"row":"1","_multi":[{"a":"0"}]}}\n',
            None,
        ),
    ],
)
def test_contexts_of_bad_rows_do_not_matter(tmp_path, format, good, bad):
    if bad is None:
        bad = good.replace("0.5", "0").replace('"row"', '"other"').strip()
    (tmp_path / "a").write_text(f"{good}{bad}\n")
    done = convert(tmp_path / "a", tmp_path / "a.csv", from_format=format, skip_bad=True)
    assert (done.rounds, done.skipped) == (1, 1)
    (skipped,) = map(json.loads, (tmp_path / "a.csv.skipped.jsonl").read_text().splitlines())
    assert skipped["reason"] == "a propensity must lie in (0, 1], got 0"
    assert skipped["text"] == bad


def test_bad_rows_of_parquet_can_be_skipped(tmp_path):
    rounds = Rounds(
        np.array([["a", "b"], ["c", "d"]], dtype=object),
        np.zeros((2, 1), np.int32),
        np.array([[0.5], [1.5]]),
        np.ones((2, 1)),
        np.array(["first", "second"], dtype=object),
    )
    write(tmp_path / "a.parquet", "parquet", rounds)
    done = convert(tmp_path / "a.parquet", tmp_path / "a.jsonl", skip_bad=True)
    assert (done.rounds, done.skipped, done.contexts) == (1, 1, "2 strings")
    (line,) = (tmp_path / "a.jsonl.skipped.jsonl").read_text().splitlines()
    skipped = json.loads(line)
    assert skipped["line"] == 2
    assert json.loads(skipped["text"])["id"] == "second"
    assert json.loads(skipped["text"])["context"] == ["c", "d"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_nothing_but_bad_rows_is_an_error(tmp_path, suffix):
    if suffix == "csv":
        (tmp_path / "a.csv").write_text("context,action,propensity,reward\n1,0,2,1\n")
    else:
        rounds = Rounds(
            np.arange(1), np.zeros((1, 1), np.int32), np.full((1, 1), 2.0), np.ones((1, 1))
        )
        write(tmp_path / "a.parquet", "parquet", rounds)
    reason = r"a propensity must lie in \(0, 1\], got 2"
    with pytest.raises(
        FileFormatError, match=f"no rounds that can be read; the first reason: {reason}"
    ):
        convert(tmp_path / f"a.{suffix}", tmp_path / "b.jsonl", skip_bad=True)
    assert files(tmp_path) == [f"a.{suffix}"]


def test_a_file_can_be_converted_in_its_place(tmp_path):
    (tmp_path / "a.csv").write_text(GOOD.replace(",1\n", ",4\n"))
    done = convert(tmp_path / "a.csv", tmp_path / "a.csv", reward_range=(0, 4), overwrite=True)
    assert done.not_held[-1].endswith("--reward-range 0 4, or reward_range=(0, 4)")
    assert read(tmp_path / "a.csv", reward_range=(0, 4)).rewards.tolist() == [[4.0], [0.0]]


class TestAFileThatExists:
    def test_is_not_replaced(self, tmp_path):
        (tmp_path / "a.csv").write_text(GOOD)
        (tmp_path / "b.csv").write_text("before")
        with pytest.raises(InvalidArgumentError, match=r"b.csv exists, .*--overwrite"):
            convert(tmp_path / "a.csv", tmp_path / "b.csv")
        assert (tmp_path / "b.csv").read_text() == "before"
        convert(tmp_path / "a.csv", tmp_path / "b.csv", overwrite=True)
        assert read(tmp_path / "b.csv").contexts.tolist() == [1, 2]

    def test_nor_are_the_bad_rows_of_another_conversion(self, tmp_path):
        (tmp_path / "a.csv").write_text(GOOD + BAD)
        aside = tmp_path / "b.csv.skipped.jsonl"
        aside.write_text("before")
        with pytest.raises(InvalidArgumentError, match=r"b.csv.skipped.jsonl exists"):
            convert(tmp_path / "a.csv", tmp_path / "b.csv", skip_bad=True)
        assert files(tmp_path) == ["a.csv", "b.csv.skipped.jsonl"]
        convert(tmp_path / "a.csv", tmp_path / "b.csv", skip_bad=True, overwrite=True)
        assert len(aside.read_text().splitlines()) == 3


LOG = Log(contexts=[1, 2], actions=[0, 3], propensities=[0.5, 0.25], rewards=[1, 0])


class TestALogThatIsOpen:
    @pytest.mark.parametrize("format", sorted(FORMATS))
    def test_is_converted(self, tmp_path, format):
        (tmp_path / "a.csv").write_text(GOOD)
        for log, name in ((LOG, "b"), (LogFile(tmp_path / "a.csv"), "c")):
            done = convert(log, tmp_path / name, to_format=format)
            assert (done.rounds, done.actions_seen, done.mean_reward) == (2, 2, 0.5)
        convert(tmp_path / "a.csv", tmp_path / "d", to_format=format)
        b, c, d = ((tmp_path / name).read_bytes() for name in "bcd")
        assert b == c == d

    def test_a_file_is_read_as_it_says(self, tmp_path):
        (tmp_path / "a.csv").write_text(GOOD.replace(",1\n", ",4\n") + "3,0,0.5,\n")
        log = LogFile(tmp_path / "a.csv", reward_range=(0, 4))
        with pytest.raises(FileFormatError, match="line 4: the reward is missing"):
            convert(log, tmp_path / "b.csv")
        assert convert(log, tmp_path / "b.csv", skip_bad=True).skipped == 1
        log = LogFile(tmp_path / "a.csv", reward_range=(0, 4), missing_reward=2)
        convert(log, tmp_path / "c.csv")
        rewards = read(tmp_path / "c.csv", reward_range=(0, 4)).rewards
        assert rewards.tolist() == [[4.0], [0.0], [2.0]]

    @pytest.mark.parametrize(
        "option", [{"from_format": "csv"}, {"reward_range": (0, 1)}, {"missing_reward": 0}]
    )
    def test_says_itself_how_it_is_read(self, tmp_path, option):
        with pytest.raises(InvalidArgumentError, match=r"must be None for a Log, .*LogFile"):
            convert(LOG, tmp_path / "a.csv", **option)

    def test_bounds_on_actions(self, tmp_path):
        with pytest.raises(InvalidArgumentError, match=r"n_actions .* >= 4.*got 3"):
            convert(LOG, tmp_path / "a.csv", n_actions=3)
        convert(LOG, tmp_path / "out", to_format="vw-adf", n_actions=5)
        assert (tmp_path / "out").read_text().count("| a=") == 2 * 5

    def test_without_rounds(self, tmp_path):
        with pytest.raises(FileFormatError, match=r"Log\(0 rounds.* holds no rounds"):
            convert(LOG[:0], tmp_path / "a.csv")
        assert files(tmp_path) == []

    def test_in_several_batches(self, tmp_path, monkeypatch):
        monkeypatch.setattr("policysieve.formats.converting.BATCH", 1)
        sizes = []
        convert(LOG, tmp_path / "a.parquet", track=lambda every, n: map(sized(sizes), every))
        assert sizes == [1, 1]
        assert Log.load(tmp_path / "a.parquet") == LOG


def sized(sizes):
    def note(rounds):
        sizes.append(len(rounds))
        return rounds

    return note


@pytest.mark.parametrize("format", ["vw", "vw-adf", "dsjson", "obp-csv"])
def test_slates_are_refused_where_they_do_not_fit(tmp_path, format):
    write(tmp_path / "a.parquet", "parquet", slates())
    with pytest.raises(InvalidArgumentError, match="slates of 2; write parquet, csv or jsonl"):
        convert(tmp_path / "a.parquet", tmp_path / "out", to_format=format)
    assert files(tmp_path) == ["a.parquet"]


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_slates_fit_elsewhere(tmp_path, format):
    write(tmp_path / "a.parquet", "parquet", slates())
    done = convert(tmp_path / "a.parquet", tmp_path / "out", to_format=format)
    assert (done.slate_size, done.not_held) == (2, ())


@pytest.mark.parametrize(
    ("contexts", "format", "phrases"),
    [
        (np.arange(2), "parquet", []),
        (np.arange(2), "jsonl", []),
        (np.zeros((2, 2, 3)), "csv", ["rows of 6 features"]),
        (np.arange(2), "vw", ["times"]),
        (np.zeros((2, 2, 3)), "vw", ["times", "rows of 6 features"]),
        (np.zeros(2), "vw-adf", ["times", "a row of one feature"]),
        (np.array(["a", "b"], dtype=object), "vw", ["times", "a string is one feature"]),
        (np.zeros(2), "dsjson", ["microsecond", "a row of one feature"]),
        (np.zeros((2, 3)), "obp-csv", ["position 1", "ids", "microsecond"]),
        (np.arange(2), "obp-csv", ["position 1", "ids", "microsecond", "rows of 1 features"]),
        (
            np.array(["a", "b"], dtype=object),
            "obp-csv",
            ["position 1", "ids", "microsecond", "alphabetical"],
        ),
    ],
)
def test_says_what_the_target_cannot_hold(tmp_path, contexts, format, phrases):
    rounds = Rounds(
        contexts,
        np.zeros((2, 1), np.int32),
        np.ones((2, 1)),
        np.ones((2, 1)),
        np.array(["a", "b"], dtype=object),
        np.array([1.0, 2.0]),
    )
    write(tmp_path / "a.parquet", "parquet", rounds)
    done = convert(tmp_path / "a.parquet", tmp_path / "out", to_format=format)
    assert len(done.not_held) == len(phrases)
    for said, phrase in zip(done.not_held, phrases, strict=True):
        assert phrase in said


@pytest.mark.parametrize("format", ["csv", "vw", "vw-adf", "dsjson", "obp-csv"])
def test_rows_of_strings_are_refused_where_they_do_not_fit(tmp_path, format):
    rounds = Rounds(
        np.array([["a", "b"]], dtype=object),
        np.zeros((1, 1), np.int32),
        np.ones((1, 1)),
        np.ones((1, 1)),
    )
    write(tmp_path / "a.parquet", "parquet", rounds)
    with pytest.raises(InvalidArgumentError, match="write parquet or jsonl"):
        convert(tmp_path / "a.parquet", tmp_path / "out", to_format=format)


class TestNumberOfActions:
    def test_is_the_largest_seen_and_one(self, tmp_path):
        (tmp_path / "a.csv").write_text(GOOD)
        convert(tmp_path / "a.csv", tmp_path / "a.parquet")
        for source in ("a.csv", "a.parquet"):
            convert(tmp_path / source, tmp_path / "out", to_format="vw-adf", overwrite=True)
            assert (tmp_path / "out").read_text().count("| a=") == 2 * 4

    def test_can_be_given(self, tmp_path):
        (tmp_path / "a.csv").write_text(GOOD)
        convert(tmp_path / "a.csv", tmp_path / "out", to_format="vw-adf", n_actions=6)
        assert (tmp_path / "out").read_text().count("| a=") == 2 * 6

    def test_bounds_the_actions(self, tmp_path):
        (tmp_path / "a.csv").write_text(GOOD)
        with pytest.raises(FileFormatError, match=r"line 3: an action .* from 0 to 2, got 3"):
            convert(tmp_path / "a.csv", tmp_path / "a.parquet", n_actions=3)
        with pytest.raises(InvalidArgumentError, match="n_actions"):
            convert(tmp_path / "a.csv", tmp_path / "a.parquet", n_actions=0)


def test_batches_are_tracked(tmp_path):
    (tmp_path / "a.csv").write_text(GOOD)
    seen = []

    def track(batches, total):
        for batch in batches:
            seen.append((len(batch), total))
            yield batch

    convert(tmp_path / "a.csv", tmp_path / "a.parquet", track=track)
    assert seen == [(2, 2)]


def test_unknown_targets(tmp_path):
    (tmp_path / "a.csv").write_text(GOOD)
    with pytest.raises(InvalidArgumentError, match=r"suffix of .*out does not tell"):
        convert(tmp_path / "a.csv", tmp_path / "out")
