"""Decisions of a design for contexts of all kinds of files."""

import importlib
import json
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import policysieve as ps
from policysieve.exploration.designs import MixtureExploration, UniformExploration
from policysieve.log import LogFile
from tests.cli.designs import decide, explored, make_design
from tests.cli.test_cli import invoke
from tests.formats.rounds import assert_same


@pytest.fixture(scope="module", params=[1, 2])
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("design")
    return folder, *explored(folder, request.param)


def test_decisions_are_not_overwritten(case, tmp_path):
    """They may have been shown already, and nobody could draw them again."""
    folder, *_ = case
    make_design(folder)
    np.save(tmp_path / "contexts.npy", np.arange(20))
    out = tmp_path / "decisions.csv"
    assert decide(folder, tmp_path / "contexts.npy", out).exit_code == 0
    before = out.read_bytes()
    again = decide(folder, tmp_path / "contexts.npy", out)
    assert again.exit_code == 1
    assert f"{out} exists" in again.output
    assert "remove it first or name another file" in again.output
    assert out.read_bytes() == before


def test_decisions_become_a_log(case, tmp_path):
    folder, learner, rewards = case
    make_design(folder)
    contexts = np.random.default_rng(3).integers(0, 20, 500)
    np.save(tmp_path / "contexts.npy", contexts)
    out = tmp_path / "decisions.parquet"
    result = decide(folder, tmp_path / "contexts.npy", out, "--seed", 4)
    assert result.exit_code == 0, result.output
    assert "500 decisions" in result.output
    (made,) = LogFile(out).rounds()
    np.testing.assert_array_equal(made.contexts, contexts)
    assert np.isnan(made.rewards).all()
    every = learner.design.propensities(contexts)
    np.testing.assert_allclose(
        made.propensities, np.take_along_axis(every, made.actions, axis=1), rtol=1e-12
    )
    log = replace(made, rewards=rewards[contexts[:, None], made.actions]).to_log()
    log.save(tmp_path / "log.parquet")
    assert invoke("check", tmp_path / "log.parquet", "--actions", 6).exit_code == 0
    assert "All rewards are missing" in invoke("check", out).output

    decide(folder, tmp_path / "log.parquet", tmp_path / "again.parquet", "--seed", 4)
    (again,) = LogFile(tmp_path / "again.parquet").rounds()
    np.testing.assert_array_equal(again.actions, made.actions)
    out = tmp_path / "other.parquet"
    other = decide(folder, tmp_path / "contexts.npy", out, "--seed", 5, "--json")
    assert json.loads(other.stdout)["rounds"] == 500
    (others,) = LogFile(out).rounds()
    assert (others.actions != made.actions).any()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_ids_and_times_of_contexts_are_kept(case, tmp_path, ending):
    """In the decisions, and in the log that is made of them, which select takes."""
    folder, *_ = case
    make_design(folder)
    contexts = np.random.default_rng(6).integers(0, 20, 300)
    lines = [f"r{i},{1e9 + i},{context},0,0.5," for i, context in enumerate(contexts)]
    lines[7] = lines[7].removeprefix("r7")
    names = "id,time,context,action,propensity,reward"
    (tmp_path / "today.csv").write_text("\n".join([names, *lines]) + "\n", encoding="utf-8")
    out = tmp_path / f"decisions.{ending}"
    result = decide(folder, tmp_path / "today.csv", out, "--seed", 4)
    assert result.exit_code == 0, result.output
    (made,) = LogFile(out).rounds()
    np.testing.assert_array_equal(made.contexts, contexts)
    assert made.ids.tolist() == [f"r{i}" if i != 7 else "" for i in range(300)]
    np.testing.assert_array_equal(made.times, 1e9 + np.arange(300))

    invoke("convert", out, tmp_path / "collected.parquet", "--missing-reward", 0)
    check = json.loads(invoke("check", tmp_path / "collected.parquet", "--json").stdout)
    numbers = {one["name"]: one["numbers"] for one in check["findings"]}
    assert numbers["ids"] == {"with_id": 299, "repeated": 0}
    assert numbers["time order"] == {"with_time": 300, "backwards": 0}
    options = ("--policies", folder / "table.npy", "--actions", 6, "--epsilon", 0.25)
    select = invoke("select", tmp_path / "collected.parquet", *options, "--delta", 0.1, "--json")
    assert select.exit_code == 0, select.output


