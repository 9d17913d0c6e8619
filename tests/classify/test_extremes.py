"""Both classifiers at the edges: few labels, all of them shown, odd scales. Warnings are errors."""

import numpy as np
import pytest

import policysieve as ps

SIZES = pytest.mark.parametrize(
    ("n_labels", "size"), [(2, None), (2, 1), (2, 2), (5, None), (5, 3), (5, 5)], ids=str
)
ANSWERS = {
    "right": lambda rng, shape: np.ones(shape),
    "wrong": lambda rng, shape: np.zeros(shape),
    "shares": lambda rng, shape: rng.random(shape),
    "next to nothing": lambda rng, shape: 1e-170 * rng.random(shape),
}


def check(answers, n_labels, size, scale=1.0, labelled=False, mixing=0.1, **options):
    """Play some rounds: whatever happens, propensities and probabilities are proper ones.

    `size` is that of lists, None for a single label.
    """
    rng = np.random.default_rng(0)
    options |= {"classes": range(n_labels), "mixing": mixing, "random_state": 0}
    if size is None:
        clf = ps.BanditClassifier(**options)
    else:
        clf = ps.BanditListClassifier(list_size=size, **options)
    if labelled:  # the first label nearly always, the last one never
        y = np.where(np.arange(500) % 100, 0, n_labels - 2)
        Y = y if size is None else np.eye(n_labels)[y]
        clf.fit(scale * rng.normal(size=(500, 3)), Y)
    for _ in range(4):
        decisions = clf.ask(scale * rng.normal(size=(25, 3)))
        q = decisions.propensities
        smallest = mixing * 0.2 * (size or 1) / n_labels  # a fifth of exploration is even
        assert ((q >= smallest * (1 - 1e-12)) & (q <= 1)).all()
        clf.tell(decisions, answers(rng, decisions.labels.shape))
    p = clf.predict_proba(scale * rng.normal(size=(10, 3)))
    assert ((p >= 0) & (p <= 1)).all()
    accuracy = clf.accuracy(since=0)
    assert 0 <= accuracy.lower <= accuracy.value <= accuracy.upper <= 1


@SIZES
@pytest.mark.parametrize("answers", ANSWERS.values(), ids=ANSWERS)
def test_answers_of_any_kind(answers, n_labels, size):
    check(answers, n_labels, size)


@pytest.mark.parametrize("size", [None, 2])
@pytest.mark.parametrize(
    "options",
    [
        {"prior_variance": 1e-100},
        {"prior_variance": 1e100},
        {"scale": 1e-100},
        {"scale": 1e100},
        {"mixing": 1e-300},
        {"mixing": 1.0},
        {"labelled": True},
        {"labelled": True, "mixing": 1e-300, "prior_variance": 1e100},
    ],
    ids=str,
)
def test_parameters_and_features_of_any_size(options, size):
    check(ANSWERS["shares"], 4, size, **options)
