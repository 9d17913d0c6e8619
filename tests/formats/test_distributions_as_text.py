"""Full distributions as text: the letter of each format, and whatever else a file may say."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import convert
from policysieve.log import Distributions, LogFile
from tests.formats.listed import DSJSON, HEADER, ROUNDS, ROW
from tests.formats.rounds import assert_same, read, write


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
