"""The shape every learner has: ask, tell, recommend."""

from typing import Any, ClassVar

from policysieve.availability import Available
from policysieve.checks import as_rewards, as_rng
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.asking import changing, living
from policysieve.exploration.decisions import Decisions
from policysieve.exploration.designs.base import Exploration
from policysieve.exploration.late_outcomes import LateOutcomes
from policysieve.exploration.looking import Looking
from policysieve.exploration.watching import Watch
from policysieve.frames import Contexts
from policysieve.log import NOTHING, Beside
from policysieve.log.beside import as_units
from policysieve.log.returning import mixed_units
from policysieve.policies import Answers, AnyPolicies, check_class
from policysieve.policies.policy_class import names_of_actions
from policysieve.problem import Problem
from policysieve.scaling import usual_range

__all__ = ["Explorer"]

_STREAM = 1  # of random numbers: learners draw others than the world they are in


class Explorer(Looking):
    """A learner: `ask` for what to show, `tell` what it earned, `recommend` a policy.

    There is no memory of "the last action": rewards are told for the batch that `ask` returned,
    so answers may come late, in parts and in any order. Rounds are learnt from in the order of
    their decisions, each once all earlier ones are settled; `pending` counts those still open.
    Candidates are called in `ask`, once for each context, and never again; those that were
    eliminated are not called any more.

    Asking questions changes nothing: `recommend`, `intervals`, `log` and the rest only look. All
    methods may be called from many threads. An interrupt leaves all or nothing of a call. A signal
    handler may look; what changes the learner raises `BusyError` within another call. In a forked
    process a learner is a copy, which draws other random numbers.

    A new learner publishes an `exploration`, and implements `_learn`, which binds attributes anew
    and changes no object in place, `_wanted`, `_intervals` and `_recommend`; and `_finished` if it
    can be so while rounds are wanted.

    Parameters
    ----------
    policies : Policies or ImplicitPolicies
        The candidates. Not every learner takes classes that cannot be listed.
    problem : Problem
        What is asked.
    rng : seed, numpy Generator or None
        The same seed and the same calls give the same bits.

    Attributes
    ----------
    exploration : Exploration
        How it explores now; a value, so others may decide with it, too.
    """

    takes_implicit: ClassVar[bool] = False
    """Whether the learner takes a class that cannot be listed."""
    takes_slates: ClassVar[bool] = True
    """Whether the learner shows more than one item."""
    takes_traffic: ClassVar[bool] = True
    """Whether the learner may explore on a share of the rounds alone."""
    takes_guardrails: ClassVar[bool] = False
    """Whether the learner stops showing what is proved to break a guardrail."""

    splits_freely: ClassVar[bool] = False
    """Whether the same rounds leave the same bits however they are cut into parts."""

    # A learner that takes no implicit class may count on numbered policies.
    policies: Any
    exploration: Exploration

    def __init__(self, policies: AnyPolicies, problem: Problem, *, rng: Any = None) -> None:
        self._check_problem(policies, problem)
        self.policies = policies
        self.problem = problem
        self._rng = as_rng(rng, stream=_STREAM)
        self._rounds = 0
        self._period = 0  # how often candidates came in that earlier explorations do not show
        self._log = None
        self._watch = Watch()
        self._late = LateOutcomes.of(policies, problem)
        self._mass = (0, 0.0, 0.0)  # rounds, sums of importance-weighted rewards, and of squares
        self._begin()
        self._open_ledger()
        self._ledger.all_actions = names_of_actions(policies, problem)
        self._ledger.reward_range = usual_range(problem.reward_range)
        living.add(self)

    def ask(self, contexts: Any, *, available: Any = None, units: Any = None) -> Decisions:
        """Decide what to show at one context or many, and with which propensities.

        Parameters
        ----------
        contexts : array, data frame, list or sparse matrix
            Of the kind that the policies take.
        available : bool array of shape (n, n_actions), or sequence of sequences, optional
            What can be shown at each context, as a mask or as lists of numbers or names; at least
            slate_size actions. Nothing else is shown, and a policy is worth what it earns with the
            available items that it shows.
        units : sequence of str or int, optional
            The user or session of each context, if some come back: then only the first round of
            each counts as evidence, and towards what is planned. All rounds of a learner have them,
            or none (docs/maths.md, "One round of each unit").

        Raises
        ------
        InvalidArgumentError
            If the contexts are not of the kind the policies take, or too little is available;
            nothing is changed.
        PolicyFailureError
            If a policy cannot answer, or shows what is not available and has no fallback; nothing
            is changed.
        BusyError
            Within another call of the same thread, as in a signal handler; nothing is changed.
        """
        x = self.policies.check_contexts(self._arranged(contexts))
        if not len(x) and self.pending and self.ask_limit == 0:
            raise InvalidArgumentError(
                f"there is nothing left to ask for: {self.pending:,} decisions wait to be told, or "
                "to be settled with expire or discard"
            )
        known, decisions = self._check_kind(x), None
        names = names_of_actions(self.policies, self.problem)
        allowed = self.policies.check_available(available, len(x), names)
        beside = self._beside(len(x), allowed, units)
        while decisions is None:
            now, explores = self._snapshot(), self._may_explore(max(1, len(x))) > 0
            answers = now._answers_at(x, now.exploration if explores else now._today, allowed)
            # Candidates may be slow: they had no lock.
            decisions = self._decide(x, answers, known, explores, beside, now._period)
        return decisions

    def _beside(self, n: int, available: Available | None, units: Any) -> Beside:
        """What a user says of contexts, or raise if it is unlike what was said of earlier ones."""
        if n and self._log is not None and self._log.has_units == (units is None):
            raise mixed_units()
        if available is None and units is None:
            return NOTHING
        return Beside(available, None if units is None else as_units(units, n))

    @changing
    def _decide(
        self,
        x: Contexts,
        answers: Answers,
        known: bool,
        explores: bool,
        beside: Beside,
        period: int,
    ) -> Decisions | None:
        """Draw and write down what to show; `known` if the kind of contexts was compared.

        None if others have to be asked, because some came in meanwhile.
        """
        if period != self._period:
            return None
        if not known:
            self._check_kind(x)  # another thread may have been quicker
        exploration, rng = self.exploration, self._generator()
        n = self._may_explore(len(x)) if explores else 0
        try:
            said = answers if n == len(x) else answers.take(slice(n))
            uniforms = rng.random((n, exploration.draws_per_round))
            if exploration.policies is not self.policies:  # but some that were fitted for it
                said = exploration._answers(said)
            actions, propensities = exploration._decide(said, uniforms)
            actions, propensities = self._with_today(actions, propensities, answers)
            return self._ledger.issue(
                x,
                actions,
                propensities,
                exploration=exploration,
                kept=None if self.policies.looked_up else answers,
                beside=beside,
                rest=(n, self._today),
            )
        except BaseException:
            self._rewind()  # the next ask does if this is interrupted, too
            raise

    @changing
    def tell(self, decisions: Decisions, rewards: Any, outcomes: Any = None) -> None:
        """Report the rewards of what was shown.

        Parameters
        ----------
        decisions : Decisions
            A batch that `ask` returned, or a part of one. Each round is told once.
        rewards : array of shape (n, m), or (n,) when m = 1
            Rewards of the shown items, in [0, 1] or in the problem's range. An answer that has not
            come by its deadline is 0, or the problem's `no_answer`. One reward for a whole slate
            does not say which item earned it.
        outcomes : dict, optional
            Arrays of the same shape, by the names of outcomes that the problem declares; NaN, or
            left out, if not known yet: see `tell_outcomes`.

        Raises
        ------
        DecisionsError, InvalidArgumentError, PolicyFailureError, BusyError
            The learner is then as it was before.
        """
        places, problem = self._ledger.check(decisions, self._frontier), self.problem
        checked = as_rewards(
            rewards, len(places), problem.slate_size, problem.sparsity, problem.reward_range
        )
        self._check_told(problem.scale.inside(checked))
        if outcomes is None:
            self._settle(places, checked)
            return
        late = self._declared()
        told = late.checked(outcomes, len(places))
        self._settle(places, checked, _late=late.with_rewards(decisions.numbers, told))

    def discard(self, decisions: Decisions) -> None:
        """Give up on rounds whose rewards will never be known.

        Only for reasons that have nothing to do with the rewards (a crash, a rejected replay);
        otherwise estimates are biased. For answers that are late there is `expire`.
        """
        self._tell_checked(decisions, None)

    def open_decisions(self, *, older_than: Any = None) -> Decisions:
        """Decisions that wait for their rewards, in order; ``.ages`` says for how long.

        Parameters
        ----------
        older_than : seconds or timedelta, optional
            Only those that have waited for at least so long.
        """
        return self._open() if older_than is None else self._waiting_for(older_than)

    def expire(self, *, older_than: Any) -> Decisions:
        """Settle decisions that have waited too long with reward 0, and return them.

        That, or the problem's `no_answer`, is what an answer counts that has not come by its
        deadline. Unlike `discard`, it keeps estimates of "a reward in time" unbiased.

        Parameters
        ----------
        older_than : seconds or timedelta
            How long a decision may wait; 0 settles all.

        Raises
        ------
        InvalidArgumentError
            If 0 is outside of the rewards' range, and the problem does not say what else counts.
        """
        return self._expire(older_than, self.problem.unanswered)

    def add(self, policies: Any, *, unseen: bool = False) -> None:
        """Let more candidates in while it runs; `Sieve` and `PolicyElimination` do.

        Raises
        ------
        InvalidArgumentError
            Always: the rounds of other learners are planned for the class that they begin with.
        """
        raise InvalidArgumentError(
            f"{type(self).__name__} takes no candidates on the way: its rounds were planned for "
            "the class that it began with; start a new learner, or use Sieve or PolicyElimination"
        )

    def restart(self) -> None:
        """Begin anew from the rounds that are decided from now on; `Sieve` and others that sift do.

        Raises
        ------
        InvalidArgumentError
            Always: other learners begin anew as new ones.
        """
        raise InvalidArgumentError(
            f"{type(self).__name__} does not begin anew: its rounds were planned from the first "
            "on; start a new learner, or use Sieve or PolicyElimination"
        )

    @classmethod
    def _check_problem(cls, policies: Any, problem: Any) -> None:
        """Raise unless these are policies of a kind this learner takes, and fit the problem."""
        check_class(policies)
        if not cls.takes_implicit and policies.n_policies is None:
            raise InvalidArgumentError(
                f"policies must be numbered for {cls.__name__}, got "
                f"{type(policies).__name__}, which cannot be listed; LowVarianceExploration, "
                "ExplorationByOptimization and Uniform take it"
            )
        policies.check_fits(problem)
        if problem.guardrails is not None and not cls.takes_guardrails:
            raise InvalidArgumentError(
                f"{cls.__name__} takes no guardrails: it would go on showing what breaks them; "
                "Sieve, PolicyElimination and select take them"
            )
        if problem.slate_size > 1 and not cls.takes_slates:
            raise InvalidArgumentError(
                f"{cls.__name__} shows one action at a time, got slate_size={problem.slate_size}; "
                "LowVarianceExploration and Sieve show slates"
            )
        if problem.traffic < 1 and not cls.takes_traffic:
            raise InvalidArgumentError(
                f"{cls.__name__} explores in all rounds, got traffic={problem.traffic:g}: its "
                "promise is proved for its own distribution alone; Sieve, PolicyElimination, "
                "EpsilonGreedy, Exp4, LogBarrier, ListWeights and Uniform explore in a share of "
                "them"
            )
