"""Classifiers of both kinds, by the number of labels they show, in the middle of a small task."""

import copy

import numpy as np

import policysieve as ps
from tests.classify.tasks import clusters, play, tags

LABELS = {1: ["north", "east", "south", "west"], 2: list("abcdef")}
NEW = {1: clusters(np.random.default_rng(99), 40)[0], 2: tags(np.random.default_rng(99), 40)[0]}


def make(size, **options):
    options = {"classes": LABELS[size], "random_state": 0} | options
    if size == 1:
        return ps.BanditClassifier(**options)
    return ps.BanditListClassifier(**{"list_size": 2} | options)


def task(size, n=120, seed=1):
    """Feature rows, and the right label or the indicators of right labels."""
    rng = np.random.default_rng(seed)
    if size == 2:
        return tags(rng, n)
    X, y = clusters(rng, n)
    return X, np.array(LABELS[1])[y]


def started(size, n=120, batch=40):
    return play(make(size), *task(size, n), batch=batch)


def assert_same(one, two, size):
    """The same now, and the same labels from here on."""
    assert (one.rounds, one.pending) == (two.rounds, two.pending)
    assert one.log == two.log
    np.testing.assert_array_equal(one.predict_proba(NEW[size]), two.predict_proba(NEW[size]))
    one, two = copy.deepcopy(one), copy.deepcopy(two)
    X, right = task(size, 60, seed=2)
    for clf in (one, two):
        play(clf, X, right, batch=30)
    assert one.log == two.log
    np.testing.assert_array_equal(one.predict_proba(NEW[size]), two.predict_proba(NEW[size]))
