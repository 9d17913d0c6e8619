"""``policysieve demo``: choose among hundreds of classifiers from right/wrong feedback."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from policysieve.cli.output import print_json, print_table, print_text, write_json

__all__ = ["demo"]

_TRAINING_ROWS = 600
_EPSILON, _DELTA = 0.05, 0.05


@click.command(short_help="Choose among digit classifiers.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Random seed.")
@click.option(
    "--rounds",
    default=20_000,
    show_default=True,
    type=click.IntRange(1),
    help="Rounds to play at most.",
)
@click.option(
    "--classifiers",
    default=400,
    show_default=True,
    type=click.IntRange(2),
    help="Size of the pool.",
)
@click.option(
    "--out",
    default="demo-output",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.html and result.json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def demo(seed: int, rounds: int, classifiers: int, out: Path, as_json: bool) -> None:
    """Choose among hundreds of digit classifiers from right/wrong feedback alone.

    Each round shows a handwritten digit; the learner guesses one of ten labels and hears only
    whether the guess was right. It never sees the label of a wrong guess. It stops when it has
    proved that no classifier is better than its choice by more than 0.05. Uniformly random guesses
    are played for as many rounds, for comparison.
    """
    from policysieve.evidence import select
    from policysieve.exploration import Sieve, Uniform
    from policysieve.simulate import run

    out.mkdir(parents=True, exist_ok=True)
    world, policies, descriptions = _digits(classifiers, seed, quiet=as_json)
    problem = world.problem(epsilon=_EPSILON, delta=_DELTA)
    if not as_json:
        click.echo("Playing: guess a label, hear only right or wrong, until it is proved ...")
    sieve = Sieve(policies, problem, rounds=rounds, rng=seed)
    result = run(sieve, world, max_rounds=rounds, progress=not as_json, rng=seed)
    uniform = Uniform(policies, problem, rounds=result.rounds, rng=seed)
    run(uniform, world, max_rounds=result.rounds, progress=not as_json, checkpoints=0, rng=seed)
    other = select(uniform.log, policies, problem).certificate

    data = {
        **result.to_dict(),
        "leaders": [
            {**row, "description": descriptions[row["policy"]]} for row in result.leaders(10)
        ],
        "seed": seed,
        "classifiers": classifiers,
        "survivors": len(sieve.survivors),
        "uniform": other.to_dict(),
    }
    write_json(data, out / "result.json")
    result.report(
        out / "report.html",
        title=f"The best of {classifiers} digit classifiers, from right or wrong",
    )
    if as_json:
        print_json(data)
        return
    _print_result(data, out)


def _digits(classifiers: int, seed: int, *, quiet: bool) -> tuple[Any, Any, list[str]]:
    """Train the pool on some of the digits; the others are the world."""
    import numpy as np

    from policysieve.errors import MissingExtraError
    from policysieve.policies import EstimatorPolicies, PolicyTable
    from policysieve.worlds import Classification
    from policysieve.worlds.pools import make_pool

    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingExtraError("policysieve demo", "scikit-learn", "sklearn") from error

    features, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(features))
    train, rest = order[:_TRAINING_ROWS], order[_TRAINING_ROWS:]

    def track(loop: Iterable[int]) -> Iterable[int]:
        import sys

        if quiet or not sys.stdout.isatty():
            return loop
        from rich.progress import track as with_bar

        return with_bar(loop, description="Training", total=classifiers, transient=True)

    if not quiet:
        click.echo(f"Training {classifiers} classifiers on {len(train)} handwritten digits ...")
    pool = make_pool(features[train], labels[train], classifiers, seed, track=track)
    actions = EstimatorPolicies(pool, n_actions=10).actions(features[rest])
    world = Classification(features[rest], labels[rest], n_actions=10, contexts="rows")
    return world, PolicyTable(actions, n_actions=10), [model.description for model in pool]


def _print_result(data: dict[str, Any], out: Path) -> None:
    print_table(
        f"Leaders of {data['classifiers']} classifiers after {data['rounds']:,} rounds",
        ["classifier", "estimate", "interval", "true accuracy"],
        [
            (
                f"{leader['policy']}: {leader['description']}",
                f"{leader['value']:.3f}",
                f"[{leader['lower']:.3f}, {leader['upper']:.3f}]",
                f"{leader['true_value']:.3f}",
            )
            for leader in data["leaders"]
        ],
    )
    best, other = data["recommendation"], data["uniform"]
    proved = "proved within" if best["certified"] else "bounded by"
    print_text(
        f"Classifier {best['policy']} is {proved} {best['suboptimality_bound']:.3f} of the best "
        f"one, with probability {1 - _DELTA:g}; in truth the best is {data['suboptimality']:.3f} "
        f"better. {data['survivors']} of {data['classifiers']} classifiers are still in the race. "
        "(The certificate compares classifiers directly and is tighter than the intervals.)"
    )
    print_text(
        f"Uniformly random guesses prove {other['suboptimality_bound']:.3f} from as many rounds."
    )
    click.echo(f"Report: {out / 'report.html'}   Numbers: {out / 'result.json'}")
