"""The candidates, and which of them runs today."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.options.grouping import Decorator, grouped
from policysieve.cli.options.problem import (
    actions_option,
    delta_option,
    epsilon_option,
    minimize_option,
    problem_units,
    sparsity_option,
)
from policysieve.cli.options.values import Names, Number

if TYPE_CHECKING:
    from policysieve.policies import AnyPolicies
    from policysieve.problem import Problem
    from policysieve.scaling import Range

__all__ = [
    "CandidatesOptions",
    "against_option",
    "candidates_options",
    "source_option",
    "traffic_option",
]

_EITHER = "with commas between them or one on each line of a file"


def source_option(help: str) -> Decorator:
    """The option ``--policies``."""
    return click.option("--policies", required=True, metavar="SOURCE", help=help)


def against_option(note: str = ".") -> Decorator:
    """The option ``--against``."""
    return click.option(
        "--against", metavar="POLICY", help=f"Name or number of the policy that runs today{note}"
    )


traffic_option = click.option(
    "--traffic",
    default=1.0,
    show_default=True,
    type=Number(),
    metavar="SHARE",
    help="Share of the rounds that explore, such as 0.1; the others show what --against would.",
)


@dataclass(frozen=True, kw_only=True)
class CandidatesOptions:
    """The candidates and what is asked of them, as they were typed."""

    policies: str
    actions: Any
    names: tuple[str, ...] | None
    fallback: tuple[str, ...] | None
    sparsity: Any
    minimize: bool
    epsilon: float
    delta: float

    @property
    def action_names(self) -> tuple[str, ...] | None:
        """Names of the actions, if these were typed."""
        return self.actions if isinstance(self.actions, tuple) else None

    def load(self, slate_size: int, reward_range: "Range") -> "tuple[AnyPolicies, Problem]":
        """The policies, and the problem of choosing among them by rewards of a range."""
        from policysieve.cli.loading import load_policies
        from policysieve.errors import InvalidArgumentError
        from policysieve.problem import Problem

        listed = self.action_names
        policies = load_policies(
            self.policies,
            None if listed else self.actions,
            slate_size,
            names=self.names,
            actions=listed,
            fallback=self.fallback,
        )
        if self.names is not None and policies.names != self.names:
            raise InvalidArgumentError(
                f"--names must be left out with {self.policies}, which has names of its own or "
                "none; name them there, with names=[...]"
            )
        problem = Problem(
            n_actions=policies.n_actions,
            actions=listed or policies.action_names,
            slate_size=policies.slate_size,
            **problem_units(self.sparsity, reward_range, self.minimize),
            epsilon=self.epsilon,
            delta=self.delta,
        )
        return policies, problem


candidates_options = grouped(
    "candidates",
    CandidatesOptions,
    source_option(
        "The candidates: a .npy table of actions, of shape (n_contexts, n_policies); a .npz with "
        "linear weights, of shape (n_policies, n_actions, n_features); or Python, as file.py:name "
        "or module:name, a class of policies or a function that returns one."
    ),
    epsilon_option,
    delta_option(),
    actions_option("Number of actions, for a .npy table; or their names"),
    click.option("--names", type=Names(), help=f"Names of the policies of a file, {_EITHER}."),
    click.option(
        "--fallback",
        type=Names(),
        help="For a .npy table: what takes the place of actions that are not available, the first "
        f"choice first, by number or name, {_EITHER}.",
    ),
    sparsity_option,
    minimize_option,
)
