"""Likelihoods of right and wrong: equal to their twins, and finite however sure the model is."""

import numpy as np
import pytest

from policysieve.classify.likelihoods import EXCLUSIVE, INDEPENDENT
from tests.oracles import label_model as oracle

BOTH = pytest.mark.parametrize(
    ("likelihood", "twin", "size"),
    [(EXCLUSIVE, oracle.exclusive, 1), (INDEPENDENT, oracle.independent, 2)],
    ids=["exclusive", "independent"],
)
N, K = 30, 4


def rounds(size, seed=0):
    """Logits, labels shown and answers: right, wrong and shares between."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.normal(size=(N, K))
    shown = rng.random((N, K)).argsort(axis=1)[:, :size]
    return z, shown, rng.choice([0.0, 1.0, 0.3], size=(N, size))


def test_probabilities():
    z = rounds(1)[0]
    softmax = EXCLUSIVE.probabilities(z.copy())
    np.testing.assert_allclose(softmax, [oracle.softmax(row.tolist()) for row in z], rtol=1e-12)
    sigmoids = [[oracle.sigmoid(value) for value in row] for row in z]
    np.testing.assert_allclose(INDEPENDENT.probabilities(z.copy()), sigmoids, rtol=1e-12)


@BOTH
def test_the_loss_is_that_of_the_twin(likelihood, twin, size):
    z, shown, answers = rounds(size)
    expected = sum(twin(z[i].tolist(), shown[i], answers[i]) for i in range(N))
    assert likelihood.loss(z, shown, answers)[0] == pytest.approx(expected, rel=1e-12)


@BOTH
def test_the_gradient_comes_in_place_of_the_logits(likelihood, twin, size):
    z, shown, answers = rounds(size)
    expected = [
        oracle.gradient(lambda row, i=i: twin(row.tolist(), shown[i], answers[i]), z[i])
        for i in range(N)
    ]
    likelihood.loss(z, shown, answers)
    np.testing.assert_allclose(z, expected, atol=1e-8)


def second_derivatives(twin, z, shown, answers):
    return np.array(
        [
            oracle.second_derivatives(
                lambda row, i=i: twin(row.tolist(), shown[i], answers[i]), row
            )
            for i, row in enumerate(z)
        ]
    )


def test_curvatures_of_independent_labels_are_second_derivatives():
    z, shown, answers = rounds(2)
    expected = second_derivatives(oracle.independent, z, shown, answers)
    np.testing.assert_allclose(INDEPENDENT.curvatures(z, shown, answers), expected, atol=1e-6)


def test_a_right_answer_tells_about_all_labels():
    z, shown, _ = rounds(1)
    right = np.ones((N, 1))
    expected = second_derivatives(oracle.exclusive, z, shown, right)
    np.testing.assert_allclose(EXCLUSIVE.curvatures(z, shown, right), expected, atol=1e-6)


def test_a_wrong_answer_tells_about_the_label_shown():
    z, shown, _ = rounds(1)
    wrong = np.zeros((N, 1))
    everywhere = second_derivatives(oracle.exclusive, z, shown, wrong)
    expected = np.zeros((N, K))
    np.put_along_axis(expected, shown, np.take_along_axis(everywhere, shown, axis=1), axis=1)
    np.testing.assert_allclose(EXCLUSIVE.curvatures(z, shown, wrong), expected, atol=1e-6)


@BOTH
@pytest.mark.parametrize("size_of_logits", [40.0, 1000.0, 1e200])
def test_a_model_that_is_quite_sure_gives_finite_numbers(likelihood, twin, size, size_of_logits):
    """Warnings are errors, so overflow would be seen."""
    rows = [[1, -1, -1, -1], [-1, 1, 1, -1], [1, 1, 1, 1], [0, 0, -1, 1]]
    z = size_of_logits * np.array(rows, float)
    shown = np.array([[0, 1], [0, 3], [2, 0], [3, 2]])[:, :size]
    for answer in (0.0, 1.0, 0.5):
        answers = np.full(shown.shape, answer)
        gradient = z.copy()
        assert 0 <= likelihood.loss(gradient, shown, answers)[0] < np.inf
        assert np.isfinite(gradient).all()
        curvatures = likelihood.curvatures(z.copy(), shown, answers)
        assert ((curvatures >= 0) & (curvatures <= 0.25)).all()
        p = likelihood.probabilities(z.copy())
        assert ((p >= 0) & (p <= 1)).all()
