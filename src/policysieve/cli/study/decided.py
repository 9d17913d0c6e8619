"""Decisions of a study as rounds whose rewards are missing, and as JSON."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policysieve.exploration.decisions import Decisions
    from policysieve.log import Rounds
    from policysieve.problem import Problem

__all__ = ["as_dicts", "as_rounds"]


def as_rounds(decisions: "Decisions", problem: "Problem") -> "Rounds":
    """Rounds without rewards, for a log to fill in."""
    import numpy as np

    from policysieve.log import Rounds
    from policysieve.scaling import usual_range

    names = decisions.all_actions
    return Rounds(
        decisions.contexts,
        decisions.actions,
        decisions.propensities,
        np.full(decisions.actions.shape, np.nan),
        decisions.ids,
        decisions.asked,
        action_names=None if names is None else tuple(names),
        beside=decisions.beside,
        reward_range=usual_range(problem.reward_range),
    )


def as_dicts(rounds: "Rounds") -> list[dict[str, Any]]:
    """What was decided, for JSON."""
    assert rounds.ids is not None
    assert rounds.times is not None
    return [
        {"id": id, "actions": actions, "propensities": propensities, "asked": asked}
        for id, actions, propensities, asked in zip(
            rounds.ids.tolist(),
            rounds.plain_actions(),
            rounds.propensities.tolist(),
            rounds.times.tolist(),
            strict=True,
        )
    ]