def new_contexts(folder, contexts):
    """The same contexts with ids in every kind of file, and as an array without."""
    names, values = [f"r{i}" for i in range(len(contexts))], contexts.tolist()
    both = list(zip(names, values, strict=True))
    text = {
        "new.csv": "id,context\n" + "".join(f"{name},{value}\n" for name, value in both),
        "new.jsonl": "".join(json.dumps({"id": n, "context": c}) + "\n" for n, c in both),
        "new.vw": "".join(f"{name}| c={value}\n" for name, value in both),
    }
    for file, lines in text.items():
        (folder / file).write_text(lines, encoding="utf-8")
    pq.write_table(pa.table({"id": names, "context": values}), folder / "new.parquet")
    np.save(folder / "new.npy", contexts)
    return [*text, "new.parquet"], names


def test_contexts_need_no_actions(case, tmp_path):
    """Whatever file they come from, decisions are those of the array."""
    folder, *_ = case
    make_design(folder)
    contexts = np.random.default_rng(7).integers(0, 20, 60)
    files, names = new_contexts(tmp_path, contexts)
    out = tmp_path / "decisions.parquet"
    decide(folder, tmp_path / "new.npy", out, "--seed", 4)
    (expected,) = LogFile(out).rounds()
    for file in files:
        out = tmp_path / f"{file}.decisions.parquet"
        result = decide(folder, tmp_path / file, out, "--seed", 4)
        assert result.exit_code == 0, result.output
        (made,) = LogFile(out).rounds()
        assert made.ids.tolist() == names
        np.testing.assert_array_equal(made.contexts, contexts)
        np.testing.assert_array_equal(made.actions, expected.actions)
        np.testing.assert_array_equal(made.propensities, expected.propensities)
        assert np.isnan(made.rewards).all()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "vw", "parquet", "npy"])
def test_contexts_of_several_files_are_decided_in_order(case, tmp_path, ending):
    folder, *_ = case
    make_design(folder)
    contexts = np.random.default_rng(7).integers(0, 20, 60)
    for name, part in (("all", contexts), ("a", contexts[:25]), ("b", contexts[25:])):
        (tmp_path / name).mkdir()
        new_contexts(tmp_path / name, part)
    np.save(tmp_path / "a" / "new.npy", contexts[:25].astype(np.int8))
    found = []
    for first, *others in (["all"], ["a", "b"]):
        more = [word for one in others for word in ("--contexts", tmp_path / one / f"new.{ending}")]
        out = tmp_path / f"{first}.parquet"
        result = decide(folder, tmp_path / first / f"new.{ending}", out, "--seed", 4, *more)
        assert result.exit_code == 0, result.output
        found.append(ps.LogFile(out))
    (whole,), parts = found[0].rounds(), list(found[1].rounds())
    np.testing.assert_array_equal(whole.contexts, np.concatenate([one.contexts for one in parts]))
    np.testing.assert_array_equal(whole.actions, np.concatenate([one.actions for one in parts]))


def test_the_format_of_contexts_can_be_named(case, tmp_path):
    folder, *_ = case
    make_design(folder)
    (tmp_path / "new.txt").write_text("| c=3\n| c=4\n", encoding="utf-8")
    out = tmp_path / "decisions.parquet"
    unknown = decide(folder, tmp_path / "new.txt", out)
    assert "does not tell its format" in unknown.output
    assert "--from" in unknown.output
    assert decide(folder, tmp_path / "new.txt", out, "--from", "vw").exit_code == 0
    (made,) = LogFile(out).rounds()
    assert made.contexts.tolist() == [3, 4]


def test_contexts_of_several_kinds_are_refused(case, tmp_path):
    folder, *_ = case
    make_design(folder)
    np.save(tmp_path / "a.npy", np.arange(3))
    np.save(tmp_path / "b.npy", np.ones((3, 2)))
    (tmp_path / "c.csv").write_text("context\n3\n", encoding="utf-8")
    out = tmp_path / "decisions.parquet"
    for other, message in (("b.npy", "contexts must be of one kind"), ("c.csv", "does not tell")):
        result = decide(folder, tmp_path / "a.npy", out, "--contexts", tmp_path / other)
        assert result.exit_code == 1
        assert message in result.output
        assert not out.exists()


