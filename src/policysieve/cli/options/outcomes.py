"""Options about outcomes beside the reward."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from policysieve.cli.options.grouping import grouped
from policysieve.cli.options.values import Number

if TYPE_CHECKING:
    from policysieve.problem import Problem

__all__ = ["OutcomeOptions", "outcome_options"]


@dataclass(frozen=True, kw_only=True)
class OutcomeOptions:
    """Other outcomes of rounds and guardrails on them, as they were typed."""

    outcome: tuple[tuple[str, float, float], ...]
    minimize_outcome: tuple[str, ...]
    guardrail: tuple[tuple[str, float], ...]

    def declared(self, problem: "Problem") -> "Problem":
        """The problem with what was typed."""
        from policysieve.errors import InvalidArgumentError
        from policysieve.outcome import Outcome

        outcomes = {
            name: Outcome(low, high, "minimize" if name in self.minimize_outcome else "maximize")
            for name, low, high in self.outcome
        }
        unknown = [name for name in self.minimize_outcome if name not in outcomes]
        if unknown:
            raise InvalidArgumentError(
                f"--minimize-outcome must name an --outcome, got {unknown[0]!r}; declare it, such "
                f"as --outcome {unknown[0]} 0 1"
            )
        return replace(problem, outcomes=outcomes or None, guardrails=dict(self.guardrail) or None)


outcome_options = grouped(
    "outcomes",
    OutcomeOptions,
    click.option(
        "--outcome",
        multiple=True,
        type=(str, Number(), Number()),
        metavar="NAME LOW HIGH",
        help="Another outcome of the log, and its range; may be repeated.",
    ),
    click.option(
        "--minimize-outcome",
        multiple=True,
        metavar="NAME",
        help="An outcome of which less is better; may be repeated.",
    ),
    click.option(
        "--guardrail",
        multiple=True,
        type=(str, Number()),
        metavar="NAME AMOUNT",
        help="By how much an outcome may be worse than with --against; may be repeated.",
    ),
)
