"""The comparison of bandit classifiers in tables."""

from typing import Any

from policysieve.cli.output import print_table, print_text

__all__ = ["print_classify"]


def print_classify(result: dict[str, Any]) -> None:
    """Print mean accuracies and rounds per second, a table for each task."""
    seeds = result["settings"]["seeds"]
    for task in dict.fromkeys(row["task"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["task"] == task]
        stops = max((row["checkpoints"] for row in rows), key=len)
        print_table(
            f"{task}: accuracy on held-out rows, mean of {seeds} seeds",
            ["contestant", *(_short(stop) for stop in stops), "rounds/s"],
            [
                (
                    row["contestant"],
                    *(f"{mean:.3f}" for mean in row["mean"]),
                    *("-" for _ in stops[len(row["mean"]) :]),
                    f"{row['rounds_per_second']:,.0f}",
                )
                for row in rows
            ],
        )
    for name, reason in result["skipped"].items():
        print_text(f"Left out: {name}. {reason}")


def _short(rounds: int) -> str:
    return f"{rounds / 1000:g}k" if rounds >= 1000 else str(rounds)