def test_what_a_log_showed_is_left_aside(case, tmp_path):
    """Its rewards may have a range that nobody declared."""
    folder, *_ = case
    make_design(folder)
    (tmp_path / "costs.vw").write_text("1:12.5:0.5 | c=3\n2:0:0 | c=4\n", encoding="utf-8")
    out = tmp_path / "decisions.parquet"
    result = decide(folder, tmp_path / "costs.vw", out)
    assert result.exit_code == 0, result.output
    (made,) = LogFile(out).rounds()
    assert made.contexts.tolist() == [3, 4]


def test_pieces_do_not_matter(case, tmp_path, monkeypatch):
    folder, *_ = case
    make_design(folder)
    np.save(tmp_path / "contexts.npy", np.arange(20).repeat(10))
    found = []
    for batch in (1 << 16, 33):
        monkeypatch.setattr(sys.modules["policysieve.cli.decide"], "_BATCH", batch)
        out = tmp_path / f"{batch}.parquet"
        decide(folder, tmp_path / "contexts.npy", out, "--seed", 0)
        (made,) = LogFile(out).rounds()
        found.append(made)
    np.testing.assert_array_equal(found[0].actions, found[1].actions)
    np.testing.assert_array_equal(found[0].propensities, found[1].propensities)


class TestDistributions:
    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_are_those_of_the_design(self, case, tmp_path, ending):
        """The decisions are the same as without, and with rewards the file is a log."""
        folder, learner, rewards = case
        make_design(folder)
        contexts = np.random.default_rng(3).integers(0, 20, 200)
        np.save(tmp_path / "contexts.npy", contexts)
        plain, full = tmp_path / f"plain.{ending}", tmp_path / f"full.{ending}"
        decide(folder, tmp_path / "contexts.npy", plain, "--seed", 4)
        result = decide(folder, tmp_path / "contexts.npy", full, "--seed", 4, "--distributions")
        assert result.exit_code == 0, result.output
        (without,), (made,) = LogFile(plain).rounds(), LogFile(full).rounds()
        np.testing.assert_array_equal(made.actions, without.actions)
        np.testing.assert_array_equal(made.propensities, without.propensities)
        assert without.distributions is None
        every = learner.design.propensities(contexts)
        np.testing.assert_allclose(made.distributions.dense(6), every, rtol=1e-12)

        log = replace(made, rewards=rewards[contexts[:, None], made.actions]).to_log()
        log.save(tmp_path / "log.parquet")
        assert ps.Log.load(tmp_path / "log.parquet").distributions == made.distributions
        assert invoke("check", tmp_path / "log.parquet", "--actions", 6).exit_code == 0

    @pytest.mark.parametrize("source", ["contexts.npy", "today.csv"])
    def test_come_in_pieces_that_do_not_matter(self, case, tmp_path, monkeypatch, source):
        folder, *_ = case
        make_design(folder)
        contexts = np.arange(20).repeat(5)
        np.save(tmp_path / "contexts.npy", contexts)
        lines = [f"r{i},{1e9 + i},{context}" for i, context in enumerate(contexts)]
        (tmp_path / "today.csv").write_text("\n".join(["id,time,context", *lines]) + "\n")
        found = []
        for entries in (1 << 20, 33):
            monkeypatch.setattr(sys.modules["policysieve.cli.decide"], "_ENTRIES", entries)
            out = tmp_path / f"{entries}.parquet"
            decide(folder, tmp_path / source, out, "--seed", 0, "--distributions")
            (made,) = LogFile(out).rounds()
            found.append(made)
        assert_same(*found)
        assert pq.ParquetFile(tmp_path / "33.parquet").num_row_groups == 20  # of 33 // 6 contexts

    def test_candidates_are_asked_once(self, tmp_path, monkeypatch):
        """They may be expensive, or say something else the next time."""
        (tmp_path / "drawn_candidates.py").write_text(
            "import numpy as np\n"
            "import policysieve as ps\n\n"
            "rng, asked = np.random.default_rng(0), []\n\n\n"
            "def draw(contexts):\n"
            "    asked.extend(contexts)\n"
            "    return rng.integers(0, 4, len(contexts))\n\n\n"
            "policies = ps.FunctionPolicies([draw, draw], n_actions=4)\n"
        )
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        candidates = importlib.import_module("drawn_candidates")
        problem = ps.Problem(n_actions=4, epsilon=0.3, delta=0.1)
        MixtureExploration(
            candidates.policies,
            problem,
            mixing=0.4,
            variance_bound=10.0,
            support=[0, 1],
            shares=[0.5, 0.5],
        ).save("design.npz")
        np.save("contexts.npy", np.arange(50))
        out = tmp_path / "decisions.parquet"
        words = ("--policies", "drawn_candidates:policies", "--contexts", "contexts.npy")
        result = invoke("decide", "design.npz", *words, "--out", out, "--distributions")
        assert result.exit_code == 0, result.output
        assert len(candidates.asked) == 2 * 50
        (made,) = LogFile(out).rounds()
        np.testing.assert_allclose(made.distributions.dense(4).sum(axis=1), 1)

    def test_may_be_longer_than_the_cells_that_python_reads(self, tmp_path):
        k = 9000
        policies = ps.PolicyTable(np.zeros((2, 3), int), n_actions=k)
        policies.save(tmp_path / "table.npy")
        problem = ps.Problem(n_actions=k, epsilon=0.3, delta=0.1)
        UniformExploration(policies, problem).save(tmp_path / "design.npz")
        np.save(tmp_path / "contexts.npy", np.arange(2))
        for name in ("decisions.csv", "decisions.parquet"):
            out = tmp_path / name
            result = decide(tmp_path, tmp_path / "contexts.npy", out, "--distributions")
            assert result.exit_code == 0, result.output
            (rounds,) = LogFile(out).rounds()
            assert rounds.distributions.lengths.tolist() == [k, k]


