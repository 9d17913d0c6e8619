"""Minimise a smooth function from where the last search of one like it ended."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import daxpy

__all__ = ["Memory", "descend"]

Array = npt.NDArray[np.float64]

_PAIRS = 8  # steps that are remembered
_HALVINGS = 12  # of one step, before the search gives up
_ENOUGH = 1e-4  # share of the promised decrease that a step must keep
_LONGEST = 30.0  # change of one number in one step


class Memory(NamedTuple):
    """Steps of earlier searches: how the arguments changed, how the gradient did, and 1/product."""

    moved: Array
    turned: Array
    inverse: float


def descend(
    objective: Callable[[Array], tuple[float, Array]],
    start: Array,
    scales: Array,
    memory: tuple[Memory, ...],
    *,
    steps: tuple[int, int],
    close: float,
    rounding: float,
) -> tuple[Array, tuple[Memory, ...]]:
    """Few steps of L-BFGS that begin with what earlier searches knew of the curvature.

    Nocedal and Wright (2006), Algorithms 7.4 and 3.1. The first guess of the inverse second
    derivative is a diagonal, `scales`, and not a multiple of one. Steps remembered from a function
    of slightly fewer rounds still fit, so that few new ones are needed.

    Parameters
    ----------
    objective : callable
        From arguments to the function and its gradient.
    start, scales : array
        Arguments, and about one over the second derivative in each of them.
    memory : tuple of Memory
        What an earlier call returned, or nothing.
    steps : tuple of two int
        At least and at most so many.
    close : float
        Slopes of steps below which the search ends, once it has made the least number of steps.
        About half of it is left to gain.
    rounding : float
        Of the function, relative to it. Decreases that are no larger end the search: what would be
        remembered of them is noise.
    """
    at = start
    value, gradient = objective(at)
    for step in range(steps[1]):
        direction = _direction(gradient, scales, memory)
        slope = float(np.vdot(gradient, direction))
        if slope >= 0 and memory:  # what is remembered misleads
            memory = ()
            direction = -scales * gradient
            slope = float(np.vdot(gradient, direction))
        if -slope <= (rounding * abs(value) if step < steps[0] else close):
            break
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
            return at, ()
        moved, turned = then - at, new_gradient - gradient
        product = float(np.vdot(moved, turned))
        if product > 1e-10 * float(np.vdot(turned, turned)):
            memory = (*memory[-(_PAIRS - 1) :], Memory(moved, turned, 1 / product))
        at, value, gradient = then, new_value, new_gradient
    return at, memory


def _direction(gradient: Array, scales: Array, memory: tuple[Memory, ...]) -> Array:
    """Minus the gradient times the inverse second derivative, in two loops over the memory."""
    ahead = np.negative(gradient, order="C")
    shares = []
    for moved, turned, inverse in reversed(memory):
        shares.append(inverse * float(np.vdot(moved, ahead)))
        _add(ahead, -shares[-1], turned)
    ahead *= scales
    if memory:  # the diagonal's size is that of the last step
        moved, turned, inverse = memory[-1]
        ahead /= inverse * float(np.vdot(turned, scales * turned))
    for (moved, turned, inverse), share in zip(memory, reversed(shares), strict=True):
        _add(ahead, share - inverse * float(np.vdot(turned, ahead)), moved)
    return ahead


def _add(to: Array, factor: float, step: Array) -> None:
    """Add a multiple in place, without memory for the product."""
    daxpy(step.ravel(), to.ravel(), a=factor)
