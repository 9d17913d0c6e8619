"""The shape every learner has: ask, tell, recommend."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.checks import as_rewards, as_rng
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Events, ValueIntervals, rewarded_events
from policysieve.evidence.certificate import gain_in_words
from policysieve.evidence.change import Change, find_change
from policysieve.evidence.change_sums import ChangeSums
from policysieve.evidence.events import check_log_fits
from policysieve.evidence.groups import context_groups
from policysieve.evidence.record import check_floor
from policysieve.exploration.asking import alone, changing, living
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designs.base import Exploration
from policysieve.exploration.late_outcomes import LateOutcomes
from policysieve.exploration.ledger import Part
from policysieve.exploration.telling import OutcomeTelling
from policysieve.frames import ContextFrame, Contexts, is_tabular, kind_of
from policysieve.log import AnyLog, Log, load_for
from policysieve.policies import Answers, AnyPolicies, check_class
from policysieve.policies.base import names_of_actions
from policysieve.problem import Problem

__all__ = ["BATCH", "Explorer"]

_STREAM = 1  # of random numbers: learners draw others than the world they are in
_CLOSE = 1e-6  # relative: rounding allowed between propensities and those of their exploration
_ENTRIES = 1 << 22  # propensities worked out at once
_SURE = 6.0  # standard errors by which data must contradict a declaration
BATCH = 100  # contexts at once, by default; docs/costly.md has what others cost
_FEW = 30  # rewards, for a normal approximation


class Explorer(OutcomeTelling):
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
        What is played now; a value, so others may decide with it, too.
    """

    takes_implicit: ClassVar[bool] = False
    """Whether the learner takes a class that cannot be listed."""
    takes_slates: ClassVar[bool] = True
    """Whether the learner shows more than one item."""
    takes_guardrails: ClassVar[bool] = False
    """Whether the learner stops to show what is proved to break a guardrail."""

    # A learner that takes no implicit class may count on numbered policies.
    policies: Any
    exploration: Exploration

    def __init__(self, policies: AnyPolicies, problem: Problem, *, rng: Any = None) -> None:
        self._check_problem(policies, problem)
        self.policies = policies
        self.problem = problem
        self._rng = as_rng(rng, stream=_STREAM)
        self._rounds = 0
        self._log: Log | None = None
        self._late = LateOutcomes.of(policies, problem)
        self._mass = (0.0, 0.0)  # sums over rounds of the importance-weighted rewards, and squares
        self._open_ledger()
        self._ledger.all_actions = names_of_actions(policies, problem)
        living.add(self)

    def ask(self, contexts: Any) -> Decisions:
        """Decide what to show at one context or many, and with which propensities.

        Raises
        ------
        InvalidArgumentError
            If the contexts are not of the kind the policies take; nothing is changed.
        PolicyFailureError
            If a policy cannot answer; nothing is changed.
        BusyError
            Within another call of the same thread, as in a signal handler; nothing is changed.
        """
        x = self.policies.check_contexts(self._arranged(contexts))
        if not len(x) and self.pending and self.ask_limit == 0:
            raise InvalidArgumentError(
                f"there is nothing left to ask for: {self.pending:,} decisions wait to be told, or "
                "to be settled with expire or discard"
            )
        known = self._check_kind(x)
        answers = self.policies.answers_at(x, self._consults(self.exploration))
        return self._decide(x, answers, known)  # candidates may be slow: they had no lock

    @changing
    def _decide(self, x: Contexts, answers: Answers, known: bool) -> Decisions:
        """Draw and write down what to show; `known` if the kind of contexts was compared."""
        if not known:
            self._check_kind(x)  # another thread may have been quicker
        exploration, rng = self.exploration, self._generator()
        try:
            uniforms = rng.random((len(x), exploration.draws_per_round))
            said = answers
            if exploration.policies is not self.policies:  # but some that were fitted for it
                said = exploration._answers(answers)
            actions, propensities = exploration._choose(said, uniforms)
            return self._ledger.issue(
                x,
                actions,
                propensities,
                exploration=exploration,
                kept=None if self.policies.looked_up else answers,
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
            Rewards in [0, 1] of the shown items. An answer that has not come by its deadline is 0.
        outcomes : dict, optional
            Arrays of the same shape, by the names of outcomes that the problem declares; NaN, or
            left out, if not known yet: see `tell_outcomes`.

        Raises
        ------
        DecisionsError, InvalidArgumentError, PolicyFailureError, BusyError
            The learner is then as it was before.
        """
        places, problem = self._ledger.check(decisions, self._frontier), self.problem
        checked = as_rewards(rewards, len(places), problem.slate_size, problem.sparsity)
        self._check_told(checked)
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

        That is what an answer counts that has not come by its deadline. Unlike `discard`, it keeps
        estimates of "a reward in time" unbiased.

        Parameters
        ----------
        older_than : seconds or timedelta
            How long a decision may wait; 0 settles all.
        """
        return self._expire(older_than)

    def learn(
        self, rounds: AnyLog, exploration: Exploration, answers: Answers | None = None
    ) -> None:
        """Take in settled rounds that were decided elsewhere, all or nothing.

        `ask` and `tell` do that by themselves with what they issue.

        Parameters
        ----------
        rounds : Log, LogFile, path or paths
            In the order of their decisions. Full distributions are not kept.
        exploration : Exploration
            What they were decided by: one that this learner has published.
        answers : Answers, optional
            What the candidates said at their contexts; by default they are asked now.

        Raises
        ------
        InvalidArgumentError, PolicyFailureError
            The learner is then as it was before.
        """
        if not self._takes(exploration):
            raise InvalidArgumentError(
                f"exploration must be one that {type(self).__name__} has published, such as "
                f"{self.exploration!r}, got {shown(exploration)}"
            )
        told = load_for(rounds, names_of_actions(self.policies, self.problem))
        rounds = Log.trusted(told.contexts, told.actions, told.propensities, told.rewards)
        if self._late is not None:
            rounds = rounds.with_outcomes(told.outcomes)
        check_log_fits(rounds, self.policies)
        check_floor(rounds, exploration.floor)
        q = self.problem
        self._check_told(as_rewards(rounds.rewards, len(rounds), q.slate_size, q.sparsity))
        x = self.policies.check_contexts(self._arranged(rounds.contexts))
        self._check_kind(x)
        if answers is None:
            answers = self.policies.answers_at(x, self._consults(exploration))
        elif not isinstance(answers, Answers) or len(answers) != len(x):
            what = f"{len(answers)}" if isinstance(answers, Answers) else type(answers).__name__
            raise InvalidArgumentError(
                f"answers must be what the candidates said at each of the {len(x)} rounds, as "
                f"policies.answers(contexts) gives them, got {what}"
            )
        _check_decided_by(exploration, rounds, answers)
        self._learn_alone(Part(rounds, exploration, answers))

    @changing
    def _learn_alone(self, part: Part) -> None:
        self._check_kind(part.rounds.contexts)
        if len(part.rounds):
            self._take([part], self._frontier)

    @property
    def log(self) -> Log:
        """The rounds learnt from so far, in the order of their decisions."""
        log = self._snapshot()._log
        if log is None:
            log = Log.empty(contexts=np.empty(0, np.int64), slate_size=self.problem.slate_size)
        elif self._late is not None:
            log = log.with_outcomes(self._late.counted.all_values())
        names = names_of_actions(self.policies, self.problem)
        return log[:] if names is None else log.with_action_names(names)

    @property
    def alarm(self) -> Change | None:
        """The change of the world that the rounds so far prove, or None.

        A world that does not change raises an alarm, ever, with probability at most the problem's
        delta, however often you ask (docs/maths.md, "A changed world"). Guarantees do not hold
        across a change. It is found from `log` whenever it is asked for, and costs nothing else.
        """
        log = self.log
        sums = ChangeSums(self.problem.slate_size)
        for rounds in log.rounds():
            sums.add(rounds, context_groups(rounds.contexts))
        names = names_of_actions(self.policies, self.problem)
        return find_change(sums, self.problem.n_actions, self.problem.delta, names)

    @property
    def rounds(self) -> int:
        """How many rounds were learnt from."""
        return self._rounds

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

        That is a look at the evidence, after which it may explore in another way, or the end of
        what is planned. It is 0 while the step waits for answers.
        """
        wanted = self._wanted
        return None if wanted is None else max(0, wanted - self._ledger.waiting(self._frontier))

    @alone
    def _batch_of(self, most: int | None) -> int:
        """How many contexts to ask for at once, at most so many, by default as is advised."""
        return max(0, self._batch(most, self._ledger.waiting(self._frontier)))

    def _batch(self, most: int | None, waiting: int) -> int:
        """The same where so many rounds wait for their answers; it may be negative."""
        most, wanted = BATCH if most is None else most, self._wanted
        return most if wanted is None else min(most, wanted - waiting)

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done, or the answer is certified."""
        return self._snapshot()._finished

    def recommend(self) -> Recommendation:
        """The policy to deploy now, and what is known about it."""
        best = self._snapshot()._recommend()
        if self.policies.names is not None and isinstance(best.policy, int):
            best = replace(best, name=self.policies.names[best.policy])
        against = self.policies.against(self.problem)
        if self._late is not None:
            best = best.with_outcomes(self.outcomes(), against)
        if against is None:
            return best
        best = replace(best, against=self.policies.name_of(against))
        if best.gain is None or best.against is None or not best.rounds:
            return best
        gain = gain_in_words(best.policy_name, best.against, best.gain, self.problem.delta)
        return replace(best, guarantee=f"{best.guarantee} {gain}")

    def intervals(self) -> ValueIntervals:
        """Estimate and limits of every policy's value, as `recommend` uses them."""
        return replace(self._snapshot()._intervals(), names=self.policies.names)

    @abstractmethod
    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        """Take in newly settled rounds that were decided by one exploration."""

    @property
    def _finished(self) -> bool:
        return self._wanted == 0

    @property
    @abstractmethod
    def _wanted(self) -> int | None:
        """Rounds that the exploration should still be played, open ones included; None if any."""

    @abstractmethod
    def _recommend(self) -> Recommendation: ...

    @abstractmethod
    def _intervals(self) -> ValueIntervals: ...

    def _takes(self, exploration: Any) -> bool:
        """Whether this learner could have published the exploration."""
        if type(exploration) is not type(self.exploration) or exploration.problem != self.problem:
            return False
        mine, theirs = self.policies, exploration.policies
        return theirs is mine or bool(theirs.fingerprint() == mine.fingerprint())

    def _consults(self, exploration: Any) -> npt.NDArray[np.integer] | None:
        """Policies whose answers are ever read of rounds that it decides from now on; None if all.

        What is published later must not read those of others.
        """
        return None

    def _check_told(self, rewards: npt.NDArray[np.float64]) -> None:
        """Raise if checked rewards are not of the kind this learner takes."""

    def _fold(self, part: Part) -> None:
        rounds, answers = part.rounds, part.kept
        if answers is None:
            answers = self.policies.answers_at(rounds.contexts)
        if self._late is not None:
            self._late = self._late.with_learnt(part, answers, self._asked_of)
            rounds = rounds.with_outcomes({})
        self._learn(rounds, part.exploration, answers)
        if rounds.rewards.any():
            mass = (rounds.rewards / rounds.propensities).sum(axis=1)
            self._mass = (self._mass[0] + float(mass.sum()), self._mass[1] + float(mass @ mass))
        if rounds.distributions is not None:  # which rounds that were asked here do not have
            rounds = rounds.without_distributions()
        self._log = rounds.copy() if self._log is None else self._log.plus(rounds)
        self._rounds += len(rounds)

    def _events(self, rounds: Log, answers: Answers) -> Events:
        return rewarded_events(rounds, self.policies, answers)

    def _earlier(self) -> Any:
        """Contexts of earlier rounds; None if there are none."""
        earlier = self._ledger.contexts
        if earlier is None and self._log is not None:
            earlier = self._log.contexts
        return earlier

    def _arranged(self, contexts: Any) -> Any:
        """Rows of a table as earlier ones came, or raise if no log holds both; others as given."""
        told = None if self._log is None else self._log.contexts
        for earlier in (told, self._ledger.contexts):
            if isinstance(earlier, ContextFrame) and is_tabular(contexts):
                contexts = ContextFrame.of(contexts).like(earlier.dtype)
                earlier.check_takes(contexts)
        return contexts

    def _check_kind(self, contexts: Any) -> bool:
        """Raise if contexts are not like earlier ones; False if there are none to compare."""
        earlier = self._earlier()
        if earlier is None or not len(contexts):
            return False
        if contexts.dtype == earlier.dtype and contexts.shape[1:] == earlier.shape[1:]:
            return True
        shape, kind = _kind(earlier)
        if _kind(contexts) != (shape, kind):
            raise InvalidArgumentError(
                f"contexts must be like those of earlier rounds, of shape (n, *{shape}), "
                f"{kind}, got shape {contexts.shape} of {contexts.dtype}"
            )
        return True

    def _contradiction(self) -> str | None:
        """What to say if rewards per context clearly exceed the declared sparsity, else None.

        The mean over rounds of the sum of r/W is an unbiased estimate of the sum of the rewards of
        all actions that can be shown.
        """
        n, declared = self._rounds, self.problem.sparsity
        few = self._mass[0] ** 2 <= _FEW * self._mass[1]  # of equal masses: at most so many
        if declared is None or few:
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


def _kind(contexts: Contexts) -> tuple[tuple[int, ...], str]:
    """Shape and kind of a context.

    Of numbers only those beyond int64 are a kind of their own: they and others together would be
    rounded.
    """
    beyond = contexts.dtype == np.uint64
    return contexts.shape[1:], "whole numbers beyond int64" if beyond else kind_of(contexts.dtype)


def _check_decided_by(exploration: Exploration, rounds: Log, answers: Answers) -> None:
    """Raise unless an exploration shows what was shown with the propensities that are given."""
    block = max(1, _ENTRIES // exploration.problem.n_actions)
    for start in range(0, len(rounds), block):
        part = rounds[start : start + block]
        every = exploration.propensities(answers.take(slice(start, start + block)))
        true = np.take_along_axis(every, part.actions.astype(np.intp), axis=1)
        wrong = ~(np.abs(part.propensities - true) <= _CLOSE * true)
        if wrong.any():
            row, slot = np.argwhere(wrong)[0]
            raise InvalidArgumentError(
                f"propensities must be those of the exploration, got "
                f"{part.propensities[row, slot]:g} in row {start + row}, where it shows action "
                f"{part.actions[row, slot]} with {true[row, slot]:g}; learn from rounds with the "
                "exploration that they were decided by"
            )
