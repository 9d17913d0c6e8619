"""A labelled dataset with right-or-wrong feedback."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.checks import MOST_ACTIONS, integer, refuse_rows
from policysieve.errors import InvalidArgumentError
from policysieve.naming import labels_of, looked_up, named_actions
from policysieve.worlds.base import RewardsOf
from policysieve.worlds.finite import FiniteWorld, dataset_contexts

__all__ = ["Classification"]


class Classification(FiniteWorld):
    """Rows of a dataset, drawn uniformly with replacement; reward 1 for the right label.

    Parameters
    ----------
    X : array of shape (n, ...)
        Feature rows. With ``contexts="rows"`` anything with a length, such as a sparse matrix, or
        None.
    y : array of shape (n,)
        Labels 0, ..., K-1, or names of labels.
    n_actions : int, optional
        Number K of labels; one more than the largest label by default.
    contexts : {"features", "rows"}
        Whether a learner sees feature rows, or row numbers as a `PolicyTable` takes them.
    actions : sequence of str, optional
        Names of the labels, in the order of their numbers; those in `y`, sorted, by default.

    Examples
    --------
    >>> world = Classification([[0.1], [0.9]], [0, 1])
    >>> draw = world.draw(3, rng=0)
    >>> draw.rewards((draw.contexts[:, 0] > 0.5).astype(int))[:, 0].tolist()
    [1.0, 1.0, 1.0]
    >>> Classification([[0.1], [0.9]], ["shoes", "hats"]).actions
    ('hats', 'shoes')
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        n_actions: int | None = None,
        contexts: str = "features",
        actions: Sequence[str] | None = None,
    ) -> None:
        given = labels_of("y", y, "a 1-d array of labels")
        if actions is None and given.dtype.kind in "UTO" and given.ndim == 1:
            actions = sorted({str(label) for label in given if isinstance(label, str)}) or None
        if actions is not None:
            actions, n_actions = named_actions(actions, n_actions)
        labels = _checked_labels(looked_up("y", given, actions) if actions else given)
        rows = dataset_contexts(X, len(labels), contexts)
        least = int(labels.max()) + 1
        if n_actions is not None:
            integer("n_actions", n_actions, low=least, hint=f"y holds the label {least - 1}")
        super().__init__(
            rows,
            n_actions=least if n_actions is None else n_actions,
            slate_size=1,
            sparsity=1.0,
            actions=actions,
        )
        self._labels = labels

    def _expected_rewards(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        rewards = np.zeros((len(rows), self.n_actions))
        rewards[np.arange(len(rows)), self._labels[rows]] = 1.0
        return rewards

    def _rewards_of(self, rows: npt.NDArray[np.intp], rng: np.random.Generator) -> RewardsOf:
        labels = self._labels[rows][:, None]
        return lambda actions: (actions == labels).astype(np.float64)


def _checked_labels(labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if labels.ndim != 1:
        raise InvalidArgumentError(
            f"y must have shape (n,), one label per row, got {labels.shape}; "
            "use Multilabel for several labels per row"
        )
    if labels.dtype == object:
        other = np.array([not isinstance(label, str) for label in labels])
        rule = "y must hold names or numbers, not both"
        refuse_rows(other & ~other.all(), rule, lambda row: shown(labels[row]))
    if labels.dtype.kind not in "iuf":
        raise InvalidArgumentError(
            f"y must hold labels 0, ..., K-1, or names, which are strings, got dtype "
            f"{labels.dtype}; number them by numpy.unique(y, return_inverse=True)[1]"
        )
    bad = ~((labels >= 0) & (labels < MOST_ACTIONS) & (np.floor(labels) == labels))
    refuse_rows(bad, "y must hold whole numbers 0, ..., K-1", lambda row: labels[row])
    return labels.astype(np.int64)
