"""Every function from a finite context set to actions: K^|X| policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.policies.base import action_dtype
from policysieve.policies.implicit import (
    Array,
    ClassWeights,
    ImplicitPolicies,
    Policy,
    checked_arrays,
)
from policysieve.policies.table import row_numbers

__all__ = ["TabularPolicies", "TabularPolicy"]


class TabularPolicies(ImplicitPolicies):
    """All maps from contexts 0, ..., n_contexts - 1 to actions, n_actions^n_contexts of them.

    Weights on the class are one softmax for each context, exactly (docs/maths.md, "All functions of
    a finite context set"), so an event costs n_actions steps. Memory is 16 n_actions bytes for each
    context that was ever rewarded, and 4 for each context.

    Parameters
    ----------
    n_contexts, n_actions : int
    actions : sequence of str, optional
        Names of the actions, in place of their number.

    Examples
    --------
    >>> functions = TabularPolicies(n_contexts=3, n_actions=4)
    >>> functions.best([0, 0, 2], [1, 3, 2], [1.0, 2.0, 1.0]).actions([0, 1, 2])[:, 0].tolist()
    [3, 0, 2]
    """

    def __init__(
        self,
        *,
        n_contexts: int,
        n_actions: int | None = None,
        actions: Sequence[str] | None = None,
    ) -> None:
        super().__init__(n_actions=n_actions, actions=actions)
        self._n_contexts = integer("n_contexts", n_contexts, low=1, high=2**31 - 1)

    @property
    def n_contexts(self) -> int:
        """How many contexts there are."""
        return self._n_contexts

    @property
    def log_size(self) -> float:
        """n_contexts ln(n_actions)."""
        return self._n_contexts * log(self.n_actions)

    def check_contexts(self, contexts: Any) -> npt.NDArray[Any]:
        """Return the contexts as numbers in [0, n_contexts - 1], or raise."""
        return row_numbers(contexts, self._n_contexts, of="the context set")

    def start_weights(self) -> "TabularWeights":
        """Equal weights."""
        return TabularWeights(self._n_contexts, self.n_actions)

    def __repr__(self) -> str:
        return f"TabularPolicies(n_contexts={self._n_contexts}, n_actions={self.n_actions})"

    def _best(
        self, contexts: npt.NDArray[Any], actions: npt.NDArray[np.int64], weights: Array
    ) -> Policy:
        """The heaviest action at each context, the lower of equals, and 0 without events."""
        cells, where = np.unique(contexts * self.n_actions + actions, return_inverse=True)
        sums = np.bincount(where, weights, minlength=len(cells))
        x, a = np.divmod(cells, self.n_actions)
        order = np.lexsort((-a, sums, x))  # the last entry of each context is its best
        chosen = np.zeros(self._n_contexts, dtype=action_dtype(self.n_actions))
        chosen[x[order]] = a[order]
        return TabularPolicy(chosen)


@dataclass(frozen=True, eq=False, repr=False)
class TabularPolicy(Policy):
    """One action for each context.

    Attributes
    ----------
    chosen : integer array of shape (n_contexts,)
    """

    chosen: npt.NDArray[Any]

    def __post_init__(self) -> None:
        self.chosen.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        return TabularPolicy, (self.chosen,)  # frozen again on arrival

    def actions(self, contexts: Any) -> npt.NDArray[Any]:
        """The action at each context, shape (n, 1)."""
        rows = row_numbers(contexts, len(self.chosen), of="the context set")
        return np.asarray(self.chosen[rows][:, None])

    def __repr__(self) -> str:
        head = ", ".join(str(action) for action in self.chosen[:8])
        more = ", ..." if len(self.chosen) > 8 else ""
        return f"TabularPolicy({len(self.chosen)} contexts: {head}{more})"


class TabularWeights(ClassWeights):
    """One softmax for each context; contexts without events are uniform and take no memory."""

    def __init__(self, n_contexts: int, n_actions: int) -> None:
        self._n_actions = n_actions
        self._slots = np.full(n_contexts, -1, dtype=np.int32)
        self._used = 0
        self._log_w, self._cum = np.zeros((2, 16, n_actions))
        self._last = np.zeros(16)
        self._now = 0.0

    def add(self, contexts: npt.NDArray[Any], actions: npt.NDArray[Any], steps: Array) -> None:
        """Raise the log-weights of actions at contexts."""
        from policysieve.kernels.weights import tabular_add

        slots = self._slots[contexts]
        if (slots < 0).any():
            self._open(np.unique(contexts[slots < 0]))
            slots = self._slots[contexts]
        tabular_add(slots, actions, steps, self._now, self._log_w, self._cum, self._last)

    def marginals(self, contexts: npt.NDArray[Any]) -> Array:
        """The softmax of each context."""
        from policysieve.kernels.weights import tabular_marginals

        out = np.empty((len(contexts), self._n_actions))
        tabular_marginals(self._slots[contexts], self._log_w, out)
        return out

    def wait(self, rounds: int) -> None:
        """Let rounds pass; sums are brought up to date where an event comes."""
        self._now += rounds

    @property
    def rounds(self) -> float:
        """How many rounds were waited for."""
        return self._now

    def totals(self, contexts: npt.NDArray[Any]) -> Array:
        """Sum over the rounds so far of the marginals."""
        from policysieve.kernels.weights import tabular_totals

        out = np.empty((len(contexts), self._n_actions))
        tabular_totals(self._slots[contexts], self._now, self._log_w, self._cum, self._last, out)
        return out

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Slots of the contexts, what is known of those that have one, and the time."""
        used = self._used
        return {
            "slots": self._slots,
            "log_w": self._log_w[:used],
            "cum": self._cum[:used],
            "last": self._last[:used],
            "now": np.array([self._now]),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Become the weights whose `arrays` these are, or raise `InvalidArgumentError`."""
        floats = dict(arrays)
        slots = floats.pop("slots", np.empty(0))
        if slots.shape != self._slots.shape or slots.dtype != np.int32 or slots.min() < -1:
            raise InvalidArgumentError(f"slots must be int32 of shape {self._slots.shape}")
        used = int(slots.max()) + 1
        if not np.array_equal(np.sort(slots[slots >= 0]), np.arange(used)):
            raise InvalidArgumentError("slots must be different ones, numbered from 0")
        shape = (used, self._n_actions)
        log_w, cum, last, (now,) = checked_arrays(
            floats, {"log_w": shape, "cum": shape, "last": (used,), "now": (1,)}
        )
        if not 0 <= last.min(initial=now) <= last.max(initial=0.0) <= now or cum.min(initial=0) < 0:
            raise InvalidArgumentError("last and cum must not be negative, nor last beyond now")
        if not np.allclose(cum.sum(axis=1), last, rtol=1e-6, atol=1e-6):
            raise InvalidArgumentError("cum must sum to last, the rounds that it was summed over")
        self._slots, self._used, self._now = np.ascontiguousarray(slots), used, float(now)
        self._log_w, self._cum, self._last = log_w, cum, last

    def _open(self, contexts: npt.NDArray[Any]) -> None:
        """Give contexts a slot; until now they were uniform."""
        end = self._used + len(contexts)
        if end > len(self._last):
            room = min(max(end, 2 * len(self._last)), len(self._slots) + 16)
            log_w, cum = np.zeros((2, room, self._n_actions))
            last = np.zeros(room)
            for new, old in ((log_w, self._log_w), (cum, self._cum), (last, self._last)):
                new[: self._used] = old[: self._used]
            self._log_w, self._cum, self._last = log_w, cum, last
        self._cum[self._used : end] = self._now / self._n_actions
        self._last[self._used : end] = self._now
        self._slots[contexts] = np.arange(self._used, end, dtype=np.int32)
        self._used = end
