"""``policysieve bench``: measure on this machine."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from policysieve.cli.bench_options import names_option, output_options, output_result
from policysieve.progress import progress_bar

__all__ = ["bench"]


@click.group(short_help="Measure speed, certificates and learners here.")
def bench() -> None:
    """Measure on this machine: speed as ratios within one run, the rest by counting."""


@bench.command()
@output_options("speed.json and the plot")
def speed(as_json: bool, out: Path | None, report: Path | None) -> None:
    """Learners and certificates against naive twins, memory bandwidth and the class size."""
    from policysieve.bench.speed.measuring import speed as measure

    result = measure(_progress(as_json))
    output_result("speed", result, as_json=as_json, out=out, report=report)


@bench.command()
@click.option(
    "--runs", default=300, show_default=True, type=click.IntRange(1), help="Runs on null worlds."
)
@click.option(
    "--seeds", default=5, show_default=True, type=click.IntRange(1), help="Seeds of the race."
)
@output_options("certificates.json and the plot")
def certificates(
    runs: int, seeds: int, as_json: bool, out: Path | None, report: Path | None
) -> None:
    """Count false certificates on null worlds, and race the methods to a true one."""
    from policysieve.bench.certificates.measuring import certificates as measure

    result = measure(runs=runs, seeds=seeds, progress=_progress(as_json))
    output_result("certificates", result, as_json=as_json, out=out, report=report)


@bench.command()
@names_option("--tasks", "policysieve.bench.race.tasks", "TASKS")
@names_option(
    "--learners", "policysieve.bench.racers", "RACERS", "VowpalWabbit needs the extra peers."
)
@click.option(
    "--seeds", default=20, show_default=True, type=click.IntRange(1), help="Runs of each cell."
)
@output_options("samples.json and the plots; cells that it holds are not run again")
def samples(
    tasks: str | None,
    learners: str | None,
    seeds: int,
    as_json: bool,
    out: Path | None,
    report: Path | None,
) -> None:
    """Race all learners: rounds until they are right, and until they can prove it."""
    from policysieve.bench.race.measuring import RaceSettings, race
    from policysieve.bench.race.tasks import TASKS
    from policysieve.bench.racers import RACERS

    with _cells_bar(as_json) as progress:
        result = race(
            _names(tasks) or tuple(TASKS),
            _names(learners) or tuple(RACERS),
            settings=RaceSettings(seeds=seeds),
            folder=out,
            progress=progress,
        )
    output_result("samples", result, as_json=as_json, out=out, report=report)


@bench.command()
@names_option("--sweeps", "policysieve.bench.scaling.sweeps", "SWEEPS")
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
    from policysieve.bench.scaling.measuring import ScalingSettings
    from policysieve.bench.scaling.measuring import scaling as measure
    from policysieve.bench.scaling.sweeps import SWEEPS

    with _cells_bar(as_json) as progress:
        result = measure(
            _names(sweeps) or tuple(SWEEPS),
            settings=ScalingSettings(seeds=seeds or (40 if full else 10), full=full),
            folder=out,
            progress=progress,
        )
    output_result("scaling", result, as_json=as_json, out=out, report=report)


@bench.command()
@names_option("--tasks", "policysieve.bench.classify.tasks", "CLASSIFY_TASKS")
@names_option(
    "--contestants",
    "policysieve.bench.classify.contestants",
    "CONTESTANTS",
    "All but the first two and the last need the extra peers.",
)
@click.option(
    "--seeds", default=5, show_default=True, type=click.IntRange(1), help="Runs of each cell."
)
@click.option(
    "--rounds", default=20_000, show_default=True, type=click.IntRange(1), help="Of each run."
)
@click.option(
    "--batch", default=100, show_default=True, type=click.IntRange(1), help="Rounds at once."
)
@output_options("classify.json and the plot; cells that it holds are not run again")
def classify(
    tasks: str | None,
    contestants: str | None,
    seeds: int,
    rounds: int,
    batch: int,
    as_json: bool,
    out: Path | None,
    report: Path | None,
) -> None:
    """Compare bandit classifiers: accuracy on held-out rows, and rounds per second.

    All 240 cells run one after the other, up to three minutes each: several hours. With
    --contestants policysieve it takes about 7 minutes.
    """
    from policysieve.bench.classify.contestants import CONTESTANTS
    from policysieve.bench.classify.measuring import ClassifySettings
    from policysieve.bench.classify.measuring import classify as measure
    from policysieve.bench.classify.tasks import CLASSIFY_TASKS

    with _cells_bar(as_json) as progress:
        result = measure(
            _names(tasks) or tuple(CLASSIFY_TASKS),
            _names(contestants) or tuple(CONTESTANTS),
            settings=ClassifySettings(seeds=seeds, rounds=rounds, batch=batch),
            folder=out,
            progress=progress,
        )
    output_result("classify", result, as_json=as_json, out=out, report=report)


def _names(option: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in option.split(",")) if option else ()


@contextmanager
def _cells_bar(quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """Say which cell is done on one line of a terminal, or nothing."""
    with progress_bar("racing", quiet=quiet) as move:
        yield lambda done, total, name: move(done, total=total, title=name)


def _progress(quiet: bool) -> Callable[[str], None]:
    def say(step: str) -> None:
        if not quiet and sys.stderr.isatty():
            click.echo(f"Measuring {step.replace('_', ' ')} ...", err=True)

    return say
