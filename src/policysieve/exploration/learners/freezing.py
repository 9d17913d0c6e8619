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

    Evidence that has begun to forget keeps a past that does not only grow: then all of it is there.
    """
    state: Arrays = {"learner": np.array([*learner._mass, float(learner._rounds)])}
    if isinstance(learner, SiftingExplorer):
        evidence, ended = learner.evidence, learner._ended
        if ended is not None and ended.rounds != evidence.at_look.rounds:
            return None
        start = since if evidence._incumbent is None else 0
        state |= evidence_arrays(evidence)
        state["ended"] = np.array(ended is not None)
        return Frozen(state, past_arrays(evidence, start), len(evidence._past), start == 0)
    if isinstance(learner, Uniform) and type(learner._estimates) is Estimates:
        sums = learner._estimates
        state |= {"totals": sums.totals, "squares": sums.squares, "counted": np.array(sums.rounds)}
        return Frozen(state, None, 0, True)
    return None


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
    mass, squares, rounds = state["learner"]
    learner._mass, learner._rounds = (float(mass), float(squares)), int(rounds)
    if isinstance(learner, SiftingExplorer):
        learner.evidence = thawed(learner.evidence, state, pasts)
        if state["ended"]:
            learner._ended = learner._answer(learner.evidence.at_look)
        learner.exploration = learner._explore_next()
    elif isinstance(learner, Uniform):
        sums = Estimates(learner.policies.n_policies)
        sums.rounds = int(state["counted"])
        sums.totals, sums.squares = state["totals"], state["squares"]
        learner._estimates = sums
