"""What is shown while something takes its time: on a terminal only, or as plain lines."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import click

from policysieve.cli.chart import BoundChart
from policysieve.experiment import Experiment, Progress, Proof

__all__ = ["live_bounds", "run_bar", "training_bar"]

_NEWS = 0.7  # a line when a bound has fallen by this factor


def training_bar(quiet: bool) -> Callable[[Iterable[int]], Iterable[int]]:
    """Wrap the loop over classifiers in a bar."""
    if quiet or not sys.stderr.isatty():
        return iter

    def track(loop: Iterable[int]) -> Iterable[int]:
        from rich.console import Console
        from rich.progress import track as with_bar

        bar = Console(stderr=True)
        return with_bar(loop, description="Training", console=bar, transient=True)

    return track


@contextmanager
def run_bar(experiment: Experiment, quiet: bool) -> Iterator[Progress | None]:
    """A bar for all runs of an experiment, filled by its checkpoints."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    names = [setting.name for setting in experiment.learners]
    total = len(names) * len(experiment.seeds)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def tell(learner: str, seed: int, proof: Proof) -> None:
            before = names.index(learner) * len(experiment.seeds) + experiment.seeds.index(seed)
            bar.update(
                task,
                completed=before + proof.rounds / experiment.rounds,
                description=f"{learner}, seed {seed}",
            )

        yield tell


@contextmanager
def live_bounds(experiment: Experiment, quiet: bool) -> Iterator[Progress | None]:
    """Show the bounds of an experiment with one seed falling.

    On a terminal as a chart, elsewhere a line whenever there is news.
    """
    from rich.console import Console
    from rich.live import Live

    if quiet:
        yield None
        return
    console = Console()
    if not console.is_terminal or console.is_dumb_terminal or console.options.ascii_only:
        yield _lines()
        return
    problem = experiment.problem
    chart = BoundChart(
        epsilon=problem.epsilon, highest=problem.reward_cap, rounds=experiment.rounds
    )
    with Live(chart, console=console, auto_refresh=False) as live:

        def tell(learner: str, _seed: int, proof: Proof) -> None:
            chart.add(learner, proof)
            live.refresh()

        yield tell


def _lines() -> Progress:
    told: dict[str, Proof] = {}

    def tell(learner: str, _seed: int, proof: Proof) -> None:
        last, bound = told.get(learner), proof.suboptimality_bound
        news = last is None or (
            not last.certified and (proof.certified or bound <= _NEWS * last.suboptimality_bound)
        )
        if news:
            told[learner] = proof
            proved = ", proved" if proof.certified else ""
            click.echo(
                f"{learner}: {proof.rounds:,} rounds, within {bound:.3f} of the best{proved}"
            )

    return tell
