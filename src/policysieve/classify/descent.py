"""Minimise a smooth function from where the last search of one like it ended."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Memory", "descend"]

Array = npt.NDArray[np.floating]

_HALVINGS = 12  # of one step, before the search gives up
_ENOUGH = 1e-4  # share of the promised decrease that a step must keep
_LONGEST = 30.0  # change of one number in one step
_PART = 1 << 15  # arguments that are looked at together


class Memory:
    """The last steps of a search: how the arguments changed, and how the gradient did.

    Steps are kept together, so that a direction takes few passes over them: where arguments are
    many, that is what it costs. A search adds to a copy.

    Parameters
    ----------
    size : int
        Of the arguments.
    n_steps : int
        Kept at most.
    precision : type
    """

    def __init__(self, size: int, n_steps: int, precision: Any) -> None:
        self.moved: Array = np.zeros((n_steps, size), dtype=precision)
        self.turned: Array = np.zeros((n_steps, size), dtype=precision)
        self.products = np.zeros((n_steps, n_steps))  # of moved and turned
        self.order: tuple[int, ...] = ()  # places of steps, oldest first

    def changed(self, change: Callable[[Array], Array]) -> Self:
        """A copy with other arguments, in which products are the same."""
        new = copy(self)
        new.moved, new.turned = change(self.moved), change(self.turned)
        new.products = self.products.copy()
        return new

    def forget(self) -> None:
        """Begin anew."""
        self.order = ()

    def add(self, moved: Array, turned: Array) -> None:
        """Remember a step, in place of the oldest if there are many, unless it bends upwards."""
        product = float(np.vdot(moved, turned))
        if product <= 1e-10 * float(np.vdot(turned, turned)):
            return
        full = len(self.order) == len(self.moved)
        place = self.order[0] if full else len(self.order)
        self.order = (*self.order[full:], place)
        n = len(self.order)
        self.moved[place], self.turned[place] = moved, turned
        self.products[place, :n] = self.turned[:n] @ moved
        self.products[:n, place] = self.moved[:n] @ turned
        self.products[place, place] = product

    def direction(self, gradient: Array, scales: Array) -> Array:
        """Minus the gradient times the inverse second derivative.

        The two loops of Nocedal and Wright (2006), Algorithm 7.4, in which each product with a step
        comes from one product with all of them and from those between steps.
        """
        places = list(self.order)
        if not places:
            return np.asarray(-scales * gradient)
        moved, turned = self.moved[: len(places)], self.turned[: len(places)]
        shares, along = np.zeros(len(places)), -(moved @ gradient)
        for i in reversed(places):
            shares[i] = (along[i] - self.products[i, : len(places)] @ shares) / self.products[i, i]
        ahead, last = np.empty_like(gradient), places[-1]
        length, along = 0.0, np.zeros(len(places))
        for part in _parts(ahead.size):
            here = shares.astype(ahead.dtype) @ turned[:, part]
            here += gradient[part]
            here *= -scales[part]
            ahead[part] = here
            along += turned[:, part] @ here
            length += float(np.vdot(turned[last, part], scales[part] * turned[last, part]))
        # The diagonal's size is that of the last step.
        size = self.products[last, last] / length
        added = np.zeros(len(places))
        for i in places:
            back = size * along[i] + added @ self.products[: len(places), i]
            added[i] = shares[i] - back / self.products[i, i]
        for part in _parts(ahead.size):
            ahead[part] *= size
            ahead[part] += added.astype(ahead.dtype) @ moved[:, part]
        return ahead


def _parts(size: int) -> Iterator[slice]:
    """Parts that stay in the processor's cache while something is done to them."""
    for start in range(0, size, _PART):
        yield slice(start, start + _PART)


def descend(
    objective: Callable[[Array], tuple[float, Array]],
    start: Array,
    scales: Array,
    memory: Memory,
    *,
    steps: tuple[int, int],
    close: float,
    rounding: float,
) -> Array:
    """Few steps of L-BFGS that begin with what earlier searches knew of the curvature.

    Nocedal and Wright (2006), Algorithms 7.4 and 3.1. The first guess of the inverse second
    derivative is a diagonal, `scales`, and not a multiple of one. Steps remembered from a function
    of slightly fewer rounds still fit, so that few new ones are needed.

    Parameters
    ----------
    objective : callable
        From arguments to the function and its gradient.
    start, scales : array
        Arguments, and about one over the second derivative in each of them, of one precision.
    memory : Memory
        In the same precision; steps of this search are added to it.
    steps : tuple of two int
        At least and at most so many.
    close : float
        Slopes of steps below which the search ends, once it has made the least number of steps.
        About half of it is left to gain.
    rounding : float
        Of the function, relative to it. Decreases that are no larger end the search: what would be
        remembered of them is noise.
    """
    at, scales = start, scales.ravel()
    value, gradient = objective(at)
    for step in range(steps[1]):
        slopes = gradient.ravel()
        direction = memory.direction(slopes, scales)
        slope = float(np.vdot(slopes, direction))
        if slope >= 0 and memory.order:  # what is remembered misleads
            memory.forget()
            direction = memory.direction(slopes, scales)
            slope = float(np.vdot(slopes, direction))
        if -slope <= (rounding * abs(value) if step < steps[0] else close):
            break
        direction = direction.reshape(start.shape)
        length = min(1.0, _LONGEST / float(np.abs(direction).max()))
        for _ in range(_HALVINGS):
            then = at + length * direction
            new_value, new_gradient = objective(then)
            rise = new_value - value
            if rise <= _ENOUGH * length * slope:
                break
            # Where rounding hides the decrease, the slope at the end tells (Hager and Zhang, 2005).
            ends = float(np.vdot(new_gradient, direction))
            if rise <= rounding * abs(value) and ends <= (2 * _ENOUGH - 1) * slope:
                break
            length *= 0.4
        else:
            memory.forget()
            return at
        memory.add((then - at).ravel(), (new_gradient - gradient).ravel())
        at, value, gradient = then, new_value, new_gradient
    return at
