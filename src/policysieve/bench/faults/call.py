"""One public function with arguments that are right, and what several of them take."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import policysieve as ps

__all__ = [
    "ACTIONS",
    "CSV",
    "Call",
    "K",
    "N",
    "a_log",
    "a_problem",
    "a_table",
    "log_state",
    "some_columns",
    "some_features",
]

CSV = "a file of rounds"
K, N = 3, 4  # actions and rounds
ACTIONS = ("shoes", "hats", "bags")


@dataclass(frozen=True)
class Call:
    """One public function, with arguments that are right.

    Attributes
    ----------
    run : function
        Takes what `make` returns, and the arguments by name.
    good : function () -> dict
        Arguments that it takes; `CSV` stands for the path of a log.
    make : function () -> object
        What is called, or None.
    state : function (object) -> object
        What must not change if the call fails.
    """

    run: Callable[..., Any]
    good: Callable[[], dict[str, Any]]
    make: Callable[[], Any] = lambda: None
    state: Callable[[Any], Any] = lambda _made: None


def a_problem(**changed: Any) -> ps.Problem:
    """A problem that single actions solve."""
    return ps.Problem(**{"n_actions": K, "epsilon": 0.2, "delta": 0.1, **changed})


@cache
def a_table() -> ps.PolicyTable:
    """Five policies for six contexts."""
    actions = np.random.default_rng(0).integers(0, K, (6, 5))
    return ps.PolicyTable(actions, n_actions=K)


def some_columns() -> dict[str, Any]:
    """Rounds, by the names that `Log` has for them."""
    return {
        "contexts": np.array([0, 5, 2, 2]),
        "actions": np.array([0, 1, 2, 1]),
        "propensities": np.full(N, 1 / K),
        "rewards": np.array([0.0, 1.0, 0.0, 1.0]),
    }


def a_log() -> ps.Log:
    """The same with all propensities."""
    return ps.Log(**some_columns(), distributions=np.full((N, K), 1 / K))


def some_features() -> Any:
    """A row of numbers for each round."""
    return np.random.default_rng(1).normal(size=(N, 2))


def log_state(log: ps.Log) -> Any:
    """All that can be seen of a log."""
    arrays = (log.contexts, log.actions, log.propensities, log.rewards)
    return [array.tolist() for array in arrays], log.has_distributions
