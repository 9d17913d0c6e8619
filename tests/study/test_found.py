"""What somebody who had never seen a study has found."""

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from policysieve.errors import InvalidArgumentError

TABLE = np.array([[0, 1], [1, 0], [0, 0], [1, 1]])


def policies():
    return ps.PolicyTable(TABLE, n_actions=2)


def functions():
    even = lambda rows: (np.asarray(rows)[:, 0] > 0).astype(int)  # noqa: E731
    return ps.FunctionPolicies({"even": even, "odd": lambda rows: 1 - even(rows)}, n_actions=2)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def problem(**more):
    return ps.Problem(n_actions=2, **{"epsilon": 0.1, "delta": 0.1, **more})


def test_an_archived_study_takes_nothing_from_whoever_has_it_open(url):
    with ps.Study.create(url, "shop", policies(), problem(), seed=0) as one:
        decisions = one.ask([0, 1], ids=["a", "b"])
        with ps.Study.open(url, "shop", policies()) as other:
            other.archive()
        for call in (
            lambda: one.ask([2]),
            lambda: one.tell(decisions.ids, [0, 1]),
            lambda: one.expire(older_than=0),
            lambda: one.discard("a", reason="lost"),
            one.learn,
        ):
            with pytest.raises(InvalidArgumentError, match="is archived"):
                call()
        status = one.status()
        assert (status.archived, status.rounds, status.open) == (True, 2, 2)


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.parquet"])
def test_rewards_in_a_range_are_written(url, tmp_path, name):
    asked = problem(epsilon=2, reward_range=(-5, 30), objective="minimize", no_answer=30)
    with ps.Study.create(url, "shop", policies(), asked, seed=0) as study:
        study.tell(study.ask([0, 1, 2]), [17.5, -5, 30])
        written = study.log(tmp_path / name)
        assert np.concatenate([piece.rewards for piece in written.pieces()])[:, 0].tolist() == [
            17.5,
            -5,
            30,
        ]


def test_contexts_that_were_not_erased_are_still_there(url):
    with ps.Study.create(url, "shop", functions(), problem(), seed=0) as study:
        rows = np.array([[1.0, 2.0], [-1.0, 3.0], [4.0, 5.0]])
        study.ask(rows, ids=["a", "b", "c"])
        study.forget(["b"])
        assert study.decisions(["c", "a"]).contexts.tolist() == rows[[2, 0]].tolist()
        assert study.decisions(["a", "b"]).contexts.tolist() == [None, None]


class TestCommands:
    @pytest.fixture
    def where(self, url, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        policies().save("table.npy")
        np.save("contexts.npy", np.array([0, 1]))
        with ps.Study.create(url, "shop", policies(), problem(), seed=0) as study:
            study.ask([2, 3], ids=["a", "b"])
        return [url, "shop", "--policies", "table.npy"]

    def invoke(self, *arguments):
        return CliRunner().invoke(main, ["study", *map(str, arguments)])

    def test_nothing_is_decided_where_it_cannot_be_written(self, where, url):
        asked = self.invoke("ask", *where, "--contexts", "contexts.npy", "--out", "none/x.csv")
        assert "a folder that exists" in " ".join(asked.output.split())
        with ps.Study.open(url, "shop", policies()) as study:
            assert study.status().rounds == 2

    def test_the_file_is_named_and_what_was_taken_before_it(self, where, tmp_path):
        (tmp_path / "one.csv").write_text("id,reward\na,1\n")
        (tmp_path / "two.csv").write_text("id,reward\nzz,1\n")
        told = self.invoke("tell", *where, "one.csv", "two.csv")
        assert "two.csv (before it, 1 rewards were taken)" in " ".join(told.output.split())
