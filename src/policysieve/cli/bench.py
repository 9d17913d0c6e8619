"""``policysieve bench``: measure on this machine."""

import sys
from pathlib import Path
from typing import Any

import click

from policysieve.cli.output import print_json, print_table, write_json

__all__ = ["bench"]


@click.group()
def bench() -> None:
    """Measure speed on this machine, always as ratios within one run."""


@bench.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for speed.json and the plot.",
)
def speed(as_json: bool, out: Path | None) -> None:
    """Low-variance exploration against a naive twin, the memory bandwidth and the class size."""
    from policysieve.bench.speed import speed as measure
    from policysieve.report import cost_against_policies

    def progress(step: str) -> None:
        if not as_json and sys.stderr.isatty():
            click.echo(f"Measuring {step.replace('_', ' ')} ...", err=True)

    result = measure(progress)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(result, out / "speed.json")
        cost_against_policies(result["growth"]).savefig(out / "growth.svg")
    if as_json:
        print_json(result)
        return
    _print(result)


def _print(result: dict[str, Any]) -> None:
    naive, memory = result["low_variance_against_naive"], result["memory_bandwidth"]
    growth, peak = result["growth"], result["peak_memory"]
    rows = [
        (
            "rounds per second, end to end (K=100, 1,000 policies)",
            f"{naive['rounds_per_second']:,.0f}",
            f"{naive['ratio']:.0f} times the naive twin",
        ),
        (
            "microseconds per rewarded round (1,000,000 policies)",
            f"{1e6 * memory['event_seconds']:.0f}",
            f"{memory['share']:.0%} of a copy's bandwidth",
        ),
        (
            "growth of a rewarded round with the class",
            f"slope {growth['rewarded_slope']:.2f}",
            "1 is proportional",
        ),
        (
            "growth of an unrewarded round with the class",
            f"slope {growth['unrewarded_slope']:.2f}",
            "0 is flat",
        ),
    ]
    if "skipped" not in peak:
        rows.append(
            (
                "peak memory beyond the table (a million policies, a million rounds)",
                f"{peak['megabytes_beyond_the_table']:.0f} MB",
                f"the table has {peak['table_megabytes']:.0f} MB",
            )
        )
    print_table("Speed", ["what", "measured", "against"], rows)
