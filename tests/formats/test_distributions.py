"""Full distributions in files: the letter of each format, and lists that are none."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import FORMATS, convert
from policysieve.formats.parquet_writing import as_table
from policysieve.log import Distributions, Log, LogFile, Rounds
from policysieve.log.distributions import stacked
from tests.formats.rounds import assert_same, full_propensities, read, write

HOLDING = ("parquet", "csv", "jsonl", "dsjson")
LISTS = [[(0, 0.5), (2, 0.5)], [(1, 0.25), (3, 0.75)]]
ROUNDS = Rounds(
    np.array([17, 4]),
    np.array([[2], [1]], np.int32),
    np.array([[0.5], [0.25]]),
    np.array([[1.0], [0.0]]),
    distributions=Distributions.of(LISTS, 2),
)
HEADER = "context,action,propensity,reward,distribution\n"
ROW = {"context": 1, "actions": [2], "propensities": [0.5], "rewards": [1]}
DSJSON = {
    "_label_cost": -1.0,
    "_label_probability": 0.5,
    "_labelIndex": 2,
    "c": {"_multi": [{}] * 4},
}

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


class TestCsv:
    @pytest.mark.parametrize(
        ("cell", "reason"),
        [
            ("0:0.5 2", "such as 3:0.25 7:0.75, got '2'"),
            ("0:0.5;2:0.5", "a propensity of the distribution must be a finite number"),
            ("0:0.5 2:50%", "got '50%'; write it as a share"),
            ("0:0.5 2:nan", "must be a finite number, got 'nan'"),
            (
                "a:0.5 2:0.5",
                "an action of the distribution must be a whole number as in .* got 'a'",
            ),
            ("0.0:0.5 2:0.5", "must be a whole number, got '0.0'"),
            (f"{2**64}:0.5 2:0.5", "must be a whole number"),
            (":", "must be a finite number, got ''"),
            ("", "there is no full distribution, unlike in the rounds before"),
            (" ", "the distribution is empty"),
        ],
    )
    def test_cells(self, tmp_path, cell, reason):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,2,0.5,1,2:0.5 0:0.5\n1,2,0.5,1,{cell}\n")
        with pytest.raises(FileFormatError, match=f"a.csv, line 3: .*{reason}"):
            list(LogFile(tmp_path / "a.csv").rounds())

    def test_an_empty_column_is_none(self, tmp_path):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,2,0.5,1,\n1,2,0.5,1,\n")
        assert read(tmp_path / "a.csv").distributions is None
        (tmp_path / "a.csv").write_text(f"{HEADER}1,2,0.5,1,\n1,2,0.5,1,0:0.5 2:0.5\n")
        with pytest.raises(FileFormatError, match="line 3: there is a full distribution, unlike"):
            read(tmp_path / "a.csv")

    def test_a_list_may_be_longer_than_the_cells_that_python_reads(self, tmp_path):
        k = 20_000
        every = np.random.default_rng(0).dirichlet(np.ones(k), 1)
        rounds = replace(
            ROUNDS.where(np.array([True, False])),
            propensities=every[:, [2]],
            distributions=Distributions.of(every, 1),
        )
        write(tmp_path / "a.parquet", "parquet", rounds)
        for name in ("b.csv", "b.jsonl"):
            convert(tmp_path / "a.parquet", tmp_path / name)
            assert_same(read(tmp_path / name), rounds)

    def test_is_named_among_the_columns(self, tmp_path):
        (tmp_path / "a.csv").write_text("context,action,propensity,reward,distributions\n")
        with pytest.raises(
            FileFormatError, match=r"'distributions' .*action_1, ..., distribution$"
        ):
            LogFile(tmp_path / "a.csv")


class TestNewlineJson:
    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("0:1", r"a list of pairs \[action, propensity\], got '0:1'"),
            ({"2": 0.5}, "a list of pairs"),
            ([0.5, 0.5], "a list of pairs"),
            ([[0, 0.5, 1]], "a list of pairs"),
            ([[0, 0.5], [2]], "a list of pairs"),
            ([["0", 0.5], [2, 0.5]], "an action of the distribution must be a whole number"),
            ([[0.0, 0.5], [2, 0.5]], "an action of the distribution must be a whole number"),
            ([[True, 0.5], [2, 0.5]], "an action of the distribution must be a whole number"),
            ([[2**63, 0.5], [2, 0.5]], r"must be below 2\*\*63"),
            ([[0, "0.5"], [2, 0.5]], "a propensity of the distribution must be a number"),
            ([[0, None], [2, 0.5]], "a propensity of the distribution must be a number"),
            (None, "there is no full distribution, unlike"),
        ],
    )
    def test_values(self, tmp_path, value, reason):
        good = {**ROW, "distribution": [[2, 0.5], [0, 0.5]]}
        lines = [json.dumps(good), json.dumps({**ROW, "distribution": value})]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        with pytest.raises(FileFormatError, match=f"line 2: .*{reason}"):
            list(LogFile(tmp_path / "a.jsonl").rounds())

    def test_infinity(self, tmp_path):
        text = json.dumps({**ROW, "distribution": [[2, 0.5], [0, 7.5]]}).replace("7.5", "1e999")
        (tmp_path / "a.jsonl").write_text(text)
        with pytest.raises(FileFormatError, match=r"must lie in \(0, 1\], got inf"):
            read(tmp_path / "a.jsonl")


class TestDsjson:
    def distribution(self, tmp_path, **change):
        (tmp_path / "a.dsjson").write_text(json.dumps({**DSJSON, **change}))
        found = read(tmp_path / "a.dsjson").distributions
        return None if found is None else list(found)

    def test_lists_of_vowpal_wabbit(self, tmp_path):
        """Single precision in one place, a rounded text in another."""
        found = self.distribution(
            tmp_path,
            a=[3, 1, 2, 4],
            p=[0.8499999642372131, 0.05, 0.05, 0.05],
            _label_probability=0.85,
        )
        assert found == [[(0, 0.05), (1, 0.05), (2, 0.85), (3, 0.05)]]

    def test_actions_with_probability_0_cannot_be_shown(self, tmp_path):
        found = self.distribution(tmp_path, a=[3, 1, 2, 4], p=[0.5, 0, 0.5, 0.0])
        assert found == [[(1, 0.5), (2, 0.5)]]

    @pytest.mark.parametrize(
        "change",
        [
            {},
            {"a": [3], "p": [0.5]},
            {"a": [3, 1, 2, 4], "p": [0.5]},
            {"p": [0.5, 0.25, 0.25]},
            {"a": [3, 1], "p": 0.5},
            {"a": [3], "p": [1.0], "_label_probability": 1.0},
            {"a": [], "p": []},
        ],
    )
    def test_the_shown_action_alone_says_nothing_of_others(self, tmp_path, change):
        assert self.distribution(tmp_path, **change) is None

    def test_a_single_action_is_all_there_is(self, tmp_path):
        alone = {"a": [1], "p": [1.0], "_label_probability": 1.0, "_labelIndex": 0}
        assert self.distribution(tmp_path, **alone, c={"_multi": [{}]}) == [[(0, 1.0)]]

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"a": [3, 1], "p": [0.5, 0.25, 0.25]}, "equally long, got 2 actions and 3 probab"),
            ({"a": ["x", 3], "p": [0.5, 0.5]}, "a must be a whole number"),
            ({"a": [1, 3], "p": [None, 0.5]}, "p must be a number"),
            ({"a": [0, 3], "p": [0.5, 0.5]}, "action of the distribution .* got -1"),
            ({"a": [-(2**63) + 1, 3], "p": [0.5, 0.5]}, "action of the distribution"),
        ],
    )
    def test_lists_that_are_none(self, tmp_path, change, reason):
        with pytest.raises(FileFormatError, match=f"line 1: .*{reason}"):
            self.distribution(tmp_path, **change)

    def test_an_action_that_the_context_does_not_have(self, tmp_path):
        with pytest.raises(InvalidArgumentError, match="action 3 could be shown where the context"):
            write(tmp_path / "a.dsjson", "dsjson", ROUNDS, n_actions=3)


PLAIN = {
    "context": pa.array([17, 4]),
    "action": pa.array([2, 1]),
    "propensity": pa.array([0.5, 0.25]),
    "reward": pa.array([1, 0]),
}


class TestParquet:
    def lists(self, actions=((0, 2), (1, 3)), propensities=((0.5, 0.5), (0.25, 0.75)), kind=None):
        columns = [list(map(list, one)) for one in (actions, propensities)]
        return {
            "distribution_actions": pa.array(columns[0], kind),
            "distribution_propensities": pa.array(columns[1]),
        }

    @pytest.mark.parametrize(
        "kind",
        [None, pa.list_(pa.float64()), pa.large_list(pa.int8()), pa.list_(pa.uint32(), 2)],
        ids=str,
    )
    def test_next_to_plain_columns(self, tmp_path, kind):
        pq.write_table(pa.table({**PLAIN, **self.lists(kind=kind)}), tmp_path / "a.parquet")
        assert list(read(tmp_path / "a.parquet").distributions) == LISTS

    def test_without_a_header(self, tmp_path):
        frame = as_table(ROUNDS).to_pydict()
        pq.write_table(pa.table(frame), tmp_path / "a.parquet")
        assert_same(read(tmp_path / "a.parquet"), ROUNDS)

    @pytest.mark.parametrize(
        ("row", "name", "values", "reason"),
        [
            (0, "distribution_actions", None, "column distribution_actions is null"),
            (1, "distribution_actions", [1, None], "column distribution_actions is null"),
            (1, "distribution_propensities", None, "column distribution_propensities is null"),
            (0, "distribution_propensities", [0.5, None], "distribution_propensities is null"),
            (0, "distribution_propensities", [1.0], "must have equally long lists"),
            (1, "distribution_actions", [], "must have equally long lists"),
        ],
    )
    @pytest.mark.parametrize("header", [True, False])
    def test_rows_that_can_be_skipped(self, tmp_path, header, row, name, values, reason):
        table = as_table(ROUNDS)
        column = table[name].to_pylist()
        column[row] = values
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(column, table[name].type))
        if not header:
            table = table.replace_schema_metadata(None)
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match=f"a.parquet, row {row + 1}: .*{reason}"):
            read(tmp_path / "a.parquet")
        done = convert(tmp_path / "a.parquet", tmp_path / "b.jsonl", skip_bad=True)
        assert (done.rounds, done.skipped) == (1, 1)
        assert list(read(tmp_path / "b.jsonl").distributions) == [LISTS[1 - row]]

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([1, 2]),
            pa.array(["0", "2"]),
            pa.array([["a"], ["b"]]),
            pa.array([[0.5, 2], [1, 3]]),
            pa.array([[[0]], [[1]]]),
            pa.array([{"a": 1}, {"a": 2}]),
            pa.array([b"0", b"1"]),
        ],
        ids=lambda column: str(column.type),
    )
    def test_columns_of_another_kind(self, tmp_path, column):
        for table in (as_table(ROUNDS), pa.table({**PLAIN, **self.lists()})):
            at = table.column_names.index("distribution_actions")
            changed = table.set_column(at, "distribution_actions", column)
            pq.write_table(changed, tmp_path / "a.parquet")
            with pytest.raises(FileFormatError, match="is not a readable log"):
                read(tmp_path / "a.parquet")

    def test_nothing_but_nulls(self, tmp_path):
        columns = {**PLAIN, **self.lists(), "distribution_actions": pa.nulls(2)}
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match="row 1: column distribution_actions is null"):
            read(tmp_path / "a.parquet")

    @pytest.mark.parametrize("table", [as_table(ROUNDS), pa.table({**PLAIN})])
    def test_one_column_is_not_enough(self, tmp_path, table):
        if "action" in table.column_names:
            columns = {**PLAIN, **self.lists()}
            del columns["distribution_actions"]
            table = pa.table(columns)
        else:
            table = table.drop_columns(["distribution_actions"])
        pq.write_table(table, tmp_path / "a.parquet")
        message = "must have both columns .* or neither, got distribution_propensities alone"
        with pytest.raises(FileFormatError, match=message):
            LogFile(tmp_path / "a.parquet")
        assert read(tmp_path / "a.parquet", contexts_only=True).contexts.tolist() == [17, 4]

    def test_an_empty_file_goes_with_both(self, tmp_path):
        empty = Log.empty(contexts=np.zeros(1, int), slate_size=1)
        empty.save(tmp_path / "empty.parquet")
        write(tmp_path / "a.parquet", "parquet", ROUNDS)
        for order in (["empty", "a"], ["a", "empty"]):
            opened = LogFile([tmp_path / f"{name}.parquet" for name in order])
            assert opened.layout.has_distributions
            assert Log.load(opened) == ROUNDS.to_log()

    def test_long_lists_are_read_a_few_rounds_at_a_time(self, tmp_path, monkeypatch):
        monkeypatch.setattr("policysieve.formats.parquet_file._VALUES", 1000)
        every = np.random.default_rng(0).dirichlet(np.ones(100), 30)
        rounds = Rounds(
            np.arange(30),
            np.zeros((30, 1), np.int32),
            every[:, :1],
            np.zeros((30, 1)),
            distributions=Distributions.of(every, 30),
        )
        write(tmp_path / "a.parquet", "parquet", rounds)
        pieces = list(LogFile(tmp_path / "a.parquet").pieces())
        assert max(map(len, pieces)) <= 5
        assert Log.concatenate(pieces) == rounds.to_log()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("crafted") / "a"


class TestCraftedFiles:
    """Whatever a file says, it is read or refused in words."""

    def read_or_refuse(self, path, format, text):
        path.write_text(text, encoding="utf-8")
        with suppress(FileFormatError):
            list(LogFile(path, format).rounds())

    @given(value=json_values)
    @settings(deadline=None, max_examples=150)
    def test_newline_json(self, path, value):
        self.read_or_refuse(path, "jsonl", json.dumps({**ROW, "distribution": value}))

    @given(a=json_values, p=json_values, multi=json_values)
    @settings(deadline=None, max_examples=150)
    def test_dsjson(self, path, a, p, multi):
        line = {**DSJSON, "a": a, "p": p, "c": {"_multi": multi}}
        self.read_or_refuse(path, "dsjson", json.dumps(line))

    @given(cell=st.text("0123456789:. -einf_\"',\n\u0661", max_size=12))
    @settings(deadline=None, max_examples=150)
    def test_csv(self, path, cell):
        self.read_or_refuse(path, "csv", f"{HEADER}1,2,0.5,1,{cell}\n")
