"""``policysieve bench scaling``: measured growth next to the theorems'."""

from pathlib import Path
from typing import Any

import click

from policysieve.cli.bench import _cells_bar, _names
from policysieve.cli.bench_output import output_options, write_outputs
from policysieve.cli.output import print_json, print_table, print_text

__all__ = ["print_scaling", "scaling"]


@click.command()
@click.option("--sweeps", help="Names of sweeps, with commas between them; all by default.")
@click.option("--seeds", type=click.IntRange(1), help="Runs of each cell; 10, or 40 with --full.")
@click.option("--full", is_flag=True, help="More points and larger sizes.")
@output_options("scaling.json and the plots; cells that it holds are not run again")
def scaling(
    sweeps: str | None,
    seeds: int | None,
    full: bool,
    as_json: bool,
    out: Path | None,
    report: Path | None,
) -> None:
    """Measure how rounds grow with 1/epsilon, actions, sparsity, lists and policies."""
    from policysieve.bench.scaling import ScalingSettings
    from policysieve.bench.scaling import scaling as measure
    from policysieve.bench.sweeps import SWEEPS

    with _cells_bar(as_json) as progress:
        result = measure(
            _names(sweeps) or tuple(SWEEPS),
            settings=ScalingSettings(seeds=seeds or (40 if full else 10), full=full),
            folder=out,
            progress=progress,
        )
    write_outputs("scaling", result, out=out, report=report, quiet=as_json)
    if as_json:
        print_json(result)
        return
    print_scaling(result)


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
