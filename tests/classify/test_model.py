"""The linear model: the most probable one, in whatever form its rounds come."""

import numpy as np
import pytest
from scipy import sparse

from policysieve.classify import model as module
from policysieve.classify import posterior
from policysieve.classify.likelihoods import EXCLUSIVE, INDEPENDENT
from policysieve.classify.model import LabelModel
from tests.oracles import label_model as oracle

N, D, K, VARIANCE = 40, 2, 3, 5.0
KINDS = {
    "exclusive": (EXCLUSIVE, oracle.exclusive, 1),
    "independent": (INDEPENDENT, oracle.independent, 2),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def rounds(size, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
    shown = rng.random((N, K)).argsort(axis=1)[:, :size]
    return X, shown, (rng.random((N, size)) < 0.5).astype(float)


def start(likelihood, rows):
    model = LabelModel(
        n_labels=K, n_features=rows.shape[1], likelihood=likelihood, prior_variance=VARIANCE
    )
    return model.before(rows)


def test_before_any_answer_a_typical_logit_has_the_prior_variance():
    X = 100 * rounds(1)[0]
    model = start(EXCLUSIVE, X)
    assert not model.logits(X).any()
    variances = model.spreads(X) ** 2 - 1  # that of the intercept
    np.testing.assert_allclose(variances.mean(axis=0), VARIANCE)


def test_rows_without_features_have_a_prior_too():
    model = start(EXCLUSIVE, np.zeros((3, D)))
    np.testing.assert_array_equal(model.spreads(np.zeros((1, D))), np.ones((1, K)))


def test_the_first_fit_finds_the_most_probable_weights(kind):
    likelihood, twin, size = kind
    X, shown, answers = rounds(size)
    weights = oracle.most_probable(X, shown, answers, K, twin, VARIANCE, center=0.0)
    found = start(likelihood, X).fitted([(X, shown, answers)]).logits(X)
    np.testing.assert_allclose(found, X @ weights[:-1] + weights[-1], atol=1e-4)


def test_after_many_fits_intercepts_vary_around_their_mean(kind):
    likelihood, twin, size = kind
    X, shown, answers = rounds(size)
    weights = oracle.most_probable(X, shown, answers, K, twin, VARIANCE)
    model = start(likelihood, X)
    for _ in range(12):
        model = model.fitted([(X, shown, answers)])
    np.testing.assert_allclose(model.logits(X), X @ weights[:-1] + weights[-1], atol=1e-4)


def test_weights_begin_at_typical_ones(kind):
    """And stay closer to them where these are surer, though intercepts vary around their mean."""
    likelihood, twin, size = kind
    X, shown, answers = rounds(size)
    means = {
        "typical": np.random.default_rng(5).normal(size=(D + 1, K)),
        "tightness": np.array([1.0, 2.5, 4.0]),
    }
    weights = oracle.most_probable(X, shown, answers, K, twin, VARIANCE, **means)
    model = start(likelihood, X)
    for _ in range(12):
        model = model.fitted([(X, shown, answers)], **means)
    found, expected = model.logits(X), X @ weights[:-1] + weights[-1]
    np.testing.assert_allclose(
        likelihood.probabilities(found), likelihood.probabilities(expected), atol=1e-4
    )


def test_spreads_are_those_of_independent_weights(kind):
    """1/sqrt of prior precision plus the sum of second derivatives times squares of features."""
    likelihood, _, size = kind
    X, shown, answers = rounds(size)
    model = start(likelihood, X).fitted([(X, shown, answers)])
    h = likelihood.curvatures(model.logits(X), shown, answers)
    precisions = np.full((D + 1, K), (X**2).sum() / N / VARIANCE)
    precisions[-1] = 1.0
    for i in range(N):
        for k in range(K):
            for j in range(D):
                precisions[j, k] += h[i, k] * X[i, j] ** 2
            precisions[-1, k] += h[i, k]
    new = np.random.default_rng(1).normal(size=(5, D))
    expected = np.sqrt(new**2 @ (1 / precisions[:-1]) + 1 / precisions[-1])
    np.testing.assert_allclose(model.spreads(new), expected, rtol=1e-10)


def test_single_precision_is_enough(kind, monkeypatch):
    likelihood, _, size = kind
    X, shown, answers = rounds(size)
    double = start(likelihood, X).fitted([(X, shown, answers)])
    monkeypatch.setattr(module, "FEW_LOGITS", 0)
    single = start(likelihood, X).fitted([(X, shown, answers)])
    difference = np.abs(single.logits(X) - double.logits(X))
    assert 0 < difference.max() < 0.005
    np.testing.assert_allclose(single.spreads(X), double.spreads(X), rtol=0.005)


def test_the_form_of_rounds_does_not_matter(kind, monkeypatch):
    """Dense, sparse, in blocks, in stretches: the same model up to rounding."""
    likelihood, _, size = kind
    X, shown, answers = rounds(size)
    whole = start(likelihood, X).fitted([(X, shown, answers)])
    expected = whole.logits(X), whole.spreads(X)

    def check(rows, blocks):
        model = start(likelihood, rows).fitted(blocks)
        np.testing.assert_allclose(model.logits(rows), expected[0], atol=1e-10)
        np.testing.assert_allclose(model.spreads(rows), expected[1], atol=1e-10)

    for convert in (sparse.csr_matrix, sparse.csr_array):
        check(convert(X), [(convert(X), shown, answers)])
    halves = [slice(0, 13), slice(13, N)]
    check(X, [(X[half], shown[half], answers[half]) for half in halves])
    monkeypatch.setattr(posterior, "_STRETCH", 7 * K)
    check(X, [(X, shown, answers)])
    check(sparse.csr_array(X), [(sparse.csr_array(X), shown, answers)])


def test_fitting_leaves_the_model_before_as_it_was(kind):
    likelihood, _, size = kind
    X, shown, answers = rounds(size)
    first = start(likelihood, X).fitted([(X[:20], shown[:20], answers[:20])])
    before = first.logits(X), first.spreads(X)
    first.fitted([(3 * X, shown, 1 - answers)])
    np.testing.assert_array_equal(first.logits(X), before[0])
    np.testing.assert_array_equal(first.spreads(X), before[1])


def test_the_unit_of_features_does_not_matter(kind):
    likelihood, _, size = kind
    X, shown, answers = rounds(size)
    metres, inches = start(likelihood, X), start(likelihood, X / 0.0254)
    for _ in range(12):
        metres = metres.fitted([(X, shown, answers)])
        inches = inches.fitted([(X / 0.0254, shown, answers)])
    np.testing.assert_allclose(inches.logits(X / 0.0254), metres.logits(X), atol=0.01)
    np.testing.assert_allclose(inches.spreads(X / 0.0254), metres.spreads(X), rtol=0.01)
