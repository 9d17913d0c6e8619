"""Weighted votes of policies, as policies of their own."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import real_numbers, shown
from policysieve.availability import Available
from policysieve.checks import integer, refuse_rows
from policysieve.errors import InvalidArgumentError
from policysieve.policies.base import Policies, action_dtype

__all__ = ["VotePolicies"]


class VotePolicies(Policies):
    """Votes of candidates: each shows the items with the most votes, which candidates weigh.

    Where many candidates are fairly good and err in different places, a vote of them is better than
    each. The votes alone are listed here: ``policies + VotePolicies(policies)`` are the candidates
    and their vote, for any learner, and `fit_votes` finds weights from rounds that judge nothing
    (docs/maths.md, "Votes"). To show what a vote says, all of its voters are asked.

    Parameters
    ----------
    policies : Policies
        The candidates, at least two.
    weights : float array of shape (n_votes, n_policies) or (n_policies,), optional
        How much each candidate counts in each vote: not negative, and not zero for all. By default
        there is one vote, in which all count alike. They must be fixed before the rounds that judge
        the votes, as any candidate must.
    fitted_on : int
        Rounds that the weights were fitted on, as `fit_votes` says. These must not judge the votes:
        they cannot join a learner as unseen, and `select` wants a later `since`.
    names : sequence of str, optional
        Names of the votes. If the candidates have names, votes without are numbered, or the only
        one is ``vote of 300``.

    Attributes
    ----------
    policies : Policies
        The candidates.
    weights : float array of shape (n_votes, n_policies)
        Shares of each vote, which sum to one.

    Examples
    --------
    >>> from policysieve import PolicyTable
    >>> three = PolicyTable([[0, 1, 1], [2, 2, 0]], n_actions=3)
    >>> VotePolicies(three).actions([0, 1])[:, :, 0].tolist()
    [[1], [2]]
    >>> VotePolicies(three, [[1, 1, 1], [5, 1, 1]]).actions([0])[:, :, 0].tolist()
    [[1, 0]]
    """

    def __init__(
        self,
        policies: Policies,
        weights: Any = None,
        *,
        fitted_on: int = 0,
        names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(policies, Policies) or policies.n_policies < 2:
            raise InvalidArgumentError(
                "policies must be at least two candidates that can be listed, got "
                f"{shown(policies)}"
            )
        size = policies.n_policies
        self.policies, self.called = policies, policies.called
        self.weights = _shares(np.ones(size) if weights is None else weights, size)
        if names is None and policies.names is not None:
            names = [f"vote {i}" for i in range(len(self.weights))]
            if len(names) == 1:
                names = [f"vote of {np.count_nonzero(self.weights):,}"]
        self.fitted_on = integer("fitted_on", fitted_on, low=0)
        super().__init__(
            n_policies=len(self.weights),
            n_actions=policies.n_actions,
            slate_size=policies.slate_size,
            names=names,
            actions=policies.action_names,
        )

    def fingerprint(self) -> str:
        """That of the votes and of the candidates."""
        return f"{super().fingerprint()} of {self.policies.fingerprint()}"

    def check_contexts(self, contexts: Any) -> Any:
        """As the candidates take them."""
        return self.policies.check_contexts(contexts)

    def voters(self, which: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Numbers of the candidates that count in some of the votes."""
        return np.flatnonzero((self.weights[which] > 0).any(axis=0))

    def counted(
        self,
        slates: npt.NDArray[Any],
        voters: npt.NDArray[np.intp],
        which: npt.NDArray[np.intp],
    ) -> npt.NDArray[Any]:
        """What some of the votes show where their voters say slates (n, len(voters), m)."""
        from policysieve.kernels.votes import count_votes  # brings numba, which loads on use

        shape = (len(slates), len(which), self.slate_size)
        out = np.empty(shape, action_dtype(self.n_actions))
        shares = np.ascontiguousarray(self.weights[np.ix_(which, voters)])
        count_votes(np.ascontiguousarray(slates), shares, self.n_actions, out)
        return out

    @cached_property
    def _heeds(self) -> npt.NDArray[np.bool_]:
        return np.ones(self.n_policies, np.bool_)  # the candidates do, or their fallbacks

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.weights,)

    def _made_of(self, policy: int) -> Sequence[npt.NDArray[Any]]:
        voters, names = self.voters(np.array([policy])).tolist(), self.policies.names
        known = [] if names is None else [np.array([names[voter] for voter in voters])]
        theirs = {id(one): one for voter in voters for one in self.policies._made_of(voter)}
        return [self.weights[policy], *known, *theirs.values()]

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        chosen = np.arange(self.n_policies) if which is None else which
        voters = self.voters(chosen)
        return self.counted(self.policies._evaluate(contexts, voters), voters, chosen)

    def _asked(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        chosen = np.arange(self.n_policies) if which is None else which
        voters = self.voters(chosen)
        said = self.policies._evaluate_among(contexts, voters, available)
        return self.counted(said, voters, chosen)


def _shares(weights: Any, size: int) -> npt.NDArray[np.float64]:
    """Checked weights of votes, each of which sums to one."""
    rule = f"numbers of shape (n_votes, {size:,}) or ({size:,},), one for each candidate"
    given = real_numbers("weights", weights, rule)
    found = given[None] if given.ndim == 1 else given
    if found.ndim != 2 or found.shape[1] != size or not len(found):
        raise InvalidArgumentError(f"weights must be {rule}, got shape {given.shape}")
    bad = ~(np.isfinite(found) & (found >= 0)).all(axis=1)
    rule = "weights must be finite, not negative, and positive for some candidate"
    refuse_rows(bad | (found.max(axis=1) <= 0), rule, lambda i: shown(found[i]), unit="vote")
    bounded = found / found.max(axis=1, keepdims=True)  # the sum of huge ones would be infinite
    shares: npt.NDArray[np.float64] = bounded / bounded.sum(axis=1, keepdims=True)
    shares.flags.writeable = False
    return shares
