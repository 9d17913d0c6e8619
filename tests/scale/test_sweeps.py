"""Sweeps on a cluster: cells and experiments, the same results, whatever becomes of a node."""

import json
import os
import time

import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.bench import cells as keeping
from policysieve.bench.cells import Cell, on_cluster, run_cells
from policysieve.cli import main
from policysieve.experiment import load_experiment
from tests.scale.helpers import when_there

CONFIG = """
[world]
kind = "SparseSynthetic"
n_actions = 10
n_contexts = 30
n_policies = 12
profile = "one_good"
rng = 0

[policies]
kind = "world"

[problem]
epsilon = 0.2
delta = 0.1

[[learner]]
kind = "Sieve"

[[learner]]
kind = "Uniform"

[run]
rounds = 400
seeds = 2
"""


def silent(*_):
    pass


def double(number, folder=None):
    if folder is not None:
        with open(os.path.join(folder, str(number)), "a") as file:
            file.write(".")
    return {"double": 2 * number}


def fail(number):
    raise ps.InvalidArgumentError(f"{number} is odd")


def test_cells_are_kept_and_not_run_again(engine, tmp_path):
    some = [Cell(f"cell-{n}", {"n": n}, double, (n,)) for n in range(3)]
    here = run_cells(some[:1], folder=tmp_path / "kept", progress=silent, runner=on_cluster(engine))
    steps = []
    found = run_cells(
        [*some, Cell("new", {}, double, (7, str(tmp_path)))],
        folder=tmp_path / "kept",
        progress=lambda *step: steps.append(step),
        runner=on_cluster(engine),
    )
    assert here == {"cell-0": {"double": 0}}
    expected = {f"cell-{n}": {"double": 2 * n} for n in range(3)}
    assert found == {**expected, "new": {"double": 14}}
    assert [step[:2] for step in steps] == [(2, 4), (3, 4), (4, 4)]
    assert (tmp_path / "7").read_text() == "."
    assert keeping.kept_cell(tmp_path / "kept", "cell-2", {"n": 2}) == {"double": 4}
    again = run_cells(some, folder=tmp_path / "kept", progress=fail, runner=on_cluster(engine))
    assert again == {name: found[name] for name in again}


def test_an_error_names_its_cell_and_what_was_found_before_is_kept(engine, tmp_path):
    some = [Cell("fine", {}, double, (1,)), Cell("odd", {}, fail, (3,))]
    with pytest.raises(ps.InvalidArgumentError, match="cell odd: 3 is odd"):
        run_cells(some, folder=tmp_path, progress=silent, runner=on_cluster(engine))


def test_other_code_on_the_nodes_is_refused(engine, monkeypatch):
    monkeypatch.setattr(keeping, "_code", lambda: "0.0+other")
    with pytest.raises(ps.ClusterError, match=r"must have the code of this process, 0\.0\+other"):
        run_cells(
            [Cell("cell", {}, double, (1,))],
            folder=None,
            progress=silent,
            runner=on_cluster(engine),
        )


def wait_away_from(head, number, folder):
    """On another node than the head: leave a mark, and wait until the node is taken away."""
    import ray

    mark = os.path.join(folder, "begun")
    if ray.get_runtime_context().get_node_id() != head:
        open(mark, "w").close()
        time.sleep(50)
    while not os.path.exists(mark):  # the head has not done everything by then
        time.sleep(0.02)
    return {"double": 2 * number}


def test_a_node_that_is_removed_in_the_middle_of_a_sweep(engine, nodes, tmp_path):
    head = engine.ray.get_runtime_context().get_node_id()
    some = [Cell(f"cell-{n}", {}, wait_away_from, (head, n, str(tmp_path))) for n in range(6)]
    told = []
    with when_there(tmp_path / "begun", nodes.remove):
        found = run_cells(
            some,
            folder=tmp_path,
            progress=lambda *step: told.append(step),
            runner=on_cluster(engine),
        )
    assert found == {f"cell-{n}": {"double": 2 * n} for n in range(6)}
    assert sorted(name for _, _, name in told) == sorted(found)  # each once
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5, 6]


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return path


def test_an_experiment_has_the_same_results(engine, config):
    experiment, heard = load_experiment(config), []
    expected = experiment.run().to_dict()
    found = experiment.run(lambda *step: heard.append(step[:2]), engine).to_dict()
    assert json.dumps(found) == json.dumps(expected)
    assert sorted(heard) == [("Sieve", 0), ("Sieve", 1), ("Uniform", 0), ("Uniform", 1)]


def run_command(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_the_command_runs_an_experiment_on_a_cluster(engine, nodes, config, tmp_path):
    here = run_command("run", config, "--json", "--folder", tmp_path / "here")
    there = run_command(
        "run",
        config,
        "--json",
        "--folder",
        tmp_path / "there",
        "--engine",
        "ray",
        "--address",
        nodes.address,
    )
    assert there.exit_code == 0, there.output
    assert json.loads(there.output) == json.loads(here.output)
    wrong = run_command("run", config, "--address", "auto")
    assert wrong.exit_code == 2
    assert "--address goes with --engine ray" in wrong.output


def test_the_command_runs_cells_on_a_cluster(engine, tmp_path, monkeypatch):
    ran = []

    def measured(**options):
        some = [Cell("cell", {}, double, (3,))]
        keep = {key: options[key] for key in ("folder", "progress", "runner")}
        ran.append(run_cells(some, **keep))
        raise ps.InvalidArgumentError("that was all")

    monkeypatch.setattr("policysieve.bench.certificates.measuring.measure_certificates", measured)
    run_command("bench", "certificates", "--engine", "ray", "--folder", tmp_path)
    assert ran == [{"cell": {"double": 6}}]
