"""Explorations that are made wrongly, and files of them that were damaged or crafted."""

import json
from dataclasses import replace
from io import BytesIO
from zipfile import ZipFile

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.designs import (
    ListExploration,
    MarginalExploration,
    MixtureExploration,
    NeedExploration,
    OptimizedExploration,
    TodayExploration,
    UniformExploration,
)
from policysieve.exploration.designs.saving import ExplorationFile, sealed
from policysieve.policies.weights import ListedWeights, UnlistedWeights
from tests.exploration.designs.test_explorations import (
    KINDS,
    MIXTURE,
    NEEDS,
    POLICIES,
    PROBLEM,
    TABULAR,
)
from tests.faults.crafting import BAD_NUMBERS, bad_arrays, crafted_files

ROWS = np.linspace(0, 1, 6)[:, None]
TREES = ps.StumpPolicies(ROWS, n_actions=4, n_bins=3)


def on_trees():
    """The kinds that take weights, on a class of trees."""
    state = TREES.start_weights()
    for step in (1.0, 2.0):
        state.wait(3)
        state.add(ROWS[2:3], np.array([1]), np.array([step]))
    state.wait(2)
    weights = UnlistedWeights(TREES, state)
    yield MarginalExploration(TREES, PROBLEM, weights=weights, rounds=8, mixing=0.3)
    yield OptimizedExploration(
        TREES, PROBLEM, weights=weights, information_weight=9.0, binary=False
    )


EVERY = [*KINDS, *on_trees()]
every = pytest.mark.parametrize("exploration", EVERY, ids=lambda one: repr(one)[:45])


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    """Thousands of files are written here, and need not outlive the machine."""
    monkeypatch.setattr("os.fsync", lambda _handle: None)


def contexts_of(exploration):
    return ROWS if exploration.policies is TREES else np.arange(6)


def assert_sound(exploration):
    """What it plays are actions, with propensities that sum to one and are not below its floor."""
    contexts = contexts_of(exploration)
    shown = exploration.propensities(contexts)
    np.testing.assert_allclose(shown.sum(axis=1), 1, rtol=1e-5)
    decisions = exploration.ask(contexts, rng=0)
    assert ((decisions.actions >= 0) & (decisions.actions < 4)).all()
    assert 0 < exploration.floor <= 1 or isinstance(exploration, TodayExploration)
    assert (decisions.propensities >= exploration.floor * (1 - 1e-9)).all()


@every
def test_a_crafted_file_is_refused_or_harmless(exploration, tmp_path):
    path = tmp_path / "design.npz"
    good = ExplorationFile.of(exploration)
    refused = 0
    for name, file in crafted_files(good, [*ps.Exploration.kinds, "Exploration", "os.system"]):
        file.write(path)
        try:
            loaded = ps.Exploration.load(path, exploration.policies)
        except ps.FileFormatError:
            refused += 1
            continue
        except Exception as error:
            pytest.fail(f"{name}: {type(error).__name__}: {error}")
        try:
            assert_sound(loaded)
        except ps.InvalidArgumentError:  # trees are too many to try all contexts when they load
            assert exploration.policies is TREES, name
    assert refused > 20


MUST_REFUSE = {
    "support": ["negative", "large", "wraps", "wraps far", "empty", "half", "bool", "all alike"],
    "shares": ["shorter", "longer", "NaN", "infinite", "negative", "all zero", "huge"],
    "survivors": ["negative", "large", "wraps", "wraps far", "empty", "half", "bool", "all alike"],
    "need": ["shorter", "longer", "NaN", "infinite", "negative", "all zero", "huge"],
    "votes": ["shorter", "longer", "NaN", "infinite", "negative", "all zero", "huge"],
    "listed": ["negative", "large", "wraps", "wraps far", "half", "bool", "all alike"],
    "weights.log_weights": ["shorter", "longer", "NaN", "infinite", "bool"],
    "weights.slots": ["shorter", "longer", "large", "wraps", "half", "all zero"],
    "weights.log_w": ["shorter", "longer", "NaN", "infinite"],
    "weights.cum": ["shorter", "longer", "NaN", "negative", "huge"],
    "weights.last": ["shorter", "longer", "NaN", "negative", "huge", "large"],
    "weights.now": ["empty", "longer", "NaN", "negative", "all zero"],
    "weights.leaf": ["shorter", "longer", "NaN", "infinite"],
    "weights.soft": ["shorter", "longer", "NaN", "negative", "all zero", "huge"],
    "weights.summed": ["shorter", "longer", "NaN", "negative"],
    "weights.waited": ["shorter", "longer", "NaN", "negative"],
    "weights.pending": ["empty", "longer", "NaN", "negative"],
}