def test_a_table_of_cells_can_be_filled_in(case, tmp_path):
    folder, *_ = case
    make_design(folder)
    np.save(tmp_path / "contexts.npy", np.arange(20))
    assert decide(folder, tmp_path / "contexts.npy", tmp_path / "decisions.csv").exit_code == 0
    head, *rows = (tmp_path / "decisions.csv").read_text().splitlines()
    names, count = head.split(","), head.count("reward")
    assert names[-count:] == [name for name in names if name.startswith("reward")]
    filled = [",".join([*row.split(",")[:-count], *["0.5"] * count]) for row in rows]
    (tmp_path / "filled.csv").write_text("\n".join([head, *filled]) + "\n", encoding="utf-8")
    done = invoke("convert", tmp_path / "filled.csv", tmp_path / "log.parquet")
    assert done.exit_code == 0, done.output
    assert (ps.Log.load(tmp_path / "log.parquet").rewards == 0.5).all()


@pytest.mark.parametrize("single", [False, True])
def test_a_data_frame_can_be_filled_in(case, tmp_path, single):
    """Data frames write lists of any length, perhaps one reward in place of a list, no header."""
    folder, learner, rewards = case
    m = learner.problem.slate_size
    make_design(folder)
    contexts = np.random.default_rng(9).integers(0, 20, 300)
    np.save(tmp_path / "contexts.npy", contexts)
    out = tmp_path / "decisions.parquet"
    assert decide(folder, tmp_path / "contexts.npy", out, "--seed", 4).exit_code == 0
    (made,) = LogFile(out).rounds()
    earned = rewards[contexts[:, None], made.actions]
    frame = pq.read_table(out).to_pydict()
    frame["rewards"] = earned[:, 0].tolist() if single and m == 1 else earned.tolist()
    pq.write_table(pa.table(frame), tmp_path / "filled.parquet")
    done = invoke("convert", tmp_path / "filled.parquet", tmp_path / "log.parquet")
    assert done.exit_code == 0, done.output
    assert ps.Log.load(tmp_path / "log.parquet") == replace(made, rewards=earned).to_log()
