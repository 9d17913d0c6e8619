"""In which range the rewards of logs lie, and the same rounds with rewards in [0, 1]."""

from typing import TYPE_CHECKING

from policysieve.errors import InvalidArgumentError
from policysieve.scaling import Range, RewardScale, range_in_words

if TYPE_CHECKING:
    from policysieve.log.log import Log

__all__ = ["check_fits_range", "check_same_range", "in_unit"]


def in_unit(log: "Log", scale: RewardScale) -> "Log":
    """The same rounds as they count inside: rewards in [0, 1], of which more is better."""
    if scale.is_unit:
        return log
    return log.trusted(
        log.contexts,
        log.actions,
        log.propensities,
        scale.inside(log.rewards),
        distributions=log.distributions,
        action_names=log.action_names,
        beside=log.beside,
    )


def check_same_range(mine: Range, theirs: Range) -> None:
    """Raise unless rewards of two logs that are joined have one range."""
    if mine != theirs:
        raise InvalidArgumentError(
            f"logs that are joined must have one range of rewards, got {range_in_words(mine)} and "
            f"{range_in_words(theirs)}; if they are in the same units, give both the same, with "
            "log.with_reward_range((low, high))"
        )


def check_fits_range(mine: Range, wanted: Range) -> None:
    """Raise unless rewards of a log have the range that was declared for them, or by a problem."""
    if mine == wanted:
        return
    advice = (
        f"declare reward_range=({mine[0]:g}, {mine[1]:g}), or --reward-range {mine[0]:g} "
        f"{mine[1]:g}, for the problem"
        if wanted is None and mine is not None
        else f"if both are in the same units, take log.with_reward_range({wanted or (0, 1)})"
    )
    raise InvalidArgumentError(
        f"rewards of the log lie in {range_in_words(mine)}, but the declared range is "
        f"{range_in_words(wanted)}; {advice}"
    )
