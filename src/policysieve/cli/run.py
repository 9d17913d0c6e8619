"""``policysieve run``: an experiment from one file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from policysieve.cli.commands import command
from policysieve.cli.options import (
    ClusterOptions,
    ExperimentOutput,
    cluster_options,
    experiment_output,
)
from policysieve.cli.output import print_table, print_text

if TYPE_CHECKING:
    from policysieve.exploration import Recommendation

__all__ = ["run"]


@command(
    short_help="Compare learners in a simulated world that a TOML file describes.",
    examples=(
        "policysieve run examples/one_good.toml",
        "policysieve run mine.toml --folder results --figures results/figures",
    ),
    formerly={"--out": "--folder"},
)
@click.argument("config", type=click.Path(dir_okay=False, path_type=Path))
@cluster_options
@experiment_output("run-output")
def run(config: Path, cluster: ClusterOptions, output: ExperimentOutput) -> None:
    """Compare learners in the world that CONFIG, a TOML file, describes.

    Every learner plays with every seed, and is judged by what its rounds prove.
    """
    from policysieve.cli.live import run_bar, training_bar
    from policysieve.experiment import load_experiment

    experiment = load_experiment(config, track=training_bar(output.as_json))
    output.folder.mkdir(parents=True, exist_ok=True)
    with cluster.connected() as engine, run_bar(experiment, output.as_json) as tell:
        result = experiment.run(tell, engine)
    output.write(result)
    if output.as_json:
        return
    seeds = len(result.seeds)
    print_table(
        f"{experiment.policies.n_policies:,} policies, {experiment.problem.n_actions:,} actions, "
        f"at most {result.rounds:,} rounds, {seeds} seed{'s' if seeds > 1 else ''}",
        ["learner", "proved after", "by seeds", "bound", "distance", "worst", "policy"],
        [
            (
                learner.name,
                _rounds(learner.certified_rounds),
                f"{learner.n_certified} of {seeds}",
                f"{learner.median_bound:.3f}",
                _distance(learner.median_suboptimality),
                _distance(learner.worst_suboptimality),
                _policy(learner.recommendation),
            )
            for learner in result.learners
        ],
        words=(0,) if experiment.policies.names is None else (0, 6),
    )
    first = result.learners[0]
    print_text(
        f"{first.name}, seed {result.seeds[0]}: {first.recommendation.policy_name}. "
        f"{first.recommendation.guarantee}"
    )
    cost = first.seeds[0].result.cost
    if cost is not None and cost.today is not None:
        print_text(cost.guarantee)
    output.say_where()


def _rounds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _policy(best: "Recommendation") -> str:
    if best.name is not None:
        return best.name
    return str(best.policy) if isinstance(best.policy, int) else "mixed"


def _distance(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
