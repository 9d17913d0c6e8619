"""The Sieve where a vote of the candidates may be deployed, too."""

from typing import Any, NamedTuple

import numpy as np

from policysieve.evidence import fit_votes
from policysieve.exploration.decisions import Decisions
from policysieve.exploration.learners import Sieve
from policysieve.policies import PolicyTable, VotePolicies
from policysieve.problem import Problem

__all__ = ["Deployed", "VoteOfSieve", "VotingSieve"]

_FITTED_AFTER = 100  # rounds


class Deployed(NamedTuple):
    """A recommendation that need not be one of the candidates: a table of one policy."""

    policy: PolicyTable


class VotingSieve:
    """The Sieve on the candidates and the vote in which all count alike, played like a learner.

    Parameters
    ----------
    policies, problem
    fitted : bool
        Whether votes that are fitted on the first 100 rounds join then, for which later rounds
        count.
    settings
        Of the Sieve.
    """

    def __init__(
        self, policies: PolicyTable, problem: Problem, *, fitted: bool, **settings: Any
    ) -> None:
        self._candidates, self._waits = policies, fitted
        start = policies + as_table(VotePolicies(policies), policies)
        self.sieve = Sieve(start, problem, additions=int(fitted), **settings)

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return self.sieve.rounds

    @property
    def finished(self) -> bool:
        """Whether it is certified, with all votes, or its rounds are used up."""
        return self.sieve.finished

    @property
    def ask_limit(self) -> int:
        """As the Sieve has it, and no further than to where votes join."""
        limit = int(self.sieve.ask_limit)
        return min(limit, _FITTED_AFTER - self.rounds) if self._waits else limit

    @property
    def policies(self) -> PolicyTable:
        """The candidates and the votes so far."""
        policies = self.sieve.policies
        assert isinstance(policies, PolicyTable)
        return policies

    def ask(self, contexts: Any) -> Decisions:
        """What the Sieve shows."""
        return self.sieve.ask(contexts)

    def tell(self, decisions: Decisions, rewards: Any) -> None:
        """Learn, and let votes join when it is time."""
        self.sieve.tell(decisions, rewards)
        if self._waits and self.rounds >= _FITTED_AFTER:
            votes = fit_votes(self.sieve.log, self._candidates, self.sieve.problem)
            self.sieve.add(as_table(votes, self._candidates))
            self._waits = False

    def recommend(self) -> Deployed:
        """What the Sieve recommends."""
        leader, policies = self.sieve.recommend().policy, self.policies
        assert isinstance(leader, int)
        return Deployed(PolicyTable(policies.table[:, [leader]], n_actions=policies.n_actions))


class VoteOfSieve:
    """The Sieve, whose present vote of the candidates is deployed, played like a learner.

    Parameters
    ----------
    policies, problem
    settings
        Of the Sieve.
    """

    finished = False
    ask_limit = None

    def __init__(self, policies: PolicyTable, problem: Problem, **settings: Any) -> None:
        self._candidates = policies
        self.sieve = Sieve(policies, problem, goal="best", **settings)

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return self.sieve.rounds

    def ask(self, contexts: Any) -> Decisions:
        """What the Sieve shows."""
        return self.sieve.ask(contexts)

    def tell(self, decisions: Decisions, rewards: Any) -> None:
        """Learn."""
        self.sieve.tell(decisions, rewards)

    def recommend(self) -> Deployed:
        """The vote of what is left, by how good each seems; nothing is proved about it."""
        return Deployed(as_table(self.sieve.vote(), self._candidates))


def as_table(votes: VotePolicies, policies: PolicyTable) -> PolicyTable:
    """Votes of a table's policies at all of its contexts."""
    return PolicyTable(votes.actions(np.arange(policies.n_contexts)), n_actions=votes.n_actions)
