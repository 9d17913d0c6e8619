"""For whom a policy is better: what policies are worth in each segment."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from policysieve.errors import InvalidArgumentError
from policysieve.reported import Reported
from policysieve.tabling import FrameKind, frame_of

__all__ = ["MOST", "Segment", "Segments"]

MOST = 20  # segments that have rows of their own, by default


@dataclass(frozen=True, kw_only=True)
class Segment:
    """What policies are worth in one segment.

    Attributes
    ----------
    label : str
    rounds : int
    values, lower, upper : tuples of float
        Estimates and limits, in the order of the policies of `Segments`.
    difference : tuple of float
        Estimate of the value of the first policy less that of the second, and its limits.
    """

    label: str
    rounds: int
    values: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    difference: tuple[float, float, float]

    @property
    def verdict(self) -> str:
        """Whether the first policy is proved to be better or worse here."""
        _, lower, upper = self.difference
        return "higher" if lower > 0 else "lower" if upper < 0 else "not proved"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        numbers = {name: list(getattr(self, name)) for name in ("values", "lower", "upper")}
        difference = dict(zip(("value", "lower", "upper"), self.difference, strict=True))
        return {
            "label": self.label,
            "rounds": self.rounds,
            **numbers,
            "difference": difference,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Segments(Reported):
    """What policies are worth by segments: those of the rounds with one value of a column.

    Attributes
    ----------
    by : str
        The column, or what else made the segments.
    outcome : str or None
        The outcome that values are of, in its own units; None for the reward or cost.
    minimize : bool
        Whether lower values are better.
    policies : tuple of int
        Numbers of the policies. The difference is that of the first and the second.
    names : tuple of str
        The same in words.
    segments : tuple of Segment
        In the order in which they appeared; what came after the first so many, last and together.
    delta : float
        With probability at least 1 - delta all limits hold at once, at any time.
    """

    by: str
    outcome: str | None
    policies: tuple[int, ...]
    names: tuple[str, ...]
    segments: tuple[Segment, ...] = field(repr=False)
    delta: float
    minimize: bool = field(default=False, repr=False)

    def __len__(self) -> int:
        return len(self.segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    def __getitem__(self, label: str) -> Segment:
        for segment in self.segments:
            if segment.label == label:
                return segment
        known = ", ".join(repr(segment.label) for segment in self.segments[:8])
        raise InvalidArgumentError(f"segment must be one of those found, {known}, got {label!r}")

    @property
    def what(self) -> str:
        """What the values are of, in a word: the outcome, "cost" or "reward"."""
        if self.outcome is not None:
            return self.outcome
        return "cost" if self.minimize else "reward"

    @property
    def guarantee(self) -> str:
        """What holds, and with which probability, in one sentence."""
        first, second = self.names[:2]
        higher = [one.label for one in self.segments if one.verdict == "higher"]
        lower = [one.label for one in self.segments if one.verdict == "lower"]
        found = [
            f"{what} for {', '.join(labels)}"
            for what, labels in (("higher", higher), ("lower", lower))
            if labels
        ]
        what = f"the {self.what}" if self.outcome is None else self.outcome
        said = " and ".join(found) if found else "not proved to be higher or lower for any segment"
        return (
            f"With probability at least {1 - self.delta:g}, {what} with {first} is {said}, "
            f"compared with {second}; all segments and policies hold at once, whenever you look."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "by": self.by,
            "outcome": self.outcome,
            "policies": list(self.policies),
            "names": list(self.names),
            "guarantee": self.guarantee,
            "segments": [segment.to_dict() for segment in self.segments],
        }

    def to_frame(self, backend: FrameKind | None = None) -> Any:
        """A data frame with one row for each segment and policy.

        Its columns are segment, rounds, policy, name, value, lower and upper.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow", optional
            By default pandas if it is installed, else polars.
        """
        rows = [(one, k) for one in self.segments for k in range(len(self.policies))]
        return frame_of(
            {
                "segment": [one.label for one, _ in rows],
                "rounds": [one.rounds for one, _ in rows],
                "policy": [self.policies[k] for _, k in rows],
                "name": [self.names[k] for _, k in rows],
                "value": [one.values[k] for one, k in rows],
                "lower": [one.lower[k] for one, k in rows],
                "upper": [one.upper[k] for one, k in rows],
            },
            backend,
        )
