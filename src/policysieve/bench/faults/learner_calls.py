"""Learners, each with arguments that are right."""

from typing import Any

import numpy as np

import policysieve as ps
from policysieve.bench.faults.call import Call, N, a_problem, a_table, log_state
from policysieve.exploration import LEARNERS

__all__ = ["LEARNER_CALLS", "a_learner"]


def a_learner(kind: str) -> Any:
    """One of this kind that has not been asked yet."""
    short = {"explore_rounds": 20, "estimate_rounds": 50}
    two_phases = kind in ("LowVarianceExploration", "LogBarrier", "ListWeights")
    learner: Any = LEARNERS[kind]
    return learner(a_table(), a_problem(), rng=0, **(short if two_phases else {"rounds": 100}))


def _asked(kind: str) -> Any:
    learner = a_learner(kind)
    decisions = learner.ask([0, 1, 2, 3])
    return learner, decisions


def _decided(learner: Any) -> ps.Log:
    """Rounds that a learner's exploration has decided elsewhere."""
    made = learner.exploration.ask(np.arange(N), rng=0)
    return ps.Log(
        contexts=made.contexts,
        actions=made.actions,
        propensities=made.propensities,
        rewards=np.zeros(N),
    )


def _learner_state(learner: Any) -> Any:
    drawn = repr(learner._rng.bit_generator.state)
    return learner.rounds, learner.pending, learner.finished, drawn, log_state(learner.log)


def _method(kind: str) -> dict[str, Call]:
    """The methods of one kind of learner."""

    def learner() -> Any:
        return a_learner(kind)

    def asked() -> Any:
        return _asked(kind)

    def of_asked(made: Any) -> Any:
        return _learner_state(made[0])

    return {
        f"{kind}.ask": Call(
            lambda one, contexts: one.ask(contexts),
            lambda: {"contexts": np.array([0, 1, 2, 3])},
            learner,
            _learner_state,
        ),
        f"{kind}.tell": Call(
            lambda made, rewards, rows: made[0].tell(made[1][rows], rewards),
            lambda: {"rewards": np.array([0.0, 1.0, 0.0, 0.0]), "rows": np.arange(N)},
            asked,
            of_asked,
        ),
        f"{kind}.tell decisions": Call(
            lambda made, decisions: made[0].tell(
                made[1] if decisions is None else decisions, np.zeros(N)
            ),
            lambda: {"decisions": None},
            asked,
            of_asked,
        ),
        f"{kind}.expire": Call(
            lambda made, older_than: made[0].expire(older_than=older_than),
            lambda: {"older_than": 1000.0},
            asked,
            of_asked,
        ),
        f"{kind}.learn": Call(
            lambda one, rounds, exploration: one.learn(
                _decided(one) if rounds is None else rounds,
                one.exploration if exploration is None else exploration,
            ),
            lambda: {"rounds": None, "exploration": None},
            learner,
            _learner_state,
        ),
    }


def _constructor(kind: str) -> Call:
    numbers: dict[str, Any] = {"rounds": 100}
    if kind in ("LowVarianceExploration", "LogBarrier", "ListWeights"):
        numbers = {"explore_rounds": 20, "estimate_rounds": 50, "stop": "planned"}
    if kind == "ListWeights":
        numbers |= {"list_size": 2, "learning_rate": 1.0}
    if kind in ("Exp4", "EpsilonGreedy", "Sieve", "LogBarrier", "ListWeights"):
        numbers |= {"mixing": 0.5}
    if kind in ("Sieve", "PolicyElimination"):
        numbers |= {"memory_limit": 1000, "additions": 1}
    if kind == "ExplorationByOptimization":
        numbers |= {"information_weight": 10.0, "rewards": "binary", "output": "erm"}
    learner: Any = LEARNERS[kind]
    return Call(
        lambda _, policies, problem, **others: learner(policies, problem, **others),
        lambda: {"policies": a_table(), "problem": a_problem(), "rng": 0, **numbers},
    )


def _add(kind: str) -> Call:
    """How candidates join one that lets them in."""
    learner: Any = LEARNERS[kind]
    return Call(
        lambda one, policies, unseen: one.add(policies, unseen=unseen),
        lambda: {"policies": a_table(), "unseen": False},
        lambda: learner(a_table(), a_problem(), rng=0, additions=1),
        lambda one: (_learner_state(one), one.policies.n_policies),
    )


LEARNER_CALLS: dict[str, Call] = {
    **{kind: _constructor(kind) for kind in LEARNERS},
    **{f"{kind}.add": _add(kind) for kind in ("Sieve", "PolicyElimination")},
    **{name: call for kind in LEARNERS for name, call in _method(kind).items()},
}
"""How learners are made, and their methods."""
