"""``policysieve demo``: choose among hundreds of classifiers from right/wrong feedback."""

from typing import TYPE_CHECKING

import click

from policysieve.cli.options import ExperimentOutput, count_option, experiment_output
from policysieve.cli.output import print_table, print_text

if TYPE_CHECKING:
    from policysieve.experiment import ExperimentResult

__all__ = ["demo"]

_TRAINING_ROWS = 600


@click.command(short_help="Choose among digit classifiers.")
@count_option("--seed", 0, "Random seed.", least=0)
@count_option("--rounds", 20_000, "Rounds to play at most.")
@count_option("--classifiers", 300, "Size of the pool.", least=2)
@experiment_output("demo-output")
def demo(seed: int, rounds: int, classifiers: int, output: ExperimentOutput) -> None:
    """Choose among hundreds of digit classifiers from right/wrong feedback alone.

    Each round shows a handwritten digit; the learner guesses one of ten labels and hears only
    whether the guess was right. It never sees the label of a wrong guess. It stops when it has
    proved that no classifier is better than its choice by more than 0.05. Uniformly random guesses
    are judged by the same proof, for comparison.
    """
    from policysieve.cli.live import live_bounds, training_bar
    from policysieve.experiment import make_experiment

    output.out.mkdir(parents=True, exist_ok=True)
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
            "run": {"rounds": rounds, "seeds": [seed]},
        },
        track=training_bar(output.as_json),
    )
    if not output.as_json:
        click.echo("Playing: guess a label, hear only right or wrong, until it is proved ...")
    with live_bounds(experiment, output.as_json) as tell:
        result = experiment.run(tell)
    output.write(result, title=f"The best of {classifiers} digit classifiers, from right or wrong")
    if output.as_json:
        return
    _print_result(result)
    output.say_where()


def _print_result(result: "ExperimentResult") -> None:
    sieve, uniform = (learner.seeds[0] for learner in result.learners)
    rounds, best, proof = sieve.result.rounds, sieve.result.recommendation, sieve.proofs[-1]
    n_policies, problem = len(sieve.result.intervals.values), result.problem
    print_table(
        f"Leaders of {n_policies} classifiers after {rounds:,} rounds",
        ["classifier", "estimate", "interval", "truth"],
        [
            (
                f"{leader['policy']}: {leader['description']}",
                f"{leader['value']:.3f}",
                f"[{leader['lower']:.3f}, {leader['upper']:.3f}]",
                f"{leader['true_value']:.3f}",
            )
            for leader in result.leaders(result.learners[0])
        ],
    )
    asked = "" if proof.certified else f" ({problem.epsilon:g} was asked for)"
    gap = sieve.result.suboptimality
    truth = f"the best is {gap:.3f} better" if gap else "it is the best"
    print_text(
        f"Classifier {best.policy} is proved within {proof.suboptimality_bound:.3f} of the best "
        f"one{asked}, with probability {1 - problem.delta:g}; in truth {truth}. {proof.survivors} "
        f"of {n_policies} classifiers are still in the race. (The proof compares classifiers "
        "directly and is tighter than the intervals.)"
    )
    end, needed = uniform.proofs[-1], uniform.certified_rounds
    bound = f"{end.suboptimality_bound:.3f}" if needed is None else f"{problem.epsilon:g}"
    print_text(f"Uniformly random guesses prove {bound} after {needed or end.rounds:,} rounds.")
