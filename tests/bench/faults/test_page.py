import pytest

from policysieve.bench.faults.page import memory_against_rounds, tables
from tests.bench.results import BENCHES

RESULT = BENCHES["faults"]


def happened(result):
    return {(row[0], row[2]): row[3] for row in tables(result)["faults"].rows}


def test_all_that_happened_is_in_the_table():
    assert sum(happened(RESULT).values()) == 2
    assert happened(RESULT)["writers killed", "a temporary file stays"] == 2
    worse = {
        **RESULT,
        "calls": {"inputs_tried": 3, "foreign": ["KeyError"], "changed": ["ask", "tell"]},
        "threads": {**RESULT["threads"], "errors": ["BusyError"], "lost": 5},
    }
    found = happened(worse)
    assert found["calls with made-up arguments", "an error that is not ours"] == 1
    assert found["calls with made-up arguments", "a state that changes silently"] == 2
    assert found["rounds of 8 threads at once", "an error"] == 1
    assert found["rounds of 8 threads at once", "a round is lost in the log"] == 5


def test_a_leak_is_something_that_went_wrong():
    leak = ("rounds of long runs", "memory grows as if rounds were kept twice")
    run = RESULT["soaks"][0]
    assert happened(RESULT)[leak] == 0
    assert happened({**RESULT, "soaks": [run, {**run, "bytes_beyond": 30.0}]})[leak] == 1


def test_every_writer_has_its_row():
    first, second = tables(RESULT)["files"].rows
    assert first == ["Log.save", 100, 0, 0, 2, 5_000, 0, 4, 0]
    assert second == ["policysieve decide", None, None, None, None, None, None, 4, 0]


@pytest.mark.parametrize(
    ("missing", "table"), [({"soaks"}, "memory"), ({"kills", "at_once", "full"}, "files")]
)
def test_what_was_not_measured_is_left_out(missing, table):
    rest = {name: value for name, value in RESULT.items() if name not in missing}
    assert table not in tables(rest)
    assert table in tables(RESULT)


def test_memory_beyond_what_is_kept():
    (line,) = memory_against_rounds(RESULT["soaks"]).axes[0].lines
    assert line.get_xydata().tolist() == [[50, 0], [100, 1]]
    assert line.get_label() == "Sieve, 100 at once"
