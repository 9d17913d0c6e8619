"""``policysieve demo``: choose among hundreds of classifiers from right/wrong feedback."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from policysieve.cli.commands import command
from policysieve.cli.options import ExperimentOutput, count_option, experiment_output
from policysieve.cli.output import print_table, print_text

if TYPE_CHECKING:
    from policysieve.experiment import ExperimentResult

__all__ = ["demo"]

_TRAINING_ROWS = 600


@command(
    short_help="See it work: the best of 300 classifiers, from right or wrong alone.",
    examples=("policysieve demo", "policysieve demo --seeds 1 --classifiers 100 --folder small"),
    formerly={"--out": "--folder"},
)
@count_option("--seed", 0, "Random seed of the classifiers and of the first run.", least=0)
@count_option("--seeds", 5, "Runs, each with a seed of its own.")
@count_option("--rounds", 5_000, "Rounds of a run at most.")
@count_option("--classifiers", 300, "How many there are to choose from.", least=2)
@experiment_output("demo-output")
def demo(seed: int, seeds: int, rounds: int, classifiers: int, output: ExperimentOutput) -> None:
    """Find the best of many digit classifiers from right and wrong alone, and prove it.

    Each round shows a handwritten digit. The learner guesses one of ten labels, and hears only
    whether the guess was right; it never sees the label of a wrong guess. It stops when it has
    proved that no classifier is better than its choice by more than 0.05. Uniformly random guesses
    are judged by the same proof, for comparison.
    """
    from policysieve.cli.live import live_bounds, training_bar
    from policysieve.experiment import make_experiment
    from policysieve.kernels import before_compiling

    output.folder.mkdir(parents=True, exist_ok=True)
    if not output.as_json:
        click.echo(f"Training {classifiers} classifiers on {_TRAINING_ROWS} handwritten digits ...")
    experiment = make_experiment(
        {
            "world": {"dataset": "digits"},
            "policies": {
                "kind": "pool",
                "n": classifiers,
                "training_rows": _TRAINING_ROWS,
                "seed": seed,
            },
            "problem": {"epsilon": 0.05, "delta": 0.05},
            "learner": [{"kind": "Sieve"}, {"kind": "Uniform"}],
            "run": {"rounds": rounds, "seeds": list(range(seed, seed + seeds))},
        },
        track=training_bar(output.as_json),
    )
    if not output.as_json:
        click.echo("Playing: guess a label, hear only right or wrong, until the best is proved ...")

    def say() -> None:
        if not output.as_json:
            click.echo("Compiling for this machine first, which is kept: 10 to 20 seconds ...")

    with before_compiling(say), live_bounds(experiment, output.as_json) as tell:
        result = experiment.run(tell)
    output.write(result, title=f"The best of {classifiers} digit classifiers, from right or wrong")
    if output.as_json:
        return
    _print_result(result)
    output.say_where()


def _print_result(result: "ExperimentResult") -> None:
    sieve, uniform = result.learners
    print_table(
        "Rounds until it was proved",
        ["run", "Sieve", "random guesses", "it chose", "in truth"],
        [
            (
                str(number),
                _rounds(ours.certified_rounds, result.rounds),
                _rounds(theirs.certified_rounds, result.rounds),
                ours.result.recommendation.policy_name,
                _in_truth(ours.result.suboptimality),
            )
            for number, (ours, theirs) in enumerate(
                zip(sieve.seeds, uniform.seeds, strict=True), start=1
            )
        ],
        words=(3, 4),
    )
    for sentence in _story(result):
        print_text(sentence)


def _story(result: "ExperimentResult") -> Iterator[str]:
    """What happened, in a few sentences."""
    sieve, uniform = result.learners
    epsilon, runs = result.problem.epsilon, len(result.seeds)
    if sieve.n_certified == runs:
        yield (
            f"The Sieve proved {'each' if runs > 1 else 'its'} choice: of a hundred digits, no "
            f"other classifier gets more than {100 * epsilon:g} more right. The proof is wrong "
            f"with probability {result.problem.delta:g} at most, however often one looks."
        )
    else:
        yield (
            f"The Sieve proved its choice in {sieve.n_certified} of {runs} runs, and needs more "
            f"rounds for the others: {result.rounds:,} were allowed."
        )
    if sieve.certified_rounds is not None:
        ours, theirs = sieve.certified_rounds, uniform.certified_rounds
        if theirs is None:
            than = f"did not prove it in {result.rounds:,}"
        else:
            than = f"took {theirs:,.0f}, which is {theirs / ours:.1f} times as many"
        median = ", the median of all runs" if runs > 1 else ""
        yield (
            f"It took {ours:,.0f} rounds{median}. Guessing at random {than}: most of its guesses "
            "are wrong, and say little about the good classifiers."
        )
    first = result.leaders(sieve, 1)[0]
    chosen, _, trained = first["description"].partition(", ")
    yield (
        f"In the first run the leader is {sieve.recommendation.policy_name}, a {chosen} classifier "
        f"({trained}). It was right on {first['value']:.1%} of the digits by the estimate, and on "
        f"{first['true_value']:.1%} in truth, which only this demo knows."
    )
    yield (
        "With your own data: a log of what was shown and what it earned goes to `policysieve check "
        "LOG`, and then to `policysieve select LOG --policies pol.py:policies --epsilon 0.05 "
        "--floor 0.1`, where 0.1 stands for the smallest chance that any action had. For live "
        "decisions, `learner.ask` and `learner.tell` in Python. The page Your own data of the "
        "documentation (docs/own-data.md) has both."
    )


def _rounds(proved: int | None, most: int) -> str:
    return f"over {most:,}" if proved is None else f"{proved:,}"


def _in_truth(gap: float | None) -> str:
    return f"{gap:.3f} from the best" if gap else "the best"
