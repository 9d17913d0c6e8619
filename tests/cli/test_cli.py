import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from policysieve.cli.demo import _story


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def commands(group=main, prefix=()):
    for name, command in group.commands.items():
        yield (*prefix, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*prefix, name))


def test_version():
    assert invoke("--version").output.strip() == f"policysieve {ps.__version__}"


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_has_help(path):
    result = invoke(*path, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.output
    assert len(result.output.splitlines()) > 5


def test_runs_as_a_program():
    program = [sys.executable, "-m", "policysieve", "--version"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout == f"policysieve {ps.__version__}\n"


SMALL = ("--rounds", 600, "--classifiers", 30, "--seeds", 2, "--seed", 3)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "made" / "on the way"


@pytest.fixture(scope="module")
def result(out):
    return invoke("demo", *SMALL, "--folder", out)


class TestDemo:
    def test_tells_the_story(self, result, out):
        assert result.exit_code == 0, result.output
        for run in json.loads((out / "result.json").read_text())["learners"][0]["seeds"]:
            assert run["suboptimality"] <= 0.05
            best = run["recommendation"]["policy_name"]
            row = next(line for line in result.output.splitlines() if f"\u2502 {best} " in line)
            gap = run["suboptimality"]
            assert (f"{gap:.3f} from the best" if gap else "\u2502 the best") in row
        assert "over 600" in result.output
        assert "policysieve select LOG --policies pol.py:policies" in result.output
        page = (out / "report.html").read_text(encoding="utf-8")
        assert "<code>policysieve demo --rounds 600 " in page

    def test_says_what_was_proved_and_how_much_longer_random_guesses_take(self):
        def learner(name, proved):
            one = SimpleNamespace(policy_name="kNN 3")
            return SimpleNamespace(
                name=name, certified_rounds=proved, n_certified=2, recommendation=one
            )

        leader = {"description": "kNN, 9 rows, 4 features", "value": 0.9, "true_value": 0.91}
        told = SimpleNamespace(
            learners=(learner("Sieve", 1000.0), learner("Uniform", 2600.0)),
            problem=ps.Problem(n_actions=10, epsilon=0.05, delta=0.05),
            seeds=(0, 1),
            rounds=5000,
            leaders=lambda _learner, _count: [leader],
        )
        proved, took, leads, _ = _story(told)
        assert "of a hundred digits, no other classifier gets more than 5 more right" in proved
        assert "took 1,000 rounds, the median" in took
        assert "took 2,600, which is 2.6 times as many" in took
        assert "kNN 3, a kNN classifier (9 rows, 4 features)" in leads
        told.learners = (learner("Sieve", 1000.0), learner("Uniform", None))
        assert "took not enough" not in list(_story(told))[1]
        assert "did not prove it in 5,000" in list(_story(told))[1]
        told.learners[0].n_certified = 1
        assert "in 1 of 2 runs" in next(iter(_story(told)))

    def test_figures(self, tmp_path):
        where = ("--folder", tmp_path, "--figures", tmp_path / "figures")
        assert invoke("demo", "--rounds", 1, "--classifiers", 2, *where).exit_code == 0
        assert (tmp_path / "figures" / "bounds.png").is_file()

    def test_bounds_fall_line_by_line_where_there_is_no_terminal(self, result):
        news = [line for line in result.output.splitlines() if line.startswith("Sieve: ")]
        bounds = [float(line.split("within ")[1].split()[0]) for line in news]
        assert bounds == sorted(bounds, reverse=True)
        assert bounds[-1] < bounds[0]
        assert "\x1b" not in result.output

    def test_saves_the_numbers(self, result, out):
        data = json.loads((out / "result.json").read_text())
        sieve, uniform = data["learners"]
        one, other = sieve["seeds"]
        assert (one["seed"], other["seed"]) == (3, 4)
        assert 100 <= one["rounds"] <= 600
        assert len(sieve["leaders"]) == 10
        assert sieve["recommendation"]["policy"] in {row["policy"] for row in sieve["leaders"]}
        assert all("rows" in row["description"] for row in sieve["leaders"])
        assert 0 <= one["suboptimality"] <= one["history"][-1]["suboptimality_bound"]
        assert uniform["name"] == "Uniform"
        assert uniform["seeds"][0]["rounds"] == 600
        assert data["configuration"]["policies"]["n"] == 30

    def test_same_seed_same_numbers_as_json(self, result, out, tmp_path):
        again = invoke("demo", *SMALL, "--folder", tmp_path, "--json")
        assert json.loads(again.stdout) == json.loads((out / "result.json").read_text())

    def test_one_round(self, tmp_path):
        result = invoke("demo", "--rounds", 1, "--classifiers", 2, "--folder", tmp_path)
        assert result.exit_code == 0, result.output

    def test_out_must_be_a_folder(self, tmp_path):
        (tmp_path / "file").write_text("")
        result = invoke("demo", "--rounds", 1, "--classifiers", 2, "--folder", tmp_path / "file")
        assert result.exit_code == 2
        below = invoke(
            "demo", "--rounds", 1, "--classifiers", 2, "--folder", tmp_path / "file" / "x"
        )
        assert below.exit_code == 1
        assert "Traceback" not in below.output

    @pytest.mark.parametrize("arguments", [("--rounds", 0), ("--seed", -1), ("--classifiers", 1)])
    def test_usage_errors(self, arguments):
        result = invoke("demo", *arguments)
        assert result.exit_code == 2
        assert arguments[0] in result.output

    def test_without_scikit_learn(self, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
        result = invoke("demo", "--folder", tmp_path)
        assert result.exit_code == 1
        assert 'pip install "policysieve[sklearn]"' in result.output


def assert_failed_plots_change_nothing(monkeypatch, path, *command):
    """Also for other commands that draw."""

    def fail(_figure, where, **_options):
        Path(where).write_bytes(b"half of it")
        raise OSError("disk full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    result = invoke(*command, "--plot", path)
    assert result.exit_code == 1
    assert "disk full" in result.output
    assert path.read_text() == "before"
    assert list(path.parent.iterdir()) == [path]


class TestPlan:
    GOOD = ("--actions", 100, "--n-policies", 1000, "--epsilon", 0.05)

    def test_table_and_sentences(self):
        result = invoke("plan", *self.GOOD)
        sizes = ps.plan(ps.Problem(n_actions=100, epsilon=0.05, delta=0.05), 1000)
        assert result.exit_code == 0
        for rounds in (sizes.total_rounds, sizes.uniform_rounds, sizes.by_optimization_rounds):
            assert f"{rounds:,}" in result.output
        assert "Rounds needed in the worst case" in result.output
        for policy in ("deterministic policy", "randomised policy"):
            assert policy in result.output
        for one in sizes.similar_tasks:
            row = next(line for line in result.output.splitlines() if f" {one.task} " in line)
            for number in (one.median, one.fewest, one.most):
                assert f"{number:,.0f}" in row

    def test_json_has_the_fields_of_the_plan(self):
        data = json.loads(invoke("plan", *self.GOOD, "--json").stdout)
        assert data == ps.plan(ps.Problem(n_actions=100, epsilon=0.05, delta=0.05), 1000).to_dict()

    def test_slates_and_unknown_sparsity(self):
        result = invoke("plan", *self.GOOD, "--slate", 5, "--sparsity", 3)
        assert "slates of 5" in result.output
        assert "exploration by optimization" not in result.output
        assert "not known" in invoke("plan", *self.GOOD, "--sparsity", "unknown").output

    def test_figures(self, tmp_path):
        result = invoke("plan", *self.GOOD, "--figures", tmp_path / "figures")
        assert f"Figures: {tmp_path / 'figures'}" in result.output
        made = sorted((tmp_path / "figures").iterdir())
        assert [path.name for path in made] == ["rounds.png", "rounds.svg"]
        assert all(path.stat().st_size > 1000 for path in made)

    def test_names_of_actions_count(self):
        named = invoke("plan", "--actions", "a,b,c", *self.GOOD[2:], "--json")
        assert named.stdout == invoke("plan", "--actions", 3, *self.GOOD[2:], "--json").stdout

    @pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
    def test_the_plot_of_earlier_versions(self, tmp_path, ending):
        path = tmp_path / f"plan.{ending}"
        result = invoke("plan", *self.GOOD, "--plot", path)
        assert result.exit_code == 0
        assert "Note: --plot FILE is called --figures FOLDER" in result.stderr
        assert path.stat().st_size > 1000
        assert list(tmp_path.iterdir()) == [path]

    def test_a_plot_that_fails_leaves_the_old_one(self, tmp_path, monkeypatch):
        path = tmp_path / "plan.png"
        path.write_text("before")
        assert_failed_plots_change_nothing(monkeypatch, path, "plan", *self.GOOD)

    @pytest.mark.parametrize(
        ("change", "code", "message"),
        [
            (("--epsilon", 2), 1, "epsilon must be a number with 0 < epsilon < 1, got 2"),
            (("--slate", 200), 1, "slate_size"),
            (("--delta", "nan"), 1, "delta"),
            (("--actions", 0), 2, "--actions"),
            (("--sparsity", "few"), 2, "neither a number nor the word unknown"),
            (("--plot", "plan.txt"), 1, "must end in .png"),
        ],
    )
    def test_errors(self, change, code, message):
        result = invoke("plan", *self.GOOD, *change)
        assert result.exit_code == code
        assert message in result.output
        assert "Traceback" not in result.output


def test_a_closed_pipe_is_no_error():
    """Whoever reads has seen enough, as in ``policysieve data list | head``."""
    code = "import time; time.sleep(0.5); from policysieve.cli import main; main()"
    command = [sys.executable, "-c", code, "data", "list", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
