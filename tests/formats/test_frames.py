"""Parquet holds contexts that are rows of a table, or sparse rows."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import policysieve as ps
from policysieve.frames import ContextFrame
from tests.frames.tables import DRESSES, ROWS

MATRIX = sp.random(4, 9, density=0.4, format="csr", random_state=0)


def log_of(contexts, n=4):
    return ps.Log(
        contexts=contexts,
        actions=np.arange(n) % 3,
        propensities=np.full(n, 0.25),
        rewards=np.arange(n) % 2,
    )


@pytest.mark.parametrize("dress", [*DRESSES.values(), lambda _: MATRIX], ids=[*DRESSES, "sparse"])
def test_a_log_comes_back_with_its_rows_as_they_were(tmp_path, dress):
    log = log_of(dress(ROWS))
    log.save(tmp_path / "log.parquet")
    again = ps.Log.load(tmp_path / "log.parquet")
    assert again == log
    assert type(again.contexts.native()) is type(log.contexts.native())
    assert str(again.contexts.dtype.schema.metadata) == str(log.contexts.dtype.schema.metadata)
    (rounds,) = ps.LogFile(tmp_path / "log.parquet").rounds()
    assert rounds.to_log() == log
    assert again[1:3] == log[1:3]
    assert log_of(dress(ROWS)).plus(log) == ps.Log.concatenate([log, log])


SIZES = pd.CategoricalDtype(["small", "mid", "large", "huge"], ordered=True)
ODD = pd.DataFrame(
    {
        "size": pd.Series(["mid", "large", None, "small"], dtype=SIZES),
        "level": pd.Categorical([3, 1, 2, 1], [3, 2, 1]),
        "day": pd.Categorical(pd.to_datetime(["2024-01-02", "2024-01-01"] * 2)),
        "text": pd.Series(["a", None, "b", "c"], dtype=object),
        "number": pd.Series([1, None, 2, 3], dtype=object),
    }
)


def test_categories_and_objects_come_back(tmp_path):
    log = log_of(ODD)
    log.save(tmp_path / "log.parquet")
    again = ps.Log.load(tmp_path / "log.parquet")
    pd.testing.assert_frame_equal(again.contexts.native(), ODD)
    assert again.contexts.native()["text"].tolist() == ["a", None, "b", "c"]
    assert again == log
    pd.testing.assert_frame_equal(again[:1].contexts.native(), ODD[:1])
    other = ODD.assign(size=ODD["size"].cat.reorder_categories(SIZES.categories[::-1]))
    assert log_of(other) != log


def test_categories_of_several_files_are_those_of_all(tmp_path):
    for name, levels in {"a": ["z", "x"], "b": ["y", "x"]}.items():
        rows = pd.DataFrame({"a": pd.Categorical(["x"] * 4, levels)})
        log_of(rows).save(tmp_path / f"{name}.parquet")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for rounds in ps.LogFile(paths).rounds():
        found = rounds.contexts.native()["a"].dtype
        assert found == pd.CategoricalDtype(["z", "x", "y"])
        assert found.categories.tolist() == ["z", "x", "y"]


@pytest.mark.parametrize("mapped", [True, False])
def test_categories_of_files_of_others_are_kept_in_every_piece(tmp_path, mapped):
    sizes = pd.Series(["mid", "large", None, "small", "mid"], dtype=SIZES)
    kinds = pd.Categorical(list("yxyxy"), ["y", "z", "x"])
    names = ("size", "kind") if mapped else ("context:size", "context:action")
    table = pd.DataFrame(
        {names[0]: sizes, names[1]: kinds, "action": 0, "propensity": 0.5, "reward": 1.0}
    )
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "log.parquet", row_group_size=2)
    items = {"action": "action", "propensity": "propensity", "reward": "reward"}
    columns = {"context": ["size", "kind"], **items} if mapped else None
    file = ps.LogFile(tmp_path / "log.parquet", columns=columns)
    pieces = [ps.Log.load(file).contexts, *(rounds.contexts for rounds in file.rounds())]
    for piece in pieces:
        found = piece.native()
        assert found["size"].dtype == SIZES
        assert found.iloc[:, 1].cat.categories.tolist() == ["y", "z", "x"]
    assert pieces[0].native()["size"].equals(sizes)


def test_an_index_in_a_file_takes_no_column_away(tmp_path):
    table = pd.DataFrame(
        {"user": ["u", "v"], "age": [1, 2], "action": 0, "propensity": 0.5, "reward": 1.0}
    )
    table.set_index("user").to_parquet(tmp_path / "log.parquet")
    items = {"action": "action", "propensity": "propensity", "reward": "reward"}
    columns = {"context": ["user", "age"], **items}
    log = ps.Log.load(ps.LogFile(tmp_path / "log.parquet", columns=columns))
    assert list(log.contexts.native().columns) == ["user", "age"]
    assert log.contexts.native().index.tolist() == [0, 1]


def test_a_log_of_a_frame_hands_out_what_the_frame_had():
    table = ODD.assign(action=0, propensity=0.5, reward=1.0)
    items = {"action": "action", "propensity": "propensity", "reward": "reward"}
    log = ps.Log.from_frame(table, context=list(ODD.columns), **items)
    pd.testing.assert_frame_equal(log.contexts.native(), ODD)


def test_more_categories_than_a_header_holds_are_refused(tmp_path):
    rows = pd.DataFrame({"a": pd.Categorical(["x" * 100_000 + str(i) for i in range(400)])})
    with pytest.raises(ps.InvalidArgumentError, match="fewer categories"):
        log_of(rows, 400).save(tmp_path / "log.parquet")
    assert not (tmp_path / "log.parquet").exists()


def test_numbers_that_do_not_fit_together_are_named(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, value in zip(paths, (1.5, 2**60 + 1), strict=True):
        log_of(pd.DataFrame({"age": [value] * 4})).save(path)
    with pytest.raises(ps.FileFormatError, match="1152921504606846977 in column 'age'"):
        ps.Log.load(paths)


def test_logs_of_tables_and_of_arrays_are_not_joined():
    logs = [log_of(ROWS), log_of([1, 2, 3, 4])]
    for both in (logs, logs[::-1]):
        with pytest.raises(ps.InvalidArgumentError, match="of one kind in all logs"):
            ps.Log.concatenate(both)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["categories"].update(size=3),
        lambda header: header["categories"]["size"].update(levels=["small"] * 3),
        lambda header: header["categories"]["size"].update(levels=["small", "mid"]),
        lambda header: header["categories"]["level"].update(levels=["x"]),
        lambda header: header["categories"]["size"].update(ordered="yes"),
        lambda header: header["categories"].update(age={"levels": [], "ordered": False}),
        lambda header: header["frame"].update({"policysieve.objects": '{"text": "zero"}'}),
        lambda header: header["frame"].update({"policysieve.objects": '{"age": ""}'}),
        lambda header: header["frame"].update(pandas=swapped(header["frame"]["pandas"])),
        lambda header: header["frame"].update(pandas='{"columns": 3}'),
        lambda header: header["frame"].update(
            pandas=header["frame"]["pandas"].replace(
                '"index_columns": []', '"index_columns": ["text"]'
            )
        ),
    ],
)
def test_headers_that_were_tampered_with_are_refused(tmp_path, change):
    path = tmp_path / "log.parquet"
    log_of(ODD).save(path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"policysieve.log"])
    change(header)
    pq.write_table(table.replace_schema_metadata({"policysieve.log": json.dumps(header)}), path)
    with pytest.raises(ps.FileFormatError):
        ps.Log.load(path)


def swapped(described):
    """Metadata of pandas in which two columns have each other's names."""
    whole = json.loads(described)
    one, two = whole["columns"][:2]
    one["name"], two["name"] = two["name"], one["name"]
    return json.dumps(whole)


