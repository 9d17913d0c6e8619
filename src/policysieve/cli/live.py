"""What is shown while something takes its time: on a terminal only, or as plain lines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby, pairwise
from math import log
from operator import itemgetter

import click
from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.text import Text

from policysieve.experiment import Experiment, Progress, Proof
from policysieve.exploration.forecast import about
from policysieve.progress import progress_bar, tracked

__all__ = ["BoundChart", "live_bounds", "run_bar", "training_bar"]

_NEWS = 0.7  # a line when a bound has fallen by this factor

_HEIGHT, _WIDEST = 12, 72  # of the plot, in characters
_MARGIN = 7  # for the numbers beside it
_STYLES = ("cyan", "magenta", "green", "yellow")
_BLANK = 0x2800  # the braille character without dots
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # bits of its dots
_BELOW = 3.0  # how far below epsilon the plot reaches, as a factor


def training_bar(quiet: bool) -> Callable[[Iterable[int]], Iterable[int]]:
    """Wrap the loop over classifiers in a bar."""
    return partial(tracked, title="Training", quiet=quiet)


@contextmanager
def run_bar(experiment: Experiment, quiet: bool) -> Iterator[Progress]:
    """A bar for all runs of an experiment, filled by its checkpoints."""
    total = len(experiment.learners) * len(experiment.seeds)
    with progress_bar("", total, quiet=quiet) as move:
        begun: set[tuple[str, int]] = set()

        def tell(learner: str, seed: int, proof: Proof) -> None:
            begun.add((learner, seed))  # all but this one are at their end
            done = len(begun) - 1 + proof.rounds / experiment.rounds
            move(done, title=f"{learner}, seed {seed}")

        yield tell


@contextmanager
def live_bounds(experiment: Experiment, quiet: bool) -> Iterator[Progress | None]:
    """Show the bounds of an experiment falling.

    On a terminal as a chart, elsewhere a line whenever there is news. Of all seeds but the first
    it is only said when they have proved epsilon.
    """
    if quiet:
        yield None
        return
    console = Console()
    if not console.is_terminal or console.is_dumb_terminal or console.options.ascii_only:
        yield _lines(experiment.seeds)
        return
    problem = experiment.problem
    chart = BoundChart(
        epsilon=problem.epsilon, highest=problem.reward_cap, rounds=experiment.rounds
    )
    with Live(chart, console=console, auto_refresh=False) as live:

        def tell(learner: str, seed: int, proof: Proof) -> None:
            chart.add(learner, proof, run=experiment.seeds.index(seed))
            live.refresh()

        yield tell


def _lines(seeds: Sequence[int]) -> Progress:
    told: dict[tuple[str, int], Proof] = {}

    def tell(learner: str, seed: int, proof: Proof) -> None:
        last, bound = told.get((learner, seed)), proof.suboptimality_bound
        if last is not None and last.certified:
            return
        run = seeds.index(seed)
        falls = last is None or bound <= _NEWS * last.suboptimality_bound
        if proof.certified or (falls and not run):
            told[learner, seed] = proof
            again = f", run {run + 1}" if run else ""
            proved = ", proved" if proof.certified else ""
            click.echo(
                f"{learner}{again}: {proof.rounds:,} rounds, within {bound:.3f} of the best{proved}"
                f"{_expected(proof)}"
            )

    return tell


class BoundChart:
    """What learners have proved so far, on log axes of fixed size; rich can print it.

    Parameters
    ----------
    epsilon : float
        Drawn as a level.
    highest : float
        The bound before anything is proved.
    rounds : int
        Where the axis of rounds ends.
    """

    def __init__(self, *, epsilon: float, highest: float, rounds: int) -> None:
        self._epsilon = epsilon
        self._highest = highest
        self._rounds = rounds
        self._curves: dict[str, list[Proof]] = {}
        self._proved: dict[str, dict[int, int]] = {}  # rounds of each run to the proof

    def add(self, learner: str, proof: Proof, *, run: int = 0) -> None:
        """Draw a learner's line on to a new point; of later runs only the proof is told."""
        if proof.certified:
            self._proved.setdefault(learner, {}).setdefault(run, proof.rounds)
        if not run:
            self._curves.setdefault(learner, []).append(proof)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = max(10, min(_WIDEST, options.max_width - _MARGIN - 1))
        yield Text("how far from the best it can be at most", style="dim")
        yield from self._plot(width)
        first, last = f"{self._first:,}", f"{self._rounds:,} rounds"
        yield Text(" " * _MARGIN + first + last.rjust(width - len(first)), style="dim")
        for number, (learner, curve) in enumerate(self._curves.items()):
            now = curve[-1]
            proved = ", ".join(f"{rounds:,}" for rounds in self._proved.get(learner, {}).values())
            yield Text.assemble(
                (f"{'━━':>{_MARGIN}} {learner:<9}", _style(number)),
                f"{now.rounds:>7,} rounds: within {now.suboptimality_bound:.3f}{_expected(now)}",
                (f", {self._epsilon:g} proved after {proved}" if proved else "", "bold"),
            )
        yield Text()

    @property
    def _first(self) -> int:
        return min(
            (curve[0].rounds for curve in self._curves.values()), default=min(100, self._rounds)
        )

    def _plot(self, width: int) -> Iterator[Text]:
        cells: dict[tuple[int, int], tuple[int, str]] = {}
        for number, curve in enumerate(self._curves.values()):
            for x, y in self._line(curve, 2 * width - 1):
                place = (y // 4, x // 2)
                dots, style = cells.get(place, (_BLANK, _style(number)))
                cells[place] = (dots | _DOTS[y % 4][x % 2], style)
        level = self._height(self._epsilon) // 4
        for row in range(_HEIGHT):
            label = {0: f"{self._highest:.2g}", level: f"{self._epsilon:g}"}.get(row, "")
            line = Text.assemble((f"{label:>{_MARGIN - 2}} {'┤' if label else '│'}", "dim"))
            blank = (ord("┄" if row == level else " "), "dim")
            across = (cells.get((row, column), blank) for column in range(width))
            for style, part in groupby(across, key=itemgetter(1)):
                line.append("".join(chr(code) for code, _ in part), style)
            yield line

    def _line(self, curve: list[Proof], right: int) -> Iterator[tuple[int, int]]:
        """The dots of a curve; from each point straight to the next."""
        span = log(self._rounds / self._first) or 1.0
        points = [
            (
                round(right * log(proof.rounds / self._first) / span),
                self._height(proof.suboptimality_bound),
            )
            for proof in curve
        ]
        yield points[0]
        for (x0, y0), (x1, y1) in pairwise(points):
            steps = max(x1 - x0, abs(y1 - y0), 1)
            for step in range(1, steps + 1):
                yield round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)

    def _height(self, bound: float) -> int:
        """Dots from the top."""
        lowest = self._epsilon / _BELOW
        share = log(self._highest / max(bound, lowest)) / log(self._highest / lowest)
        return round(share * (4 * _HEIGHT - 1))


def _expected(proof: Proof) -> str:
    """When it will be proved, if it is not and that can be said."""
    if proof.certified or proof.expected is None:
        return ""
    return f", proof expected after about {about(proof.expected)}"


def _style(number: int) -> str:
    return _STYLES[number % len(_STYLES)]
