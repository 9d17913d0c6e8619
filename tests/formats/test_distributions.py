"""Full distributions in files: what they look like, and lists that are none."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from policysieve.errors import FileFormatError
from policysieve.formats import FORMATS, convert
from policysieve.log import Distributions, Log, LogFile, Rounds
from policysieve.log.distributions import stacked
from tests.formats.listed import DSJSON, HOLDING, LISTS, ROUNDS
from tests.formats.rounds import assert_same, full_propensities, read, write

# Lists that are none, for a round that shows action 2 with propensity 0.5.
BAD = [
    ([], "the distribution is empty"),
    ([(0, 0.5), (2, 0.4)], "must sum to 1, as 1 item is shown, got 0.9; list every action"),
    ([(0, 0.5), (3, 0.5)], "action 2 was shown, but is not in the distribution"),
    ([(0, 0.6), (2, 0.4)], "action 2 was shown with propensity 0.5, but has 0.4 in the"),
    ([(0, 0.25), (0, 0.25), (2, 0.5)], "actions of the distribution must be different, got 0"),
    ([(-1, 0.5), (2, 0.5)], "an action of the distribution must be a number from 0 to 2147483646"),
    ([(2**31, 0.5), (2, 0.5)], "must be a number from 0 to 2147483646, got 2147483648"),
    ([(0, 1.5), (1, -1.0), (2, 0.5)], r"of the distribution must lie in \(0, 1\], got 1.5"),
    ([(0, 0.5), (1, 0.0), (2, 0.5)], r"lie in \(0, 1\], got 0; leave out actions that cannot"),
]


def test_what_csv_looks_like(tmp_path):
    write(tmp_path / "a.csv", "csv", ROUNDS)
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "context,action,propensity,reward,distribution",
        "17,2,0.5,1.0,0:0.5 2:0.5",
        "4,1,0.25,0.0,1:0.25 3:0.75",
    ]


def test_what_newline_json_looks_like(tmp_path):
    write(tmp_path / "a.jsonl", "jsonl", ROUNDS)
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [line["distribution"] for line in lines] == [
        [[0, 0.5], [2, 0.5]],
        [[1, 0.25], [3, 0.75]],
    ]


def test_what_dsjson_looks_like(tmp_path):
    """All actions, the shown one first, as Vowpal Wabbit writes them."""
    write(tmp_path / "a.dsjson", "dsjson", ROUNDS, n_actions=4)
    first, second = map(json.loads, (tmp_path / "a.dsjson").read_text().splitlines())
    assert (first["a"], first["p"]) == ([3, 1, 2, 4], [0.5, 0.5, 0.0, 0.0])
    assert (second["a"], second["p"]) == ([2, 1, 3, 4], [0.25, 0.0, 0.0, 0.75])


def test_what_parquet_looks_like(tmp_path):
    write(tmp_path / "a.parquet", "parquet", ROUNDS)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table["distribution_actions"].to_pylist() == [[0, 2], [1, 3]]
    assert table["distribution_propensities"].to_pylist() == [[0.5, 0.5], [0.25, 0.75]]


@pytest.mark.parametrize("format", HOLDING)
class TestEveryFormatThatHoldsThem:
    def test_gives_them_back(self, tmp_path, format):
        write(tmp_path / "a", format, ROUNDS)
        got = LogFile(tmp_path / "a", format)
        assert got.layout.has_distributions
        assert_same(read(tmp_path / "a", format), ROUNDS)
        assert Log.load(got) == ROUNDS.to_log()
        (piece,) = got.pieces()
        assert piece.distributions == ROUNDS.distributions

    @pytest.mark.parametrize("other", HOLDING)
    def test_is_converted_to_every_other(self, tmp_path, format, other):
        write(tmp_path / "a", format, ROUNDS)
        done = convert(tmp_path / "a", tmp_path / "b", from_format=format, to_format=other)
        assert done.not_held == ()
        assert_same(read(tmp_path / "b", other), ROUNDS)

    def test_is_read_in_pieces(self, tmp_path, format, monkeypatch):
        for module in ("text", "parquet_file"):
            monkeypatch.setattr(f"policysieve.formats.{module}.BATCH", 3)
        actions = np.arange(10, dtype=np.int32)[:, None] % 5
        every = full_propensities(actions, 5)
        rounds = Rounds(
            np.arange(10),
            actions,
            np.take_along_axis(every, actions, axis=1),
            np.zeros((10, 1)),
            distributions=Distributions.of(every, 10),
        )
        write(tmp_path / "a", format, rounds)
        assert [len(piece) for piece in LogFile(tmp_path / "a", format).rounds()] == [3, 3, 3, 1]
        assert Log.load(LogFile(tmp_path / "a", format)) == rounds.to_log()

    def test_the_digits_of_the_propensity_are_kept(self, tmp_path, format):
        rounded = [[(0, 0.333), (2, 0.333), (3, 0.333)]]
        exact = 0.333 * (1 + 5e-7)
        rounds = replace(
            ROUNDS.where(np.array([True, False])),
            propensities=np.array([[exact]]),
            distributions=stacked(rounded),
        )
        write(tmp_path / "a", format, rounds)
        if format == "dsjson":  # where the shown action is written once, with both numbers
            line = json.loads((tmp_path / "a").read_text())
            assert (line["_label_probability"], line["p"][0]) == (exact, 0.333)
        assert list(read(tmp_path / "a", format).distributions) == [
            [(0, 0.333), (2, exact), (3, 0.333)]
        ]

    def test_contexts_alone_have_none(self, tmp_path, format):
        bad = replace(ROUNDS, distributions=stacked([[(0, 0.5)], [(3, 0.1)]]))
        write(tmp_path / "a", format, bad)
        got = read(tmp_path / "a", format, contexts_only=True)
        assert got.contexts.tolist() == [17, 4]
        assert got.distributions is None

    def test_the_number_of_actions_bounds_them(self, tmp_path, format):
        write(tmp_path / "a", format, ROUNDS)
        convert(tmp_path / "a", tmp_path / "b", from_format=format, to_format="vw-adf")
        assert (tmp_path / "b").read_text().count("| a=") == 2 * 4  # the largest is listed only
        with pytest.raises(FileFormatError, match=r"action of the distribution .* 2, got 3"):
            convert(tmp_path / "a", tmp_path / "c.csv", from_format=format, n_actions=3)

    def test_files_of_one_log_all_have_them_or_none(self, tmp_path, format):
        paths = [tmp_path / "a", tmp_path / "b"]
        write(paths[0], format, ROUNDS)
        write(paths[1], format, replace(ROUNDS, distributions=None))
        for order in (paths, paths[::-1]):
            with pytest.raises(FileFormatError, match=r"distribution|same columns"):
                list(LogFile(order, format).rounds())
        write(paths[1], format, ROUNDS)
        assert len(Log.load(LogFile(paths, format)).distributions) == 4


@pytest.mark.parametrize(
    ("format", "pairs", "reason"),
    [
        *((format, *case) for case in BAD for format in HOLDING[:3]),
        *(("dsjson", *case) for case in BAD[1:-1]),  # no list and zeros are allowed there
    ],
)
def test_bad_lists_are_bad_rows(tmp_path, format, pairs, reason):
    path, out = tmp_path / "a", tmp_path / "b.jsonl"
    listed = stacked([LISTS[0], pairs, LISTS[0]])
    rounds = Rounds(
        np.array([1, 2, 3]),
        np.full((3, 1), 2, np.int32),
        np.full((3, 1), 0.5),
        np.ones((3, 1)),
        distributions=listed,
    )
    if format == "dsjson":  # which cannot be written with such actions
        a_and_p = [{"a": [a + 1 for a, _ in one], "p": [p for _, p in one]} for one in listed]
        path.write_text("\n".join(json.dumps({**DSJSON, **lists}) for lists in a_and_p))
    else:
        write(path, format, rounds)
    unit = "row" if format == "parquet" else "line"
    number = 3 if format == "csv" else 2
    if format == "csv" and not pairs:
        reason = "there is no full distribution, unlike in the rounds before"
    with pytest.raises(FileFormatError, match=f"{unit} {number}: .*{reason}"):
        read(path, format)
    done = convert(path, out, from_format=format, skip_bad=True)
    assert (done.rounds, done.skipped) == (2, 1)
    assert list(read(out).distributions) == [LISTS[0], LISTS[0]]


@pytest.mark.parametrize("format", sorted(set(FORMATS) - set(HOLDING)))
def test_other_formats_drop_them_and_say_so(tmp_path, format):
    write(tmp_path / "a.parquet", "parquet", ROUNDS)
    done = convert(tmp_path / "a.parquet", tmp_path / "b", to_format=format)
    assert "full distributions: only the propensities of what was shown are left" in done.not_held
    assert not LogFile(tmp_path / "b", format).layout.has_distributions
    write(tmp_path / "a.parquet", "parquet", replace(ROUNDS, distributions=None))
    done = convert(tmp_path / "a.parquet", tmp_path / "c", to_format=format)
    assert not [said for said in done.not_held if "distributions" in said]
