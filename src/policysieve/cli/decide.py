"""``policysieve decide``: what to show at new contexts, according to a design."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.commands import command
from policysieve.cli.options import (
    ContextsOptions,
    as_floor,
    column_map,
    contexts_options,
    json_option,
    out_option,
    source_option,
)
from policysieve.cli.output import print_json, print_text

if TYPE_CHECKING:
    import numpy as np

    from policysieve.exploration import Exploration
    from policysieve.log import Beside, Rounds

    Pieces = Iterator[tuple[Any, Any, Any, Beside]]  # of contexts, with ids and times or None

__all__ = ["decide", "parts_of", "read_contexts", "write_decisions"]

_FORMATS = ("parquet", "csv")
_BATCH = 1 << 16  # contexts decided at once
_ENTRIES = 1 << 20  # propensities of all actions held at once


@command(
    short_help="What to show at new contexts, with propensities, as a design says.",
    examples=(
        "policysieve decide design.npz --policies table.npy --contexts contexts.npy "
        "--out decisions.parquet",
    ),
)
@click.argument("design", type=click.Path(dir_okay=False))
@source_option("The policies that the design was made for, as they were given to design.")
@contexts_options("A .npy array, a file of contexts with or without ids and times, or a log.")
@out_option("the decisions here, to a new file: .parquet or .csv", required=True)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Random seed: the same seed draws the same again, so take another for each batch.",
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
    contexts: ContextsOptions,
    out: Path,
    seed: int | None,
    distributions: bool,
    as_json: bool,
) -> None:
    """Draw actions for contexts as DESIGN says, and write them with their propensities.

    The file is a log whose rewards are missing: fill them in, and it is one that select takes.
    Rows are in the order of the contexts, with their ids, times and units, if these have any.
    Contexts are read in pieces, so there may be more than fit into memory. Where the contexts have
    a column named available, nothing else is shown. With --distributions the log says what else
    could have been shown, and how probably, which certificates can make use of.
    """
    from policysieve.checks import as_rng
    from policysieve.cli.loading import load_policies
    from policysieve.exploration.designs.saving import ExplorationFile
    from policysieve.policies.policy_class import names_of_actions

    file = ExplorationFile.read(design)
    problem = file.problem
    candidates = load_policies(
        policies,
        problem.n_actions,
        problem.slate_size,
        names=file.names,
        actions=file.action_names,
        fallback=file.fallback if policies.endswith(".npy") else None,
    )
    exploration = file.exploration(candidates)
    size = max(1, min(_BATCH, _ENTRIES // problem.n_actions))
    whole = read_contexts(contexts, names_of_actions(candidates, problem))
    pieces = parts_of(whole, size, size if distributions else _BATCH)
    decisions = _decisions(exploration, pieces, as_rng(seed, stream=2), distributions)
    rounds, smallest = write_decisions(decisions, out)
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


def write_decisions(decisions: Iterator["Rounds"], out: Path) -> tuple[int, float]:
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
    if not out.absolute().parent.is_dir():
        raise InvalidArgumentError(f"--out must be in a folder that exists, got {out}")
    count, smallest = 0, 1.0

    def counted(batches: Iterator["Rounds"]) -> Iterator["Rounds"]:
        nonlocal count, smallest
        for rounds in batches:
            count += len(rounds)
            smallest = min(smallest, float(rounds.propensities.min()))
            yield rounds

    first = next(decisions, None)
    if first is None:
        raise InvalidArgumentError("--contexts must hold at least one, there is none")
    format.not_held(first.layout)
    format.save(out, counted(chain([first], decisions)), first.layout, new=True)
    return count, smallest


def _decisions(
    exploration: "Exploration", pieces: "Pieces", rng: "np.random.Generator", distributions: bool
) -> Iterator["Rounds"]:
    """Rounds without rewards, with full distributions or not; the candidates are asked once."""
    import numpy as np

    from policysieve.log import Beside, Rounds
    from policysieve.log.fitting import fitting
    from policysieve.policies.policy_class import names_of_actions
    from policysieve.scaling import usual_range

    known = names_of_actions(exploration.policies, exploration.problem)
    names = None if known is None else tuple(known)
    units = usual_range(exploration.problem.reward_range)
    for contexts, ids, times, beside in pieces:
        x = exploration.policies.check_contexts(contexts)
        allowed = exploration.policies.check_available(beside.available, len(x))
        said = exploration._answers_at(x, allowed)
        uniforms = rng.random((len(x), exploration.draws_per_round))
        actions, propensities = exploration.choose(said, uniforms)
        every = None
        if distributions:
            every = fitting(exploration.propensities(said), actions, propensities)
        rewards = np.full(actions.shape, np.nan)
        more = Beside(allowed, beside.units)
        yield Rounds(x, actions, propensities, rewards, ids, times, every, names, more, units)


def read_contexts(typed: ContextsOptions, names: Sequence[str] | None) -> "Pieces":
    """Contexts of .npy arrays or of other files, in pieces, with what else those say of them."""
    from policysieve.formats import open_contexts
    from policysieve.log import NOTHING

    paths, columns = typed.paths, column_map(typed.columns)
    if typed.format is None and columns is None and all(path.endswith(".npy") for path in paths):
        for array in _arrays(paths):
            yield array, None, None, NOTHING
        return
    for one in open_contexts(
        paths, typed.format, columns=columns, actions=names, max_bytes=typed.max_bytes
    ):
        yield one.contexts, one.ids, one.times, one.beside


def parts_of(pieces: "Pieces", restricted: int, size: int) -> "Pieces":
    """Pieces of so many contexts at most, or fewer where not everything is available."""
    for contexts, ids, times, beside in pieces:
        step = size if beside.available is None else restricted
        for start in range(0, len(contexts), step):
            part = slice(start, start + step)
            yield (
                contexts[part],
                None if ids is None else ids[part],
                None if times is None else times[part],
                beside[part],
            )


def _arrays(paths: Sequence[str]) -> Iterator[Any]:
    """Arrays that are of one shape but for their length, and of one type."""
    import numpy as np

    from policysieve.errors import FileFormatError

    arrays = [_array(path) for path in paths]
    kinds = [(array.shape[1:], array.dtype.kind in "SU") for array in arrays]
    for path, kind, array in zip(paths, kinds, arrays, strict=True):
        if kind != kinds[0]:
            raise FileFormatError(
                f"{path} has shape {array.shape} of {array.dtype}, but {paths[0]} has "
                f"{arrays[0].shape} of {arrays[0].dtype}; contexts must be of one kind"
            )
    common = np.result_type(*(array.dtype for array in arrays))
    for array in arrays:
        yield array if array.dtype == common else array.astype(common)


def _array(path: str) -> Any:
    from policysieve.archives import mapped_array
    from policysieve.errors import FileFormatError

    if not Path(path).is_file():
        raise FileNotFoundError(f"no contexts at {path}")
    array = mapped_array(path)
    if not array.ndim:
        raise FileFormatError(f"{path} must have a row for each context, it has no rows")
    return array
