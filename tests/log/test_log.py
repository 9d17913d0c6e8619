import copy
import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import policysieve as ps
from policysieve.log import Distributions


def make(n, m=1, contexts=None, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "contexts": np.arange(n) if contexts is None else contexts,
        "actions": rng.random((n, 9)).argsort(axis=1)[:, :m],
        "propensities": rng.uniform(0.01, 1, (n, m)),
        "rewards": rng.uniform(0, 1, (n, m)),
    }


@st.composite
def columns(draw):
    """Rounds, slate size, shape and kind of contexts."""
    shape = draw(st.sampled_from([(), (3,), (2, 2)]))
    kind = draw(st.sampled_from(["int", "float", "text"] if shape == () else ["int", "float"]))
    return draw(st.integers(0, 12)), draw(st.integers(1, 4)), shape, kind


def contexts_of(kind, n, shape, seed):
    rng = np.random.default_rng(seed)
    if kind == "int":
        return rng.integers(-50, 50, (n, *shape))
    if kind == "float":
        return rng.normal(size=(n, *shape))
    return np.array([f"text {i} é" for i in rng.integers(0, 99, n)], dtype=object)


def test_columns_and_shapes():
    log = ps.Log(contexts=[5, 6], actions=[1, 2], propensities=[0.5, 1], rewards=[0, 1])
    assert (len(log), log.slate_size) == (2, 1)
    assert log.actions.shape == log.propensities.shape == log.rewards.shape == (2, 1)
    with pytest.raises(ValueError, match="read-only"):
        log.rewards[0] = 1


@given(columns(), st.lists(st.integers(0, 12), max_size=5), st.integers(0, 100))
@settings(deadline=None)
def test_appending_in_pieces_is_the_whole(case, cuts, seed):
    n, m, shape, kind = case
    data = make(n, m, contexts_of(kind, n, shape, seed), seed)
    whole = ps.Log(**data)
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    pieces = ps.Log(**{name: column[:0] for name, column in data.items()})
    for start, end in pairwise(edges):
        pieces.append(**{name: column[start:end] for name, column in data.items()})
    assert pieces == whole
    for start, end in pairwise(edges):
        assert pieces[start:end] == ps.Log(**{k: v[start:end] for k, v in data.items()})


@given(columns(), st.integers(0, 100))
@settings(deadline=None, max_examples=40)
def test_a_file_gives_back_the_log(tmp_path_factory, case, seed):
    n, m, shape, kind = case
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    log = ps.Log(**make(n, m, contexts_of(kind, n, shape, seed), seed))
    log.save(path)
    again = ps.Log.load(path)
    assert again == log
    assert again.contexts.shape == log.contexts.shape
    assert again.contexts.dtype == log.contexts.dtype


@given(hnp.arrays(np.float64, st.integers(1, 8), elements=st.floats(allow_nan=True)))
def test_only_probabilities_are_propensities(values):
    n = len(values)
    data = {**make(n), "propensities": values}
    if ((values > 0) & (values <= 1)).all():
        assert len(ps.Log(**data)) == n
    else:
        with pytest.raises(ps.InvalidArgumentError, match=r"propensities must lie in \(0, 1\]"):
            ps.Log(**data)


def test_slices_share_memory_and_never_disturb_each_other():
    log = ps.Log(**make(100))
    part = log[10:20]
    assert np.shares_memory(part.rewards, log.rewards)
    before = part.rewards.copy()
    part.append(**make(3, seed=1))
    log.append(**make(200, seed=2))
    np.testing.assert_array_equal(part.rewards[:10], before)
    np.testing.assert_array_equal(log.rewards[10:20], before)
    assert (len(part), len(log)) == (13, 300)
    log_tail = log[290:]
    log_tail.append(**make(5, seed=3))
    log.append(**make(5, seed=4))
    np.testing.assert_array_equal(log_tail.rewards[10:], make(5, seed=3)["rewards"])
    np.testing.assert_array_equal(log.rewards[300:], make(5, seed=4)["rewards"])


def test_appending_is_amortised():
    log = ps.Log(**make(0))
    moves = 0
    for k in range(500):
        before = log.rewards.__array_interface__["data"][0]
        log.append(**make(3, seed=k))
        moves += log.rewards.__array_interface__["data"][0] != before
    assert len(log) == 1500
    assert moves < 15


