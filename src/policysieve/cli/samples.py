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
    for name, mean in summary["right_means"].items():
        print_text(f"To be right, against {name}: {_ratio(mean)} in the geometric mean.")
    for name, mean in summary["proved_mean"].items():
        print_text(f"To certify, against {name}: {_ratio(mean)} in the geometric mean.")
    for name, reason in result["skipped"].items():
        print_text(f"Left out: {name}. {reason}")


def _print_grid(title: str, rows: list[dict[str, Any]], key: str, most: int) -> None:
    if not rows:
        return
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    cells = {(row["task"], row["learner"]): _rounds(row, key, most) for row in rows}
    tasks = dict.fromkeys(row["task"] for row in rows)
    print_table(
        title,
        ["learner", *tasks],
        [(name, *(cells.get((task, name), "-") for task in tasks)) for name in learners],
    )


def _rounds(row: dict[str, Any], key: str, most: int) -> str:
    """The rounds under a key, or how many were tried: the last budget, where there are budgets."""
    tried = row.get("budgets", [most])[-1]
    return f">{tried:,}" if row[key] is None else f"{row[key]:,.0f}"


def _ratio(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
