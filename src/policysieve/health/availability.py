"""Whether what was shown was available, and whether that differs between rounds."""

import numpy as np
import numpy.typing as npt

from policysieve.evidence.groups import CONTEXT_GROUPS
from policysieve.log import Rounds

__all__ = ["AvailableSums"]

_ENTRIES = 1 << 24  # that are looked at at once


class AvailableSums:
    """Counts of what could be shown, batch by batch.

    Attributes
    ----------
    known : bool
        Whether rounds say what was available.
    wrong : int
        Rounds that show an item which was not available.
    first_wrong : (int, str) or None
        The first of them, and the item.
    differs : bool
        Whether it is not the same in all rounds.
    fewest, most : int
        Actions that were available in a round, at least and at most.
    """

    def __init__(self) -> None:
        self.known = self.differs = False
        self.wrong = self.most = 0
        self.fewest = 1 << 62
        self.first_wrong: tuple[int, str] | None = None
        self._same: tuple[int, ...] | None = None
        self._offered = np.zeros((CONTEXT_GROUPS, 0), np.int64)

    def offered(self, n_actions: int) -> npt.NDArray[np.int64]:
        """In how many rounds of each group of contexts each action was available."""
        return np.pad(self._offered, ((0, 0), (0, n_actions - self._offered.shape[1])))

    def add(self, rounds: Rounds, start: int, groups: npt.NDArray[np.intp]) -> None:
        """Take in rounds, the first of which has this number, with the groups of their contexts."""
        available = rounds.beside.available
        if available is None or not len(rounds):
            return
        self.known = True
        available = available.wide(max(available.n_actions, int(rounds.actions.max()) + 1))
        missing = ~available.has(rounds.actions)
        rows = np.flatnonzero(missing.any(axis=1))
        self.wrong += len(rows)
        if len(rows) and self.first_wrong is None:
            row = int(rows[0])
            shown = rounds.plain_actions()[row][int(missing[row].argmax())]
            self.first_wrong = (start + row, str(shown))
        counts = available.counts
        self.fewest = min(self.fewest, int(counts.min()))
        self.most = max(self.most, int(counts.max()))
        first = tuple(available[:1].lists()[0])
        self._same = first if self._same is None else self._same
        varies = bool((available.bits != available.bits[:1]).any())
        self.differs = self.differs or varies or first != self._same
        self._offered = self.offered(max(self._offered.shape[1], available.n_actions))
        size = max(1, _ENTRIES // available.n_actions)
        for i in range(0, len(rounds), size):
            part, mask = groups[i : i + size], available[i : i + size].dense()
            for group in range(CONTEXT_GROUPS):
                self._offered[group, : mask.shape[1]] += mask[part == group].sum(axis=0)
