"""The benchmark of a cluster measures what it says, in small."""

import pytest

from policysieve.bench.pages import bench_page, bench_tables
from policysieve.bench.scale.measuring import ScaleSettings, measure_scale
from policysieve.bench.scale.shards import central_evidence, slow_candidates, table_lookups


pytestmark = pytest.mark.usefixtures("few_actors")


@pytest.fixture
def small():
    return ScaleSettings(
        slow_candidates=8,
        slow_seconds=0.01,
        slow_shards=(2,),
        table_policies=100,
        table_contexts=10,
        evidence_policies=(50,),
    )


def test_slow_candidates_and_lookups(engine, small):
    (row,) = slow_candidates(engine, shards=(2,), candidates=8, seconds=0.01, contexts=5)
    assert row["ideal"] == pytest.approx(0.04)
    assert row["ratio"] == pytest.approx(row["seconds"] / 0.04)
    assert row["ratio"] >= 0.99  # nobody sleeps for less
    found = table_lookups(engine, policies=100, contexts=10)
    assert found["evaluations"] == 1000
    plain, sharded = central_evidence(engine, policies=(50,))
    assert (plain["kind"], sharded["kind"]) == ("plain", "sharded")
    assert plain["survivors"] == sharded["survivors"] == 50
    assert sharded["evidence_bytes"] > plain["evidence_bytes"]  # answers are remembered
    result = {
        "code": "1.2.3",
        "settings": {},
        "slow": [row],
        "table": found,
        "evidence": [plain, sharded],
        "dealt_anew": {"left": 4, "batches": [0.04, 0.02], "ideal": 0.02},
    }
    titles = [table.title for table in bench_tables("scale", result)]
    assert len(titles) == 4
    assert bench_page("scale", result).title == "Beyond one machine"


def test_steps_are_told_and_run_on_one_cluster(engine, small, monkeypatch):
    said = []
    monkeypatch.setattr(
        "policysieve.bench.scale.measuring.RayEngine", lambda workers: type(engine)()
    )
    steps = {"a": lambda engine, chosen: engine.workers, "b": lambda engine, chosen: [chosen]}
    result = measure_scale(small, said.append, steps)
    assert (result["a"], result["b"], said) == (2, [small], ["a", "b"])
    assert result["settings"]["table_policies"] == 100
