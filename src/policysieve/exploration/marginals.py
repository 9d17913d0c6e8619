"""What weights over the class mean at a context, remembered where contexts come again."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.kernels.subsets import marginals
from policysieve.policies import Policies

__all__ = ["Marginals"]

_BYTES = 1 << 26  # for all remembered contexts together


class Marginals:
    """Q(x, j): the share of weights on the class that shows item j at context x.

    Classes that number their contexts have theirs remembered until `forget`, as long as all of them
    fit into a fixed number of bytes.
    """

    def __init__(self, policies: Policies) -> None:
        n_contexts, self._n_actions = policies.n_contexts, policies.n_actions
        self._stale: npt.NDArray[np.bool_] | None = None
        if n_contexts is not None and 8 * n_contexts * self._n_actions <= _BYTES:
            self._stale = np.ones(n_contexts, dtype=np.bool_)
            self._known = np.zeros((n_contexts, self._n_actions))

    @property
    def remembered(self) -> bool:
        """Whether contexts keep their row in the array that `at` returns."""
        return self._stale is not None

    def forget(self) -> None:
        """The weights have moved."""
        if self._stale is not None:
            self._stale[:] = True

    def at(
        self,
        table: npt.NDArray[Any],
        rows: npt.NDArray[np.intp],
        support: npt.NDArray[np.int32],
        shares: npt.NDArray[np.float64],
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Marginals at contexts whose slates are ``table[rows]``.

        Returns
        -------
        known : array of shape (., K)
            One row for each context; rows of other contexts may be there too.
        slots : integer array of shape (n,)
            Row of each context in it.
        fresh : integer array
            Rows that were computed now.
        """
        if self._stale is None:
            found = np.zeros((len(rows), self._n_actions))
            marginals(table, rows, support, shares, found)
            slots = np.arange(len(rows))
            return found, slots, slots
        fresh = rows[self._stale[rows]]
        if len(fresh) > 1:
            fresh = np.unique(fresh)
        if len(fresh):
            found = np.zeros((len(fresh), self._n_actions))
            marginals(table, fresh, support, shares, found)
            self._known[fresh] = found
            self._stale[fresh] = False
        return self._known, rows, fresh
