"""From any log with propensities to the best policy, with a certificate."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import log as ln
from math import log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.checks import number, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.certificate import Certificate, gain_in_words
from policysieve.evidence.comparing import Comparison, chosen_among, pair_of
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.events import check_log_fits
from policysieve.evidence.evidence import MEMORY_LIMIT, Decider, Evidence, check_decider
from policysieve.evidence.implicit import ImplicitEvidence
from policysieve.evidence.kinds import (
    METHODS,
    AnyEvidence,
    Method,
    default_method,
    evidence_of,
)
from policysieve.evidence.outcomes import values_of
from policysieve.evidence.record import check_floor
from policysieve.evidence.segments import MOST, Segments, segments_finder
from policysieve.evidence.verdicts import (
    AMONG,
    Guardrail,
    guardrails_in_words,
    outcomes_to_dict,
)
from policysieve.evidence.watching import Watch
from policysieve.evidence.weights import Mass
from policysieve.log import AnyLog, Log, LogFile, open_for
from policysieve.log.returning import Met
from policysieve.policies import AnyPolicies, Policy, check_class
from policysieve.policies.base import names_of_actions
from policysieve.policies.pair import PolicyPair
from policysieve.problem import Problem
from policysieve.reported import Reported
from policysieve.tabling import FrameKind, frame_of

__all__ = ["Selection", "select"]

_SURE = 1e-4  # probability of refusing a log whose propensities are right, by their mean weight
_ALMOST_ONE = 1 - 2.0**-53
_ROUNDING = 1.01  # propensities may be rounded, so their sum may be that much above what it is
_ADVICE = "run policysieve check on the log to see more"


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection(Reported):
    """The best policy according to a log, and what the log proves about it.

    Attributes
    ----------
    policy : int or Policy
        The leader of the certificate: its number, or itself if the class cannot be listed.
    value : float
        Estimate of its expected reward per round.
    intervals : ValueIntervals
        Estimate of every policy, and limits that hold for all of them at once and at any time; of
        the selected one only if the class cannot be listed.
    certificate : Certificate
    problem : Problem
    floor : float or None
        Smallest propensity that the certificate counts on; None if it needs none, or there is none.
    returning : int or None
        Rounds of units that had come before, which do not count; None if units are not named.
    outcomes : dict of ValueIntervals, or None
        The same of every outcome that the problem declares, by name, in its own units. They hold
        for all policies and outcomes at once.
    guardrails : tuple of Guardrail, or None
        What is proved of the selected policy and each guardrail of the problem.
    segments : Segments, or None
        For whom it is better, if `select` was asked for a segment.
    """

    policy: int | Policy
    value: float
    intervals: ValueIntervals = field(repr=False)
    certificate: Certificate
    problem: Problem
    floor: float | None
    returning: int | None = None
    outcomes: dict[str, ValueIntervals] | None = field(default=None, repr=False)
    guardrails: tuple[Guardrail, ...] | None = None
    segments: Segments | None = field(default=None, repr=False)
    find_comparison: Callable[..., Comparison] | None = field(default=None, repr=False)
    find_segments: Callable[..., Segments] | None = field(default=None, repr=False)

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """Estimates, shape (n_policies,)."""
        return self.intervals.values

    @property
    def lower(self) -> npt.NDArray[np.float64]:
        """Lower limits, shape (n_policies,)."""
        return self.intervals.lower

    @property
    def upper(self) -> npt.NDArray[np.float64]:
        """Upper limits, shape (n_policies,)."""
        return self.intervals.upper

    @property
    def chosen(self) -> int:
        """Where the selected policy stands in these arrays."""
        return self.intervals.place_of(self.policy)

    @property
    def shown_policies(self) -> tuple[int, ...]:
        """Numbers of the selected policy and the one that runs today, if policies have numbers."""
        if not isinstance(self.policy, int):
            return ()
        names, against = self.intervals.names, self.problem.against
        if isinstance(against, str) and names is not None:
            against = names.index(against)
        both = (self.policy, against)
        return tuple(dict.fromkeys(one for one in both if isinstance(one, int)))

    @property
    def policy_name(self) -> str:
        """The policy in words: its name, its number, or what it is."""
        return self.certificate.policy_name

    @property
    def true_values(self) -> None:
        """A log does not know them."""
        return None

    @property
    def guarantee(self) -> str:
        """What is proved, in one sentence; more if units come back or who runs today is named.

        And one for guardrails.
        """
        proof = self.certificate
        if proof.against is None or proof.gain is None:
            return f"{self._about_the_best}{self._about_units}"
        gain = gain_in_words(self.policy_name, proof.against, proof.gain, self.problem)
        if proof.gain > 0:
            gain = f"{gain.removesuffix('.')}{self._premise}."
        guarded = guardrails_in_words(self.guardrails, proof.barred)
        return " ".join([self._about_the_best, gain, *guarded]) + self._about_units

    @property
    def _about_units(self) -> str:
        if not self.returning:
            return ""
        return (
            f" Values are those of a unit's first round: {self.certificate.rounds:,} rounds count, "
            f"and {self.returning:,} of units that had come before do not."
        )

    @property
    def gain(self) -> float | None:
        """By how much the policy is at least better than the one that runs today, if named."""
        return self.certificate.gain

    @property
    def _about_the_best(self) -> str:
        proof, problem = self.certificate, self.problem
        sure = f"With probability at least {1 - problem.delta:g}"
        if proof.method == "none":
            what = "" if proof.gain is None else " about the best policy"
            return f"Nothing is proved{what}: {self._why_not}"
        if proof.suboptimality_bound >= problem.reward_cap and not proof.certified:
            return (
                f"{proof.rounds:,} rounds prove nothing yet: {self._leading}, but more rounds, or "
                "larger propensities, are needed."
            )
        verdict = "within" if proof.certified else "more than the asked-for"
        eliminated = (
            f"; {int(proof.eliminated.sum()):,} of {len(self.values):,} policies are eliminated"
            if len(proof.eliminated)
            else ""
        )
        better = "costs less" if problem.scale.minimize else "is better"
        return (
            f"{sure}, no policy{AMONG if self.guardrails else ''} {better} than "
            f"{self.policy_name} by more than "
            f"{proof.suboptimality_bound:.4g} ({verdict} epsilon {problem.epsilon:g})"
            f"{self._premise}{eliminated}."
        )

    @property
    def _premise(self) -> str:
        if self.floor is None:
            return ""
        return f", provided that no action's propensity could be below {self.floor:.4g}"

    @property
    def _leading(self) -> str:
        best = "lowest" if self.problem.scale.minimize else "largest"
        return f"{self.policy_name} has the {best} estimate"

    @property
    def _why_not(self) -> str:
        """Why nothing is proved, and what to do about it."""
        leading = self._leading
        if isinstance(self.policy, Policy) and self.floor is not None:
            return (
                f"{leading} that was found, but the best of this class can only be searched for, "
                "or its size is not known."
            )
        full = ", the exploration that decided (--design), or log the propensities of all actions"
        return (
            f"{leading}, but only the propensities of shown actions are known, and smaller ones "
            "may not have been met. Give the smallest that any action could have had as floor"
            f"{'' if isinstance(self.policy, Policy) else full}."
        )

    def compare(
        self, first: int | str, second: int | str, *, named_beforehand: bool = False
    ) -> Comparison:
        """How much better one policy is than another, both by number or name, eliminated or not.

        Where all propensities are known, the log is read again, and the two policies are asked
        about its contexts again.

        Parameters
        ----------
        first, second : int or str
        named_beforehand : bool
            Whether this pair was chosen before the log was seen, and is the only one: then the
            interval is narrower. By default all pairs hold at once, so the data may have chosen.

        Raises
        ------
        InvalidArgumentError
            If there is no such policy, both are the same, the class cannot be listed, or the
            selection comes from another process, to which its rounds did not travel.
        """
        if self.find_comparison is None:
            raise InvalidArgumentError(
                "compare needs the rounds, which do not travel with a pickled selection: call it "
                "where select was called"
            )
        return self.find_comparison(first, second, named_beforehand)

    def by_segment(
        self,
        segment: Any,
        *,
        every_policy: bool = False,
        outcome: str | None = None,
        most: int = MOST,
    ) -> Segments:
        """For whom the selected policy is better: values by the values of a column of contexts.

        Compared with the policy that runs today, or else with the one of the next largest estimate.
        The log is read again, and the policies are asked about its contexts again.

        Parameters
        ----------
        segment : str, int, callable or sequence
            Name or number of a column of the contexts, a function from contexts to labels, or
            labels of all rounds.
        every_policy : bool
            Whether to say what all policies are worth, not only these two.
        outcome : str, optional
            The outcome that values are of; by default the reward.
        most : int
            Segments that have rows of their own, the first to appear; later ones are pooled.

        Raises
        ------
        InvalidArgumentError
            If there is no such column or outcome, the class cannot be listed, or the selection
            comes from another process, to which its rounds did not travel.
        """
        if self.find_segments is None:
            raise InvalidArgumentError(
                "by_segment needs numbered policies and the rounds, which do not travel with a "
                "pickled selection: call it where select was called"
            )
        return self.find_segments(segment, every_policy=every_policy, outcome=outcome, most=most)

    def __getstate__(self) -> dict[str, Any]:
        """Without the rounds, which may be many."""
        return {**self.__dict__, "find_comparison": None, "find_segments": None}

    def leaders(self, count: int = 10) -> list[dict[str, Any]]:
        """The policies with the best estimates, with their limits."""
        return self.intervals.leaders(count)

    def to_frame(self, backend: FrameKind | None = None) -> Any:
        """A data frame with one row for each policy, in the order of their numbers.

        Its columns are policy, name, value, lower, upper and eliminated. Of a class that cannot be
        listed it has the selected policy, without a number.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow", optional
            By default pandas if it is installed, else polars.
        """
        listed = isinstance(self.policy, int)
        return frame_of(
            {
                "policy": range(len(self.values)) if listed else [None],
                "name": [self.intervals.name_of(one) for one in range(len(self.values))]
                if listed
                else [self.policy_name],
                "value": self.values,
                "lower": self.lower,
                "upper": self.upper,
                "eliminated": self.certificate.eliminated if listed else [False],
            },
            backend,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "policy": self.policy if isinstance(self.policy, int) else repr(self.policy),
            "policy_name": self.policy_name,
            "value": self.value,
            "lower": float(self.lower[self.chosen]),
            "upper": float(self.upper[self.chosen]),
            "floor": self.floor,
            **({} if self.returning is None else {"returning": self.returning}),
            "guarantee": self.guarantee,
            "certificate": self.certificate.to_dict(),
            "leaders": self.leaders(),
            **self._beside_reward(),
            **({} if self.segments is None else {"segments": self.segments.to_dict()}),
        }

    def _beside_reward(self) -> dict[str, Any]:
        """What JSON has of outcomes and guardrails, if there are any."""
        if self.outcomes is None:
            return {}
        of = [values_of(self.outcomes, policy) for policy in self.shown_policies]
        today = None if self.problem.against is None else of[-1]
        return outcomes_to_dict(of[0], today, self.guardrails)


def select(
    log: AnyLog,
    policies: AnyPolicies,
    problem: Problem,
    *,
    method: Method | None = None,
    floor: float | None = None,
    exploration: Decider | None = None,
    since: int = 0,
    segment: Any = None,
    memory_limit: int = MEMORY_LIMIT,
    track: Callable[[Iterable[Log]], Iterable[Log]] = iter,
) -> Selection:
    """Choose the best policy from a log whose propensities were fixed before each round.

    What is proved depends on what is known of the propensities: of all actions, from the log's
    distributions or from the exploration that decided (the sharpest, by capped scores); at least of
    shown ones, with a declared floor under all; or neither, and then policies are estimated, and
    nothing is certified.

    Where the log names its units, the users or sessions, only the first round of each counts,
    because rounds of one user are not independent (docs/maths.md, "One round of each unit").

    Parameters
    ----------
    log : Log, LogFile, path or paths
        Rounds in the order of their decisions. Files may be of any format, and are read in pieces,
        so they may be larger than memory.
    policies, problem
        They must fit the log; at least two policies.
    method : str, optional
        By default ``"capped"`` where all propensities are known, else ``"betting"`` with a floor;
        or one of ``"empirical_bernstein"``, ``"stitched"``, ``"fixed"`` and ``"checkpoints"``, as
        for `FloorEvidence`. ``"fixed"`` takes the number of rounds that count as the declared
        one. A class that cannot be listed has ``"betting"`` only.
    floor : float, optional
        Smallest propensity that any item could have had in any round.
    exploration : Exploration, optional
        What decided all rounds of the log, or all that count.
    since : int
        Rounds before this number do not count. It must have been fixed beforehand, or be the
        `alarm` of a change that was found in the rounds before it: a start chosen by a look at the
        rounds that count makes what is said of them wrong.
    segment : str, int, callable or sequence, optional
        Also say for whom the selected policy is better, as `Selection.by_segment` does.
    memory_limit : int
        Bytes of rounds to keep for ``"capped"``, as `Evidence` has it.
    track : callable
        Wraps the loop over pieces, for instance to show progress.

    Raises
    ------
    InvalidArgumentError
        If the log is empty, does not fit, shows no exploration at all, or has propensities that
        cannot be probabilities of being shown, or not those of the exploration.
    FileNotFoundError, FileFormatError
        As `LogFile` has it, and if a reward is missing.
    """
    check_class(policies)
    policies.check_fits(problem)
    names = names_of_actions(policies, problem)
    log = open_for(log, names, problem.scale.range)
    if not len(log):
        raise InvalidArgumentError("log must have at least one round, got none")
    log = log.since(since)
    if floor is not None:
        floor = number("floor", floor, above=0, below=1, closed=True)
    if method is not None:
        one_of("method", method, METHODS)
    check_decider(exploration)
    method = method or default_method(log, policies, floor, exploration)
    evidence, add = evidence_of(
        policies,
        problem,
        method=method,
        floor=floor,
        exploration=exploration,
        declared_rounds=_counted(log) if method == "fixed" else len(log),
        memory_limit=memory_limit,
    )
    _check_propensities(log, policies, names, floor, problem.delta, covers=method != "capped")
    rounds = 0
    watch = Watch(evidence, add, policies, problem)
    for piece in track(log.pieces()):
        watch.add(piece)
        rounds += len(piece)
    watch.bar()
    certificate, intervals = evidence.certificate(), evidence.intervals()
    leader = certificate.leader
    selection = Selection(
        policy=leader,
        value=float(intervals.values[intervals.place_of(leader)]),
        intervals=intervals,
        certificate=certificate,
        problem=problem,
        floor=None if method == "capped" else floor,
        returning=rounds - evidence.rounds if log.has_units else None,
        outcomes=watch.outcomes(log),
        guardrails=watch.guardrails(leader, log),
        find_comparison=partial(_compared, evidence, log, exploration),
        find_segments=segments_finder(log, policies, problem, intervals, leader, exploration),
    )
    if segment is None:
        return selection
    return replace(selection, segments=selection.by_segment(segment))


def _counted(log: Log | LogFile) -> int:
    """How many rounds count: all, or the first of each unit."""
    if not log.has_units:
        return len(log)
    met = Met()
    for piece in log.pieces():
        assert piece.units is not None
        met = met.plus(piece.units)
    return len(met)


def _compared(
    evidence: AnyEvidence,
    log: Log | LogFile,
    exploration: Decider | None,
    first: int | str,
    second: int | str,
    named_beforehand: bool,
) -> Comparison:
    """Compare two policies, after a second look at the log if it has let go of policies."""
    if isinstance(evidence, ImplicitEvidence):
        raise InvalidArgumentError(
            "policies must be numbered to be compared, and those of this class cannot be listed; "
            "select among a list of the two"
        )
    if not isinstance(evidence, Evidence):
        return evidence.compare(first, second, named_beforehand=named_beforehand)
    among = chosen_among(evidence.policies, named_beforehand)
    pair = PolicyPair(evidence.policies, pair_of(evidence.policies, first, second))
    problem = evidence.problem.of_rewards
    of_two = Evidence(pair, problem, memory_limit=evidence.memory_limit, keep=(0, 1))
    for piece in log.pieces():
        of_two.add(piece, exploration)
    return of_two.compare_among(0, 1, among)


def _check_propensities(
    log: Log | LogFile,
    policies: AnyPolicies,
    names: Sequence[str] | None,
    floor: float | None,
    delta: float,
    *,
    covers: bool,
) -> None:
    """Raise unless propensities can be right and, if it has to, the log covers all actions.

    The cheap part of `check_log`, and what a floor adds to it: K actions of at least the floor have
    propensities that sum to m, and one of them stays unseen for n rounds with probability at most
    K (1 - floor)^n (docs/maths.md, "Health of a log"). Without one, the smallest propensity that
    was met takes its place. Where it is said what was available, that is so of what was.
    """
    n_actions, slate_size = policies.n_actions, policies.slate_size
    mass, seen = Mass(slate_size), _Seen(n_actions)
    for piece in log.pieces():
        check_log_fits(piece, policies)
        if floor is not None:
            check_floor(piece, floor)
        allowed = policies.check_available(piece.available, len(piece))
        mass.add(piece.propensities, allowed)
        seen.add(piece, allowed)
    if mass.smallest == 1.0 and slate_size < n_actions:
        raise InvalidArgumentError(
            "propensities are all 1: the log did not explore, so nothing can be concluded about "
            "policies that disagree with it; log some rounds with randomised actions"
        )
    used = mass.smallest if floor is None else min(floor, mass.smallest)
    if covers:
        _check_covered(mass, seen, used, delta, names)
    weight = mass.mean(n_actions, _SURE, floor=used)
    found = f"{mass.total / mass.rounds:.3g}"
    if weight.lower[0] > 1:
        raise InvalidArgumentError(
            "propensities are too small to be probabilities of being shown: over the log, the sum "
            f"of 1/propensity over the shown items should be at most {n_actions} on average, got "
            f"{found}; for slates, give the probability that each item is in the slate, not that "
            f"of the whole slate; {_ADVICE}"
        )
    if covers and weight.upper[0] < 1:
        raise InvalidArgumentError(
            "the log does not cover all actions: over the log, the sum of 1/propensity over the "
            f"shown items should be {n_actions} on average, got {found}; policies that show what "
            f"the log never or hardly ever shows cannot be compared with others; {_ADVICE}"
        )


class _Seen:
    """How often each action was shown, and could be."""

    def __init__(self, n_actions: int) -> None:
        self.shown, self.available = np.zeros((2, n_actions), dtype=np.int64)
        self.most_at_once = 0

    def add(self, log: Log, available: Available | None) -> None:
        """Count rounds; everything was available in them unless that is said."""
        n_actions = len(self.shown)
        self.shown += np.bincount(log.actions.reshape(-1), minlength=n_actions)
        self.available += len(log) if available is None else available.dense().sum(axis=0)
        most = n_actions if available is None else int(available.counts.max(initial=0))
        self.most_at_once = max(self.most_at_once, most)


def _check_covered(
    mass: Mass,
    seen: _Seen,
    smallest: float,
    delta: float,
    names: Sequence[str] | None,
) -> None:
    """Raise if actions were shown too seldom for a smallest propensity."""
    most, slate_size = seen.most_at_once, mass.slate_size
    log_chance = log1p(-min(smallest, _ALMOST_ONE)) * seen.available
    never = np.flatnonzero((seen.shown == 0) & (log_chance <= ln(delta / len(seen.shown))))
    if len(never):
        first = never[0] if names is None else repr(names[never[0]])
        raise InvalidArgumentError(
            f"the log does not cover all actions: action {first} was never shown in "
            f"{seen.available[never[0]]:,} rounds, which cannot be if its propensity is at least "
            f"{smallest:.3g}; leave out policies that show it and number the others' actions "
            "without it, or give the smallest propensity that it could have had as floor; "
            f"{_ADVICE}"
        )
    if most * smallest > _ROUNDING * slate_size:
        raise InvalidArgumentError(
            f"the log does not cover all actions: {most} actions with propensities of at "
            f"least {mass.smallest:.3g}, the smallest in the log, would sum to more than "
            f"{slate_size}; if the log is too short to have met the smallest propensity possible, "
            f"give that as floor; {_ADVICE}"
        )
