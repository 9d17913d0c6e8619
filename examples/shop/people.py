"""Made-up people who come to the shop: what they see, whether they click, and when one hears of it.

Few departments are any good for a given person. Who has ordered before likes what goes with it;
others take what the weather asks for. Most clicks come within seconds, some come after the
deadline, and some people close the page without a word: no answer ever comes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from shop import BESTSELLERS, FITS_WEATHER, GOES_WITH

__all__ = ["Answer", "People"]

LIKED, NEEDED, POPULAR, OTHER = 0.30, 0.18, 0.05, 0.01  # chances of a click
SILENT = 0.10  # of those who do not click: they close the page, and nothing is told
TYPICAL, SPREAD = 2.0, 1.0  # seconds until an answer: median, and deviation of its logarithm

ORDERS, WEATHERS = [*GOES_WITH, None], [*FITS_WEATHER, "clouds"]
HAVE_ORDERED = 0.6


@dataclass(frozen=True)
class Answer:
    """What became of a visit: 1 for a click, else 0, after so many seconds."""

    reward: float
    seconds: float


class People:
    """Visitors, one after the other, and what they do.

    Parameters
    ----------
    seed : int
    pace : float
        How many times as fast as in life they answer.
    """

    def __init__(self, seed: int = 0, pace: float = 1.0) -> None:
        self._rng, self._pace = np.random.default_rng(seed), pace

    def visitor(self) -> dict[str, Any]:
        """The next person who comes."""
        rng = self._rng
        bought = list(GOES_WITH)[rng.integers(len(GOES_WITH))]
        return {
            "weather": WEATHERS[rng.integers(len(WEATHERS))],
            "last_order": bought if rng.random() < HAVE_ORDERED else None,
            "device": "phone" if rng.random() < 0.7 else "laptop",
            "basket": round(float(rng.exponential(60.0)), 2),
            "hour": int(rng.integers(24)),
            "newsletter": bool(rng.random() < 0.3),
        }

    def chance(self, visitor: dict[str, Any], department: str) -> float:
        """How likely they click on a department."""
        if department == GOES_WITH.get(visitor["last_order"]):
            return LIKED
        if department == FITS_WEATHER.get(visitor["weather"]):
            return NEEDED
        return POPULAR if department == BESTSELLERS else OTHER

    def answer(self, visitor: dict[str, Any], department: str) -> Answer | None:
        """What they do, or None if one never hears of it."""
        rng = self._rng
        clicks = rng.random() < self.chance(visitor, department)
        seconds = TYPICAL * float(np.exp(SPREAD * rng.standard_normal())) / self._pace
        silent = rng.random() < SILENT
        return None if silent and not clicks else Answer(float(clicks), seconds)
