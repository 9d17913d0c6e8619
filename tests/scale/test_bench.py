"""The benchmark measures what it says, in little."""

import json

import pytest

from policysieve.bench.pages import bench_page, bench_tables
from policysieve.bench.scale.measuring import STEPS, ScaleSettings, measure_scale
from policysieve.bench.scale.models import fitted, foretold


def test_every_step_is_measured_and_shown(engine, few_actors, tmp_path, monkeypatch):
    monkeypatch.setattr("policysieve.bench.scale.growth._REPEATS", 2)
    settings = ScaleSettings(
        rounds=3000,
        n_policies=5,
        workers=(1, 2),
        rounds_of_all=2000,
        moved=(1000, (5, 10)),
        growth=((1000, 5), (2000, 5), (1000, 10), (2000, 10), (1000, 20), (3000, 5), (500, 20)),
        slow_candidates=8,
        slow_seconds=0.01,
        slow_shards=(2,),
        table=(100, 10),
        evidence_policies=(50,),
    )
    result = measure_scale(settings, folder=tmp_path)
    assert set(STEPS) <= set(result)
    assert all(row["same"] for row in result["workers"] if row["workers"])
    assert list(tmp_path.iterdir()) == []
    assert len(bench_tables("scale", result)) == 9
    assert [row["held_out"] for row in result["growth"]["points"]][:3] == [False, True, False]
    table, other = (
        {row["n_policies"]: row["bytes"] for row in result["moved"] if row["policies"] == name}
        for name in ("a table", "anything else")
    )
    assert other[10] > other[5]  # answers come back
    assert other[10] > table[10]
    (slow,) = result["shards"]["slow"]
    assert slow["ideal"] == 0.04
    assert slow["ratio"] >= 0.99  # nobody sleeps for less
    plain, sharded, divided = result["shards"]["evidence"]
    assert plain["survivors"] == sharded["survivors"] == divided["survivors"]
    assert divided["evidence_bytes"] < sharded["evidence_bytes"]
    assert sharded["evidence_bytes"] > plain["evidence_bytes"]  # answers are remembered
    assert "Beyond one machine" in bench_page("scale", result).html()


def test_what_was_measured_before_is_kept_if_the_settings_are_the_same(engine, tmp_path):
    kept = tmp_path / "scale.json"
    settings = ScaleSettings(workers=(2,))
    first = measure_scale(settings, folder=tmp_path, steps=["overhead"])
    kept.write_text(json.dumps({**first, "shards": "as they were"}))
    again = measure_scale(settings, folder=tmp_path, steps=["overhead"], kept=kept)
    assert again["shards"] == "as they were"
    assert again["overhead"] != first["overhead"]
    others = ScaleSettings(workers=(2,), rounds=5)
    assert "shards" not in measure_scale(others, folder=tmp_path, steps=["overhead"], kept=kept)


def test_a_model_that_is_right_foretells_what_was_held_out():
    rows = [
        {"rounds": n, "n_policies": p, "seconds": 2 + 1e-6 * n + 1e-5 * p, "held_out": held}
        for n, p, held in [
            (10**5, 100, False),
            (10**6, 100, True),
            (10**7, 100, False),
            (10**6, 10**5, False),
            (10**6, 10**6, True),
            (10**6, 10**7, False),
        ]
    ]
    found = fitted(rows, "seconds")
    assert found["largest_error"] < 1e-6
    assert foretold(found["amounts"], "seconds", rows[1]) == pytest.approx(rows[1]["seconds"])
    rows[1]["seconds"] /= 2
    assert fitted(rows, "seconds")["largest_error"] == pytest.approx(1.0)
