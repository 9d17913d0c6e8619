"""What every learner does with settled rounds: which of them count, and what is kept."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Events, rewarded_events
from policysieve.evidence.deciders import wrong_propensity
from policysieve.evidence.events import check_log_fits, check_rewards
from policysieve.evidence.record import check_floor
from policysieve.exploration.asking import changing
from policysieve.exploration.designs.base import Exploration
from policysieve.exploration.designs.today import TodayExploration
from policysieve.exploration.restraint import Restrained
from policysieve.exploration.settled import Part
from policysieve.exploration.spending import running_sum
from policysieve.exploration.telling import OutcomeTelling
from policysieve.frames import ContextFrame, Contexts, is_tabular, kind_of
from policysieve.log import AnyLog, Log, in_unit, load_for
from policysieve.log.returning import chosen_rounds
from policysieve.policies import Answers
from policysieve.policies.policy_class import names_of_actions

__all__ = ["Folding"]

_ENTRIES = 1 << 22  # propensities worked out at once
_SURE = 6.0  # standard errors by which data must contradict a declaration
_FEW = 30  # rewards, for a normal approximation


class Folding(Restrained, OutcomeTelling):
    """A learner as a fold over settled rounds, asked for here or elsewhere.

    A subclass implements `_learn`, which binds attributes anew and changes no object in place.
    """

    _log: Log | None = None
    _keeps_log = True  # a study keeps it elsewhere
    _rounds = 0
    _period = 0  # how often candidates came in that earlier explorations do not show
    _mass = (0, 0.0, 0.0)  # rounds, sums of importance-weighted rewards, and of squares
    _begun = 0  # number of the first decision that may count,
    _since = 0  # and place in the log of the first round that does
    _left_out = Columns(np.empty(0, np.int64))  # places there of rounds that do not

    def learn(
        self, rounds: AnyLog, exploration: Exploration, answers: Answers | None = None
    ) -> None:
        """Take in settled rounds that were decided elsewhere, all or nothing.

        `ask` and `tell` do that by themselves with what they issue.

        Parameters
        ----------
        rounds : Log, LogFile, path or paths
            In the order of their decisions. Full distributions are not kept. Units are refused:
            keep the first round of each, and leave their names out.
        exploration : Exploration
            What they were decided by: one that this learner has published.
        answers : Answers, optional
            What the candidates said at their contexts; by default they are asked now.

        Raises
        ------
        InvalidArgumentError, PolicyFailureError
            The learner is then as it was before.
        """
        shows_today = self._today is not None and self._today.same_as(exploration)
        if not shows_today and not self._takes(exploration):
            raise InvalidArgumentError(
                f"exploration must be one that {type(self).__name__} has published, such as "
                f"{self.exploration!r}, got {shown(exploration)}"
            )
        scale = self.problem.scale
        told = load_for(rounds, names_of_actions(self.policies, self.problem), scale.range)
        if told.has_units or self._ledger.has_units:
            raise InvalidArgumentError(
                "units must not be named in rounds that were decided elsewhere, nor have been in "
                "ask: who has come before is not known then; learn from the first round of each "
                "unit, in a log without units"
            )
        columns = told.contexts, told.actions, told.propensities, told.rewards
        rounds = Log.trusted(*columns, beside=told.beside, reward_range=told.reward_range)
        if self._late is None:
            rounds = rounds.with_outcomes({})
        check_log_fits(rounds, self.policies)
        if not shows_today:  # which has none
            check_floor(rounds, exploration.floor)
        check_rewards(rounds, self.problem)
        self._check_told(scale.inside(rounds.rewards))
        x = self.policies.check_contexts(self._arranged(rounds.contexts))
        self._check_kind(x)
        allowed = self.policies.check_available(rounds.available, len(x))
        if answers is None:
            answers = self._class_of(exploration).answers_at(
                x, self._asked_for(exploration), allowed
            )
        elif not isinstance(answers, Answers) or len(answers) != len(x):
            what = f"{len(answers)}" if isinstance(answers, Answers) else type(answers).__name__
            raise InvalidArgumentError(
                f"answers must be what the candidates said at each of the {len(x)} rounds, as "
                f"policies.answers(contexts) gives them, got {what}"
            )
        elif answers.available != allowed:
            raise InvalidArgumentError(
                "answers must be those for what was available in the rounds, as "
                "policies.answers(contexts, log.available) gives them"
            )
        _check_decided_by(exploration, rounds, answers)
        self._learn_alone(Part(rounds, exploration, answers, issued=False))

    @changing
    def _learn_alone(self, part: Part) -> None:
        self._check_kind(part.rounds.contexts)
        self._check_turn(part.exploration)
        if len(part.rounds):
            self._take([part], self._frontier)

    @abstractmethod
    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        """Take in newly settled rounds that were decided by one exploration.

        Their rewards are in [0, 1], and more is better.
        """

    def _takes(self, exploration: Any) -> bool:
        """Whether this learner could have published the exploration."""
        if type(exploration) is not type(self.exploration) or exploration.problem != self.problem:
            return False
        mine, theirs = self.policies, exploration.policies
        return theirs is mine or bool(theirs.fingerprint() == mine.fingerprint())

    def _asked_for(self, exploration: Any) -> npt.NDArray[np.integer] | None:
        """Policies whose answers are read of rounds that it decides; None if all."""
        if isinstance(exploration, TodayExploration):
            return np.array([exploration._today])
        return self._consults(exploration)

    def _answers_at(self, contexts: Any, exploration: Any, available: Any) -> Answers:
        """What the candidates say at checked contexts that an exploration will decide."""
        asked = self._asked_for(exploration)
        answers: Answers = self.policies.answers_at(contexts, asked, available)
        return answers

    def _consults(self, exploration: Any) -> npt.NDArray[np.integer] | None:
        """Policies whose answers are ever read of rounds that it decides from now on; None if all.

        What is published later must not read those of others.
        """
        return None

    def _check_told(self, rewards: npt.NDArray[np.float64]) -> None:
        """Raise if checked rewards, in [0, 1], are not of the kind this learner takes."""

    def _fold(self, part: Part) -> None:
        rounds, answers = part.rounds, part.kept
        unit = in_unit(rounds, self.problem.scale)
        if isinstance(part.exploration, TodayExploration):
            answers = None
        elif answers is None:
            answers = self._class_of(part.exploration).answers_at(
                rounds.contexts, None, rounds.available
            )
        self._spend(part._replace(rounds=unit), answers)
        at, rows = self._logged, self._counting(part)
        if rows is not None:
            unit = chosen_rounds(unit, rows)
            answers = None if answers is None else answers.take(rows)
        if self._late is not None:
            self._late, rounds = self._late.with_learnt(part, answers, self._asked_of, rows, at=at)
        if len(unit):
            self._learn(unit, part.exploration, answers)
        n, total, squares = self._mass
        if unit.rewards.any():
            mass = (unit.rewards / unit.propensities).sum(axis=1)
            total, squares = running_sum(total, mass), running_sum(squares, mass * mass)
        self._mass = (n + len(unit), total, squares)
        self._keep(rounds, len(unit))
        if rows is not None:
            self._left_out = self._left_out.plus(at + np.delete(np.arange(len(rounds)), rows))
        if self._begun and part.numbers is not None:
            early = int((part.numbers < self._begun).sum())
            self._since = at + early if early else self._since

    def _counting(self, part: Part) -> npt.NDArray[np.intp] | None:
        """Which rounds count as evidence; None if all do.

        Not those that were decided before it began anew, nor by the policy that runs today for
        sure, nor later ones of a unit.
        """
        if isinstance(part.exploration, TodayExploration):
            return np.empty(0, np.intp)
        counts = part.first
        if self._begun and part.numbers is not None:
            later = part.numbers >= self._begun
            counts = later if counts is None else counts & later
        return None if counts is None or counts.all() else np.flatnonzero(counts)

    @property
    def _counted_places(self) -> npt.NDArray[np.int64]:
        """Where the rounds that count are in the log."""
        every = np.arange(self._since, self._logged)
        return every[~np.isin(every, self._left_out.arrays[0])]

    def _places_for(self, policies: Sequence[int] | None) -> npt.NDArray[np.int64]:
        """Where the rounds are in the log that count for some policies; None for all."""
        return self._counted_places

    @property
    def _logged(self) -> int:
        """Rounds in the log."""
        return 0 if self._log is None else len(self._log)

    def _keep(self, rounds: Log, counted: int) -> None:
        """Log rounds, so many of which count."""
        self._rounds += counted
        if not self._keeps_log:
            return
        if rounds.distributions is not None:  # which rounds that were asked here do not have
            rounds = rounds.without_distributions()
        self._log = rounds.copy() if self._log is None else self._log.plus(rounds)

    def _class_of(self, exploration: Any) -> Any:
        """The policies that an exploration knows of."""
        return self.policies

    def _check_turn(self, exploration: Any) -> None:
        """Raise if rounds that an exploration has decided elsewhere must come later, or earlier."""

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
            sizes = ", ".join(map(str, ("n", *shape)))
            raise InvalidArgumentError(
                f"contexts must be like those of earlier rounds, of shape ({sizes}), "
                f"{kind}, got shape {contexts.shape} of {contexts.dtype}"
            )
        return True

    def _contradiction(self) -> str | None:
        """What to say if rewards per context clearly exceed the declared sparsity, else None.

        The mean over rounds of the sum of r/W is an unbiased estimate of the sum of the rewards of
        all actions that can be shown.
        """
        declared, scale = self.problem.unit.sparsity, self.problem.scale
        n, total, squares = self._mass
        few = total**2 <= _FEW * squares  # of equal masses: at most so many
        if declared is None or few:
            return None
        mean = total / n
        error = np.sqrt(max(squares / n - mean**2, 0.0) / n)
        if mean - _SURE * error <= declared:
            return None
        return (
            f"No guarantee: the declared sparsity {scale.distance(declared):g} is contradicted by "
            "the data, where the rewards of a context sum to about "
            f"{scale.distance(mean):.3g}; declare that, or sparsity=None."
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
        wrong = wrong_propensity(part.propensities, true)
        if wrong is not None:
            row, slot = wrong
            raise InvalidArgumentError(
                f"propensities must be those of the exploration, got "
                f"{part.propensities[row, slot]:g} in row {start + row}, where it shows action "
                f"{part.actions[row, slot]} with {true[row, slot]:g}; learn from rounds with the "
                "exploration that they were decided by"
            )
