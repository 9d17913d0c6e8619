import json

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from tests.evidence.records import uniform_case

FLOOR = 1 / 8


@pytest.fixture(scope="module")
def case():
    return uniform_case()


class TestSelect:
    @pytest.fixture
    def files(self, case, tmp_path):
        _, policies, _, log = case
        log.save(tmp_path / "log.parquet")
        policies.save(tmp_path / "table.npy")
        return tmp_path

    def invoke(self, files, *arguments, policies="table.npy"):
        source = policies if ":" in policies else str(files / policies)
        command = [
            "select",
            str(files / "log.parquet"),
            "--policies",
            source,
            "--epsilon",
            "0.1",
            "--delta",
            "0.05",
            *map(str, arguments),
        ]
        return CliRunner().invoke(main, command)

    def test_table_and_report(self, case, files):
        written = ("--report", files / "report.html", "--figures", files / "figures")
        result = self.invoke(files, "--actions", 8, "--floor", FLOOR, *written)
        assert result.exit_code == 0, result.output
        title = "Leaders of 25 policies for 60 contexts after 4,000 logged rounds"
        assert title in " ".join(result.output.split())
        assert "no policy is better than policy" in result.output
        html = (files / "report.html").read_text()
        assert "The log selects policy" in html
        assert "<code>policysieve select " in html
        assert (files / "figures" / "leaders.png").is_file()
        assert "<svg" in html

    def test_json_is_the_selection(self, case, files):
        _, policies, problem, log = case
        result = self.invoke(files, "--actions", 8, "--json")
        assert json.loads(result.stdout) == ps.select(log, policies, problem).to_dict()
        result = self.invoke(files, "--actions", 8, "--floor", FLOOR, "--json")
        expected = ps.select(log, policies, problem, floor=FLOOR).to_dict()
        assert json.loads(result.stdout) == expected

    def test_the_design_that_decided_knows_all_propensities(self, case, files):
        _, policies, problem, log = case
        exploration = ps.Uniform(policies, problem, rounds=10, rng=0).exploration
        exploration.save(files / "design.npz")
        result = self.invoke(files, "--actions", 8, "--design", files / "design.npz", "--json")
        assert result.exit_code == 0, result.output
        expected = ps.select(log, policies, problem, exploration=exploration).to_dict()
        assert json.loads(result.stdout) == expected
        assert expected["certificate"]["method"] == "capped"

    def test_policies_from_python(self, case, files, monkeypatch):
        (files / "candidates.py").write_text(
            "import policysieve as ps\n"
            "def make():\n    return ps.PolicyTable.load('table.npy', n_actions=8)\n"
            "number = 3\n"
        )
        monkeypatch.chdir(files)
        assert self.invoke(files, policies="candidates:make").exit_code == 0
        other = self.invoke(files, "--actions", 9, policies="candidates:make")
        assert "--actions must be the 8 of the policies, got 9" in other.output
        wrong = self.invoke(files, policies="candidates:number")
        assert wrong.exit_code == 1
        assert "got int" in wrong.output
        missing = self.invoke(files, policies="candidates:nothing")
        assert "cannot be loaded" in missing.output

    def test_linear_weights(self, tmp_path):
        rng = np.random.default_rng(0)
        weights, X = rng.normal(size=(6, 4, 3)), rng.normal(size=(800, 3))
        labels = (X @ weights[2].T).argmax(axis=1)
        actions = rng.integers(0, 4, 800)
        ps.Log(
            contexts=X, actions=actions, propensities=np.full(800, 0.25), rewards=actions == labels
        ).save(tmp_path / "log.parquet")
        np.savez(tmp_path / "weights.npz", weights=weights)
        result = self.invoke(tmp_path, "--json", policies="weights.npz")
        assert json.loads(result.stdout)["policy"] == 2
        np.savez(tmp_path / "other.npz", w=weights)
        assert "no array named weights" in self.invoke(tmp_path, policies="other.npz").output
        with open(tmp_path / "array.npz", "wb") as file:
            np.save(file, weights)
        assert "it is one .npy array" in self.invoke(tmp_path, policies="array.npz").output

    @pytest.mark.parametrize("command", ["select", "design"])
    def test_help_says_the_shapes(self, command):
        said = " ".join(CliRunner().invoke(main, [command, "--help"]).output.split())
        assert "(n_contexts, n_policies)" in said
        assert "(n_policies, n_actions, n_features)" in said

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            ((), 2, "--actions is needed"),
            (("--actions", 8, "--method", "magic"), 2, "--method"),
            (("--actions", 8, "--floor", 2), 1, "floor"),
            (("--actions", 3), 1, "actions must lie in"),
        ],
    )
    def test_errors(self, files, arguments, code, message):
        result = self.invoke(files, *arguments)
        assert result.exit_code == code
        assert message in result.output
        assert "Traceback" not in result.output

    def test_missing_files(self, files):
        assert self.invoke(files, "--actions", 8, policies="none.npy").exit_code == 1
        assert "no weights at" in self.invoke(files, policies="none.npz").output
        assert "file.py:name or module:name" in self.invoke(files, policies="table.txt").output
        (files / "log.parquet").write_bytes(b"")
        broken = self.invoke(files, "--actions", 8)
        assert broken.exit_code == 1
        assert "not a readable Parquet file" in broken.output
