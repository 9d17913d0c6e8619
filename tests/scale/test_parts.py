"""Logs in parts: whatever is asked of them, the answers are those of one process."""

import os
from functools import partial

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import policysieve as ps
from policysieve.formats import convert

N, K, C = 24_000, 6, 40
BATCH = 4096  # rounds of a piece, so that these few make several parts


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr("policysieve.formats.parquet_file.BATCH", BATCH)
    monkeypatch.setattr("policysieve.scale.parts._LEAST", BATCH)


def _best(contexts):
    return (np.asarray(contexts) * 5) % K


def _shifted(shift, contexts):
    return (_best(contexts) + shift) % K


def _elsewhere(driver, answer, contexts):
    if os.getpid() == driver:
        raise RuntimeError("not here")
    return answer(contexts)


def _deadly(mark, driver, contexts):
    if os.getpid() != driver and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), 9)
    return np.zeros(len(contexts), int)


def _columns(seed=0, n=N, m=1, full=True):
    rng = np.random.default_rng(seed)
    contexts, good = rng.integers(0, C, n), (np.arange(C) * 5) % K
    weights = np.full((C, K), 0.08)
    weights[np.arange(C), (good + 1) % K] = 1 - 0.08 * (K - 1)
    order = np.argsort(rng.exponential(size=(n, K)) / weights[contexts], axis=1)
    if m == 1:
        actions = order[:, :1]
        propensities = np.take_along_axis(weights[contexts], actions, axis=1)
    else:
        actions = np.argsort(rng.random((n, K)), axis=1)[:, :m]
        propensities, weights = np.full((n, m), m / K), np.full((C, K), m / K)
    chances = np.where(actions == good[contexts][:, None], 0.6, 0.05)
    rewards = (rng.random((n, m)) < chances).astype(float)
    if m > 1:
        rewards[:, 1:] *= rewards[:, :1] == 0
        rewards[:, 2:] = 0
    found = {
        "contexts": contexts,
        "actions": actions,
        "propensities": propensities,
        "rewards": rewards,
    }
    return {**found, "distributions": weights[contexts]} if full else found


def _policies(m=1, P=30, named=False):
    rng, good = np.random.default_rng(1), (np.arange(C) * 5) % K
    table = np.array([[rng.permutation(K)[:m] for _ in range(P)] for _ in range(C)])
    right = rng.random((C, P)) < np.linspace(0.1, 0.95, P)
    for k in range(m):
        table[:, :, k] = np.where(right, (good[:, None] + k) % K, table[:, :, k])
    table[right] = (good[:, None, None] + np.arange(m) + np.zeros((1, P, 1), int))[right] % K
    names = [f"policy {i}" for i in range(P)] if named else None
    return ps.PolicyTable(table, n_actions=K, names=names)


def _saved(folder, log, sizes=(11_000, 1, 5_000, 7_999)):
    start = 0
    for number, size in enumerate(sizes):
        log[start : start + size].save(folder / f"{number}.parquet")
        start += size
    return [folder / f"{number}.parquet" for number in range(len(sizes))]


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return _saved(tmp_path_factory.mktemp("full"), ps.Log(**_columns()))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    return _saved(tmp_path_factory.mktemp("shown"), ps.Log(**_columns(full=False)))


def _problem(m=1, epsilon=0.05):
    return ps.Problem(n_actions=K, slate_size=m, epsilon=epsilon, delta=0.05)


def _assert_same(one, parts):
    """To the last bit: sums are made in the same order."""
    equal = np.testing.assert_array_equal
    assert one.policy == parts.policy
    for name in ("values", "lower", "upper"):
        equal(getattr(parts.intervals, name), getattr(one.intervals, name))
    mine, theirs = one.certificate, parts.certificate
    assert mine.certified == theirs.certified
    assert mine.rounds == theirs.rounds
    assert mine.method == theirs.method
    equal(mine.eliminated, theirs.eliminated)
    assert theirs.suboptimality_bound == mine.suboptimality_bound


