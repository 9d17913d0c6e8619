"""What a log says of policies: the best one, and what is proved about it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence.certificate import Certificate, gain_in_words
from policysieve.evidence.comparing import Comparison
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.outcomes import values_of
from policysieve.evidence.segments import MOST, Segments
from policysieve.evidence.verdicts import (
    AMONG,
    Guardrail,
    guardrails_in_words,
    outcomes_to_dict,
)
from policysieve.policies import Policy
from policysieve.problem import Problem
from policysieve.reported import Reported
from policysieve.tabling import FrameKind, frame_of

__all__ = ["Selection"]


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
                f"{_rounds_prove(proof.rounds)} nothing yet: {self._leading}, but more rounds, or "
                "larger propensities, are needed."
            )
        bound = proof.suboptimality_bound
        verdict = "within" if proof.certified else "more than the asked-for"
        amount = f" by more than {bound:.4g} ({verdict} epsilon {problem.epsilon:g})" * (bound > 0)
        eliminated = (
            f"; {int(proof.eliminated.sum()):,} of {len(self.values):,} policies are eliminated"
            if len(proof.eliminated)
            else ""
        )
        better = "costs less" if problem.scale.minimize else "is better"
        return (
            f"{sure}, no policy{AMONG if self.guardrails else ''} {better} than "
            f"{self.policy_name}{amount}{self._premise}{eliminated}."
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

        Compared with the policy that runs today, or else with the one of the next best estimate.
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
        """Leave the rounds behind, which may be many."""
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


def _rounds_prove(rounds: int) -> str:
    return "One round proves" if rounds == 1 else f"{rounds:,} rounds prove"
