"""A short list of policies by multiplicative weights, then exploration among what it would show."""

from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer, number
from policysieve.evidence import Events
from policysieve.exploration.designs.listed import ListExploration
from policysieve.exploration.learners.two_phase import Stop, WeighedPhasesExplorer
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["ListWeights", "draw_list"]


class ListWeights(WeighedPhasesExplorer):
    """Find a short list that is right wherever the best policy is, then explore what it shows.

    Cohen and others (2025) learn such a list for multiclass classification with known labels:
    multiplicative weights over the class are rewarded for being right on examples that no drawn
    policy was right on, and the policies drawn from them are the list. Here phase 1 shows uniform
    slates for `explore_rounds` rounds, and its rewarded items are the examples. Phase 2 explores,
    for `estimate_rounds` rounds, uniformly among the items that the list shows at a context, and
    with probability `mixing` among all. The policy with the largest importance-weighted estimate is
    recommended (docs/maths.md, "List by multiplicative weights").

    Theirs are the weights, what they are rewarded for and that the list is drawn from them. Ours
    are the uniform actions that make up for unknown labels, drawing at uncovered examples only
    and not at all, the limit on the list, fractional rewards and slates, and phase 2.

    Parameters
    ----------
    policies, problem, rng
        As for every learner.
    explore_rounds, estimate_rounds : int, optional
        Sizes of the phases. By default those of `plan`.
    list_size : int
        Most policies on the list; when it is full, the weights rest.
    learning_rate : float
        What a reward at an uncovered item adds to the log-weights of the policies that show it.
    mixing : float, optional
        Share of uniform exploration in phase 2. By default that of `plan`, about one half.
    stop : {"planned", "certified"}
        End after the planned rounds, or as soon as the rounds of both phases certify epsilon, which
        holds for the recommended policy whenever you look. Every round then takes time in
        proportion to the class, not only a rewarded one, and at least two policies are needed.

    Attributes
    ----------
    design : ListExploration or None
        What phase 1 found; None until its last reward is in.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        explore_rounds: int | None = None,
        estimate_rounds: int | None = None,
        list_size: int = 10,
        learning_rate: float = 2.0,
        mixing: float | None = None,
        stop: Stop = "planned",
        rng: Any = None,
    ) -> None:
        super().__init__(
            policies,
            problem,
            explore_rounds=explore_rounds,
            estimate_rounds=estimate_rounds,
            mixing=mixing,
            stop=stop,
            rng=rng,
        )
        self.list_size = integer("list_size", list_size, low=1)
        self.learning_rate = number("learning_rate", learning_rate, above=0, below=float("inf"))
        self._draws = self._rng.spawn(1)[0]

    @property
    def _expected_variance(self) -> float:
        return self.list_size / (1 - self.mixing)

    def _find_design(self, events: Events) -> ListExploration:
        listed = draw_list(
            events,
            self.policies.n_policies,
            size=self.list_size,
            rate=self.learning_rate,
            rng=deepcopy(self._draws),
        )
        return ListExploration(self.policies, self.problem, listed=listed, mixing=self.mixing)


def draw_list(
    events: Events, n_policies: int, *, size: int, rate: float, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Draw at most `size` policies that together show the rewarded items.

    At a rewarded item j of context x that no listed policy shows, a policy is drawn from the
    weights p(pi) ~ exp(log-weight) onto the list (it may be there already), and then the
    log-weights of all policies that show j at x grow by rate r(j).
    """
    log_weights = np.zeros(n_policies)
    listed: list[int] = []
    which, slots = np.nonzero(events.rewards)
    for event, slot in zip(which, slots, strict=True):
        if len(listed) == size:
            break
        slates, item = events.table[events.rows[event]], events.actions[event, slot]
        if (slates[listed] == item).any():
            continue
        cumulative = np.cumsum(np.exp(log_weights - log_weights.max()))
        place = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        drawn = min(int(place), n_policies - 1)
        if drawn not in listed:
            listed.append(drawn)
        log_weights[(slates == item).any(axis=1)] += rate * events.rewards[event, slot]
    return np.array(listed, dtype=np.int32)
