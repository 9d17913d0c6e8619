"""All stumps and shallow trees on bins of features, with exact weights and an exact best one."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_array, integer
from policysieve.errors import InvalidArgumentError
from policysieve.policies.implicit import (
    Array,
    ClassWeights,
    ImplicitPolicies,
    Policy,
    checked_arrays,
)
from policysieve.policies.tree_cells import TreeCells, tree_cells

__all__ = ["StumpPolicies", "TreePolicies", "TreePolicy"]

_MAX_DEPTH = 3
_MAX_NUMBERS = 1 << 24  # cells times actions: two such arrays of floats are kept


class TreePolicies(ImplicitPolicies):
    """All trees of axis-aligned splits, with one action in each leaf.

    Splits are at quantiles of each feature. Weights over the class and the best tree for weighted
    events are exact, by dynamic programming over the cells that splits can reach (docs/maths.md,
    "Stumps and trees"). An event costs about a pass over all cells: for ten features of eight bins
    there are 141 at depth 1, 9,171 at depth 2 and 364,911 at depth 3; each takes 16 bytes for each
    action, and depth 3 tens of milliseconds for an event.

    Parameters
    ----------
    contexts : float array of shape (n, n_features)
        Unlabelled feature rows from which the quantiles are taken, fixed before any reward is seen.
    n_actions : int
    depth : int
        Most splits on the way to a leaf, 1 to 3.
    n_bins : int
        Bins of each feature; fewer where its values repeat.
    actions : sequence of str, optional
        Names of the actions, in place of their number.

    Raises
    ------
    InvalidArgumentError
        If the contexts are not feature rows, or there are too many cells.

    Examples
    --------
    >>> rows = np.linspace(0, 1, 40)[:, None]
    >>> trees = TreePolicies(rows, n_actions=3, depth=1, n_bins=4)
    >>> trees.best([[0.1], [0.9]], [2, 1], [1.0, 1.0])
    TreePolicy(x[0] < 0.2564 ? 2 : 1)
    """

    def __init__(
        self,
        contexts: Any,
        *,
        n_actions: int | None = None,
        depth: int = 2,
        n_bins: int = 8,
        actions: Sequence[str] | None = None,
    ) -> None:
        super().__init__(n_actions=n_actions, actions=actions)
        rows = _feature_rows(contexts)
        if not len(rows):
            raise InvalidArgumentError(
                "contexts must have at least one row, to take quantiles of, got none"
            )
        self.depth = integer("depth", depth, low=1, high=_MAX_DEPTH)
        shares = np.arange(1, integer("n_bins", n_bins, low=2, high=256)) / n_bins
        self.edges = tuple(
            edges[edges > column.min()]
            for column in rows.T
            for edges in [np.unique(np.quantile(column, shares, method="higher"))]
        )
        if not any(len(edges) for edges in self.edges):
            raise InvalidArgumentError("contexts must differ in some feature, all rows are equal")
        self.cells: TreeCells = tree_cells(
            tuple(len(edges) + 1 for edges in self.edges), self.depth
        )
        if len(self.cells) * self.n_actions > _MAX_NUMBERS:
            raise InvalidArgumentError(
                f"depth {self.depth} on these bins has {len(self.cells):,} cells, which times "
                f"{self.n_actions} actions is more than {_MAX_NUMBERS:,}; take fewer bins, fewer "
                "features or less depth"
            )

    @property
    def n_features(self) -> int:
        """Length of a feature row."""
        return len(self.edges)

    @property
    def log_size(self) -> float:
        """The largest ln(1/p1) of a tree, that of a full one.

        Each of its 2^depth - 1 splits is one of at most so many and a coin's other side, each of
        its 2^depth leaves one of n_actions. Smaller trees have a larger share of the prior.
        """
        n_splits = sum(len(edges) for edges in self.edges)
        leaves = 1 << self.depth
        return (leaves - 1) * log(2 * n_splits) + leaves * log(self.n_actions)

    def check_contexts(self, contexts: Any) -> npt.NDArray[Any]:
        """Return the contexts as feature rows, or raise."""
        return _feature_rows(contexts, self.n_features)

    def bins(self, contexts: npt.NDArray[Any]) -> npt.NDArray[np.int16]:
        """Bins of checked contexts: how many edges of each feature are at most its value."""
        columns = zip(self.edges, contexts.T, strict=True)
        found = [np.searchsorted(edges, column, side="right") for edges, column in columns]
        return np.ascontiguousarray(np.stack(found, axis=1).astype(np.int16))

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        return tuple(edges for edges in self.edges if len(edges))

    def start_weights(self) -> "TreeWeights":
        """Weights of the prior: at each node a coin says leaf or split; all else is uniform."""
        return TreeWeights(self)

    def __repr__(self) -> str:
        bins = max(len(edges) + 1 for edges in self.edges)
        return (
            f"{type(self).__name__}(n_features={self.n_features}, n_actions={self.n_actions}, "
            f"depth={self.depth}, n_bins={bins})"
        )

    def _best(
        self, contexts: npt.NDArray[Any], actions: npt.NDArray[np.int64], weights: Array
    ) -> Policy:
        from policysieve.kernels.trees import best_trees, sum_weights

        cells = self.cells
        bins, which = np.unique(
            np.column_stack([self.bins(contexts), actions]), axis=0, return_inverse=True
        )
        summed = np.bincount(which.reshape(-1), weights, minlength=len(bins))
        sums = np.zeros((len(cells), self.n_actions))
        rows = np.ascontiguousarray(bins[:, :-1])
        sum_weights(rows, bins[:, -1], summed, *cells.boxes, sums)
        most = np.empty((self.depth + 1, len(cells)))
        leaves, choice = np.empty((2, *most.shape), dtype=np.int64)
        best_trees(sums.max(axis=1), *cells.splits, most, leaves, choice)
        return self._tree(sums, choice)

    def _tree(self, sums: Array, choice: npt.NDArray[np.int64]) -> "TreePolicy":
        """Write down the tree that the choices make, from the root."""
        cells = self.cells
        nodes: list[tuple[int, float, int, int, int]] = []

        def write(cell: int, depth: int) -> int:
            number = len(nodes)
            nodes.append((-1, 0.0, 0, 0, int(sums[cell].argmax())))
            split = int(choice[depth, cell])
            if split >= 0:
                feature = int(cells.split_feature[split])
                edge = float(self.edges[feature][cells.split_edge[split]])
                left = write(int(cells.left[split]), depth - 1)
                right = write(int(cells.right[split]), depth - 1)
                nodes[number] = (feature, edge, left, right, 0)
            return number

        write(0, self.depth)
        return TreePolicy(self.n_features, tuple(nodes))


class StumpPolicies(TreePolicies):
    """All single splits of one feature with an action on each side, and all constant actions.

    Trees of depth 1; see `TreePolicies`.

    Parameters
    ----------
    contexts : float array of shape (n, n_features)
        Unlabelled feature rows from which the quantiles are taken, fixed before any reward is seen.
    n_actions : int
    n_bins : int
        Bins of each feature; fewer where its values repeat.
    actions : sequence of str, optional
        Names of the actions, in place of their number.
    """

    def __init__(
        self,
        contexts: Any,
        *,
        n_actions: int | None = None,
        n_bins: int = 32,
        actions: Sequence[str] | None = None,
    ) -> None:
        super().__init__(contexts, n_actions=n_actions, depth=1, n_bins=n_bins, actions=actions)


@dataclass(frozen=True, repr=False)
class TreePolicy(Policy):
    """One tree.

    Attributes
    ----------
    n_features : int
    nodes : tuple of (feature, edge, left, right, action)
        From the root, number 0. Rows with x[feature] < edge go to node left, others to node right;
        feature -1 is a leaf, which shows the action.
    """

    n_features: int
    nodes: tuple[tuple[int, float, int, int, int], ...]

    def actions(self, contexts: Any) -> npt.NDArray[Any]:
        """The action at each context, shape (n, 1)."""
        x = _feature_rows(contexts, self.n_features)
        feature, edge, left, right, action = (
            np.array(column) for column in zip(*self.nodes, strict=True)
        )
        at = np.zeros(len(x), dtype=np.intp)
        for _ in range(len(self.nodes) // 2):
            value = np.take_along_axis(x, np.maximum(feature[at], 0)[:, None], axis=1)[:, 0]
            below = np.where(value < edge[at], left[at], right[at])
            at = np.where(feature[at] < 0, at, below)
        return np.asarray(action[at][:, None])

    def __repr__(self) -> str:
        return f"TreePolicy({self._words(0)})"

    def _words(self, node: int) -> str:
        feature, edge, left, right, action = self.nodes[node]
        if feature < 0:
            return str(action)
        inner = [
            self._words(child) if self.nodes[child][0] < 0 else f"({self._words(child)})"
            for child in (left, right)
        ]
        return f"x[{feature}] < {edge:.4g} ? {inner[0]} : {inner[1]}"


class TreeWeights(ClassWeights):
    """For each cell its chance to be a leaf, and the shares of the actions there.

    docs/maths.md, "Stumps and trees".
    """

    def __init__(self, policies: TreePolicies) -> None:
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

    @property
    def rounds(self) -> float:
        """How many rounds were waited for: what is shown over all of them, at any context."""
        lowest = np.zeros(self._policies.n_features, dtype=np.int16)
        cells = self._cells_at(lowest, self._room())
        shown = self._summed[cells].sum() + self._waited[cells].sum()
        return float(shown + self._pending * self._chance[cells].sum())

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
        """Become the weights whose `arrays` these are, or raise `InvalidArgumentError`."""
        leaf, soft, summed, waited, pending = checked_arrays(
            arrays, {name: mine.shape for name, mine in self.arrays().items()}
        )
        if soft.min() <= 0 or not np.allclose(soft.sum(axis=1), 1, rtol=0, atol=1e-6):
            raise InvalidArgumentError("soft must be positive and sum to one in each cell")
        if min(summed.min(), waited.min(), pending.min()) < 0:
            raise InvalidArgumentError("summed, waited and pending must not be negative")
        self._leaf, self._soft, self._summed, self._waited = leaf, soft, summed, waited
        self._pending = float(pending[0])
        self._solve()
        if not (self._chance <= 1 + 1e-6).all():  # NaN compares false
            raise InvalidArgumentError("leaf must be logarithms of means of the cells' weights")

    def _at_each(self, contexts: npt.NDArray[Any], fill: Any) -> Array:
        """Fill one row for each different row of bins."""
        bins, which = np.unique(self._policies.bins(contexts), axis=0, return_inverse=True)
        found, room = np.zeros((len(bins), self._policies.n_actions)), self._room()
        for x, row in zip(bins, found, strict=True):
            fill(self._cells_at(x, room), row)
        return np.asarray(found[which.reshape(-1)])

    def _room(self) -> npt.NDArray[np.int64]:
        """Room for `_cells_at`; not kept, because several threads may ask at once."""
        return np.empty(len(self._policies.cells), dtype=np.int64)

    def _cells_at(
        self, x: npt.NDArray[np.int16], room: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        from policysieve.kernels.trees import cells_at

        return room[: cells_at(x, *self._policies.cells.boxes, room)]

    def _solve(self) -> None:
        from policysieve.kernels.trees import leaf_chances, tree_sums

        splits = self._policies.cells.splits
        tree_sums(self._leaf, *splits, self._log_z)
        leaf_chances(self._leaf, *splits, self._log_z, self._reach, self._chance)


def _feature_rows(contexts: Any, n_features: int | None = None) -> npt.NDArray[Any]:
    x = as_array(contexts)
    if x.ndim != 2 or x.dtype == object:
        raise InvalidArgumentError(
            f"contexts must be feature rows of shape (n, n_features), got shape {x.shape} of "
            f"{x.dtype}; for one context pass x[None, :]"
        )
    if n_features is not None and x.shape[1] != n_features:
        raise InvalidArgumentError(
            f"contexts must have {n_features} features like the rows that the trees were made "
            f"with, got {x.shape[1]}"
        )
    return x
