"""What the help of benchmarks says is so."""

from pathlib import Path

import pytest

from policysieve.bench.classify.contestants import CONTESTANTS
from policysieve.bench.classify.lists.contestants import LIST_CONTESTANTS
from policysieve.bench.classify.lists.tasks import LIST_TASKS
from policysieve.bench.classify.measuring import ClassifySettings
from policysieve.bench.classify.tasks import CLASSIFY_TASKS
from policysieve.bench.race.measuring import LEARNERS
from policysieve.bench.race.tasks import TASKS
from policysieve.bench.scaling.sweeps import SWEEPS
from tests.cli.test_cli import invoke

COMMAND_LINE = Path(__file__).parents[2] / "docs" / "command-line.md"


@pytest.mark.parametrize(
    ("command", "registry"),
    [
        ("samples", TASKS),
        ("samples", LEARNERS),
        ("scaling", SWEEPS),
        ("classify", CLASSIFY_TASKS),
        ("classify", CONTESTANTS),
        ("lists", LIST_TASKS),
        ("lists", LIST_CONTESTANTS),
        ("forecast", TASKS),
    ],
)
def test_help_lists_the_names_of_the_registry(command, registry):
    help_text = " ".join(invoke("bench", command, "--help").output.split())
    assert ", ".join(registry) in help_text.replace("- ", "-")  # lines may end in a hyphen


@pytest.mark.parametrize("contestants", [CONTESTANTS, LIST_CONTESTANTS])
def test_the_contestants_that_need_no_extra(contestants):
    ours = sum(name.startswith("policysieve") for name in contestants)
    names = list(contestants)
    first, others, last = names[: ours + 1], names[ours + 1 : -1], names[-1]
    peers = ("vowpal", "contextualbandits", "mabwiser", "river")
    assert all(name.startswith(peers) for name in others)
    assert not any(name.startswith(peers) for name in (*first, last))


def test_how_long_the_comparison_takes_is_said():
    pairs = [
        (task, entry)
        for task in CLASSIFY_TASKS.values()
        for entry in CONTESTANTS.values()
        if task.has_texts or not entry.only_texts
    ]
    count = len(pairs) * ClassifySettings().seeds
    assert f"{count} runs" in invoke("bench", "classify", "--help").output
    assert f"{count} cells" in COMMAND_LINE.read_text(encoding="utf-8")
