"""The shape every learner has: ask, tell, recommend."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from policysieve.availability import Available
from policysieve.checks import as_rewards, as_rng, number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ValueIntervals
from policysieve.evidence.certificate import gain_in_words
from policysieve.evidence.change import Change
from policysieve.exploration.asking import alone, changing, living
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designs.base import Exploration
from policysieve.exploration.folding import Folding
from policysieve.exploration.forecast import Forecast, no_forecast, planned_forecast
from policysieve.exploration.late_outcomes import LateOutcomes
from policysieve.exploration.watching import Watch
from policysieve.frames import Contexts
from policysieve.log import NOTHING, Beside, Log
from policysieve.log.beside import as_units
from policysieve.log.returning import mixed_units
from policysieve.policies import Answers, AnyPolicies, check_class
from policysieve.policies.policy_class import names_of_actions
from policysieve.problem import Problem
from policysieve.scaling import usual_range

__all__ = ["BATCH", "Explorer"]

_STREAM = 1  # of random numbers: learners draw others than the world they are in
BATCH = 100  # contexts at once, by default; docs/costly.md has what others cost


class Explorer(Folding):
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
    """Whether the learner stops to show what is proved to break a guardrail."""

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
        self._log: Log | None = None
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

    @property
    def since(self) -> int:
        """The first round of `log` that counts: 0, or the first one decided after `restart`."""
        return 0

    @property
    def log(self) -> Log:
        """The rounds settled so far, in the order of their decisions."""
        now = self._snapshot()
        log = now._log
        if log is None:
            q = self.problem
            nothing = np.empty(0, np.int64)
            log = Log.empty(contexts=nothing, slate_size=q.slate_size, reward_range=q.reward_range)
        elif now._late is not None:
            log = now._late.in_log(log)
        names = names_of_actions(self.policies, self.problem)
        return log[:] if names is None else log.with_action_names(names)

    @property
    def alarm(self) -> Change | None:
        """The change of the world that the rounds so far prove, or None.

        A world that does not change raises an alarm, ever, with probability at most the problem's
        delta, however often you ask (docs/maths.md, "A changed world"). Guarantees do not hold
        across a change, and that of `recommend` says so. Rounds from `since` on count. It is found
        from `log` when it is asked for, and the next time from what has come since then.
        """
        return self._snapshot()._alarm

    @property
    def _alarm(self) -> Change | None:
        if self._log is None:
            return None
        names = names_of_actions(self.policies, self.problem)
        first = self._counted_places if self._log.has_units else None
        return self._watch.alarm(self._log, self.since, self.problem, names, first)

    @property
    def rounds(self) -> int:
        """How many rounds were learnt from.

        Not those that showed what the policy that runs today would for sure, nor, if units are
        named, later ones of a unit.
        """
        return self._rounds

    @property
    def played(self) -> int:
        """How many rounds were settled, whether they were learnt from or not: those of `log`."""
        return self._logged

    @property
    def pending(self) -> int:
        """How many issued rounds are not settled yet."""
        return self._n_pending()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.rounds:,} rounds, {self.policies.size_in_words}, "
            f"{self.problem.n_actions:,} actions)"
        )

    @property
    def batch_size(self) -> int:
        """How many contexts to ask for at once; 0 if all planned rounds wait for their answers.

        More of them would take more rounds. Fewer would save about a tenth, and take more batches,
        which is what slow candidates cost (docs/costly.md).
        """
        return self._batch_of(None)

    @property
    @alone
    def ask_limit(self) -> Any:
        """Rounds up to the learner's next step, at most; None if there is none.

        That is a look at the evidence, after which it may explore in another way, the end of what
        is planned, or of what the problem's `max_loss` allows to explore. It is 0 while the step
        waits for answers, and None while the learner does not explore.
        """
        wanted = None if self._stopped else self._wanted
        if wanted is None:
            return None
        return self._may_explore(max(0, wanted - self._ledger.waiting(self._frontier)))

    @alone
    def _batch_of(self, most: int | None) -> int:
        """How many contexts to ask for at once, at most so many, by default as is advised."""
        if self._stopped:
            return BATCH if most is None else most
        return self._may_explore(max(0, self._batch(most, self._ledger.waiting(self._frontier))))

    def _batch(self, most: int | None, waiting: int) -> int:
        """The same where so many rounds wait for their answers; it may be negative."""
        most, wanted = BATCH if most is None else most, self._wanted
        return most if wanted is None else min(most, wanted - waiting)

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done, the answer is certified, or nothing may be explored.

        The last is so once the problem's `max_loss` is used up, and no answer is waited for. Later
        rounds may be asked for all the same: they show what the policy that runs today would.
        """
        return self._snapshot()._finished or self._spent

    def recommend(self) -> Recommendation:
        """The policy to deploy now, and what is known about it."""
        now = self._seen()
        best, policies = now._recommend(), now.policies
        if policies.names is not None and isinstance(best.policy, int):
            best = replace(best, name=policies.names[best.policy])
        against = policies.against(self.problem)
        if now._late is not None:
            best = best.with_outcomes(now.outcomes(), against)
            best = best.with_open(now.open_outcomes, finished=now.finished)
        if against is not None:
            best = replace(best, against=policies.name_of(against))
        if best.gain is not None and best.against is not None and best.rounds:
            gain = gain_in_words(best.policy_name, best.against, best.gain, self.problem)
            best = replace(best, guarantee=f"{best.guarantee} {gain}")
        if now._spent and not now._finished:
            spent = f"The limit on what exploring may cost, {self.problem.max_loss:g}, is used up."
            best = replace(best, guarantee=f"{best.guarantee} {spent} Nothing more is explored.")
        change = now._alarm
        return best if change is None else replace(best, guarantee=change.warning(best.guarantee))

    def intervals(self) -> ValueIntervals:
        """Estimate and limits of every policy's value, as `recommend` uses them."""
        return replace(self._snapshot()._intervals(), names=self.policies.names)

    def forecast(self, per_day: float | None = None) -> Forecast:
        """How many rounds it will take, with an interval; no guarantee (docs/how-long.md).

        Planned rounds are exact. A proof is expected when evidence, growing as it did, is enough;
        there is no forecast while nothing may be explored, or a guardrail is not proved.

        Parameters
        ----------
        per_day : float, optional
            Rounds of traffic a day: then the forecast has days and a date, too.
        """
        if per_day is not None:
            per_day = number("per_day", per_day, above=0, below=float("inf"))
        now = self._seen()
        found, why = now._forecast(), now._why_no_proof
        if why is not None and not now._finished:
            found = no_forecast(why, rounds=now._rounds, limit=found.limit)
        return replace(found, per_day=per_day)

    def _forecast(self) -> Forecast:
        wanted, rounds = self._wanted, self._rounds
        if wanted is None:
            return no_forecast("this learner has no end of its own.", rounds=rounds)
        return planned_forecast(wanted, rounds=rounds)

    @property
    def _finished(self) -> bool:
        return self._wanted == 0

    @property
    @abstractmethod
    def _wanted(self) -> int | None:
        """Rounds that the exploration should still be played, open ones included; None if any."""

    @abstractmethod
    def _recommend(self) -> Recommendation:
        """What to deploy now, in the user's units."""

    @abstractmethod
    def _intervals(self) -> ValueIntervals:
        """Estimates and limits, in the user's units."""

    @property
    def _limits_hold(self) -> bool:
        """Whether `intervals` hold now; those of a learner that adapts do so at any time."""
        return True

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
                f"{cls.__name__} takes no guardrails: it would go on to show what breaks them; "
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
