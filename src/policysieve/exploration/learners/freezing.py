"""What learners know as plain arrays and back, so that it can be kept without pickle.

A learner that is not here is folded again from the beginning, which gives the same bits.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.evidence.estimates import Estimates
from policysieve.evidence.freezing import evidence_arrays, past_arrays, thawed
from policysieve.exploration.explorer import Explorer
from policysieve.exploration.learners.sifting import SiftingExplorer
from policysieve.exploration.learners.uniform import Uniform
from policysieve.exploration.spending import Spending, Sums

__all__ = ["Frozen", "frozen", "restore"]

Arrays = dict[str, npt.NDArray[Any]]


class Frozen(NamedTuple):
    """What a learner knows.

    Attributes
    ----------
    state : dict
        Arrays that are kept anew each time.
    past : dict or None
        Rounds of the past that come behind those kept before; None if the learner keeps none.
    size : int
        How many rounds of the past there are in all.
    whole : bool
        Whether these are all of them, so that those kept before are to be dropped.
    """

    state: Arrays
    past: Arrays | None
    size: int
    whole: bool


def frozen(learner: Explorer, since: int = 0) -> Frozen | None:
    """What a learner knows, with the past from one of its rounds on; None if it cannot be kept.

    Evidence that has begun to forget keeps a past that does not only grow, nor does that of a table
    where not everything was available: then all of it is there.
    """
    if not _is_plain(learner):
        return None
    spending = learner._spending
    sums = (spending.earned, spending.lost_least, spending.lost_most, spending.worth)
    counts = (learner._rounds, learner._mass[0])
    state: Arrays = {
        "rounds_learnt": np.array([*counts, spending.rounds, spending.explored, spending.settled]),
        "sums": np.array([learner._mass[1:], *sums]),
    }
    if isinstance(learner, SiftingExplorer):
        evidence, ended = learner.evidence, learner._ended
        if ended is not None and ended.rounds != evidence.at_look.rounds:
            return None
        grows = evidence._past._looked_up == learner.policies.looked_up
        start = since if evidence._incumbent is None and grows else 0
        state |= evidence_arrays(evidence)
        state["ended"] = np.array(ended is not None)
        return Frozen(state, past_arrays(evidence, start), len(evidence._past), start == 0)
    if isinstance(learner, Uniform) and type(learner._estimates) is Estimates:
        found = learner._estimates
        state |= {"totals": found.totals, "squares": found.squares}
        state["counted"] = np.array(found.rounds)
        return Frozen(state, None, 0, True)
    return None


def _is_plain(learner: Explorer) -> bool:
    """Whether it has neither outcomes nor units, nobody joined, and it began and explores once."""
    evidence = getattr(learner, "evidence", None)
    return (
        learner._late is None
        and learner._period == learner._begun == 0
        and not learner._stopped
        and getattr(learner, "_waiting", ()) == ()
        and (evidence is None or (evidence._guards is None and evidence._met is None))
        and learner.policies.holders is None
    )


def restore(learner: Explorer, state: Arrays, pasts: list[Arrays]) -> None:
    """Let a new learner know what another one knew.

    Parameters
    ----------
    learner : Explorer
        With the same policies, problem and settings, before any round.
    state : dict
    pasts : list of dict
        As `frozen` gave them.
    """
    rounds, counted, seen, explored, settled = map(int, state["rounds_learnt"])
    mass, earned, least, most, worth = [
        Sums(float(total), float(square)) for total, square in state["sums"]
    ]
    learner._rounds, learner._mass = rounds, (counted, *mass)
    learner._spending = Spending(
        learner.problem.unit, seen, explored, settled, earned, least, most, worth
    )
    if isinstance(learner, SiftingExplorer):
        learner.evidence = learner._learnt = thawed(learner.evidence, state, pasts)
        if state["ended"]:
            learner._ended = learner._answer(learner.evidence.at_look)
        learner.exploration = learner._explore_next()
    elif isinstance(learner, Uniform):
        sums = Estimates(learner.policies.n_policies)
        sums.rounds = int(state["counted"])
        sums.totals, sums.squares = state["totals"], state["squares"]
        learner._estimates = sums
