"""Whether the world has changed, tested at any time by betting."""

from collections.abc import Sequence
from math import inf, isfinite, log
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence.change import Change
from policysieve.evidence.change_sums import ChangeSums, Series, Watched

__all__ = ["Bets", "find_change"]

Array = npt.NDArray[np.float64]

_STAKES = 0.5 ** np.arange(1, 17)
_COSTS = -np.log1p(-_STAKES) - _STAKES
_EARLY = 100.0  # boundaries that have about the same share of the capital
_DRAWN = 30  # stretches of equal length, at most
_STEPS = 60  # of golden section, each of which leaves 0.618 of what was there
_GOLDEN = (5**0.5 - 1) / 2
_TINY = 1e-300


class Bets:
    """Bets against one mean throughout, of every watched quantity, before each split and after it.

    docs/maths.md, "A changed world".

    Parameters
    ----------
    series : sequence of Series
    shares : sequence of float
        Of the capital, one for each of them.
    """

    def __init__(self, series: Sequence[Series], shares: Sequence[float]) -> None:
        rounds, earned, earned_squares, missed, missed_squares = (
            np.stack([getattr(one, name) for one in series])
            for name in ("rounds", "earned", "earned_squares", "missed", "missed_squares")
        )
        spread = _centred(rounds, earned, earned_squares, 0.0)
        other = _centred(rounds, missed, missed_squares, 1.0)
        self._sums = np.stack([rounds, earned, spread, missed, other]).cumsum(axis=2)
        self._most = np.stack([one.most for one in series])
        self._log_prior = _log_prior(rounds.shape[1]) - log(2)  # for either direction
        self._log_shares = np.log(shares)

    def at_most(self, last: int) -> Array:
        """Bounds on all of `evidence`, quickly: at one mean, with the best stake for a mixture."""
        total = self._sums[:, :, last - 1 : last]
        earned, missed = total[1], total[3]
        mean = earned / np.maximum(earned + missed, _TINY)
        before = self._sums[:, :, : last - 1]
        up, down = self._best(before, mean, last)
        later_up, later_down = self._best(total - before, mean, last)
        both = np.stack([down + later_up, up + later_down]) + self._log_prior[: last - 1]
        top = both.max(axis=(0, 2))
        return np.asarray(
            top + np.log(np.exp(both - top[:, None]).sum(axis=(0, 2))) + self._log_shares
        )

    def evidence(self, which: int, last: int, enough: float = -inf) -> tuple[float, int]:
        """Ln of an e-process after `last` stretches, and the split that has most of it.

        The least wealth over all means that may have been the same throughout. The wealth is a sum
        of exponentials of linear functions of the mean, so it is convex. It is not followed any
        further once it is below what would be `enough`.
        """
        sums, most = self._sums[:, which, :last], float(self._most[which, last - 1])
        before, after = sums[:, :-1], sums[:, -1:] - sums[:, :-1]
        prior = self._log_prior[: last - 1] + self._log_shares[which]

        def wealth(mean: float) -> Array:
            rise = _below(before, mean, most) + _above(after, mean)
            fall = _above(before, mean) + _below(after, mean, most)
            return np.asarray(np.stack([rise, fall]) + prior)

        low, high = 0.0, 1.0
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = _log_sum(wealth(left)), _log_sum(wealth(right))
        for _ in range(_STEPS):
            if min(at_left, at_right) < enough:
                break
            if at_left <= at_right:
                high, right, at_right = right, left, at_left
                left = high - _GOLDEN * (high - low)
                at_left = _log_sum(wealth(left))
            else:
                low, left, at_left = left, right, at_right
                right = low + _GOLDEN * (high - low)
                at_right = _log_sum(wealth(right))
        found = wealth((low + high) / 2)
        return min(at_left, at_right, _log_sum(found)), int(found.max(axis=0).argmax())

    def _best(self, sums: Array, mean: Array, last: int) -> tuple[Array, Array]:
        """Bounds on the bets that means are larger, and that they are smaller."""
        n, earned, spread, missed, other = sums
        up = _best(earned - n * mean, spread)
        down = _best(missed - n * (1 - mean), other)
        most = self._most[:, last - 1, None]
        unit = np.where(np.isfinite(most), np.maximum(most, 1.0), np.inf)
        return up, np.asarray(np.maximum(down, _best(n * mean - earned, spread, unit)))


def _above(sums: Array, mean: float) -> Array:
    """Bets that the mean of what was earned is larger."""
    n, earned, spread = sums[:3]
    return _mixture(earned - n * mean, spread, 1.0)


def _below(sums: Array, mean: float, most: float) -> Array:
    """Bets that it is smaller, by what was missed, and by what was not earned in a fixed design.

    Half of the capital is on either, whether or not the design is fixed.
    """
    n, earned, spread, missed, other = sums
    shown = _mixture(missed - n * (1 - mean), other, 1.0) - log(2)
    if not isfinite(most):
        return shown
    known = _mixture(n * mean - earned, spread, max(most, 1.0)) - log(2)
    return np.asarray(np.logaddexp(shown, known))


