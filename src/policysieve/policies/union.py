"""Several lists of policies as one, of several kinds or for candidates that join later."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError, PolicyFailureError
from policysieve.naming import check_same_actions
from policysieve.policies.base import Policies, action_dtype
from policysieve.policies.implicit import check_class
from policysieve.policies.table import PolicyTable
from policysieve.policies.usage import Usage
from policysieve.policies.votes import VotePolicies

__all__ = ["PolicyUnion", "check_joins", "union_of"]


def check_joins(policies: Policies, others: Any) -> None:
    """Raise unless the others are a list for the same actions, slates and contexts, and named so.

    Names must be those of nobody else: either all policies have names, or none.
    """
    check_class(others)
    if not isinstance(others, Policies):
        raise InvalidArgumentError(
            f"policies that join must be a list, got {type(others).__name__}, which cannot be "
            "listed"
        )
    for name in ("n_actions", "slate_size"):
        ours, theirs = getattr(policies, name), getattr(others, name)
        if ours != theirs:
            raise InvalidArgumentError(
                f"policies that join must have the {name} of the others, {ours}, got {theirs}"
            )
    check_same_actions(policies.action_names, others.action_names, of="policies that join")
    if (policies.names is None) != (others.names is None):
        have, lack = ("the others", "these") if others.names is None else ("these", "the others")
        raise InvalidArgumentError(
            f"policies that join must have names if the others do, and none if they do not: {have} "
            f"have names, {lack} have none; give names=[...] to all, or to none"
        )
    taken = sorted(set(policies.names or ()) & set(others.names or ()))
    if taken:
        raise InvalidArgumentError(
            f"policies that join must have new names, got {taken[0]!r}, which is the name of "
            f"policy {policies.number_of(taken[0])}"
        )
    tables = isinstance(policies, PolicyTable) and isinstance(others, PolicyTable)
    if tables and policies.n_contexts != others.n_contexts:
        raise InvalidArgumentError(
            f"policies that join must know the same {policies.n_contexts:,} contexts, got a table "
            f"of {others.n_contexts:,}"
        )


def union_of(policies: Policies, others: Policies) -> Policies:
    """The policies, and behind them the others, which `check_joins` lets in: their numbers go on.

    Of two tables with the same fallback it is a table.
    """
    order: Any = policies.fallback
    if (
        isinstance(policies, PolicyTable)
        and isinstance(others, PolicyTable)
        and _lists(order) == _lists(others.fallback)
    ):
        return PolicyTable(
            np.concatenate([policies.table, others.table], axis=1),
            policies.n_actions,
            names=_names(policies, others),
            actions=policies.action_names or others.action_names,
            fallback=order,
        )
    parts = policies.parts if isinstance(policies, PolicyUnion) else (policies,)
    return PolicyUnion(*parts, others)


class PolicyUnion(Policies):
    """Lists of policies one behind the other; each is asked about its own policies alone.

    Voters that are listed themselves are asked once, for them and for votes of them.

    Parameters
    ----------
    parts : Policies
        That take the same contexts.
    """

    def __init__(self, *parts: Policies) -> None:
        names: tuple[str, ...] | None = ()
        for part in parts:
            names = None if names is None or part.names is None else names + part.names
        super().__init__(
            n_policies=sum(part.n_policies for part in parts),
            n_actions=parts[0].n_actions,
            slate_size=parts[0].slate_size,
            names=names,
            actions=next((part.action_names for part in parts if part.action_names), None),
        )
        self.parts = parts
        self.called = any(part.called for part in parts)
        self.fitted_on = max(part.fitted_on for part in parts)
        self._voting = _voters(parts)
        self._firsts = np.cumsum([0, *(part.n_policies for part in parts)])

    def fingerprint(self) -> str:
        """The fingerprints of the parts."""
        return " + ".join(part.fingerprint() for part in self.parts)

    def check_contexts(self, contexts: Any) -> Any:
        """As the first part has them, if all take them."""
        x = self.parts[0].check_contexts(contexts)
        for part in self.parts[1:]:
            part.check_contexts(x)
        return x

    def same_as(self, policy: int, others: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """As the part knows it that the policy is of; of other parts nothing is known."""
        same = np.zeros(len(others), dtype=np.bool_)
        k = int(self._firsts.searchsorted(policy, side="right")) - 1
        first, end = int(self._firsts[k]), int(self._firsts[k + 1])
        mine = (others >= first) & (others < end)
        same[mine] = self.parts[k].same_as(policy - first, others[mine] - first)
        return same

    def _made_of(self, policy: int) -> Sequence[npt.NDArray[Any]]:
        k = int(self._firsts.searchsorted(policy, side="right")) - 1
        return self.parts[k]._made_of(policy - int(self._firsts[k]))

    def usage(self) -> Usage:
        """What asking the parts has cost."""
        found = [
            replace(one, policy=one.policy + int(first), name=self.name_of(one.policy + int(first)))
            for part, first in zip(self.parts, self._firsts, strict=False)
            for one in part.usage().candidates
            if one.policy is not None
        ]
        return Usage(tuple(found))

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        return self._put_together(contexts, which, lambda part, x, mine: part._evaluate(x, mine))

    def _evaluate_among(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        return self._put_together(
            contexts, which, lambda part, x, mine: part._evaluate_among(x, mine, available)
        )

    def _put_together(
        self,
        contexts: Any,
        which: npt.NDArray[np.intp] | None,
        ask: Callable[[Policies, Any, npt.NDArray[np.intp]], npt.NDArray[Any]],
    ) -> npt.NDArray[Any]:
        """What the parts say of some policies, each of its own."""
        chosen = np.arange(self.n_policies) if which is None else which
        shape = (len(contexts), len(chosen), self.slate_size)
        slates = np.empty(shape, action_dtype(self.n_actions))
        whose = self._firsts.searchsorted(chosen, side="right") - 1
        needed, said = self._needed(chosen, whose), dict[int, npt.NDArray[Any]]()
        for k, numbers in needed.items():
            part, j = self.parts[k], self._voting.get(k)
            if j is None:
                said[k] = self._said(k, contexts, numbers, ask)
            else:
                assert isinstance(part, VotePolicies)
                voters = part.voters(numbers)
                theirs = said[j][:, needed[j].searchsorted(voters)]
                said[k] = part.counted(theirs, voters, numbers)
            mine = np.flatnonzero(whose == k)
            slates[:, mine] = said[k][:, numbers.searchsorted(chosen[mine] - self._firsts[k])]
        return slates

    def _needed(
        self, chosen: npt.NDArray[np.intp], whose: npt.NDArray[np.intp]
    ) -> dict[int, npt.NDArray[np.intp]]:
        """Policies to ask of each part, in order: those chosen, and who votes for others."""
        needed = {
            k: np.unique(chosen[whose == k]) - self._firsts[k] for k in np.unique(whose).tolist()
        }
        for k, j in reversed(self._voting.items()):  # voters may be votes themselves
            part = self.parts[k]
            if k in needed and isinstance(part, VotePolicies):
                voters = part.voters(needed[k])
                needed[j] = np.union1d(needed.get(j, voters), voters)
        return dict(sorted(needed.items()))

    def _said(
        self,
        k: int,
        contexts: Any,
        numbers: npt.NDArray[np.intp],
        ask: Callable[[Policies, Any, npt.NDArray[np.intp]], npt.NDArray[Any]],
    ) -> npt.NDArray[Any]:
        """What some policies of one part say."""
        try:
            return ask(self.parts[k], self.parts[k].check_contexts(contexts), numbers)
        except PolicyFailureError as error:
            number = error.policy + int(self._firsts[k])
            raise PolicyFailureError(number, error._problem, error.name) from error


def _voters(parts: tuple[Policies, ...]) -> dict[int, int]:
    """For each part of votes the part of their voters, where that is listed before it."""
    return {
        k: j
        for k, part in enumerate(parts)
        if isinstance(part, VotePolicies)
        for j in range(k)
        if parts[j] is part.policies
    }


def _names(policies: Policies, others: Policies) -> tuple[str, ...] | None:
    return None if policies.names is None else (*policies.names, *(others.names or ()))


def _lists(fallback: Any) -> list[int] | None:
    return None if fallback is None else list(fallback)
