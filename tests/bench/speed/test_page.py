import pytest

from policysieve.bench.speed.page import cost_against_policies, sieve_costs, tables
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


def test_costs_of_the_sieve_in_microseconds():
    panels = sieve_costs(BENCHES["speed"]["sieve_growth"]).axes
    assert [axes.get_xlabel() for axes in panels] == ["policies", "actions", "contexts", "rounds"]
    lines = {line.get_label(): line.get_xydata() for line in panels[0].lines}
    assert lines["close values"].tolist() == [pytest.approx([300, 1]), pytest.approx([3000, 8])]


def test_memory_where_it_is_measured():
    shown = tables(BENCHES["speed"])
    assert "133 MB" in shown["all"].rows[-1]
    skipped = {"skipped": "only measured on Linux"}
    elsewhere = tables({**BENCHES["speed"], "peak_memory": skipped, "sieve_memory": skipped})
    assert elsewhere["all"].rows == shown["all"].rows[:-1]
    left_out = set(shown["sieve"].rows) - set(elsewhere["sieve"].rows)
    assert [row[1] for row in left_out] == ["650 MB"]


def test_rows_of_the_sieve_say_how_it_was_played():
    rows = {what: (measured, against) for what, measured, against in sieve_rows()}
    certified = "1,000 policies (clusters), epsilon 0.05, until certified, batches of 100"
    assert rows[f"rounds per second, {certified}"] == (
        "12,346",
        "0.12 times Uniform; 6.2% of a copy's bandwidth",
    )
    single = "1,000 policies (clusters), epsilon 0.05, 20,000 rounds, one at a time"
    assert rows[f"longest ask and tell, {single}"] == (
        "4.2 ms / 1.50 s",
        "77 policies were left after 20,000 rounds",
    )


def test_rows_hold_what_is_to_be_compared():
    rows = {what: (measured, against) for what, measured, against in sieve_rows()}
    (recommend,) = (row for what, row in rows.items() if what.startswith("recommend"))
    assert recommend == ("941 ms / 2.50 s", "4,000 times the tell of 100 rounds")
    cores = "a certificate on all cores, 1,000 policies, 4,000 events"
    for beside in ("alone", "next to busy processes"):
        expected = ("2.00 s", "1.50 times as fast as with one thread")
        assert rows[f"{cores}, {beside}"] == expected
    growth = "growth of a round with the {} (clusters / close values)"
    assert rows[growth.format("actions")] == ("slope 0.40 / 0.80", "1 is proportional")
    assert rows[growth.format("rounds")] == ("slope 0.40 / 0.80", "0 is flat")
    mapped = rows["the same with a memory-mapped table, for the first time"]
    assert mapped == ("1.80 s", "8 functions had to be compiled anew")


def test_latency_has_a_table_of_its_own():
    first, last = tables(BENCHES["speed"])["latency"].rows
    assert first == ["clusters", 1, "alone", *2 * ["0.25", "1.50", "20.00"]]
    assert last == ["close values", 8, "busy processes", *2 * ["0.25", "12.00", "20.00"]]


def test_a_result_without_the_sieve():
    """Files that were kept before it was measured are shown as well."""
    steps = ("low_variance_against_naive", "memory_bandwidth", "growth", "certificate")
    kept = (*steps, "exploration_by_optimization", "peak_memory")
    older = {step: BENCHES["speed"][step] for step in kept}
    assert list(tables(older)) == ["all"]
    assert tables(older)["all"] == tables(BENCHES["speed"])["all"]


def sieve_rows():
    return tables(BENCHES["speed"])["sieve"].rows
