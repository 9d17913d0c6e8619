"""``policysieve design``: from a log to the exploration of the next rounds."""

from pathlib import Path
from typing import Any

import click

from policysieve.cli.options import as_floor, candidates_options
from policysieve.cli.output import print_json, print_text

__all__ = ["design"]


@click.command(short_help="Design the next exploration from a log.")
@click.argument("log", type=click.Path(dir_okay=False))
@candidates_options
@click.option(
    "--mixing", type=float, help="Share of uniform exploration; by default what plan advises."
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the design here, for decide.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def design(
    log: str,
    policies: str,
    epsilon: float,
    delta: float,
    actions: int | None,
    sparsity: Any,
    mixing: float | None,
    out: Path,
    as_json: bool,
) -> None:
    """Design an exploration of low variance from LOG, a Parquet file.

    The design says which policies to follow, and how often, so that every policy of the class is
    estimated well. The log may be explored uniformly or not.
    """
    from policysieve.cli.loading import in_words, load_problem
    from policysieve.exploration.designs.designing import design as make_design
    from policysieve.exploration.designs.designing import rounds_needed
    from policysieve.log import Log

    rounds = Log.load(log)
    candidates, problem = load_problem(
        policies, actions, rounds.slate_size, sparsity=sparsity, epsilon=epsilon, delta=delta
    )
    made = make_design(rounds, candidates, problem, mixing=mixing)
    made.save(out)
    needed = rounds_needed(made, candidates)
    if as_json:
        print_json(
            {
                "rounds": len(rounds),
                "n_policies": candidates.n_policies,
                "support": len(made.support),
                "mixing": made.mixing,
                "smallest_propensity": made.floor,
                "variance_bound": made.variance_bound,
                "rounds_needed": needed,
            }
        )
        return
    uniform = "uniform slates" if rounds.slate_size > 1 else "uniformly drawn actions"
    print_text(
        f"The design follows {len(made.support):,} of {in_words(candidates)}, and shows {uniform} "
        f"in {made.mixing:.0%} of the rounds; no propensity is below {as_floor(made.floor)}."
    )
    print_text(
        f"It estimates every policy with a variance term of at most {made.variance_bound:.3g}: "
        f"{needed:,} rounds of it find a policy within {epsilon:g} of the best, with probability "
        f"at least {1 - delta:g}."
    )
    print_text(f"Select from what it collects with --floor {as_floor(made.floor)}.")
    click.echo(f"Design: {out}")
