"""``policysieve decide``: what to show at new contexts, according to a design."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.options import as_floor, json_option
from policysieve.cli.output import print_json, print_text

if TYPE_CHECKING:
    import numpy as np

    from policysieve.exploration import Exploration
    from policysieve.log import Rounds

__all__ = ["decide"]

_FORMATS = ("parquet", "csv")
_BATCH = 1 << 16  # contexts decided at once
_ENTRIES = 1 << 20  # propensities of all actions held at once


@click.command(short_help="Decide what to show at new contexts.")
@click.argument("design", type=click.Path(dir_okay=False))
@click.option(
    "--policies",
    required=True,
    help="The policies that the design was made for, as design took them.",
)
@click.option(
    "--contexts",
    required=True,
    type=click.Path(dir_okay=False),
    help="A .npy array, a file of contexts with or without ids and times, or a log.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the decisions here, to a new file: .parquet or .csv.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="For the same decisions again; take another one for each batch of contexts.",
)
@click.option(
    "--distributions",
    is_flag=True,
    help="Write the propensities of all actions that could be shown, too.",
)
@json_option()
def decide(
    design: str,
    policies: str,
    contexts: str,
    out: Path,
    seed: int | None,
    distributions: bool,
    as_json: bool,
) -> None:
    """Draw actions for contexts as DESIGN says, and write them with their propensities.

    The file is a log whose rewards are missing: fill them in, and it is one that select takes.
    Rows are in the order of the contexts, with their ids and times, if these have any. Contexts are
    read in pieces, so there may be more than fit into memory. With --distributions the log says
    what else could have been shown, and how probably, which certificates can make use of.
    """
    from policysieve.checks import as_rng
    from policysieve.cli.loading import load_policies
    from policysieve.exploration.designs.saving import ExplorationFile

    file = ExplorationFile.read(design)
    problem = file.problem
    candidates = load_policies(policies, problem.n_actions, problem.slate_size)
    exploration = file.exploration(candidates)
    decisions = _decisions(exploration, contexts, as_rng(seed, stream=2), distributions)
    rounds, smallest = _write(decisions, contexts, out)
    floor = exploration.floor
    if as_json:
        print_json(
            {
                "rounds": rounds,
                "smallest_propensity": smallest,
                "floor": floor,
                "out": str(out),
            }
        )
        return
    print_text(
        f"{rounds:,} decisions, none with a propensity below {as_floor(smallest)}. Their rewards "
        f"are missing: fill them in, then select with --floor {as_floor(floor)}, below which the "
        "design has no propensity."
    )
    click.echo(f"Decisions: {out}")


def _write(decisions: Iterator["Rounds"], contexts: str, out: Path) -> tuple[int, float]:
    """Write the decisions; returns how many there are, and their smallest propensity."""
    from policysieve.errors import InvalidArgumentError
    from policysieve.formats.registry import find_format

    format = find_format(out, None)
    if format.name not in _FORMATS:
        raise InvalidArgumentError(f"--out must end in .parquet or .csv, got {out}")
    if out.exists():
        raise InvalidArgumentError(
            f"--out must be a new file, {out} exists, and what it says may have been shown "
            "already; remove it first or name another file"
        )
    count, smallest = 0, 1.0

    def counted(batches: Iterator["Rounds"]) -> Iterator["Rounds"]:
        nonlocal count, smallest
        for rounds in batches:
            count += len(rounds)
            smallest = min(smallest, float(rounds.propensities.min()))
            yield rounds

    first = next(decisions, None)
    if first is None:
        raise InvalidArgumentError(f"--contexts must hold at least one, {contexts} is empty")
    format.not_held(first.layout)
    format.save(out, counted(chain([first], decisions)), first.layout)
    return count, smallest


def _decisions(
    exploration: "Exploration", source: str, rng: "np.random.Generator", distributions: bool
) -> Iterator["Rounds"]:
    """Rounds without rewards, with full distributions or not; the candidates are asked once."""
    import numpy as np

    from policysieve.log import Rounds
    from policysieve.log.distributions import fitting

    n_actions = exploration.problem.n_actions
    size = max(1, min(_BATCH, _ENTRIES // n_actions)) if distributions else _BATCH
    for contexts, ids, times in _contexts(source, size):
        x = exploration.policies.check_contexts(contexts)
        said = exploration.policies.answers_at(x) if distributions else x
        uniforms = rng.random((len(x), exploration.draws_per_round))
        actions, propensities = exploration.choose(said, uniforms)
        every = None
        if distributions:
            every = fitting(exploration.propensities(said), actions, propensities)
        rewards = np.full(actions.shape, np.nan)
        yield Rounds(x, actions, propensities, rewards, ids, times, every)


def _contexts(source: str, size: int) -> Iterator[tuple[Any, Any, Any]]:
    """Contexts of a .npy array or of another file, in pieces, with the ids and times of that."""
    from policysieve.formats import open_contexts

    batches: Iterable[tuple[Any, Any, Any]]
    if source.endswith(".npy"):
        batches = [(_array(source), None, None)]
    else:
        batches = ((one.contexts, one.ids, one.times) for one in open_contexts(source))
    for contexts, ids, times in batches:
        for start in range(0, len(contexts), size):
            part = slice(start, start + size)
            yield (
                contexts[part],
                None if ids is None else ids[part],
                None if times is None else times[part],
            )


def _array(path: str) -> Any:
    import numpy as np

    from policysieve.errors import FileFormatError

    if not Path(path).is_file():
        raise FileNotFoundError(f"no contexts at {path}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not array.ndim:
            raise ValueError("it has no rows")
    except (ValueError, EOFError, OSError, AttributeError) as error:
        raise FileFormatError(
            f"{path} is not a readable .npy array with a row for each context ({error})"
        ) from error
    return array
