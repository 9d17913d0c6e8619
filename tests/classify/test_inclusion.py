"""Probabilities of labels are those of the slow twin, whatever was told."""

import numpy as np
import pytest

from policysieve.classify.exploring import LabelCounts, inclusion
from policysieve.classify.likelihoods import EXCLUSIVE, INDEPENDENT
from tests.oracles import label_exploring as oracle
from tests.oracles.label_model import sigmoid, softmax

KINDS = {
    "exclusive": (EXCLUSIVE, softmax),
    "independent": (INDEPENDENT, lambda z: [sigmoid(value) for value in z]),
}
N = 30  # rounds told


def told(story, k, size, rng):
    """Labels shown, answers and propensities, arrays of shape (N, size)."""
    shown = rng.random((N, k)).argsort(axis=1)[:, :size]
    every, weights = np.ones(shown.shape), np.full(shown.shape, size / k)
    chance = (rng.random(shown.shape) < 0.4).astype(float)
    answers, propensities = {
        "none right": (0 * every, weights),
        "one right once": (np.eye(N)[:, :1] * np.eye(size)[:1], weights),
        "one label right": (shown == 0, weights),
        "all right": (every, weights),
        "some right": (chance, weights),
        "by propensity": (chance, rng.uniform(0.05, 1, shown.shape)),
        "seldom shown": (chance, 10 ** rng.uniform(-9, 0, shown.shape)),
        "shares": (rng.random(shown.shape), rng.uniform(0.05, 1, shown.shape)),
    }[story]
    return shown, answers.astype(float), propensities


def both(rounds, z, sd, kind, size, smallest=0.05):
    """Probabilities of shape (n, K), ours and the twin's, with the same draws."""
    likelihood, probabilities = KINDS[kind]
    k = z.shape[1]
    found = inclusion(
        z,
        sd,
        LabelCounts(k).with_answers(*rounds),
        likelihood,
        size=size,
        smallest=smallest,
        rng=np.random.default_rng(3),
    )
    normal = np.random.default_rng(3).standard_normal((4, *z.shape))
    blocks = list(zip(*(part.tolist() for part in rounds), strict=True))
    expected = [
        oracle.inclusion(*row, blocks, probabilities, size, smallest, normal[:, i].tolist())
        for i, row in enumerate(zip(z.tolist(), sd.tolist(), strict=True))
    ]
    return found, np.array(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "story",
    [
        *("none right", "one right once", "one label right", "all right", "some right"),
        *("by propensity", "seldom shown", "shares"),
    ],
)
def test_probabilities_are_those_of_the_formulas(kind, k, story):
    rng = np.random.default_rng(k)
    for size in range(1, k + 1):
        rounds = told(story, k, size, rng)
        z, sd = 2 * rng.normal(size=(3, k)), rng.random((3, k))
        found, expected = both(rounds, z, sd, kind, size)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_before_any_answer_and_after_many_labelled_rows(kind):
    rng = np.random.default_rng(0)
    z, sd = 2 * rng.normal(size=(3, 5)), rng.random((3, 5))
    labels = np.repeat([0, 1, 2], [300, 40, 1])[:, None]
    for n in (0, len(labels)):
        rounds = labels[:n], np.ones((n, 1)), np.ones((n, 1))
        found, expected = both(rounds, z, sd, kind, 1)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_model_that_is_quite_sure():
    """Where all other probabilities are 0, the floor of 1e-9 says how exploration is shared."""
    z = 1e3 * np.array([[1.0, 0.0, -1.0, 0.5], [-1.0, 0.3, 0.2, 0.9]])
    rounds = told("some right", 4, 1, np.random.default_rng(0))
    for size in (1, 2):
        found, expected = both(rounds, z, np.ones(z.shape), "exclusive", size)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        assert found.min() > 0.2 * 0.05 * size / 4
