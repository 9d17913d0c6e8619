"""``policysieve bench``: measure on this machine."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from policysieve.cli.output import print_json, print_table, write_json

__all__ = ["bench"]


@click.group(short_help="Measure speed, certificates and learners here.")
def bench() -> None:
    """Measure on this machine: speed as ratios within one run, the rest by counting."""


@bench.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for speed.json and the plot.",
)
def speed(as_json: bool, out: Path | None) -> None:
    """Learners and certificates against naive twins, memory bandwidth and the class size."""
    from policysieve.bench.speed import speed as measure
    from policysieve.report import cost_against_policies

    result = measure(_progress(as_json))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(result, out / "speed.json")
        cost_against_policies(result["growth"]).savefig(out / "growth.svg")
    if as_json:
        print_json(result)
        return
    _print(result)


@bench.command()
@click.option(
    "--runs", default=300, show_default=True, type=click.IntRange(1), help="Runs on null worlds."
)
@click.option(
    "--seeds", default=5, show_default=True, type=click.IntRange(1), help="Seeds of the race."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for certificates.json and the plot.",
)
def certificates(runs: int, seeds: int, as_json: bool, out: Path | None) -> None:
    """Count false certificates on null worlds, and race the methods to a true one."""
    from policysieve.bench.certificates import certificates as measure
    from policysieve.report import rounds_to_certify

    result = measure(runs=runs, seeds=seeds, progress=_progress(as_json))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(result, out / "certificates.json")
        rounds_to_certify(result["power"]).savefig(out / "certificates.svg")
    if as_json:
        print_json(result)
        return
    print_table(
        "False certificates, looked at after every batch",
        ["method, exploration", "false", "of runs", "allowed by delta"],
        [
            (
                f"{row['method']}, {row['explorer']}",
                str(row["false"]),
                str(row["runs"]),
                str(row["limit"]),
            )
            for row in result["false"]
        ],
    )
    methods = list(result["power"][0]["rounds"])
    print_table(
        "Median rounds to certify epsilon = 0.05 among 50 policies of close value",
        ["actions, exploration", *methods],
        [
            (
                f"{row['n_actions']:,}, {row['source']}",
                *(_rounds(row["rounds"][method], row["max_rounds"]) for method in methods),
            )
            for row in result["power"]
        ],
    )


@bench.command()
@click.option("--tasks", help="Names of tasks, with commas between them; all by default.")
@click.option("--learners", help="Names of learners, with commas between them; all by default.")
@click.option(
    "--seeds", default=20, show_default=True, type=click.IntRange(1), help="Runs of each cell."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for samples.json and the plots; cells that it holds are not run again.",
)
def samples(
    tasks: str | None, learners: str | None, seeds: int, as_json: bool, out: Path | None
) -> None:
    """Race all learners: rounds until they are right, and until they can prove it."""
    from policysieve.bench.race import Settings, race
    from policysieve.bench.samples import RACERS
    from policysieve.bench.tasks import TASKS
    from policysieve.cli.samples import print_samples
    from policysieve.report import save_samples_figures

    with _cells_bar(as_json) as progress:
        result = race(
            _names(tasks) or tuple(TASKS),
            _names(learners) or tuple(RACERS),
            settings=Settings(seeds=seeds),
            folder=out,
            progress=progress,
        )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(result, out / "samples.json")
        save_samples_figures(result, out)
    if as_json:
        print_json(result)
        return
    print_samples(result)


def _names(option: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in option.split(",")) if option else ()


@contextmanager
def _cells_bar(quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """Say which cell is done on one line of a terminal, or nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda _done, _total, _name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("racing", total=None)
        yield lambda done, total, name: bar.update(
            task, completed=done, total=total, description=name
        )


def _rounds(value: float | None, most: int) -> str:
    return f"over {most:,}" if value is None else f"{value:,.0f}"


def _progress(quiet: bool) -> Callable[[str], None]:
    def say(step: str) -> None:
        if not quiet and sys.stderr.isatty():
            click.echo(f"Measuring {step.replace('_', ' ')} ...", err=True)

    return say


def _print(result: dict[str, Any]) -> None:
    naive, memory = result["low_variance_against_naive"], result["memory_bandwidth"]
    growth, peak = result["growth"], result["peak_memory"]
    optimization, proof = result["exploration_by_optimization"], result["certificate"]
    micros = optimization["closed_form_microseconds"]
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
    rows += [
        (
            "microseconds per closed form (K = 10 / 100 / 1,000)",
            " / ".join(f"{value:.2g}" for value in micros.values()),
            "exploration by optimization",
        ),
        (
            "rounds per second, exploration by optimization",
            f"{optimization['rounds_per_second']:,.0f}",
            f"{optimization['ratio']:.2f} times EXP4",
        ),
        (
            "seconds per certificate (100,000 policies, 10,000 events)",
            f"{proof['seconds']:.2f}",
            f"{proof['share']:.0%} of one pass at a copy's bandwidth",
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
