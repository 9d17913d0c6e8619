"""What is shown while something takes its time: on a terminal only, or as plain lines."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import click

from policysieve.cli.chart import BoundChart
from policysieve.experiment import Experiment, Progress, Proof
from policysieve.progress import progress_bar, tracked

__all__ = ["live_bounds", "run_bar", "training_bar"]

_NEWS = 0.7  # a line when a bound has fallen by this factor


def training_bar(quiet: bool) -> Callable[[Iterable[int]], Iterable[int]]:
    """Wrap the loop over classifiers in a bar."""
    return partial(tracked, title="Training", quiet=quiet)


@contextmanager
def run_bar(experiment: Experiment, quiet: bool) -> Iterator[Progress]:
    """A bar for all runs of an experiment, filled by its checkpoints."""
    names = [setting.name for setting in experiment.learners]
    with progress_bar("", len(names) * len(experiment.seeds), quiet=quiet) as move:

        def tell(learner: str, seed: int, proof: Proof) -> None:
            before = names.index(learner) * len(experiment.seeds) + experiment.seeds.index(seed)
            move(before + proof.rounds / experiment.rounds, title=f"{learner}, seed {seed}")

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