@every
def test_bad_arrays_in_a_file_are_refused(exploration, tmp_path):
    path = tmp_path / "design.npz"
    good = ExplorationFile.of(exploration)
    always = ["no dimension", "one more dimension", "complex", "object", "text"]
    for name, array in good.arrays.items():
        bad = bad_arrays(array)
        for what in always + MUST_REFUSE[name]:
            replace(good, arrays={**good.arrays, name: bad[what]}).write(path)
            with pytest.raises(ps.FileFormatError):
                ps.Exploration.load(path, exploration.policies)


@every
def test_every_flipped_bit_is_noticed(exploration, tmp_path):
    path = tmp_path / "design.npz"
    exploration.save(path)
    good = path.read_bytes()
    for place in range(0, len(good), 3 if exploration is KINDS[1] else 29):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])
        with pytest.raises(ps.FileFormatError, match="checksum"):
            ps.Exploration.load(path, exploration.policies)


@pytest.mark.parametrize("end", [0, 1, 63, 64, 65, -1, -64, -65])
def test_a_truncated_file_is_noticed(tmp_path, end):
    path = tmp_path / "design.npz"
    KINDS[1].save(path)
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ps.FileFormatError, match="checksum"):
        ps.Exploration.load(path, POLICIES)


def test_a_file_is_still_an_archive_that_numpy_reads(tmp_path):
    KINDS[1].save(tmp_path / "design.npz")
    with np.load(tmp_path / "design.npz") as archive:
        assert archive["support"].tolist() == [1, 4]


GOOD = {
    "version": 4,
    "kind": "UniformExploration",
    "problem": {"n_actions": 4, "epsilon": 0.1, "delta": 0.1},
    "fingerprint": POLICIES.fingerprint(),
    "numbers": {},
    "arrays": [],
}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "[]",
        "null",
        "[" * 100_000,
        json.dumps({}),
        *(json.dumps({key: GOOD[key] for key in GOOD if key != name}) for name in GOOD),
        *(
            json.dumps({**GOOD, name: bad})
            for name in ("version", "kind", "problem", "numbers", "arrays")
            for bad in (None, 3, [3], {"a": 3}, "a", [[]])
        ),
    ],
    ids=lambda header: header[:60],
)
def test_bad_headers(tmp_path, header):
    file = BytesIO()
    np.savez(file, header=header)
    (tmp_path / "design.npz").write_bytes(sealed(file.getvalue()))
    with pytest.raises(ps.FileFormatError):
        ps.Exploration.load(tmp_path / "design.npz", POLICIES)


def test_the_header_that_the_bad_ones_come_from_is_good(tmp_path):
    file = BytesIO()
    np.savez(file, header=json.dumps(GOOD))
    (tmp_path / "design.npz").write_bytes(sealed(file.getvalue()))
    assert_sound(ps.Exploration.load(tmp_path / "design.npz", POLICIES))


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY", b"hello" * 40, bytes(300)])
def test_what_is_no_archive_at_all(tmp_path, content):
    (tmp_path / "design.npz").write_bytes(sealed(content))
    with pytest.raises(ps.FileFormatError, match=r"not a readable \.npz archive"):
        ps.Exploration.load(tmp_path / "design.npz", POLICIES)


def test_an_array_larger_than_memory_is_refused(tmp_path):
    """The header of an array may promise anything."""
    file, array = BytesIO(), BytesIO()
    np.savez(file, header=json.dumps({**GOOD, "arrays": ["a"]}))
    promise = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(array, promise)
    with ZipFile(file, "a") as archive:
        archive.writestr("a.npy", array.getvalue())
    (tmp_path / "design.npz").write_bytes(sealed(file.getvalue()))
    with pytest.raises(ps.FileFormatError, match=r"are allowed, .*; make it anew"):
        ps.Exploration.load(tmp_path / "design.npz", POLICIES)


