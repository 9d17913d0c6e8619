"""What a user says of rounds, checked before a log holds it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.checks import as_actions, as_contexts, as_propensities, as_rewards
from policysieve.errors import InvalidArgumentError
from policysieve.log.beside import Beside, as_outcomes, as_units
from policysieve.log.distributions import Distributions
from policysieve.log.named import Names
from policysieve.scaling import Range

__all__ = ["checked_beside", "checked_columns", "joined_distributions"]


def checked_columns(
    contexts: Any, actions: Any, propensities: Any, rewards: Any, reward_range: Range
) -> tuple[Any, ...]:
    """Contexts, actions, propensities and rewards of rounds, or raise."""
    x = as_contexts(contexts)
    a = as_actions(actions, len(x))
    return (
        x,
        a,
        as_propensities(propensities, a.shape),
        as_rewards(rewards, len(a), a.shape[1], None, reward_range),
    )


def checked_beside(
    actions: npt.NDArray[np.int32], names: Names, available: Any, units: Any, outcomes: Any
) -> Beside:
    """What a user says of rounds beside their four columns, or raise."""
    n, mask = len(actions), None
    if available is not None:
        width = None if names is None else len(names)
        mask = Available.of(available, n, width, names=names, slate_size=actions.shape[1])
        mask = mask.wide(max(mask.n_actions, int(actions.max(initial=-1)) + 1))
    return Beside(
        mask,
        None if units is None else as_units(units, n),
        None if outcomes is None else as_outcomes(outcomes, actions.shape),
    )


def joined_distributions(
    first: Distributions | None, n_first: int, second: Distributions | None, n_second: int
) -> Distributions | None:
    """Distributions of the rounds of two logs; one without rounds may have them or not."""
    if not n_second:
        return first
    if not n_first:
        return second
    if first is None or second is None:
        has, n_has, n_has_not = "new", n_second, n_first
        if second is None:
            has, n_has, n_has_not = "earlier", n_first, n_second
        raise InvalidArgumentError(
            f"distributions must be known in all rounds of a log or in none, the {n_has:,} {has} "
            f"rounds have them and the {n_has_not:,} others have not; give them to all, or leave "
            "them out (log.without_distributions())"
        )
    return first.plus(second)
