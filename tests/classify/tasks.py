"""Small tasks for classifiers, and a user who answers."""

import numpy as np


def clusters(rng, n, n_labels=4, spread=0.6):
    """Points around corners of a circle and their numbers: nearly all are told apart by lines."""
    y = rng.integers(0, n_labels, n)
    angles = 2 * np.pi * y / n_labels
    X = 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    return X + spread * rng.normal(size=X.shape), y


def tags(rng, n, n_labels=6):
    """Points of three features and which labels are right there, about a third of them."""
    directions = np.random.default_rng(5).normal(size=(3, n_labels))
    X = rng.normal(size=(n, 3))
    return X, (2 * (X @ directions) - 1 > rng.logistic(size=(n, n_labels))).astype(float)


def answers_to(decisions, right):
    """Rewards of a batch: `right` holds the right label of each row, or an indicator per label."""
    if right.ndim == 1:
        return (decisions.labels == right).astype(float)
    return np.take_along_axis(right, decisions.decisions.actions.astype(int), axis=1)


def play(classifier, X, right, batch=50):
    """Ask and tell all rows, a batch at a time."""
    for start in range(0, X.shape[0], batch):
        part = slice(start, start + batch)
        decisions = classifier.ask(X[part])
        classifier.tell(decisions, answers_to(decisions, right[part]))
    return classifier
