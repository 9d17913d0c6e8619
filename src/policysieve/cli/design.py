"""``policysieve design``: from a log to the exploration of the next rounds."""

from dataclasses import replace
from pathlib import Path

import click

from policysieve.cli.commands import command
from policysieve.cli.options import (
    CandidatesOptions,
    LogArgument,
    against_option,
    as_floor,
    candidates_options,
    json_option,
    log_argument,
    out_option,
    traffic_option,
)
from policysieve.cli.options.values import Number
from policysieve.cli.output import print_json, print_text

__all__ = ["design"]


@command(
    short_help="The next exploration from a log, as a file for decide.",
    examples=(
        "policysieve design log.parquet --policies table.npy --actions 5 --epsilon 0.1 "
        "--out design.npz",
        "policysieve design log.parquet --policies pol.py:policies --epsilon 0.1 --traffic 0.1 "
        "--against 0 --out tenth.npz",
    ),
)
@candidates_options
@click.option(
    "--mixing", type=Number(), help="Share of uniform exploration; by default what plan advises."
)
@traffic_option
@against_option()
@out_option("the design here, for decide", required=True)
@log_argument(parted=True)
@json_option()
def design(
    log: LogArgument,
    candidates: CandidatesOptions,
    mixing: float | None,
    traffic: float,
    against: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Design an exploration of low variance from LOG, one or several files of any format.

    The design says which policies to follow, and how often, so that every policy of the class is
    estimated well. The log may be explored uniformly or not. With --traffic it says so for a share
    of the rounds, and the others show what the policy that runs today would.
    """
    from policysieve.cli.loading import in_words, policy_given
    from policysieve.exploration.designs.designing import design as make_design
    from policysieve.exploration.designs.designing import rounds_needed

    rounds = log.open(candidates.action_names)
    policies, problem = candidates.load(rounds.slate_size, rounds.reward_range)
    today = None if against is None else policy_given(against, policies)
    problem = replace(problem, against=today, traffic=traffic)
    made = make_design(rounds, policies, problem, mixing=mixing)
    made.save(out)
    needed = rounds_needed(made, policies)
    followed = getattr(made, "support", None)  # of a class that can be listed
    if as_json:
        print_json(
            {
                "rounds": len(rounds),
                "n_policies": getattr(policies, "n_policies", None),
                "support": None if followed is None else len(followed),
                "mixing": made.mixing,
                "traffic": problem.traffic,
                "smallest_propensity": made.floor,
                "variance_bound": made.variance_bound,
                "rounds_needed": needed,
            }
        )
        return
    uniform = "uniform slates" if rounds.slate_size > 1 else "uniformly drawn actions"
    print_text(
        f"The design follows {'' if followed is None else f'{len(followed):,} of '}"
        f"{in_words(policies).rstrip(',')}, and shows {uniform} in "
        f"{made.mixing:.0%} of the rounds; no propensity is below {as_floor(made.floor)}."
    )
    if problem.traffic < 1:
        print_text(
            f"So it is in {problem.traffic:.4g} of the rounds; the others show what {against} "
            "would, which runs today."
        )
    print_text(
        f"It estimates every policy with a variance term of at most {made.variance_bound:.3g}: "
        f"{needed:,} rounds of it find a policy within {problem.epsilon:g} of the best, with "
        f"probability at least {1 - problem.delta:g}."
    )
    print_text(f"Select from what it collects with --floor {as_floor(made.floor)}.")
    click.echo(f"Design: {out}")
