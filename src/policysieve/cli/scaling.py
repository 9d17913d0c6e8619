"""Measured growth next to the theorems', in tables."""

from typing import Any

from policysieve.cli.output import print_table, print_text

__all__ = ["print_scaling"]


def print_scaling(result: dict[str, Any]) -> None:
    """Slopes, what disagrees, lower bounds, and the variance of designs."""
    rows = result["sweeps"]
    print_table(
        "Slope of log rounds, and the slope of the theorems' rate",
        ["sweep, kind, learner", "slope (95% interval)", "predicted", "verdict"],
        [
            (
                f"{row['sweep']}, {row['kind']},\n{row['learner']}",
                f"{_slope(row['slope'])} ({_slope(row['low'])} to {_slope(row['high'])})",
                _slope(row["predicted"]),
                row["verdict"],
            )
            for row in rows
        ],
    )
    for row in rows:
        if row["verdict"] in ("above", "below"):
            print_text(
                f"Not as predicted: {row['learner']} on {row['sweep']} ({row['kind']}) has slope "
                f"{_slope(row['slope'])}, {row['verdict']} {_slope(row['predicted'])}."
            )
        given_up = sum(point["rounds"] is None for point in row["points"])
        if given_up:
            print_text(
                f"Given up: {row['learner']} on {row['sweep']} ({row['kind']}) at {given_up} of "
                f"{len(row['points'])} points."
            )
    right = [row for row in rows if row["kind"] == "right"]
    bounded = [row for row in right if row["points"][0]["lower_bound"] is not None]
    if bounded:
        print_table(
            "Rounds until right on the lower bounds' own instances, the largest of each sweep",
            ["sweep, learner", "rounds", "lower bound", "ratio"],
            [_against_bound(row) for row in bounded],
        )
    print_table(
        "Largest variance term of a design, means over seeds",
        ["rounds of phase 1", "true", "observable", "bound", "rate", "uniform"],
        [
            (
                f"{row['explore_rounds']:,}",
                *(f"{row[key]:.3g}" for key in ("true", "observable", "bound", "rate", "uniform")),
            )
            for row in result["variance"]
        ],
    )


def _against_bound(row: dict[str, Any]) -> tuple[str, str, str, str]:
    last = row["points"][-1]
    rounds, bound = last["rounds"], last["lower_bound"]
    return (
        f"{row['sweep']}, {row['learner']}",
        f">{last['most']:,}" if rounds is None else f"{rounds:,.0f}",
        f"{bound:,.0f}",
        "-" if rounds is None else f"{rounds / bound:.1f}",
    )


def _slope(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
