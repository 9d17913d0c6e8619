"""``policysieve run``: an experiment from one file."""

from pathlib import Path
from typing import Any

import click

from policysieve.cli.options import figures_option
from policysieve.cli.output import command_line, print_json, print_table, print_text, write_json

__all__ = ["run"]


@click.command(short_help="Compare learners as a file says.")
@click.argument("config", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--out",
    default="run-output",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.html and result.json.",
)
@figures_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def run(config: Path, out: Path, figures: Path | None, as_json: bool) -> None:
    """Compare learners in the world that CONFIG, a TOML file, describes.

    Every learner plays with every seed, and is judged by what its rounds prove.
    """
    from policysieve.cli.live import run_bar, training_bar
    from policysieve.experiment import load_experiment

    experiment = load_experiment(config, track=training_bar(as_json))
    out.mkdir(parents=True, exist_ok=True)
    with run_bar(experiment, as_json) as tell:
        result = experiment.run(tell)
    data = result.to_dict()
    write_json(data, out / "result.json")
    result.report(out / "report.html", figures=figures, command=command_line())
    if as_json:
        print_json(data)
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
                _policy(learner.recommendation.policy),
            )
            for learner in result.learners
        ],
    )
    first = result.learners[0]
    print_text(
        f"{first.name}, seed {result.seeds[0]}: {first.recommendation.policy_name}. "
        f"{first.recommendation.guarantee}"
    )
    click.echo(f"Report: {out / 'report.html'}   Numbers: {out / 'result.json'}")


def _rounds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _policy(policy: Any) -> str:
    return str(policy) if isinstance(policy, int) else "mixed"


def _distance(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
