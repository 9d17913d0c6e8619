"""The benchmark measures what it says, in little."""

from policysieve.bench.pages import bench_page, bench_tables
from policysieve.bench.scale.logs import _fitted
from policysieve.bench.scale.measuring import STEPS, ScaleSettings, measure_scale


def test_every_step_is_measured_and_shown(engine, few_actors, tmp_path):
    settings = ScaleSettings(
        rounds=3000,
        n_policies=5,
        workers=(1, 2),
        growth_rounds=(1000, 2000),
        growth_policies=(10, 20),
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
    assert len(bench_tables("scale", result)) == 8
    (slow,) = result["shards"]["slow"]
    assert slow["ideal"] == 0.04
    assert slow["ratio"] >= 0.99  # nobody sleeps for less
    plain, sharded = result["shards"]["evidence"]
    assert plain["survivors"] == sharded["survivors"]
    assert sharded["evidence_bytes"] > plain["evidence_bytes"]  # answers are remembered
    assert "Beyond one machine" in bench_page("scale", result).html()


def test_a_model_that_is_right_foretells_what_was_held_out():
    rows = [
        {"rounds": n, "n_policies": p, "seconds": 2 + 1e-6 * n + 1e-5 * p}
        for n, p in [(10**5, 100), (10**6, 100), (10**7, 100), (10**6, 10**5), (10**6, 10**6)]
    ]
    found = _fitted(rows)
    assert found["largest_error"] < 1e-6
    assert any(row["held_out"] for row in rows)
