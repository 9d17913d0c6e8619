"""Classifiers, each with arguments that are right."""

from typing import Any

import numpy as np

import policysieve as ps
from policysieve.bench.faults.call import Call, some_features

__all__ = ["CLASSIFIER_CALLS"]


def _classifier(asked: bool) -> Any:
    learner = ps.BanditClassifier(classes=["a", "b", "c"], random_state=0)
    return learner, learner.ask(some_features()) if asked else None


def _answered() -> Any:
    learner, decisions = _classifier(True)
    learner.tell(decisions, np.array([0.0, 1.0, 0.0, 0.0]))
    return learner, decisions


def _classifier_state(made: Any) -> Any:
    learner, decisions = made
    known = None if decisions is None else learner.predict_proba(np.ones((1, 2))).tolist()
    return learner.rounds, learner.pending, known


CLASSIFIER_CALLS: dict[str, Call] = {
    "BanditClassifier": Call(
        lambda _, rows, **how: ps.BanditClassifier(**how).ask(rows),
        lambda: {
            "rows": some_features(),
            "classes": ["a", "b", "c"],
            "prior_variance": 20.0,
            "mixing": 0.1,
            "random_state": 0,
        },
    ),
    "BanditListClassifier": Call(
        lambda _, rows, **how: ps.BanditListClassifier(**how).ask(rows),
        lambda: {
            "rows": some_features(),
            "classes": ["a", "b", "c"],
            "list_size": 2,
            "prior_variance": 20.0,
            "mixing": 0.1,
            "random_state": 0,
        },
    ),
    "BanditClassifier.fit": Call(
        lambda made, rows, y: made[0].fit(rows, y),
        lambda: {"rows": some_features(), "y": np.array(["a", "b", "c", "a"])},
        lambda: _classifier(False),
        _classifier_state,
    ),
    "BanditClassifier.ask": Call(
        lambda made, rows: made[0].ask(rows),
        lambda: {"rows": some_features()},
        lambda: _classifier(True),
        _classifier_state,
    ),
    "BanditClassifier.tell": Call(
        lambda made, rewards: made[0].tell(made[1], rewards),
        lambda: {"rewards": np.array([0.0, 1.0, 0.0, 0.0])},
        lambda: _classifier(True),
        _classifier_state,
    ),
    "BanditClassifier.predict": Call(
        lambda made, rows: made[0].predict(rows),
        lambda: {"rows": some_features()},
        lambda: _classifier(True),
        _classifier_state,
    ),
    "BanditClassifier.accuracy": Call(
        lambda made, model, since, delta: made[0].accuracy(model, since=since, delta=delta),
        lambda: {"model": np.array(["a", "b", "c", "a"]), "since": 0, "delta": 0.05},
        _answered,
        _classifier_state,
    ),
    "BanditClassifier.compare": Call(
        lambda made, incumbent, model, **how: made[0].compare(incumbent, model, **how),
        lambda: {
            "incumbent": np.array(["a", "b", "c", "a"]),
            "model": None,
            "since": 0,
            "delta": 0.05,
        },
        _answered,
        _classifier_state,
    ),
}
"""How classifiers are made, and their methods."""