def find_change(
    sums: ChangeSums,
    n_actions: int,
    delta: float,
    names: Sequence[str] | None = None,
    *,
    looked: int = 0,
) -> Change | None:
    """The change that the rounds so far prove, or None; of several the first.

    A world that does not change is ever said to have changed with probability at most delta,
    however often one looks, for one number of actions. It looks at boundaries that were fixed
    beforehand and at the end: what only an end between two of them proves may be gone later. The
    first `looked` boundaries were looked at before, and nothing had changed.
    """
    watched = sums.watched(n_actions)
    bets = Bets([series for _, series in watched], [what.share for what, _ in watched])
    enough, last = log(1 / delta), len(sums.boundaries)
    rates, prior = sums.rates(n_actions), _log_prior(last)
    looks = {kind: some.looks(last, enough - log(share)) for kind, (share, some) in rates.items()}
    for look in range(max(2, looked + 1), last + 1):
        found, best = -np.inf, None
        strongest = _strongest(bets, look, enough)
        if strongest is not None:
            found, split, which = strongest
            best = (*watched[which], split)
        for kind, (share, some) in rates.items():
            if look not in looks[kind]:
                continue
            one = some.evidence(look, prior)
            if one.log_evidence + log(share) >= max(found, enough):
                found = one.log_evidence + log(share)
                best = (*sums.rate(kind, one.which, some), one.split)
        if best is not None:
            return _change(sums, *best, look, np.exp(-found), n_actions, names)
    return None


def _log_prior(boundaries: int) -> Array:
    """Ln of the capital of each split."""
    place = _EARLY + np.arange(boundaries)
    return np.asarray(log(_EARLY) - np.log(place * (place + 1)))


def _strongest(bets: Bets, look: int, enough: float) -> tuple[float, int, int] | None:
    """The largest evidence of the first `look` stretches, if it is enough: its split, and of what.

    Evidence takes time, so what cannot have more than was found is left out.
    """
    bounds, best = bets.at_most(look), None
    for which in np.argsort(-bounds, kind="stable").tolist():
        if bounds[which] < enough:
            break
        evidence, split = bets.evidence(which, look, enough)
        if evidence >= enough:
            enough, best = evidence, (evidence, split, which)
    return best


def _change(
    sums: ChangeSums,
    what: Watched,
    series: Series,
    split: int,
    look: int,
    p_value: float,
    n_actions: int,
    names: Sequence[str] | None,
) -> Change:
    """The change of a watched quantity at one boundary, proved after the first `look` stretches."""
    ends = sums.boundaries
    parts = [slice(0, split + 1), slice(split + 1, look)]
    before, after = (_mean(series.earned[part].sum(), series.missed[part].sum()) for part in parts)
    places = (ends * _DRAWN) // ends[-1]
    drawn = np.flatnonzero(np.diff(places, append=_DRAWN + 1))
    means = [np.diff(part.cumsum()[drawn], prepend=0.0) for part in (series.earned, series.missed)]
    return Change(
        split=int(ends[split]),
        alarm=int(ends[look - 1]),
        p_value=float(p_value),
        watched=what,
        before=before,
        after=after,
        split_time=sums.time_after(split),
        alarm_time=sums.time_after(look - 1) if look < len(ends) else float("nan"),
        n_actions=n_actions,
        names=names,
        column="" if what.column is None else sums.name_of_column(what.column),
        ends=ends[drawn],
        means=np.array([_mean(*pair) for pair in zip(*means, strict=True)]),
    )


def _mean(earned: Any, missed: Any) -> float:
    return float(earned / (earned + missed)) if earned + missed > 0 else float("nan")


def _centred(rounds: Array, total: Array, square: Array, first: float) -> Array:
    """Sums of (Y - c)^2 over stretches, c in [0, 1] the mean of Y over those before."""
    earlier = rounds.cumsum(axis=1) - rounds
    mean = (total.cumsum(axis=1) - total) / np.maximum(earlier, 1.0)
    centre = np.where(earlier > 0, np.clip(mean, 0.0, 1.0), first)
    spread: Array = np.maximum(square - 2 * centre * total + rounds * centre**2, 0.0)
    return spread


def _mixture(gain: Array, spread: Array, unit: float) -> Array:
    """Ln of the mean over stakes l of exp(l gain/unit - psi(l) spread/unit^2)."""
    log_wealth = np.multiply.outer(gain / unit, _STAKES)
    log_wealth -= np.multiply.outer(spread / unit**2, _COSTS)
    top = log_wealth.max(axis=-1)
    return np.asarray(top + np.log(np.exp(log_wealth - top[..., None]).mean(axis=-1)))


def _best(gain: Array, spread: Array, unit: Array | float = 1.0) -> Array:
    """An upper bound on `_mixture`: psi(l) is at least l^2/2, and no stake is above 1/2."""
    gain = np.maximum(gain, 0.0)
    bound: Array = np.minimum(gain**2 / np.maximum(2 * spread, _TINY), gain / (2 * unit))
    return bound


def _log_sum(log_wealth: Array) -> float:
    top = log_wealth.max()
    return float(top + np.log(np.exp(log_wealth - top).sum()))
