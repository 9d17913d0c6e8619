"""The lines that docs/reports.md has for experiment trackers do what they say."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.report.results import made_up_result

PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")
(LINES,) = re.findall(r"^```py\n(mlflow\..*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def metrics(best):
    return {"value": best.value, "bound": best.suboptimality_bound, "rounds": best.rounds}


def follow(mlflow, folder, monkeypatch):
    """Run the lines after a run; what it recommended."""
    monkeypatch.chdir(folder)
    result = made_up_result()
    result.report("run.html")
    exec(LINES, {"mlflow": mlflow, "best": result.recommendation})
    return result.recommendation


def test_there_are_three_lines():
    assert len(LINES.splitlines()) == 3


def test_they_log_numbers_words_and_the_page(tmp_path, monkeypatch):
    logged = {}
    stand_in = SimpleNamespace(
        log_metrics=lambda metrics: logged.update(metrics=metrics),
        log_dict=lambda dictionary, artifact_file: logged.update({artifact_file: dictionary}),
        log_artifact=lambda local_path: logged.update({local_path: Path(local_path).read_bytes()}),
    )
    best = follow(stand_in, tmp_path, monkeypatch)
    assert logged["metrics"] == metrics(best)
    assert json.loads(json.dumps(logged["recommendation.json"])) == best.to_dict()
    assert best.guarantee.encode() in logged["run.html"]


def test_mlflow_takes_them(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not among what tests install")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # also where there is no database
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.create_experiment("docs", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("docs")
    with mlflow.start_run() as run:
        best = follow(mlflow, tmp_path, monkeypatch)
    assert mlflow.get_run(run.info.run_id).data.metrics == metrics(best)
    names = {path.name for path in (tmp_path / "artifacts").rglob("*.*")}
    assert names >= {"recommendation.json", "run.html"}
