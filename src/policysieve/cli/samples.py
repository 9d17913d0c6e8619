"""The race in tables."""

from typing import Any

from policysieve.cli.output import print_table, print_text

__all__ = ["print_samples"]


def print_samples(result: dict[str, Any]) -> None:
    """Rounds to be right and to a certificate, a row for each learner, and the ratios."""
    settings, summary = result["settings"], result["summary"]
    _print_grid(
        "Rounds until 95% of the seeds are right within epsilon",
        result["picking"],
        "needed",
        settings["most"],
    )
    _print_grid(
        "Median rounds until epsilon is certified",
        result["proving"],
        "median",
        settings["most_to_prove"],
    )
    if summary["right"]:
        print_table(
            "The Sieve against the best other learner of ours, to be right",
            ["task", "best other", "ratio"],
            [
                (task, row["best_other"], _ratio(row["ratio"]))
                for task, row in summary["right"].items()
            ],
        )
        print_text(f"Geometric mean: {_ratio(summary['right_mean'])}.")
    for name, mean in summary["proved_mean"].items():
        print_text(f"To certify, against {name}: {_ratio(mean)} in the geometric mean.")
    for name, reason in result["skipped"].items():
        print_text(f"Left out: {name}. {reason}")


def _print_grid(title: str, rows: list[dict[str, Any]], key: str, most: int) -> None:
    if not rows:
        return
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    cells = {(row["task"], row["learner"]): row[key] for row in rows}
    tasks = dict.fromkeys(row["task"] for row in rows)
    print_table(
        title,
        ["learner", *tasks],
        [(name, *(_rounds(cells, (task, name), most) for task in tasks)) for name in learners],
    )


def _rounds(cells: dict[tuple[str, str], float | None], cell: tuple[str, str], most: int) -> str:
    if cell not in cells:
        return "-"
    value = cells[cell]
    return f">{most:,}" if value is None else f"{value:,.0f}"


def _ratio(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
