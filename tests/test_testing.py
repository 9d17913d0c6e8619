"""The page on how the project is tested has the numbers of the project."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
SCRIPT = runpy.run_path(str(ROOT / "docs" / "figures" / "fill_testing.py"))
STALE = 0.2  # how far a count may be from what the page says, before it is counted again


def test_what_was_counted():
    """Counting reads every file, which each process that only collects tests would do as well."""
    for what, number in SCRIPT["counted"]().items():
        (said,) = re.findall(rf"^\| {re.escape(what)} \| ([\d,]+) \|$", PAGE, re.MULTILINE)
        near = pytest.approx(int(said.replace(",", "")), rel=STALE)
        assert number == near, f"{what}: run fill_testing.py"


def test_what_was_measured():
    for what, (tried, wrong) in SCRIPT["measured"]().items():
        assert f"| {what} | {tried:,} | {wrong:,} |\n" in PAGE, "run fill_testing.py"


def test_the_script_fills_in_both_tables():
    empty = re.sub(r"^\| (?!there are|tried|---).*\n", "", PAGE, flags=re.MULTILINE)
    assert empty != PAGE
    rows = set(PAGE.splitlines())
    assert rows - set(SCRIPT["filled"](empty).splitlines()) <= {row for row in rows if "|" in row}
    new = [line for line in SCRIPT["filled"](empty).splitlines() if line not in rows]
    assert all(line.count("|") == 3 for line in new)  # of counts that have changed since
    assert SCRIPT["filled"](SCRIPT["filled"](empty)) == SCRIPT["filled"](empty)


@pytest.mark.parametrize(
    ("number", "said"), [(0, 0), (7, 7), (94, 94), (1234, 1200), (57_900, 58_000)]
)
def test_counts_have_two_digits(number, said):
    assert SCRIPT["rounded"](number) == said
