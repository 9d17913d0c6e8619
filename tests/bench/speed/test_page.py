from policysieve.bench.speed.page import cost_against_policies, tables
from tests.bench.results import BENCHES


def test_costs_in_microseconds():
    growth = {
        "n_policies": [10, 1000],
        "rewarded_seconds": [1e-6, 1e-4],
        "unrewarded_seconds": [1e-7, 1e-7],
        "rewarded_slope": 1.0,
        "unrewarded_slope": 0.0,
    }
    axes = cost_against_policies(growth).axes[0]
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines["rewarded round (slope 1.00)"] == [[10, 1], [1000, 100]]


def test_memory_where_it_is_measured():
    (table,) = tables(BENCHES["speed"]).values()
    assert "133 MB" in table.rows[-1]
    elsewhere = {**BENCHES["speed"], "peak_memory": {"skipped": "only measured on Linux"}}
    (other,) = tables(elsewhere).values()
    assert other.rows == table.rows[:-1]