def test_columns_may_have_odd_names_and_all_be_missing(tmp_path):
    rows = [{"a.b": None, "action": "x", "ä:c": None, "context": 3}] * 4
    log_of(rows).save(tmp_path / "log.parquet")
    assert ps.Log.load(tmp_path / "log.parquet").contexts.tolist() == rows


def test_several_files_have_the_columns_of_the_first(tmp_path):
    for name, rows in {
        "a": [{"x": 1, "y": "u"}, {"x": 2, "y": None}],
        "b": [{"y": "v", "x": 1.5}, {"y": "w", "x": None}],
    }.items():
        log_of(rows, 2).save(tmp_path / f"{name}.parquet")
    whole = ps.Log.load([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert [row["x"] for row in whole.contexts.tolist()] == [1, 2, 1.5, None]
    assert [row["y"] for row in whole.contexts.tolist()] == ["u", None, "v", "w"]
    log_of([1, 2], 2).save(tmp_path / "c.parquet")
    with pytest.raises(ps.FileFormatError, match="contexts of one kind"):
        ps.Log.load([tmp_path / "a.parquet", tmp_path / "c.parquet"])


def test_a_log_of_tables_takes_no_other_contexts():
    log = log_of(ROWS)
    with pytest.raises(ps.InvalidArgumentError, match="rows of a table like the rounds"):
        log.extend(log_of([1, 2, 3, 4]))
    with pytest.raises(ps.InvalidArgumentError, match="got no 'age'"):
        log.extend(log_of([{"spend": 1.0}] * 4))
    assert len(log) == 4


def crafted(path, change):
    """A file like one of ours whose header or columns were changed."""
    log_of(MATRIX).save(path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"policysieve.log"])
    table = change(table, header) or table
    pq.write_table(table.replace_schema_metadata({"policysieve.log": json.dumps(header)}), path)


def without_width(table, header):
    del header["frame"]["policysieve.width"]


def with_column(name, values):
    def change(table, header):
        place = table.schema.names.index(name)
        return table.set_column(place, name, values)

    return change


@pytest.mark.parametrize(
    "change",
    [
        without_width,
        lambda table, header: header["frame"].update({"policysieve.made_of": "os"}),
        lambda table, header: header["frame"].update({"policysieve.width": "-1"}),
        lambda table, header: header["frame"].update({"policysieve.width": "3"}),
        lambda table, header: header.update(frame=3),
        with_column("context:columns", pa.array([[99]] * 4, pa.large_list(pa.int32()))),
        with_column("context:columns", pa.array([[-1]] * 4, pa.large_list(pa.int32()))),
        with_column("context:columns", pa.array([[0]] * 4, pa.large_list(pa.int64()))),
        with_column("context:columns", pa.array([["a"]] * 4, pa.large_list(pa.string()))),
        with_column("context:values", pa.array([[1.0, 2.0]] * 4, pa.large_list(pa.float64()))),
        with_column("context:values", pa.array([[np.inf]] * 4, pa.large_list(pa.float64()))),
        with_column("context:values", pa.array([None] * 4, pa.large_list(pa.float64()))),
        with_column("context:values", pa.array([1.0] * 4)),
    ],
)
def test_files_that_were_tampered_with_are_refused(tmp_path, change):
    path = tmp_path / "log.parquet"
    crafted(path, change)
    with pytest.raises(ps.FileFormatError):
        ps.Log.load(path)


def test_a_small_file_with_long_texts_is_refused(tmp_path):
    rows = ContextFrame.of([{"text": "x" * 100_000}])[[0] * 2000]
    log_of(rows, 2000).save(tmp_path / "log.parquet")
    with pytest.raises(ps.FileFormatError, match="max-bytes"):
        ps.Log.load(ps.LogFile(tmp_path / "log.parquet", max_bytes=1_000_000))
