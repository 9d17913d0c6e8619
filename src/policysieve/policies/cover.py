"""From a family of hypotheses to finitely many policies that stand for all of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil, comb, log, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rng, integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.naming import named_parts
from policysieve.policies.base import Policies
from policysieve.policies.estimators import EstimatorPolicies
from policysieve.policies.functions import FunctionPolicies
from policysieve.policies.thresholds import Thresholds
from policysieve.problem import Problem, check_problem

__all__ = ["Cover", "natarajan_cover", "natarajan_sample_size"]


def natarajan_sample_size(
    dimension: int, n_actions: int, epsilon0: float, delta0: float, *, n_unions: int = 1
) -> int:
    """How many contexts leave hypotheses that agree on them a disagreement of `epsilon0` at most.

    The smallest M with M >= 8/e0 and M >= (2/e0) (log2(2/d0) + 2 log2(growth)), growth =
    n_unions (2M)^d K^(2d) (docs/maths.md, "Natarajan covers"): with probability 1 - `delta0` over
    fresh contexts.

    Parameters
    ----------
    dimension : int
        Natarajan dimension d of the family.
    n_actions : int
        K.
    epsilon0, delta0 : float
    n_unions : int
        The family is a union of so many of that dimension.
    """
    d = integer("dimension", dimension, low=1)
    k, unions = integer("n_actions", n_actions, low=1), integer("n_unions", n_unions, low=1)
    e0 = number("epsilon0", epsilon0, above=0, below=1)
    d0 = number("delta0", delta0, above=0, below=1)
    size = ceil(8 / e0)
    while (needed := ceil(size * _disagreement(size, d, k, d0, unions) / e0)) > size:
        size = needed
    return size


class Cover(Policies):
    """Numbered hypotheses, one for each way of answering at a sample of contexts.

    They answer at any context. Learn among them with `problem`; what is then guaranteed holds for
    the whole family with the problem that the cover was made for.

    Attributes
    ----------
    problem : Problem
        With epsilon - mu epsilon0 and delta - delta0.
    epsilon0, delta0 : float
        With probability 1 - delta0, hypotheses that agree on the sample disagree with probability
        at most epsilon0.
    statement : str
        What the cover stands for.
    """

    def __init__(
        self,
        hypotheses: Policies,
        chosen: npt.NDArray[np.intp],
        *,
        problem: Problem,
        epsilon0: float,
        delta0: float,
        statement: str,
    ) -> None:
        super().__init__(
            n_policies=len(chosen),
            n_actions=hypotheses.n_actions,
            slate_size=hypotheses.slate_size,
            names=hypotheses.names and [hypotheses.names[i] for i in chosen],
            actions=hypotheses.action_names,
        )
        self.hypotheses, self.chosen = hypotheses, chosen
        self.problem = problem
        self.epsilon0, self.delta0 = epsilon0, delta0
        self.statement = statement

    def fingerprint(self) -> str:
        """That of the choice and of the hypotheses."""
        return f"{super().fingerprint()} of {self.hypotheses.fingerprint()}"

    def check_contexts(self, contexts: Any) -> Any:
        """Return the contexts as the hypotheses take them, or raise."""
        return self.hypotheses.check_contexts(contexts)

    def check_available(self, available: Any, n: int, names: Sequence[str] | None = None) -> None:
        """Raise unless everything can be shown everywhere."""
        if available is not None:
            raise InvalidArgumentError(
                "available must be left out with a cover: hypotheses that agree at a context may "
                "differ in what they show there when not everything is available, so that one "
                "would not stand for the others; learn among a list of candidates"
            )

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.chosen,)

    def _made_of(self, policy: int) -> Sequence[npt.NDArray[Any]]:
        return self.hypotheses._made_of(int(self.chosen[policy]))

    def _evaluate(
        self, contexts: npt.NDArray[Any], which: npt.NDArray[np.intp] | None
    ) -> npt.NDArray[Any]:
        everyone = which is None and len(self.chosen) == self.hypotheses.n_policies
        picked = None if everyone else self.chosen[slice(None) if which is None else which]
        return self.hypotheses.actions(contexts, picked)


def natarajan_cover(
    hypotheses: Any,
    contexts: Any,
    problem: Problem,
    *,
    samples: int | None = None,
    dimension: int | None = None,
    delta0: float | None = None,
    rng: Any = 0,
) -> Cover:
    """Keep one hypothesis for each way of answering at a sample of contexts.

    Parameters
    ----------
    hypotheses : Thresholds, Policies, sequence, dict, or callable
        A family that can list its patterns; a finite class; fitted models or functions of contexts,
        by name or not; or a sampler, which is called with a Generator and returns one of those.
    contexts : array of shape (M, ...)
        Fresh unlabelled contexts, drawn independently as those to come; not those of a log that is
        used later on.
    problem : Problem
        What is asked of the whole family.
    samples : int, optional
        How many hypotheses a sampler is asked for.
    dimension : int, optional
        Natarajan dimension of a sampler's family. Without it the cover stands for what was drawn
        as a finite class, which needs fewer contexts. `Thresholds` know theirs.
    delta0 : float, optional
        Share of delta for the sample of contexts; a quarter by default.
    rng : seed or numpy Generator
        For the sampler.

    Raises
    ------
    InvalidArgumentError
        If the contexts are too few for the problem's epsilon; the message says how many it takes.
    """
    check_problem(problem)
    d0 = number(
        "delta0", problem.delta / 4 if delta0 is None else delta0, above=0, below=problem.delta
    )
    if dimension is not None:
        dimension = integer("dimension", dimension, low=1)
        if isinstance(hypotheses, Thresholds):
            raise InvalidArgumentError(
                f"dimension must be left out for {hypotheses!r}, which knows it, got {dimension}"
            )
    listed, told = _listed(hypotheses, contexts, problem, samples, rng)
    listed.check_fits(problem)
    m = len(listed.check_contexts(contexts))
    if not m:
        raise InvalidArgumentError("contexts must have at least one row, got none")
    unions = 1
    if isinstance(hypotheses, Thresholds):
        dimension, chosen = hypotheses.dimension, np.arange(listed.n_policies)
        unions = listed.check_contexts(contexts).shape[1]
    else:
        chosen = _one_of_each(listed.actions(contexts))

    def disagreement(size: int) -> float:
        if dimension is not None:
            slates = comb(problem.n_actions, problem.slate_size)
            return _disagreement(size, dimension, slates, d0, unions)
        pairs = listed.n_policies * (listed.n_policies - 1) / 2
        return log(pairs / d0) / size if pairs else 0.0

    e0 = disagreement(m)
    epsilon = problem.epsilon - problem.reward_cap * e0
    if epsilon <= 0:
        enough = m
        while problem.reward_cap * disagreement(enough) > problem.epsilon / 2:
            enough *= 2
        raise InvalidArgumentError(
            f"contexts are too few: hypotheses that agree on all {m:,} of them may still differ "
            f"with probability {e0:.3g}, which uses up epsilon {problem.epsilon:g}; {enough:,} "
            "leave half of it"
        )
    adjusted = replace(problem, epsilon=epsilon, delta=problem.delta - d0)
    statement = (
        f"With probability at least {1 - d0:g} over the {m:,} contexts, each of {told} has one of "
        f"the {len(chosen):,} representatives that disagrees with it with probability at most "
        f"{e0:.3g}. So what is within {epsilon:.3g} of the best representative with probability "
        f"{1 - adjusted.delta:g} is within {problem.epsilon:g} of the best of them with "
        f"probability {1 - problem.delta:g}."
    )
    if samples is not None:
        statement += (
            " Of the sampler's family only these were looked at: hypotheses that answer otherwise "
            "may be better."
        )
    return Cover(listed, chosen, problem=adjusted, epsilon0=e0, delta0=d0, statement=statement)


def _listed(
    hypotheses: Any, contexts: Any, problem: Problem, samples: int | None, rng: Any
) -> tuple[Policies, str]:
    """The hypotheses as numbered policies, and whom they stand for, in words."""
    sampler = callable(hypotheses) and not isinstance(hypotheses, Sequence | Mapping)
    if sampler != (samples is not None):
        raise InvalidArgumentError(
            "samples goes with a sampler, a function of a numpy Generator: got "
            f"{type(hypotheses).__name__} and samples={samples}"
        )
    if isinstance(hypotheses, Thresholds):
        every = hypotheses.representatives(contexts, problem.n_actions, actions=problem.actions)
        return every, "the family's functions"
    if isinstance(hypotheses, Policies):
        return hypotheses, f"the {hypotheses.n_policies:,} policies"
    words = "hypotheses"
    if samples is not None:
        draw: Callable[[np.random.Generator], Any] = hypotheses
        generator = as_rng(rng)
        count = integer("samples", samples, low=1)
        hypotheses, words = [draw(generator) for _ in range(count)], "drawn hypotheses"
    rule = "Thresholds, numbered policies, a sequence of models or functions, or a sampler"
    hypotheses, names = named_parts("hypotheses", hypotheses, rule, None)
    models = all(hasattr(one, "predict") for one in hypotheses)
    kind: type[EstimatorPolicies | FunctionPolicies]
    kind = EstimatorPolicies if models else FunctionPolicies
    listed = kind(
        hypotheses,
        problem.n_actions,
        slate_size=problem.slate_size,
        names=names,
        actions=problem.actions,
    )
    return listed, f"the {listed.n_policies:,} {words}"


def _one_of_each(actions: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The first policy of each pattern, from actions (M, n_policies, m); slates are sets."""
    patterns = np.sort(actions, axis=2).transpose(1, 0, 2).reshape(actions.shape[1], -1)
    return np.sort(np.unique(patterns, axis=0, return_index=True)[1])


def _disagreement(size: int, dimension: int, n_actions: int, delta0: float, unions: int) -> float:
    """epsilon0 for so many contexts."""
    growth = log2(unions) + dimension * (log2(2 * size) + 2 * log2(n_actions))
    return max(8.0, 2 * (log2(2 / delta0) + 2 * growth)) / size
