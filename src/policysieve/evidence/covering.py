"""Whether the propensities of a log can be right, and whether it covers all actions."""

from collections.abc import Callable, Sequence
from functools import partial
from math import log as ln
from math import log1p

import numpy as np

from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.events import check_log_fits
from policysieve.evidence.record import check_floor
from policysieve.evidence.weights import Mass
from policysieve.log import Log
from policysieve.policies import AnyPolicies

__all__ = ["Coverage"]

_SURE = 1e-4  # probability of refusing a log whose propensities are right, by their mean weight
_ALMOST_ONE = 1 - 2.0**-53
_ROUNDING = 1.01  # propensities may be rounded, so their sum may be that much above what it is
_ADVICE = "run policysieve check on the log to see more"


class Coverage:
    """Whether propensities can be right and, if it has to, the log covers all actions.

    The cheap part of `check_log`, and what a floor adds to it: K actions of at least the floor have
    propensities that sum to m, and one of them stays unseen for n rounds with probability at most
    K (1 - floor)^n (docs/maths.md, "Health of a log"). Without one, the smallest propensity that
    was met takes its place. Where it is said what was available, that is so of what was.

    Parameters
    ----------
    policies
    floor : float, optional
    """

    def __init__(self, policies: AnyPolicies, floor: float | None) -> None:
        self._policies, self._floor = policies, floor
        self._mass, self._seen = Mass(policies.slate_size), _Seen(policies.n_actions)

    @property
    def of(self) -> "Callable[[Log], Looked]":
        """Says what has to be known of a piece of the log, in any process."""
        return partial(_looked_at, self._policies, self._floor)

    def take(self, looked: "Looked") -> None:
        """Let it know that of the next piece."""
        mass, seen = looked
        self._mass.merge(mass)
        self._seen.merge(seen)

    def check(self, names: Sequence[str] | None, delta: float, *, covers: bool) -> None:
        """Raise unless all is well with the rounds so far."""
        n_actions, mass = self._policies.n_actions, self._mass
        if mass.smallest == 1.0 and self._policies.slate_size < n_actions:
            raise InvalidArgumentError(
                "propensities are all 1: the log did not explore, so nothing can be concluded "
                "about policies that disagree with it; log some rounds with randomised actions"
            )
        smallest = mass.smallest if self._floor is None else min(self._floor, mass.smallest)
        if covers:
            _check_covered(mass, self._seen, smallest, delta, names)
        _check_weights(mass, n_actions, smallest, covers)


def _looked_at(policies: AnyPolicies, floor: float | None, piece: Log) -> "Looked":
    """Sums over a piece of a log, or raise if it does not fit."""
    mass, seen = Mass(policies.slate_size), _Seen(policies.n_actions)
    check_log_fits(piece, policies)
    if floor is not None:
        check_floor(piece, floor)
    allowed = policies.check_available(piece.available, len(piece))
    mass.add(piece.propensities, allowed)
    seen.add(piece, allowed)
    return mass, seen


class _Seen:
    """How often each action was shown, and could be."""

    def __init__(self, n_actions: int) -> None:
        self.shown, self.available = np.zeros((2, n_actions), dtype=np.int64)
        self.most_at_once = 0

    def add(self, log: Log, available: Available | None) -> None:
        """Count rounds; everything was available in them unless that is said."""
        n_actions = len(self.shown)
        self.shown += np.bincount(log.actions.reshape(-1), minlength=n_actions)
        self.available += len(log) if available is None else available.dense().sum(axis=0)
        most = n_actions if available is None else int(available.counts.max(initial=0))
        self.most_at_once = max(self.most_at_once, most)

    def merge(self, other: "_Seen") -> None:
        """Count those of another part of the log."""
        self.shown += other.shown
        self.available += other.available
        self.most_at_once = max(self.most_at_once, other.most_at_once)


Looked = tuple[Mass, _Seen]


def _check_covered(
    mass: Mass,
    seen: _Seen,
    smallest: float,
    delta: float,
    names: Sequence[str] | None,
) -> None:
    """Raise if actions were shown too seldom for a smallest propensity."""
    most, slate_size = seen.most_at_once, mass.slate_size
    log_chance = log1p(-min(smallest, _ALMOST_ONE)) * seen.available
    never = np.flatnonzero((seen.shown == 0) & (log_chance <= ln(delta / len(seen.shown))))
    if len(never):
        first = never[0] if names is None else repr(names[never[0]])
        raise InvalidArgumentError(
            f"the log does not cover all actions: action {first} was never shown in "
            f"{seen.available[never[0]]:,} rounds, which cannot be if its propensity is at least "
            f"{smallest:.3g}; leave out policies that show it and number the others' actions "
            "without it, or give the smallest propensity that it could have had as floor; "
            f"{_ADVICE}"
        )
    if most * smallest > _ROUNDING * slate_size:
        raise InvalidArgumentError(
            f"the log does not cover all actions: {most} actions with propensities of at "
            f"least {mass.smallest:.3g}, the smallest in the log, would sum to more than "
            f"{slate_size}; if the log is too short to have met the smallest propensity possible, "
            f"give that as floor; {_ADVICE}"
        )


def _check_weights(mass: Mass, n_actions: int, smallest: float, covers: bool) -> None:
    """Raise if importance weights are too large on average or, if it has to cover, too small."""
    weight = mass.mean(n_actions, _SURE, floor=smallest)
    found = f"{mass.total / mass.rounds:.3g}"
    if weight.lower[0] > 1:
        raise InvalidArgumentError(
            "propensities are too small to be probabilities of being shown: over the log, the sum "
            f"of 1/propensity over the shown items should be at most {n_actions} on average, got "
            f"{found}; for slates, give the probability that each item is in the slate, not that "
            f"of the whole slate; {_ADVICE}"
        )
    if covers and weight.upper[0] < 1:
        raise InvalidArgumentError(
            "the log does not cover all actions: over the log, the sum of 1/propensity over the "
            f"shown items should be {n_actions} on average, got {found}; policies that show what "
            f"the log never or hardly ever shows cannot be compared with others; {_ADVICE}"
        )
