"""The past of some of the policies, kept by whoever holds these."""

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.exchanged import Numbers, Period
from policysieve.evidence.past import Past, PastArrays
from policysieve.evidence.standing import BIN_EDGES
from policysieve.policies import Policies, Slates
from policysieve.problem import Problem

__all__ = ["HeldPast", "Shape", "SharePast"]


class Shape(NamedTuple):
    """What a past needs to know of policies."""

    n_actions: int
    slate_size: int
    n_policies: int
    looked_up: bool = False

    @classmethod
    def of(cls, policies: Policies) -> "Shape":
        """The shape for a past that keeps none of the policies."""
        return cls(policies.n_actions, policies.slate_size, 0)


class HeldPast(Past):
    """The rounds with the slates of some policies, in increasing order."""

    @classmethod
    def first(cls, problem: Problem, numbers: Numbers) -> Self:
        """The past before any round."""
        shape = Shape(problem.n_actions, problem.slate_size, len(numbers))
        past = cls(shape, len(BIN_EDGES) + 1)  # type: ignore[arg-type]
        past._kept = numbers
        return past

    def plus_period(self, period: Period, slates: npt.NDArray[Any]) -> Self:
        """These, and rounds that came next with the slates of those that are kept."""
        longer = self._appended(period.rounds, period.listing, period.costs, period.scale)
        said = Slates(slates)
        longer._answers = said if self._answers is None else self._answers.plus(said)
        return longer

    def slates_of(self, policies: Numbers, since: int) -> npt.NDArray[Any]:
        """Slates of some survivors in the later rounds, shape (n, n_policies, slate_size)."""
        assert self._answers is not None
        return self._answers.table[since:][:, np.searchsorted(self._kept, policies)]


class SharePast(HeldPast):
    """The same, and the slates of one leader, who may be elsewhere."""

    _guest: npt.NDArray[Any] | None = None

    def led_by(self, slates: npt.NDArray[Any]) -> Self:
        """The same with the slates of a leader in the last rounds, shape (n, slate_size)."""
        led = copy(self)
        led._guest = slates
        return led

    def column(self, policy: int) -> int:
        """The leader's slates come first."""
        return 0

    def arrays(self, policies: Numbers, since: int = 0) -> PastArrays:
        """What kernels take of the later rounds, for some of the survivors and the leader."""
        assert self._guest is not None
        leader = self._guest[len(self._guest) - (len(self) - since) :, None]
        slates = self.slates_of(policies, since)
        table = np.concatenate([leader.astype(slates.dtype), slates], axis=1)
        found = super().arrays(policies, since)
        columns = np.arange(1, 1 + len(policies))
        return found._replace(table=table, rows=np.arange(len(table)), columns=columns)
