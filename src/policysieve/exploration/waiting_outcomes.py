"""Outcomes of told rounds that wait for earlier ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

__all__ = ["WaitingOutcomes"]

Values = Mapping[str, npt.NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class WaitingOutcomes:
    """What was told of each round, by its number. A value: adding makes another that shares.

    Layers lie on each other, each less than half as large as the one below. So adding one round at
    a time copies each round a few times, and not once for every other that waits.

    Attributes
    ----------
    layers : tuple of dict
        The latest last; what a later one has of a round replaces what earlier ones have.
    begin : int
        Rounds with smaller numbers were learnt from, and are forgotten.
    end : int
        All numbers are smaller.
    """

    layers: tuple[Mapping[int, Values], ...] = ()
    begin: int = 0
    end: int = 0

    def get(self, number: int) -> Values:
        """What was told of a round, by names of outcomes."""
        if number >= self.begin:
            for layer in reversed(self.layers):
                if number in layer:
                    return layer[number]
        return {}

    def plus(self, told: Mapping[int, Values]) -> Self:
        """The same with what was told of some rounds, in place of what was known of them."""
        if not told:
            return self
        layers, top = list(self.layers), dict(told)
        while layers and len(layers[-1]) <= 2 * len(top):
            below = layers.pop()
            top = {n: values for n, values in below.items() if n >= self.begin} | top
        return type(self)((*layers, top), self.begin, max(self.end, 1 + max(told)))

    def taken(self, numbers: Sequence[int]) -> tuple[list[Values], Self]:
        """What was told of rounds that are learnt from, in order of numbers, and what waits."""
        if not numbers or not self.layers:
            return [{} for _ in numbers], self
        begin = max(self.begin, 1 + numbers[-1])
        layers = self.layers if begin < self.end else ()
        return list(map(self.get, numbers)), type(self)(layers, begin, self.end)
