"""What a learner says when it is asked: how far it is, what it recommends, what it expects."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from policysieve.checks import number
from policysieve.evidence import ValueIntervals
from policysieve.evidence.certificate import gain_in_words
from policysieve.evidence.change import Change
from policysieve.exploration.asking import alone
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.folding import Folding
from policysieve.exploration.forecast import Forecast, no_forecast, planned_forecast
from policysieve.exploration.watching import Watch
from policysieve.log import Log
from policysieve.policies.policy_class import names_of_actions

__all__ = ["BATCH", "Looking"]

BATCH = 100  # contexts at once, by default; docs/costly.md has what others cost


class Looking(Folding):
    """A learner that can be asked, which changes nothing.

    A subclass implements `_wanted`, `_intervals` and `_recommend`; and `_finished` if it can be so
    while rounds are wanted.
    """

    _watch: Watch

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
