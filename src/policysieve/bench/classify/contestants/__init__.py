"""Who is compared: bandit classifiers of ours and of others behind the same three methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from policysieve.bench.classify.contestants.contextual_bandits import ContextualBandits
from policysieve.bench.classify.contestants.logistic import RewardedLogistic
from policysieve.bench.classify.contestants.mab_wiser import MabWiser
from policysieve.bench.classify.contestants.ours import PolicySieve
from policysieve.bench.classify.contestants.river_policies import RiverLinUcb, RiverLogistic
from policysieve.bench.classify.contestants.tuned import TUNED
from policysieve.bench.classify.contestants.vowpal_wabbit import VowpalWabbit

__all__ = ["CEILING", "CONTESTANTS", "OURS", "Contestant", "Entry"]


class Contestant(Protocol):
    """Shows labels, hears which were right, and names the best labels when asked."""

    def decide(self, X: Any) -> npt.NDArray[np.intp]:
        """Labels to show."""

    def learn(self, X: Any, labels: npt.NDArray[np.intp], rewards: npt.NDArray[np.float64]) -> None:
        """Hear which labels were right; the rows and labels are those decided last."""

    def predict(self, X: Any) -> npt.NDArray[np.intp]:
        """The labels that it finds best."""


@dataclass(frozen=True)
class Entry:
    """How a contestant is made.

    Attributes
    ----------
    make : callable
        From the number of classes, a seed and options to a contestant.
    options : mapping
        Options by task, tuned on a seed that is not compared; for other tasks its defaults.
    dense : bool
        Whether it needs dense rows of few features.
    is_told : bool
        Whether it is told the true label in place of its own.
    """

    make: Callable[..., Contestant]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    dense: bool = False
    is_told: bool = False


OURS, CEILING = "policysieve", "supervised"
"""Our own contestant, and the one that is told every label."""

CONTESTANTS = {
    OURS: Entry(PolicySieve, dense=True),
    "uniform_logistic": Entry(RewardedLogistic, TUNED["uniform_logistic"]),
    "vowpal_epsilon": Entry(VowpalWabbit, TUNED["vowpal_epsilon"]),
    "vowpal_squarecb": Entry(VowpalWabbit, TUNED["vowpal_squarecb"]),
    "vowpal_cover": Entry(VowpalWabbit, TUNED["vowpal_cover"]),
    "contextualbandits_logistic": Entry(
        partial(ContextualBandits, policy="EpsilonGreedy", penalty=1.0),
        TUNED["contextualbandits_logistic"],
    ),
    "contextualbandits_linucb": Entry(
        partial(ContextualBandits, policy="LinUCB"), TUNED["contextualbandits_linucb"], dense=True
    ),
    "mabwiser_linucb": Entry(
        partial(MabWiser, policy="LinUCB"), TUNED["mabwiser_linucb"], dense=True
    ),
    "mabwiser_lints": Entry(partial(MabWiser, policy="LinTS"), TUNED["mabwiser_lints"], dense=True),
    "river_linucb": Entry(RiverLinUcb, TUNED["river_linucb"], dense=True),
    "river_logistic": Entry(RiverLogistic, TUNED["river_logistic"]),
    CEILING: Entry(RewardedLogistic, TUNED[CEILING], is_told=True),
}
"""Everyone by name."""
