"""The shape every learner has: ask, tell, recommend."""

import uuid
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rewards, as_rng
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ValueIntervals
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.ledger import Ledger, Origin
from policysieve.log import Log
from policysieve.policies import AnyPolicies, ImplicitPolicies, Policies
from policysieve.problem import Problem

__all__ = ["Explorer"]

_STREAM = 1  # of random numbers: learners draw others than the world they are in
_SURE = 6.0  # standard errors by which data must contradict a declaration


class Explorer(ABC):
    """A learner: `ask` for what to show, `tell` what it earned, `recommend` a policy.

    There is no memory of "the last action": rewards are told for the batch that `ask` returned,
    so answers may come late, in parts and in any order. Rounds are learnt from in the order of
    their decisions, each once all earlier ones are settled; `pending` counts those still open.

    A new learner implements `_choose`, `_learn`, `finished`, `intervals` and `recommend`.

    Parameters
    ----------
    policies : Policies or ImplicitPolicies
        The candidates. Not every learner takes classes that cannot be listed.
    problem : Problem
        What is asked.
    rng : seed, numpy Generator or None
        The same seed and the same calls give the same bits.
    """

    takes_implicit = False
    """Whether the learner takes a class that cannot be listed."""

    # A learner that takes no implicit class may count on numbered policies.
    policies: Any

    def __init__(self, policies: AnyPolicies, problem: Problem, *, rng: Any = None) -> None:
        self._check_class(policies)
        if not isinstance(problem, Problem):
            raise InvalidArgumentError(
                f"problem must be a Problem, got {problem!r}; for instance "
                "Problem(n_actions=100, epsilon=0.05, delta=0.05)"
            )
        policies.check_fits(problem)
        self.policies = policies
        self.problem = problem
        self._rng = as_rng(rng, stream=_STREAM)
        self._rounds = 0
        self._tried = False
        self._kind: tuple[tuple[int, ...], bool] | None = None  # of contexts: shape, strings or not
        self._mass = np.zeros(2)  # sums over rounds of the importance-weighted rewards, and squares
        self._ledger = Ledger(issuer=uuid.uuid4().hex)
        self._learnt: list[Log] = []  # pieces of the log, put together when it is asked for

    def ask(self, contexts: Any) -> Decisions:
        """Decide what to show at one context or many, and with which propensities.

        Raises
        ------
        InvalidArgumentError
            If the contexts are not of the kind the policies take; nothing is changed.
        PolicyFailureError
            If a policy cannot answer; nothing is changed.
        """
        x = self.policies.check_contexts(contexts)
        kind = (x.shape[1:], x.dtype == object)
        if self._kind is not None and kind != self._kind:
            raise InvalidArgumentError(
                f"contexts must be like those of earlier rounds, of shape (n, *{self._kind[0]}), "
                f"{'strings' if self._kind[1] else 'numbers'}, got shape {x.shape} of {x.dtype}"
            )
        if not len(x) and self.pending and self.ask_limit == 0:
            raise InvalidArgumentError(
                f"there is nothing left to ask for: {self.pending:,} decisions wait to be told, or "
                "to be given up with discard"
            )
        if not self._tried and len(x) and isinstance(self.policies, Policies):
            self.policies.actions(x[:1])  # who cannot answer fails before anything is shown
            self._tried = True
        before = self._rng.bit_generator.state
        try:
            actions, propensities = self._choose(x)
        except BaseException:
            self._rng.bit_generator.state = before
            raise
        self._kind = kind
        return self._ledger.issue(x, actions, propensities)

    def tell(self, decisions: Decisions, rewards: Any) -> None:
        """Report the rewards of what was shown.

        Parameters
        ----------
        decisions : Decisions
            A batch that `ask` returned, or a part of one. Each round is told once.
        rewards : array of shape (n, m), or (n,) when m = 1
            Rewards in [0, 1] of the shown items. An answer that has not come by its deadline is 0.

        Raises
        ------
        DecisionsError, InvalidArgumentError, PolicyFailureError
            The learner is then as it was before.
        """
        if isinstance(decisions, Decisions):
            rewards = as_rewards(
                rewards, len(decisions), self.problem.slate_size, self.problem.sparsity
            )
            self._check_told(rewards)
        self._settle(decisions, rewards)

    def discard(self, decisions: Decisions) -> None:
        """Give up on rounds whose rewards will never be known.

        Only for reasons that have nothing to do with the rewards (a crash, a rejected replay);
        otherwise estimates are biased.
        """
        self._settle(decisions, None)

    @property
    def log(self) -> Log:
        """The rounds learnt from so far, in the order of their decisions."""
        if not self._learnt:
            return Log.empty(contexts=np.empty(0, np.int64), slate_size=self.problem.slate_size)
        whole, *pieces = self._learnt
        self._learnt = [whole]
        for piece in pieces:
            whole.extend(piece)
        return whole[:]

    @property
    def rounds(self) -> int:
        """How many rounds were learnt from."""
        return self._rounds

    @property
    def pending(self) -> int:
        """How many issued rounds are not settled yet."""
        return self._ledger.pending

    def __repr__(self) -> str:
        size = (
            f"{self.policies.n_policies:,} policies"
            if isinstance(self.policies, Policies)
            else type(self.policies).__name__
        )
        return (
            f"{type(self).__name__}({self.rounds:,} rounds, {size}, "
            f"{self.problem.n_actions:,} actions)"
        )

    @property
    def ask_limit(self) -> int | None:
        """Largest batch worth asking for now; None if any is."""
        return None

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether the planned rounds are done, or the answer is certified."""

    @abstractmethod
    def recommend(self) -> Recommendation:
        """The policy to deploy now, and what is known about it."""

    @abstractmethod
    def intervals(self) -> ValueIntervals:
        """Estimate and limits of every policy's value, as `recommend` uses them."""

    @property
    @abstractmethod
    def _draws_per_round(self) -> int:
        """Uniform random numbers used by one round; fixed, so that batching changes no bit."""

    @abstractmethod
    def _choose(
        self, contexts: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        """Slates (n, m) and their propensities (n, m) for checked contexts."""

    @abstractmethod
    def _learn(self, rounds: Log, origin: Origin) -> None:
        """Take in newly settled rounds; `origin` says in which batches they were asked.

        What may fail (a policy that raises) comes before anything is changed.
        """

    def _contradiction(self) -> str | None:
        """What to say if rewards per context clearly exceed the declared sparsity, else None.

        The mean over rounds of the sum of r/W is an unbiased estimate of the sum of the rewards of
        all actions that can be shown.
        """
        n, declared = self.rounds, self.problem.sparsity
        if declared is None or n < 2:
            return None
        mean = self._mass[0] / n
        error = np.sqrt(max(self._mass[1] / n - mean**2, 0.0) / n)
        if mean - _SURE * error <= declared:
            return None
        return (
            f"No guarantee: the declared sparsity {declared:g} is contradicted by the data, where "
            f"the rewards of a context sum to about {mean:.3g}; declare that, or sparsity=None."
        )

    @classmethod
    def _check_class(cls, policies: Any) -> None:
        """Raise unless these are policies of a kind this learner takes."""
        if isinstance(policies, ImplicitPolicies) and not cls.takes_implicit:
            raise InvalidArgumentError(
                f"policies must be numbered for {cls.__name__}, got "
                f"{type(policies).__name__}, which cannot be listed; LowVarianceExploration, "
                "ExplorationByOptimization and Uniform take it"
            )
        if not isinstance(policies, AnyPolicies):
            raise InvalidArgumentError(
                f"policies must be a policy class, got {type(policies).__name__}; for fitted "
                "models: EstimatorPolicies(models, n_actions=...)"
            )

    def _check_told(self, rewards: npt.NDArray[np.float64]) -> None:  # noqa: B027 (most take all)
        """Raise if checked rewards are not of the kind this learner takes."""

    def _uniforms(self, n: int) -> npt.NDArray[np.float64]:
        """The next n rounds' random numbers, shape (n, _draws_per_round)."""
        return self._rng.random((n, self._draws_per_round))

    def _settle(self, decisions: Decisions, rewards: npt.NDArray[np.float64] | None) -> None:
        self._ledger.settle(decisions, rewards)
        try:
            ready = self._ledger.ready()
            if ready is not None:
                self._learn(*ready)
        except BaseException:
            self._ledger.undo(decisions)
            raise
        if ready is None:
            self._ledger.release(0)
            return
        rounds, _ = ready
        rewarded = rounds.rewarded()
        mass = (rounds.rewards[rewarded] / rounds.propensities[rewarded]).sum(axis=1)
        self._mass += (mass.sum(), (mass**2).sum())
        self._learnt.append(rounds)
        self._rounds += len(rounds)
        self._ledger.release(len(rounds))