class TestSelect:
    def test_with_shown_propensities_and_a_floor_it_is_the_same(self, engine, shown):
        policies = _policies()
        one = ps.select(shown, policies, _problem(), floor=0.08)
        parts = ps.select(engine.log(shown), policies, _problem(), floor=0.08)
        _assert_same(one, parts)
        assert one.certificate.certified

    @pytest.mark.parametrize("method", ["empirical_bernstein", "fixed"])
    def test_other_methods_are_the_same(self, engine, shown, method):
        policies = _policies()
        one = ps.select(shown, policies, _problem(), floor=0.08, method=method)
        parts = ps.select(engine.log(shown), policies, _problem(), floor=0.08, method=method)
        _assert_same(one, parts)

    def test_without_a_proof_sums_are_the_same(self, engine, shown):
        policies = _policies()
        one = ps.select(shown, policies, _problem())
        _assert_same(one, ps.select(engine.log(shown), policies, _problem()))
        assert one.certificate.method == "none"

    def test_with_all_propensities_it_is_the_same(self, engine, full):
        policies = _policies(named=True)
        one = ps.select(full, policies, _problem())
        parts = ps.select(engine.log(full), policies, _problem())
        _assert_same(one, parts)
        assert one.certificate.certified
        assert one.certificate.eliminated.any()
        assert one.compare(0, 29).lower == parts.compare(0, 29).lower

    def test_with_a_past_that_is_forgotten_it_is_the_same(self, engine, full):
        policies = _policies()
        one = ps.select(full, policies, _problem(), memory_limit=200_000)
        parts = ps.select(engine.log(full), policies, _problem(), memory_limit=200_000)
        _assert_same(one, parts)

    def test_with_an_exploration_it_is_the_same(self, engine, tmp_path):
        policies, columns = _policies(), _columns(full=False)
        rng = np.random.default_rng(5)
        columns["actions"] = rng.integers(0, K, (N, 1))
        columns["propensities"] = np.full((N, 1), 1 / K)
        paths = _saved(tmp_path, ps.Log(**columns))
        exploration = ps.Uniform(policies, _problem(), rng=0).exploration
        one = ps.select(paths, policies, _problem(), exploration=exploration)
        parts = ps.select(engine.log(paths), policies, _problem(), exploration=exploration)
        _assert_same(one, parts)

    @pytest.mark.parametrize("floor", [None, 0.3])
    def test_with_slates_it_is_the_same(self, engine, tmp_path, floor):
        policies = _policies(m=2)
        log = ps.Log(**_columns(m=2, full=floor is None))
        paths = _saved(tmp_path, log)
        one = ps.select(paths, policies, _problem(m=2), floor=floor)
        parts = ps.select(engine.log(paths), policies, _problem(m=2), floor=floor)
        _assert_same(one, parts)
        assert one.certificate.method == ("capped" if floor is None else "betting")

    def test_with_units_and_segments_it_is_the_same(self, engine, tmp_path):
        policies = _policies()
        units = [f"user {i}" for i in np.random.default_rng(3).integers(0, 15_000, N)]
        paths = _saved(tmp_path, ps.Log(**_columns(), units=units))
        segment = lambda contexts: np.asarray(contexts) % 2  # noqa: E731
        one = ps.select(paths, policies, _problem(), segment=segment)
        parts = ps.select(engine.log(paths), policies, _problem(), segment=segment)
        _assert_same(one, parts)
        assert one.returning == parts.returning > 0
        assert one.segments.to_dict() == parts.segments.to_dict()

    def test_functions_are_asked_by_the_workers(self, engine, full):
        every = [partial(_shifted, shift) for shift in (3, 1, 0, 2, 5, 4)]
        policies = ps.FunctionPolicies(every, n_actions=K, vectorized=True)
        others = [partial(_elsewhere, os.getpid(), one) for one in every]
        only_there = ps.FunctionPolicies(others, n_actions=K, vectorized=True)
        one = ps.select(full, policies, _problem())
        _assert_same(one, ps.select(engine.log(full), only_there, _problem()))
        assert one.certificate.eliminated.sum() > 1
        with pytest.raises(ps.PolicyFailureError, match="not here"):
            ps.select(full, only_there, _problem())

    def test_rounds_before_a_number_do_not_count(self, engine, shown, full):
        policies = _policies()
        one = ps.select(shown, policies, _problem(), floor=0.08, since=10_123)
        parts = ps.select(engine.log(shown), policies, _problem(), floor=0.08, since=10_123)
        _assert_same(one, parts)
        one = ps.select(full, policies, _problem(), since=10_123)
        _assert_same(
            one,
            ps.select(engine.log(full), policies, _problem(), since=10_123),
        )

    def test_a_node_that_is_removed_changes_nothing(self, nodes, engine, full):
        policies, read = _policies(), 0

        def track(pieces):
            nonlocal read
            for piece in pieces:
                read += 1
                if read == 2:
                    nodes.remove()
                yield piece

        one = ps.select(full, policies, _problem())
        parts = ps.select(engine.log(full), policies, _problem(), track=track)
        _assert_same(one, parts)
        assert read >= 2

    def test_a_worker_that_is_killed_changes_nothing(self, engine, full, tmp_path):
        mark = str(tmp_path / "killed")
        deadly = partial(_deadly, mark, os.getpid())
        policies = ps.FunctionPolicies([deadly, _best], n_actions=K, vectorized=True)
        one = ps.select(full, policies, _problem())
        assert not os.path.exists(mark)
        parts = ps.select(engine.log(full), policies, _problem())
        assert os.path.exists(mark)
        _assert_same(one, parts)