def test_equality():
    assert ps.Log(**make(5)) == ps.Log(**make(5))
    assert ps.Log(**make(5)) != ps.Log(**make(6))
    assert ps.Log(**make(5)) != ps.Log(**make(5, seed=1))
    assert ps.Log(**make(5)) != "log"
    with pytest.raises(TypeError):
        hash(ps.Log(**make(1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": np.arange(4)}, "actions must have shape"),
        ({"contexts": 3}, "one entry or row per round"),
        ({"contexts": [np.nan] * 5}, "finite, got NaN or infinity in row 0 .5 such rows"),
        ({"contexts": [None] * 5}, "numbers or strings, got NoneType in entry 0"),
        ({"contexts": [[1], [1, 2], [3], [4], [5]]}, "contexts"),
        ({"contexts": np.zeros(5, complex)}, "complex"),
        ({"actions": [0, 1, 2, 3, -1]}, r"numbered from 0, got \[-1\] in row 4"),
        ({"actions": [0, 1, 2, 3, 2**40]}, "numbered from 0"),
        ({"actions": [0.5] * 5}, "whole numbers"),
        ({"actions": [[0, 0]] * 5}, "different, got .0, 0. in row 0"),
        ({"propensities": [0.5] * 4}, "shape"),
        ({"propensities": [0.5, 0.5, 0, 0.5, 0.5]}, "got 0 in row 2;"),
        ({"propensities": [0.5, 0.5, 0.5, 1.5, 0.5]}, "got 1.5 in row 3"),
        ({"propensities": ["a"] * 5}, "numbers"),
        ({"rewards": [0, 0, 0, 0, np.nan]}, "got nan in row 4"),
        ({"rewards": [0, 0, 0, 2, 0]}, "got 2 in row 3"),
        ({"rewards": [0, 0]}, "shape"),
    ],
)
def test_bad_rounds_change_nothing(change, message):
    data = {**make(5), **change}
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Log(**data)
    log = ps.Log(**make(3))
    with pytest.raises(ps.InvalidArgumentError):
        log.append(**data)
    assert log == ps.Log(**make(3))


def test_rounds_of_another_shape_are_refused():
    log = ps.Log(**make(3))
    with pytest.raises(ps.InvalidArgumentError, match="actions must have shape"):
        log.append(**make(2, m=2))
    with pytest.raises(ps.InvalidArgumentError, match="contexts must have shape"):
        log.append(**make(2, contexts=np.zeros((2, 4))))
    with pytest.raises(ps.InvalidArgumentError, match="contexts must be numbers"):
        log.append(**make(2, contexts=np.array(["a", "b"])))
    with pytest.raises(ps.InvalidArgumentError, match="slice"):
        log[1]
    assert len(log) == 3


def test_bad_files(tmp_path):
    path = tmp_path / "log.parquet"
    with pytest.raises(FileNotFoundError, match="no log at"):
        ps.Log.load(path)
    ps.Log(**make(500)).save(path)
    whole = path.read_bytes()
    for broken in (whole[:-100], whole[:10], b"", b"a,b,c\n1,2,3\n"):
        path.write_bytes(broken)
        with pytest.raises(ps.FileFormatError, match="not a readable Parquet file"):
            ps.Log.load(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(ps.FileFormatError, match="has no column 'context' among a"):
        ps.Log.load(path)
    table = pa.table({"a": [1]}).replace_schema_metadata({b"policysieve.log": b'{"version": 99}'})
    pq.write_table(table, path)
    with pytest.raises(ps.FileFormatError, match="version 99"):
        ps.Log.load(path)


@pytest.mark.parametrize("name", ["log", "log.pq", "log.parquet", "log.old", "log.gz"])
def test_a_saved_log_is_loaded_whatever_its_name(tmp_path, name):
    log = ps.Log(**make(5))
    log.save(tmp_path / name)
    assert ps.Log.load(tmp_path / name) == log
    assert ps.check_log(tmp_path / name).rounds == 5


def test_logs_that_older_versions_saved_under_the_name_of_another_format_are_loaded(tmp_path):
    log = ps.Log(**make(5))
    log.save(tmp_path / "log")
    old = (tmp_path / "log").rename(tmp_path / "log.csv")
    assert ps.Log.load(old) == log


@pytest.mark.parametrize(
    ("name", "meant"),
    [("a.csv", "csv"), ("a.csv.gz", "csv"), ("a.JSONL", "jsonl"), ("a.dat", "vw")],
)
def test_a_log_is_not_saved_under_the_name_of_another_format(tmp_path, name, meant):
    (tmp_path / name).write_text("before")
    with pytest.raises(ps.InvalidArgumentError, match=f"means {meant}; .*policysieve.formats.conv"):
        ps.Log(**make(5)).save(tmp_path / name)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    ps.Log(**make(5)).save(path)

    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        ps.Log(**make(9)).save(path)
    assert ps.Log.load(path) == ps.Log(**make(5))
    assert [file.name for file in tmp_path.iterdir()] == ["log.parquet"]


def explored(n, m=1, k=6, seed=0):
    """Rounds of slates with full distributions, of which some actions have no part."""
    rng = np.random.default_rng(seed)
    every = rng.random((n, k)) * (rng.random((n, k)) < 0.7)
    every[:, :m] += 0.1
    for _ in range(50):  # to marginals of slates, none above 1
        every = np.minimum(every * (m / every.sum(axis=1, keepdims=True)), 1.0)
    actions = np.argsort(-every * rng.random((n, k)), axis=1)[:, :m]
    return {
        "contexts": rng.integers(0, 9, n),
        "actions": actions,
        "propensities": np.take_along_axis(every, actions, axis=1),
        "rewards": rng.random((n, m)),
        "distributions": every,
    }


class TestDistributions:
    @pytest.mark.parametrize("m", [1, 2])
    def test_are_a_column(self, m):
        data = explored(8, m)
        log = ps.Log(**data)
        np.testing.assert_array_equal(log.distributions.dense(6), data["distributions"])
        assert isinstance(log.distributions, Distributions)
        assert "with distributions" in repr(log)
        assert ps.Log(**make(3)).distributions is None

    @given(st.integers(0, 12), st.integers(1, 3), st.lists(st.integers(0, 12), max_size=5))
    @settings(deadline=None, max_examples=40)
    def test_go_wherever_the_rounds_go(self, n, m, cuts):
        data = explored(n, m)
        whole = ps.Log(**data)
        edges = [0, *sorted(min(cut, n) for cut in cuts), n]
        pieces = ps.Log(**{name: column[:0] for name, column in data.items()})
        for start, end in pairwise(edges):
            pieces.append(**{name: column[start:end] for name, column in data.items()})
        parts = [whole[start:end] for start, end in pairwise(edges)]
        extended, longer = whole[:0], whole[:0]
        for part in parts:
            extended.extend(part)
            longer = longer.plus(part)
        for other in (pieces, extended, longer, ps.Log.concatenate(parts), whole.copy()):
            assert other == whole
            assert other.distributions == whole.distributions
        for twin in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
            assert twin == whole
        np.testing.assert_array_equal(
            whole[::-2].distributions.dense(6), data["distributions"][::-2]
        )
        (rounds,) = whole.rounds()
        assert rounds.to_log() == whole
        assert rounds.layout.has_distributions

    def test_make_logs_different(self):
        data = explored(4)
        log, plain = ps.Log(**data), ps.Log(**{**data, "distributions": None})
        assert log != plain
        assert plain != log
        other = data["distributions"].copy()
        row = int(np.flatnonzero((other > 0).sum(axis=1) > 2)[0])
        one, two = [j for j in np.flatnonzero(other[row]) if j != data["actions"][row, 0]][:2]
        other[row, [one, two]] += [1e-6, -1e-6]
        assert log != ps.Log(**{**data, "distributions": other})

    def test_of_slices_share_memory(self):
        log = ps.Log(**explored(20))
        part = log[5:9].distributions
        assert np.shares_memory(part.propensities, log.distributions.propensities)
        assert not np.shares_memory(
            log.copy().distributions.propensities, log.distributions.propensities
        )

    def test_appending_is_amortised_and_disturbs_nobody(self):
        log, moves = ps.Log(**explored(1)), 0
        first = log[:]
        for k in range(300):
            before = log.distributions.propensities.__array_interface__["data"][0]
            log.append(**explored(1, seed=k))
            moves += log.distributions.propensities.__array_interface__["data"][0] != before
        assert moves < 15
        assert first == ps.Log(**explored(1))
        assert log[300:] == ps.Log(**explored(1, seed=299))

    @pytest.mark.parametrize("known", ["earlier", "new"])
    def test_are_known_in_all_rounds_or_in_none(self, known):
        data = [explored(3), {**explored(2, seed=1), "distributions": None}]
        first, second = data if known == "earlier" else data[::-1]
        log, other = ps.Log(**first), ps.Log(**second)
        message = f"in all rounds of a log or in none, the [23] {known} rounds have them and the"
        for join in (
            lambda: log.append(**second),
            lambda: log.extend(other),
            lambda: log.plus(other),
            lambda: ps.Log.concatenate([log, other]),
        ):
            with pytest.raises(ps.InvalidArgumentError, match=message):
                join()
        assert log == ps.Log(**first)
        longer = log.without_distributions().plus(other.without_distributions())
        assert (len(longer), longer.distributions) == (5, None)

    def test_a_log_without_rounds_goes_with_both(self):
        with_them = ps.Log(**explored(3))
        without = ps.Log(**{**explored(3), "distributions": None})
        contexts = np.zeros(1, int)
        empty = ps.Log.empty(contexts=contexts, slate_size=1)
        known = ps.Log.empty(contexts=contexts, slate_size=1, distributions=True)
        assert (empty.distributions, len(known.distributions)) == (None, 0)
        for none in (empty, known):
            for log in (with_them, without):
                assert log.plus(none) == none.plus(log) == log
                assert ps.Log.concatenate([none, log, none]) == log
        assert known.plus(empty) == ps.Log.concatenate([known, empty]) == known

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"distributions": [{0: 1}]}, "one for each of the 2 rounds, got 1"),
            ({"distributions": [{2: 0.5, 0: 0.5}, {1: 2}]}, r"row 1: .* in \(0, 1\], got 2"),
            (
                {"distributions": [{2: 0.5, 0: 0.5}, {1: 0.25, 0: 0.7}]},
                "row 1: .* sum to 1, as 1 item is shown, got 0.95; list every action",
            ),
            (
                {"distributions": [{2: 0.5, 0: 0.5}, {0: 0.25, 3: 0.75}]},
                "row 1: action 1 was shown, but is not in the distribution",
            ),
            (
                {"distributions": [{2: 0.5, 0: 0.5}, {1: 0.24, 3: 0.76}]},
                "row 1: action 1 was shown with propensity 0.25, but has 0.24 in the distribution",
            ),
        ],
    )
    def test_that_do_not_fit_change_nothing(self, change, message):
        data = {
            "contexts": [0, 1],
            "actions": [2, 1],
            "propensities": [0.5, 0.25],
            "rewards": [0, 1],
            "distributions": [{2: 0.5, 0: 0.5}, {1: 0.25, 0: 0.75}],
        }
        log = ps.Log(**data)
        for make_or_append in (ps.Log, log.append):
            with pytest.raises(ps.InvalidArgumentError, match=message):
                make_or_append(**{**data, **change})
        assert log == ps.Log(**data)

    def test_may_be_rounded(self):
        log = ps.Log(
            contexts=[0],
            actions=[1],
            propensities=[0.33300003],
            rewards=[1],
            distributions=[{0: 0.333, 1: 0.333, 2: 0.333}],
        )
        assert list(log.distributions) == [[(0, 0.333), (1, 0.33300003), (2, 0.333)]]

    @pytest.mark.parametrize("n", [0, 7])
    def test_are_saved(self, tmp_path, n):
        log = ps.Log(**explored(n, m=2))
        log.save(tmp_path / "log.parquet")
        again = ps.Log.load(tmp_path / "log.parquet")
        assert again == log
        assert ps.LogFile(tmp_path / "log.parquet").layout.has_distributions

    def test_are_no_burden_where_there_are_none(self):
        """Nothing is kept for them, in memory or in a pickle."""
        log = ps.Log(**make(4))
        log.append(**make(1, seed=1))
        assert set(vars(log)) == {"_columns"}
        assert set(vars(log[1:].plus(log).copy())) == {"_columns"}
