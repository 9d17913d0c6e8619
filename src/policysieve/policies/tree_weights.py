"""Exponential weights on all trees, cell by cell."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.policies.implicit import Array, ClassWeights, check_finite

if TYPE_CHECKING:
    from policysieve.policies.trees import TreePolicies

__all__ = ["TreeWeights"]


class TreeWeights(ClassWeights):
    """For each cell its chance to be a leaf, and the shares of the actions there.

    docs/maths.md, "Stumps and trees".
    """

    def __init__(self, policies: "TreePolicies") -> None:
        self._policies = policies
        cells, k = policies.cells, policies.n_actions
        self._leaf = np.zeros(len(cells))
        self._soft = np.full((len(cells), k), 1 / k)
        self._summed = np.zeros((len(cells), k))
        self._waited, self._chance = np.zeros((2, len(cells)))
        self._log_z, self._reach = np.zeros((2, policies.depth + 1, len(cells)))
        self._pending = 0.0
        self._solve()

    def add(self, contexts: npt.NDArray[Any], actions: npt.NDArray[Any], steps: Array) -> None:
        """Raise the actions in all cells that contain the contexts, then solve anew."""
        from policysieve.kernels.trees import raise_action

        self._waited += self._pending * self._chance
        self._pending = 0.0
        bins, room = self._policies.bins(contexts), self._room()
        for x, action, step in zip(bins, actions, steps, strict=True):
            cells = self._cells_at(x, room)
            raise_action(cells, action, step, self._leaf, self._soft, self._waited, self._summed)
        self._solve()

    def marginals(self, contexts: npt.NDArray[Any]) -> Array:
        """Sum over the cells of a context of their chance times their shares."""
        from policysieve.kernels.trees import tree_marginals

        def fill(cells: npt.NDArray[np.int64], out: Array) -> None:
            tree_marginals(cells, self._chance, self._soft, out)

        return self._at_each(contexts, fill)

    def wait(self, rounds: int) -> None:
        """Let rounds pass."""
        self._pending += rounds

    def totals(self, contexts: npt.NDArray[Any]) -> Array:
        """Sum over the rounds so far of the marginals."""
        from policysieve.kernels.trees import tree_totals

        def fill(cells: npt.NDArray[np.int64], out: Array) -> None:
            tree_totals(
                cells, self._pending, self._chance, self._soft, self._waited, self._summed, out
            )

        return self._at_each(contexts, fill)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What events and time have made of the cells."""
        return {
            "leaf": self._leaf,
            "soft": self._soft,
            "summed": self._summed,
            "waited": self._waited,
            "pending": np.array([self._pending]),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Become the weights whose `arrays` these are, or raise ValueError."""
        check_finite(arrays, {name: mine.shape for name, mine in self.arrays().items()})
        self._leaf, self._soft = arrays["leaf"], arrays["soft"]
        self._summed, self._waited = arrays["summed"], arrays["waited"]
        self._pending = float(arrays["pending"][0])
        self._solve()

    def _at_each(self, contexts: npt.NDArray[Any], fill: Any) -> Array:
        """Fill one row for each different row of bins."""
        bins, which = np.unique(self._policies.bins(contexts), axis=0, return_inverse=True)
        found, room = np.zeros((len(bins), self._policies.n_actions)), self._room()
        for x, row in zip(bins, found, strict=True):
            fill(self._cells_at(x, room), row)
        return np.asarray(found[which.reshape(-1)])

    def _room(self) -> npt.NDArray[np.int64]:
        """For `_cells_at`; not kept, because several threads may ask at once."""
        return np.empty(len(self._policies.cells), dtype=np.int64)

    def _cells_at(
        self, x: npt.NDArray[np.int16], room: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        from policysieve.kernels.trees import cells_at

        cells = self._policies.cells
        return room[: cells_at(x, cells.feature, cells.low, cells.high, room)]

    def _solve(self) -> None:
        from policysieve.kernels.trees import leaf_chances, tree_sums

        cells = self._policies.cells
        shape = (cells.start, cells.left, cells.right, cells.ends)
        tree_sums(self._leaf, *shape, self._log_z)
        leaf_chances(self._leaf, *shape, self._log_z, self._reach, self._chance)