class TestMaking:
    """What is wrong is refused when it is made, with an error of ours."""

    @pytest.mark.parametrize("field", ["support", "shares", "mixing", "variance_bound"])
    def test_mixtures(self, field):
        for bad in self._values(MIXTURE.get(field)):
            self._refused_or_sound(MixtureExploration, **{**MIXTURE, field: bad})

    @pytest.mark.parametrize("field", list(NEEDS))
    def test_needs(self, field):
        for bad in self._values(NEEDS[field]):
            self._refused_or_sound(NeedExploration, **{**NEEDS, field: bad})

    @pytest.mark.parametrize("field", ["listed", "mixing"])
    def test_lists(self, field):
        good = {"listed": np.array([3, 0]), "mixing": 0.4}
        for bad in self._values(good[field]):
            self._refused_or_sound(ListExploration, **{**good, field: bad})

    @pytest.mark.parametrize("field", ["weights", "information_weight", "binary"])
    def test_optimized(self, field):
        good = {"weights": POLICIES.prior(), "information_weight": 9.0, "binary": True}
        for bad in self._values(None):
            self._refused_or_sound(OptimizedExploration, **{**good, field: bad})

    @staticmethod
    def _values(good):
        yield from [*BAD_NUMBERS, object(), [[1], [1, 2]], np.array([None]), 1j, b"x"]
        if isinstance(good, np.ndarray):
            yield from bad_arrays(good).values()

    @staticmethod
    def _refused_or_sound(kind, **fields):
        try:
            exploration = kind(POLICIES, PROBLEM, **fields)
        except ps.InvalidArgumentError:
            return
        assert_sound(exploration)

    @pytest.mark.parametrize("support", [[2**32], [2**32 + 1], [-(2**32)]])
    def test_numbers_that_would_wrap(self, support):
        with pytest.raises(ps.InvalidArgumentError, match="support must be numbers up to"):
            MixtureExploration(POLICIES, PROBLEM, support=support, shares=[1.0], mixing=0.2)

    @pytest.mark.parametrize("mixing", [5e-324, 1e-310])
    def test_a_propensity_that_cannot_be_divided_by(self, mixing):
        with pytest.raises(ps.InvalidArgumentError, match="lost in rounding"):
            MixtureExploration(POLICIES, PROBLEM, **{**MIXTURE, "mixing": mixing})

    @pytest.mark.parametrize("policies", [None, 3, "table.npy", np.zeros((3, 2), int)])
    def test_policies_that_are_none(self, policies):
        with pytest.raises(ps.InvalidArgumentError, match="policies must be a policy class"):
            UniformExploration(policies, PROBLEM)

    @pytest.mark.parametrize("problem", [None, {"n_actions": 4}])
    def test_a_problem_that_is_none(self, problem):
        with pytest.raises(ps.InvalidArgumentError, match="problem must be a Problem"):
            UniformExploration(POLICIES, problem)

    def test_weights_of_other_policies(self):
        fewer = ps.PolicyTable(POLICIES.table[:, :2], n_actions=4)
        more = ps.TabularPolicies(n_contexts=99, n_actions=4)
        for mine, theirs in ((POLICIES, fewer), (POLICIES, more), (TABULAR, more)):
            with pytest.raises(ps.InvalidArgumentError, match="exploration's own policies"):
                OptimizedExploration(
                    mine, PROBLEM, weights=theirs.prior(), information_weight=9.0, binary=True
                )
        with pytest.raises(ps.InvalidArgumentError, match="weights must be UnlistedWeights"):
            MarginalExploration(POLICIES, PROBLEM, weights=POLICIES.prior(), rounds=1, mixing=0.5)

    @pytest.mark.parametrize(
        "shares",
        [np.full(4, 0.25), np.full(6, 1 / 6), np.full(5, np.nan), np.full(5, 1.0), np.zeros(5)],
        ids=["short", "long", "NaN", "large", "zero"],
    )
    def test_bad_weights_of_a_list(self, shares):
        weights = ListedWeights(POLICIES, np.zeros(5), shares)
        with pytest.raises(ps.InvalidArgumentError, match="weights must be"):
            OptimizedExploration(
                POLICIES, PROBLEM, weights=weights, information_weight=9.0, binary=True
            )

    @pytest.mark.parametrize("rounds", [1, 4, 6, 10**9])
    def test_rounds_that_the_weights_have_not_waited_for(self, rounds):
        for exploration in (KINDS[-1], EVERY[-2]):
            with pytest.raises(ps.InvalidArgumentError, match="have waited for"):
                replace(exploration, rounds=rounds)

    def test_a_class_whose_marginals_are_none_is_found_out_when_it_decides(self):
        """Nothing could be drawn, and numba would read what was never written."""
        state = TABULAR.start_weights()
        weights = UnlistedWeights(TABULAR, state)
        exploration = OptimizedExploration(
            TABULAR, PROBLEM, weights=weights, information_weight=9.0, binary=True
        )
        state.marginals = lambda contexts: np.full((len(contexts), 4), np.nan)
        with pytest.raises(ps.InvalidArgumentError, match="which sum to one"):
            exploration.ask(np.arange(6))

    @pytest.mark.parametrize("bad", [-0.1, 1.0, np.nan, np.inf])
    @every
    def test_uniforms_outside_their_range(self, exploration, bad):
        uniforms = np.full((6, exploration.draws_per_round), bad)
        with pytest.raises(ps.InvalidArgumentError, match=r"uniforms must lie in \[0, 1\), got"):
            exploration.choose(contexts_of(exploration), uniforms)
