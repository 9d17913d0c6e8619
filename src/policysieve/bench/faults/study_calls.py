"""A study on a file of its own, with arguments that are right."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import policysieve as ps
from policysieve.bench.faults.call import Call, K, a_problem, some_features

__all__ = ["STUDY_CALLS"]


class _Made(NamedTuple):
    """A folder that goes with the study in it, and the decisions that wait there."""

    folder: Any
    study: Any
    decisions: Any


@cache
def _policies() -> ps.LinearPolicies:
    """Five policies for features; what a table says could not be told without the contexts."""
    return ps.LinearPolicies(np.random.default_rng(0).normal(size=(5, K, 2)))


def _create(folder: Any, **arguments: Any) -> Any:
    given = {
        "name": "shop",
        "policies": _policies(),
        "problem": a_problem(),
        "seed": 0,
        **arguments,
    }
    return ps.Study.create(f"sqlite:///{Path(folder.name) / 'study.db'}", **given)


def _study() -> _Made:
    folder = TemporaryDirectory(ignore_cleanup_errors=True)
    study = _create(folder)
    return _Made(folder, study, study.ask(some_features(), ids=["a", "b", "c", "d"]))


def _state(made: _Made) -> Any:
    status = made.study.status()
    return status.rounds, status.learnt, status.open, status.told, status.expired, status.discarded


def _call(run: Any, good: dict[str, Any]) -> Call:
    return Call(lambda made, **given: run(made.study, **given), good.copy, _study, _state)


STUDY_CALLS: dict[str, Call] = {
    "Study.create": Call(
        lambda folder, **given: _create(folder, **given),
        lambda: {
            "name": "shop",
            "policies": _policies(),
            "problem": a_problem(),
            "learner": "Sieve",
            "seed": 0,
            "deadline": "2h",
            "version": "1",
        },
        lambda: TemporaryDirectory(ignore_cleanup_errors=True),
    ),
    "Study.ask": _call(
        lambda study, contexts, ids: study.ask(contexts, ids=ids),
        {"contexts": some_features()[:2], "ids": ["e", "f"]},
    ),
    "Study.tell": _call(
        lambda study, ids, rewards: study.tell(ids, rewards),
        {"ids": ["b", "a"], "rewards": np.array([0.0, 1.0])},
    ),
    "Study.discard": _call(
        lambda study, ids, reason: study.discard(ids, reason=reason),
        {"ids": ["a"], "reason": "lost"},
    ),
    "Study.expire": _call(
        lambda study, older_than: study.expire(older_than=older_than), {"older_than": 0.0}
    ),
    "Study.forget": _call(lambda study, ids: study.forget(ids), {"ids": ["a"]}),
}
"""Verbs of a study, by their names."""
