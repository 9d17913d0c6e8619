"""All commands that read a log read the same: one or several files, of any format."""

import json
import sys

import numpy as np
import pytest

import policysieve as ps
from policysieve.cli import main
from policysieve.evidence.kinds import METHODS
from policysieve.formats import FORMATS
from tests.cli.test_cli import invoke
from tests.formats.rounds import write
from tests.log.test_opening import LOG, POLICIES, ROUNDS, halves

ASKED = ("--epsilon", 0.3, "--delta", 0.1)
CANDIDATES = ("--policies", "table.npy", "--actions", 4, *ASKED)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    POLICIES.save("table.npy")
    return tmp_path


def reading(name, *files):
    """A command that reads the files, and what of its JSON must not depend on them."""
    if name == "check":
        return ("check", *files, "--actions", 4), ("rounds", "verdict")
    if name == "select":
        return ("select", *files, *CANDIDATES), ("policy", "value", "guarantee")
    if name == "design":
        return ("design", *files, *CANDIDATES, "--out", "design.npz"), ("rounds", "support")
    return ("convert", *files, "new.parquet", "--overwrite"), (
        "rounds",
        "actions_seen",
        "mean_reward",
    )


def found(name, *files):
    arguments, fields = reading(name, *files)
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    return [printed[field] for field in fields]


every_command = pytest.mark.parametrize("name", ["check", "select", "design", "convert"])


@every_command
def test_any_format_and_any_number_of_files(folder, name):
    LOG.save("log.parquet")
    expected = found(name, "log.parquet")
    for format, suffix in [("csv", ".csv"), ("jsonl", ".jsonl"), ("dsjson", ".dsjson")]:
        write(folder / f"log{suffix}", format, ROUNDS)
        assert found(name, f"log{suffix}") == pytest.approx(expected)
    for part, half in zip(("a", "b"), halves(ROUNDS), strict=True):
        write(folder / f"{part}.csv.gz", "csv", half)
    assert found(name, "a.csv.gz", "b.csv.gz") == pytest.approx(expected)


@every_command
def test_options_that_say_how_to_read(folder, name):
    costs = ROUNDS.rewards * 3 - 3
    costs[5] = np.nan
    rounds = ps.log.Rounds(ROUNDS.contexts, ROUNDS.actions, ROUNDS.propensities, costs)
    write(folder / "log.txt", "jsonl", rounds)
    options = ("--from", "jsonl", "--reward-range", -3, 0, "--missing-reward", -3)
    arguments, _ = reading(name, "log.txt", *options)
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    without, _ = reading(name, "log.txt", *options[:5])
    refused = invoke(*without)
    if name == "check":  # for which it is a finding
        assert "1 of 900 rounds have a missing reward" in refused.output
    else:
        assert refused.exit_code == 1
        assert "log.txt, line 6: the reward is missing" in refused.output


@every_command
@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("none.csv",), "no log at none.csv"),
        (("table.npy",), "the suffix of table.npy does not tell its format"),
        (("one.csv", "one.vw"), "one.csv is csv and one.vw is vw"),
        (("one.csv", "slates.csv"), "slates.csv has the columns"),
        (("bad.csv",), "bad.csv, line 2: a propensity must lie in (0, 1], got 7"),
    ],
)
def test_errors_name_the_file(folder, name, files, message):
    header = "context,action,propensity,reward\n"
    (folder / "one.csv").write_text(f"{header}1,0,0.5,1\n")
    (folder / "one.vw").write_text("1:0:0.5 | c=1\n")
    (folder / "bad.csv").write_text(f"{header}1,0,7,1\n")
    (folder / "slates.csv").write_text(
        "context,action_0,action_1,propensity_0,propensity_1,reward_0,reward_1\n1,0,1,1,1,0,0\n"
    )
    arguments, _ = reading(name, *files)
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert "Traceback" not in result.output


