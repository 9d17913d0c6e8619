"""What was available, who came and other outcomes in the columns of others."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from policysieve.errors import InvalidArgumentError
from policysieve.log import Log, LogFile
from tests.formats.complete import log_of


class TestMapped:
    FRAME = pa.table(
        {
            "age": [31, 40],
            "item": ["hats", "shoes"],
            "p": [0.5, 0.25],
            "hit": [1, 0],
            "stock": [["hats", "caps"], ["shoes", "hats"]],
            "user": [7, 8],
            "bought": [None, 2.5],
        }
    )
    COLUMNS = (
        "context=age,action=item,propensity=p,reward=hit,available=stock,unit=user,"
        "outcome.sale=bought"
    )

    def expected(self):
        return Log(
            contexts=[31, 40],
            actions=["hats", "shoes"],
            propensities=[0.5, 0.25],
            rewards=[1, 0],
            action_names=["caps", "hats", "shoes"],
            available=[["hats", "caps"], ["shoes", "hats"]],
            units=["7", "8"],
            outcomes={"sale": [np.nan, 2.5]},
        )

    def save(self, path):
        rows = self.FRAME.to_pylist()
        if path.suffix == ".parquet":
            pq.write_table(self.FRAME, path)
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            path.write_text(
                "age,item,p,hit,stock,user,bought\n"
                '31,hats,0.5,1,"[""hats"", ""caps""]",7,\n40,shoes,0.25,0,shoes hats,8,2.5\n'
            )
        return path

    @pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
    def test_files_of_others(self, tmp_path, suffix):
        from policysieve.log import ColumnMap

        path = self.save(tmp_path / f"a.{suffix}")
        opened = LogFile(path, columns=ColumnMap.parse(self.COLUMNS))
        assert Log.load(opened) == self.expected()

    def test_a_map_in_toml(self, tmp_path):
        from policysieve.log import ColumnMap

        text = 'context = "age"\naction = "item"\noutcome.sale = "bought"\nunit = "user"\n'
        (tmp_path / "a.toml").write_text(text)
        found = ColumnMap.parse(str(tmp_path / "a.toml"))
        assert (found.unit, found.outcome) == ("user", {"sale": ("bought",)})

    @pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
    def test_data_frames(self, library):
        frame = self.FRAME
        if library != "pyarrow":
            pytest.importorskip(library)
            frame = (
                frame.to_pandas() if library == "pandas" else __import__("polars").from_arrow(frame)
            )
        log = Log.from_frame(
            frame,
            context="age",
            action="item",
            propensity="p",
            reward="hit",
            available="stock",
            unit="user",
            outcome={"sale": "bought"},
        )
        assert log == self.expected()

    @pytest.mark.parametrize("m", [1, 2])
    def test_a_log_as_a_table_and_back(self, m):
        log = log_of(m)
        several = [""] if m == 1 else ["_0", "_1"]
        back = Log.from_frame(
            log.to_arrow(),
            context=["x0", "x1"],
            **{key: [f"{key}{i}" for i in several] for key in ("action", "propensity", "reward")},
            available="available",
            unit="unit",
            outcome={"sale": [f"outcome{i}:sale" for i in several]},
        )
        assert back.beside == log.beside

    @pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
    def test_rows_that_are_items_have_outcomes_of_their_own(self, tmp_path, suffix):
        path = tmp_path / f"a.{suffix}"
        rows = {
            "page": [1, 1, 2, 2],
            "age": [31, 31, 40, 40],
            "item": [0, 1, 1, 2],
            "place": [1, 0, 0, 1],
            "p": [0.5] * 4,
            "hit": [0, 1, 0, 0],
            "user": ["u", "v", "w", "w"],
            "bought": [1, 2, 3, 4],
        }
        table = pa.table({**rows, "stock": [[0, 1], [], [1, 2, 3], [1]]})
        if suffix == "parquet":
            pq.write_table(table, path)
        elif suffix == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        else:
            stocks = [" ".join(map(str, one)) for one in table["stock"].to_pylist()]
            lines = [",".join([*rows, "stock"])]
            lines += [",".join(map(str, row)) for row in zip(*rows.values(), stocks, strict=True)]
            path.write_text("\n".join(lines) + "\n")
        columns = {
            "context": "age",
            "action": "item",
            "propensity": "p",
            "reward": "hit",
            "slate": "page",
            "position": "place",
            "available": "stock",
            "unit": "user",
            "outcome": {"sale": "bought"},
        }
        log = Log.load(LogFile(path, columns=columns))
        assert log.units.tolist() == ["u", "w"]
        assert log.available.lists() == [[0, 1], [1, 2, 3]]
        assert log.outcomes["sale"].tolist() == [[2, 1], [3, 4]]
        assert log.rewards.tolist() == [[1, 0], [0, 0]]

    @pytest.mark.parametrize(
        ("columns", "reason"),
        [
            ({"outcome": "bought"}, "from outcomes to columns"),
            ({"outcome": {"": "bought"}}, "not empty"),
            ({"outcome": {"sale": ["a", "b"]}}, "as many columns as those of actions"),
            ({"available": ["a", "b"]}, "the name of a column, got"),
        ],
    )
    def test_bad_maps(self, columns, reason):
        from policysieve.log import ColumnMap

        with pytest.raises(InvalidArgumentError, match=reason):
            ColumnMap.of({"context": "age", "action": "item", **columns})