class TestOthers:
    def test_a_check_is_the_same(self, engine, full, shown):
        for paths in (full, shown):
            one, parts = ps.check_log(paths), ps.check_log(engine.log(paths))
            assert one.to_dict() == parts.to_dict()

    def test_a_design_is_the_same(self, engine, shown):
        policies = _policies()
        one = ps.design(shown, policies, _problem())
        parts = ps.design(engine.log(shown), policies, _problem())
        np.testing.assert_array_equal(
            one.propensities(np.arange(C)), parts.propensities(np.arange(C))
        )

    def test_evidence_takes_it(self, engine, full):
        policies = _policies()
        one, parts = ps.Evidence(policies, _problem()), ps.Evidence(policies, _problem())
        one.add(full)
        parts.add(engine.log(full))
        np.testing.assert_array_equal(one.intervals().values, parts.intervals().values)


class TestReading:
    @pytest.mark.parametrize("groups", [700, 4096, 1 << 20])
    def test_pieces_are_those_of_one_process(self, engine, full, tmp_path, groups):
        for path in full:
            pq.write_table(pq.read_table(path), tmp_path / path.name, row_group_size=groups)
        paths = [tmp_path / path.name for path in full]
        one, parts = list(ps.LogFile(paths).pieces()), list(engine.log(paths).pieces())
        assert [len(piece) for piece in one] == [len(piece) for piece in parts]
        assert all(mine == theirs for mine, theirs in zip(one, parts, strict=True))

    @pytest.mark.parametrize(("start", "stop"), [(0, 1), (4095, 4097), (10_999, 11_002), (5, N)])
    def test_some_rounds_are_those_of_the_whole(self, full, start, stop):
        log = ps.LogFile(full)
        found = ps.Log.concatenate(list(log.between(start, stop).pieces()))
        assert found == ps.Log.load(full)[start:stop]

    def test_an_address_and_a_pattern_name_files(self, engine, shown):
        folder = shown[0].parent
        for paths in (f"{folder}/*.parquet", f"file://{folder}/*.parquet"):
            assert len(engine.log(paths)) == len(ps.LogFile(paths)) == N
        some = ps.LogFile(f"file://{folder}/0.parquet")
        assert ps.Log.load(some) == ps.Log.load(shown[0])

    def test_a_file_system_of_pyarrow_can_be_given(self, engine, shown):
        system = fs.SubTreeFileSystem(str(shown[0].parent), fs.LocalFileSystem())
        log = engine.log([path.name for path in shown], filesystem=system)
        assert ps.Log.concatenate(list(log.pieces())) == ps.Log.load(shown)

    def test_a_pattern_that_means_nothing_is_an_error(self, engine, tmp_path):
        for paths in (f"{tmp_path}/*.parquet", f"file://{tmp_path}/*.parquet"):
            with pytest.raises(FileNotFoundError, match="no log at"):
                engine.log(paths)

    def test_an_unknown_store_is_refused(self, engine):
        with pytest.raises(ps.InvalidArgumentError, match="addresses of a store that pyarrow"):
            engine.log("nowhere://bucket/log.parquet")

    def test_other_formats_are_refused(self, engine, shown, tmp_path):
        convert(ps.Log.load(shown[1]), tmp_path / "log.csv")
        with pytest.raises(ps.InvalidArgumentError, match="must be Parquet to be read in parts"):
            engine.log(tmp_path / "log.csv")
        with pytest.raises(ps.InvalidArgumentError, match="must be on a disk"):
            ps.LogFile(f"file://{tmp_path}/log.csv")

    def test_a_part_that_fails_is_named_with_the_reason(self, engine, full, tmp_path):
        for path in full:
            (tmp_path / path.name).write_bytes(path.read_bytes())
        bad = tmp_path / "2.parquet"
        data = bytearray(bad.read_bytes())
        data[len(data) // 3 : len(data) // 3 + 64] = bytes(64)
        bad.write_bytes(data)
        with pytest.raises(ps.FileFormatError, match=r"2\.parquet.* is not a readable log"):
            list(engine.log(f"{tmp_path}/*.parquet").pieces())

    def test_candidates_that_cannot_travel_are_named(self, engine, full):
        policies = ps.FunctionPolicies(
            [lambda contexts: np.zeros(len(contexts), int), _best], n_actions=K, vectorized=True
        )
        with pytest.raises(ps.UnpicklableError, match=r"policies cannot be sent .* function 0"):
            ps.select(engine.log(full), policies, _problem())
