"""Commands on a cluster say what they say without one."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    contexts, actions = rng.integers(0, 10, 3000), rng.integers(0, 4, 3000)
    log = ps.Log(
        contexts=contexts,
        actions=actions,
        propensities=np.full(3000, 0.25),
        rewards=(rng.random(3000) < np.where(actions == contexts % 4, 0.7, 0.05)).astype(float),
    )
    log[:2000].save(tmp_path / "1.parquet")
    log[2000:].save(tmp_path / "2.parquet")
    np.save(tmp_path / "table.npy", (np.arange(10)[:, None] + np.arange(4)) % 4)
    return tmp_path


def _said(arguments):
    result = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def _candidates(folder):
    return ["--policies", folder / "table.npy", "--actions", 4, "--epsilon", 0.1, "--delta", 0.05]


def test_select_check_and_design_are_the_same(engine, nodes, folder):
    logs = f"{folder}/*.parquet"
    there = ["--engine", "ray", "--address", nodes.address]
    for command in (
        ["select", logs, *_candidates(folder), "--floor", 0.25],
        ["check", logs],
        ["design", logs, *_candidates(folder), "--out", folder / "design.npz"],
    ):
        assert _said(command) == _said([*command, *there])


def test_an_address_needs_an_engine(folder):
    arguments = ["check", f"{folder}/1.parquet", "--address", "auto"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "--address goes with --engine ray" in result.output


def test_other_formats_are_refused(folder):
    arguments = ["check", f"{folder}/1.parquet", "--engine", "ray", "--from", "csv"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "reads Parquet, got --from csv" in result.output