@every_command
def test_help_lists_the_formats(name):
    assert ",".join(FORMATS) in "".join(invoke(name, "--help").output.split())


UNLISTED = """
import numpy as np
import policysieve as ps
from sklearn.tree import DecisionTreeClassifier

rows = np.random.default_rng(1).normal(size=(50, 2))
tabular = ps.TabularPolicies(n_contexts=6, n_actions=4)
stumps = ps.StumpPolicies(rows, n_actions=4)
def trees():
    return ps.TreePolicies(rows, n_actions=4, depth=2, n_bins=4)
def oracle():
    return ps.OraclePolicies(DecisionTreeClassifier(max_depth=2), n_actions=4)
"""


class TestClassesThatCannotBeListed:
    @pytest.fixture(autouse=True)
    def files(self, folder):
        (folder / "unlisted_classes.py").write_text(UNLISTED)
        rng = np.random.default_rng(0)
        contexts, actions = rng.normal(size=(900, 2)), rng.integers(0, 4, (900, 1))
        rewards = (actions[:, 0] == (contexts[:, 0] > 0)).astype(float)[:, None]
        rows = ps.log.Rounds(contexts, actions, np.full((900, 1), 0.25), rewards)
        write(folder / "rows.csv", "csv", rows)
        write(folder / "numbers.csv", "csv", ROUNDS)
        yield
        sys.modules.pop("unlisted_classes", None)

    @pytest.mark.parametrize(
        ("policies", "log", "name"),
        [
            ("tabular", "numbers.csv", "TabularPolicy(6 contexts: 0, 1, 2, 3, 0, 1)"),
            ("stumps", "rows.csv", "TreePolicy(x[0] <"),
            ("trees", "rows.csv", "TreePolicy(x[0] <"),
            ("oracle", "rows.csv", "FittedPolicy(DecisionTreeClassifier)"),
        ],
    )
    def test_are_selected_from(self, policies, log, name):
        pytest.importorskip("sklearn")
        arguments = ("select", log, "--policies", f"unlisted_classes:{policies}", *ASKED)
        result = invoke(*arguments, "--report", "report.html")
        assert result.exit_code == 0, result.output
        assert name in " ".join(result.output.split("\n")[-3:])
        assert "Report: report.html" in result.output
        found = json.loads(invoke(*arguments, "--json").stdout)
        classes = sys.modules["unlisted_classes"]
        known = getattr(classes, policies)
        problem = ps.Problem(n_actions=4, epsilon=0.3, delta=0.1)
        expected = ps.select(log, known() if callable(known) else known, problem)
        assert found["guarantee"] == expected.guarantee

    @pytest.mark.parametrize(("name", "log"), [("trees", "rows.csv"), ("tabular", "numbers.csv")])
    def test_have_designs_that_decide(self, folder, name, log):
        pytest.importorskip("sklearn")
        arguments = ("--policies", f"unlisted_classes:{name}", *ASKED, "--out", "design.npz")
        result = invoke("design", log, *arguments)
        assert result.exit_code == 0, result.output
        assert "The design follows T" in result.output
        policies = ("--policies", f"unlisted_classes:{name}")
        files = ("--contexts", log, "--out", "new.parquet", "--seed", "1")
        result = invoke("decide", "design.npz", *policies, *files)
        assert result.exit_code == 0, result.output
        assert len(ps.LogFile("new.parquet", missing_reward=0)) == len(ps.LogFile(log))

    def test_fitted_policies_have_no_design_in_a_file(self, folder):
        pytest.importorskip("sklearn")
        arguments = ("--policies", "unlisted_classes:oracle", *ASKED, "--out", "design.npz")
        result = invoke("design", "rows.csv", *arguments)
        assert result.exit_code == 1
        assert "cannot be kept in a file; keep the log" in result.output
        assert not (folder / "design.npz").exists()


def test_select_offers_every_method():
    (method,) = [one for one in main.commands["select"].params if one.name == "method"]
    assert tuple(method.type.choices) == METHODS
