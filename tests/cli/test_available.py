"""Commands where not everything is available."""

import json

import numpy as np
import pytest

import policysieve as ps
from policysieve.availability import Available
from policysieve.cli.decide import parts_of
from policysieve.cli.loading import load_policies
from policysieve.exploration.designs.saving import ExplorationFile
from policysieve.log import Beside, LogFile, Rounds
from tests.cli.test_cli import invoke

K, NAMES = 4, ("hats", "shoes", "socks", "ties")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "table.npy", rng.integers(0, K, (6, 5)).astype(np.uint8))
    np.save(tmp_path / "contexts.npy", rng.integers(0, 6, 30))
    policies = ps.PolicyTable.load(tmp_path / "table.npy", K)
    problem = ps.Problem(n_actions=K, epsilon=0.2, delta=0.1)
    learner = ps.Uniform(policies, problem, rounds=200, rng=0)
    decisions = learner.ask(rng.integers(0, 6, 200))
    learner.tell(decisions, (decisions.actions == 1) * 1.0)
    learner.log.save(tmp_path / "log.parquet")
    return tmp_path


def design(folder, *arguments, actions=K):
    return invoke(
        "design",
        folder / "log.parquet",
        *("--policies", folder / "table.npy", "--actions", actions),
        *("--epsilon", 0.2, "--delta", 0.1, "--out", folder / "design.npz"),
        *arguments,
    )


def contexts_with(available, names=None):
    """A file of contexts with a column of what is available, as it is read."""
    n = len(available)
    nothing = np.empty((n, 0))
    columns = (np.arange(n) % 6, nothing.astype(np.int32), nothing, nothing)
    return Rounds(*columns, action_names=names, beside=Beside(available))


def decided(folder, monkeypatch, rounds, *arguments):
    monkeypatch.setattr("policysieve.formats.open_contexts", lambda *_, **__: iter([rounds]))
    out = folder / "decisions.parquet"
    result = invoke(
        "decide",
        folder / "design.npz",
        *("--policies", folder / "table.npy", "--contexts", folder / "contexts.csv"),
        *("--out", out, "--seed", 0, "--json"),
        *arguments,
    )
    return result, next(iter(LogFile(out).rounds())) if not result.exit_code else None


def test_a_design_remembers_the_fallback_of_a_table(folder, monkeypatch):
    assert design(folder, "--fallback", "3,2,1,0").exit_code == 0
    assert ExplorationFile.read(folder / "design.npz").fallback == (3, 2, 1, 0)
    rng = np.random.default_rng(1)
    mask = rng.random((40, K)) < 0.5
    mask[:, 2] = True
    available = Available.of(mask, 40, K)
    result, rounds = decided(folder, monkeypatch, contexts_with(available), "--distributions")
    assert json.loads(result.output)["rounds"] == 40
    assert available.has(rounds.actions).all()
    every = rounds.distributions.dense(K)
    assert (every[~mask] == 0).all()
    np.testing.assert_allclose(every.sum(axis=1), 1.0)
    plain = folder / "plain.parquet"
    again = (folder / "decisions.parquet").rename(plain)
    _, fewer = decided(folder, monkeypatch, contexts_with(available))
    np.testing.assert_array_equal(fewer.actions, next(iter(LogFile(again).rounds())).actions)


def decided_by_name(folder, contexts):
    made = design(folder, "--fallback", "ties,socks,shoes,hats", actions=",".join(NAMES))
    assert made.exit_code == 0
    return invoke(
        "decide",
        folder / "design.npz",
        *("--policies", folder / "table.npy", "--contexts", contexts),
        *("--out", folder / "decisions.csv", "--seed", 0),
    )


def written(folder, suffix, available):
    """A file of contexts that has names of what is available in an order of its own."""
    lines = "".join(f"{i},{names}\n" for i, names in enumerate(available))
    (folder / "contexts.csv").write_text("context,available\n" + lines)
    if suffix == ".parquet":
        pq = pytest.importorskip("pyarrow.parquet")
        pa = pytest.importorskip("pyarrow")
        table = pa.table(
            {"context": range(len(available)), "available": [one.split() for one in available]}
        )
        pq.write_table(table, folder / "contexts.parquet")
    return folder / f"contexts{suffix}"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_names_are_those_of_the_design(folder, suffix):
    result = decided_by_name(folder, written(folder, suffix, ["ties", "socks", "ties"]))
    assert result.exit_code == 0, result.output
    found = next(iter(LogFile(folder / "decisions.csv", actions=NAMES).rounds()))
    assert found.plain_actions() == [["ties"], ["socks"], ["ties"]]
    assert list(found.plain_available()) == [["ties"], ["socks"], ["ties"]]


@pytest.mark.parametrize(("suffix", "where"), [(".csv", "line 3"), (".parquet", "row 2")])
@pytest.mark.parametrize("misspelt", ["socs ties", "shoos"])
def test_a_name_that_the_design_does_not_know_is_named(folder, suffix, where, misspelt):
    result = decided_by_name(folder, written(folder, suffix, ["ties socks", misspelt]))
    assert result.exit_code
    said = " ".join(result.output.split())
    assert misspelt.split()[0] in said
    assert f"contexts{suffix}" in said
    assert where in said
    assert "did you mean" in said
    assert not (folder / "decisions.csv").exists()


def test_large_files_are_decided_in_small_parts():
    available = Available.everything(10, K)
    pieces = [(np.arange(10), None, None, Beside(available)), (np.arange(10), None, None, Beside())]
    assert [len(part[0]) for part in parts_of(iter(pieces), 4, 8)] == [4, 4, 2, 8, 2]


def test_without_a_fallback_decide_says_who_is_stuck(folder, monkeypatch):
    assert design(folder).exit_code == 0
    rounds = contexts_with(Available.of([[0]] * 6, 6, K))
    result, _ = decided(folder, monkeypatch, rounds)
    assert result.exit_code
    assert "is not available there; declare what takes its place" in result.output
    assert not (folder / "decisions.parquet").exists()


def test_only_tables_take_a_fallback(tmp_path):
    np.savez(tmp_path / "w.npz", weights=np.zeros((1, 3, 2)))
    with pytest.raises(ps.InvalidArgumentError, match=r"--fallback goes with a \.npy table"):
        load_policies(str(tmp_path / "w.npz"), None, 1, fallback=["0"])


def test_a_bad_fallback_is_named(folder):
    result = design(folder, "--fallback", "3,9")
    assert result.exit_code
    assert "fallback must hold actions in [0, 3]" in result.output
