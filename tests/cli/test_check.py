import json

import numpy as np
import pytest

import policysieve as ps
from tests.cli.test_cli import assert_failed_plots_change_nothing, invoke
from tests.health import logs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("check"), np.random.default_rng(0)
    contexts, shares, actions = logs.uniform(rng)
    logs.log_of(contexts, actions, logs.shown(shares, actions)).save(folder / "good.parquet")
    broken = logs.log_of(*logs.filtered(rng, contexts, shares, actions))
    broken.save(folder / "bad.parquet")
    return folder


def test_a_healthy_log(folder):
    result = invoke("check", folder / "good.parquet")
    assert result.exit_code == 0, result.output
    assert "1,500 rounds, 6 actions (the largest one plus one)" in result.output
    assert "No problem was found in this log." in result.output
    assert "worst of 6: 1" in result.output
    assert "the worst is shown, the one that fits 1 the least" in result.output
    for finding in ps.check_log(ps.LogFile(folder / "good.parquet")).findings:
        assert finding.name in result.output


def test_a_broken_log(folder, tmp_path):
    report, plot = tmp_path / "report.html", tmp_path / "plot.svg"
    result = invoke("check", folder / "bad.parquet", "--report", report, "--plot", plot)
    assert result.exit_code == 1
    assert "This log is broken (frequency of actions" in result.output
    assert "Traceback" not in result.output
    assert "This log is broken" in report.read_text()
    assert "<svg" in plot.read_text()


def test_a_plot_that_fails_leaves_the_old_one(folder, tmp_path, monkeypatch):
    path = tmp_path / "plot.svg"
    path.write_text("before")
    log = folder / "good.parquet"
    assert_failed_plots_change_nothing(monkeypatch, path, "check", log)


def test_figures_with_and_without_a_report(folder, tmp_path):
    report, figures = tmp_path / "report.html", tmp_path / "figures"
    alone = invoke("check", folder / "good.parquet", "--figures", figures)
    assert f"Figures: {figures}" in alone.output
    assert sorted(path.name for path in figures.iterdir()) == ["weights.png", "weights.svg"]
    invoke("check", folder / "good.parquet", "--report", report, "--figures", tmp_path / "again")
    assert len(list((tmp_path / "again").iterdir())) == 2
    assert "<code>policysieve check " in report.read_text(encoding="utf-8")


def test_json_is_the_health(folder):
    result = invoke("check", folder / "bad.parquet", "--delta", 0.01, "--actions", 6, "--json")
    assert result.exit_code == 1
    log = ps.LogFile(folder / "bad.parquet")
    assert json.loads(result.stdout) == ps.check_log(log, n_actions=6, delta=0.01).to_dict()


def test_other_formats_with_ids_times_and_missing_rewards(tmp_path):
    lines = ["id,time,context,action,propensity,reward"]
    lines += [f"r{i},{i},{i % 3},{i % 2},0.5,{3 * (i % 5 == 0)}" for i in range(400)]
    lines += ["r7,2,0,1,0.5,"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = invoke("check", path, "--reward-range", 0, 3, "--json")
    numbers = {one["name"]: one["numbers"] for one in json.loads(result.stdout)["findings"]}
    assert numbers["ids"]["repeated"] == 1
    assert numbers["time order"]["backwards"] == 1
    assert numbers["rewards"] == {"rewarded": 80, "rounds": 401, "missing": 1}
    assert invoke("check", path, "--reward-range", 0, 3, "--from", "csv").exit_code == 1
    outside = invoke("check", path)
    assert "--reward-range" in outside.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--plot", "weights.txt"), "--plot must end in"),
        (("--actions", 3), "n_actions must be"),
        (("--delta", 2), "delta"),
        (("--from", "magic"), "format must be one of"),
    ],
)
def test_errors(folder, arguments, message):
    result = invoke("check", folder / "good.parquet", *arguments)
    assert result.exit_code == 1
    assert message in result.output
    assert "Traceback" not in result.output


def test_missing_file(tmp_path):
    assert "no log at" in invoke("check", tmp_path / "none.parquet").output


def test_a_changed_world_is_told_and_left_behind(tmp_path):
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, 6000)
    good = (actions == 1) ^ (np.arange(6000) < 3000)
    log = ps.Log(
        contexts=np.zeros(6000, int),
        actions=actions,
        propensities=np.full(6000, 0.5),
        rewards=rng.random(6000) < np.where(good, 0.7, 0.2),
    )
    log.save(tmp_path / "log.parquet")
    told = invoke("check", tmp_path / "log.parquet", "--json")
    assert told.exit_code == 0
    (one,) = [f for f in json.loads(told.stdout)["findings"] if f["name"] == "changed world"]
    alarm = one["numbers"]["alarm"]
    assert "The world has changed" in one["sentence"]
    later = invoke("check", tmp_path / "log.parquet", "--since", alarm)
    assert f"{6000 - alarm:,} rounds" in later.output
    assert "no change seen" in later.output
