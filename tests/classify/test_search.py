"""Where unknown labels are looked for: as their twins say, and not where they were tried."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

import policysieve as ps
from policysieve.classify import search as module
from policysieve.classify.exploring import LabelCounts, inclusion
from policysieve.classify.likelihoods import EXCLUSIVE
from policysieve.classify.search import Directions, Rounds, Search, covered, likeness, surprise_at
from tests.classify.tasks import clusters, play
from tests.oracles import label_search as oracle

SEEDS = st.integers(0, 2**32 - 1)
K = 5


def rounds(n=60, seed=0, n_clusters=K):
    """Rows of clusters of which the last label was never shown rightly, and the rounds there."""
    rng = np.random.default_rng(seed)
    X, y = clusters(rng, n, n_labels=n_clusters, spread=0.3)
    X = X + 1.0  # a centre that is not zero
    shown = rng.integers(K, size=n)
    answers = ((shown == y) & (shown < K - 1)).astype(float)
    found = Rounds(shown, answers, rng.uniform(0.02, 1, n), np.arange(K) == 0)
    return X, found


def after(X, found, missing=0.5):
    shown = np.bincount(found.labels, minlength=K).astype(float)
    right = np.bincount(found.labels, found.answers, K)
    return Search.after(X, found, shown, right, np.full(20, missing)), shown, right


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_labels_are_ruled_out_as_by_the_twin(form):
    X, found = rounds()
    search, shown, right = after(form(X), found)
    centre = X.mean(axis=0)
    hits = np.flatnonzero(found.answers)
    cosines = [[oracle.cosine(X[i], X[j], centre) for j in hits] for i in hits]
    offset, slope = likeness(np.array(cosines), found.labels[hits])
    tries = [
        (X[i], found.labels[i])
        for i in range(len(X))
        if not found.answers[i] and right[found.labels[i]] < module._FAMILIAR
    ]
    new, _ = rounds(8, seed=1)
    expected = [
        oracle.open_to(x, tries, centre, shown, offset, slope, K, module._SUREST) for x in new
    ]
    for rows in (new, sparse.csr_array(new)):
        np.testing.assert_allclose(search.open_to(rows, K), expected, rtol=1e-3)
    assert search.open_to(new[:0], K).shape == (0, K)


def test_a_label_stays_open_where_it_was_not_tried():
    """Label 4 was tried in vain around one cluster only."""
    X, found = rounds(400)
    near = np.linalg.norm(X - X[0], axis=1) < 1
    found.labels[(found.labels == K - 1) & ~near] = 0
    found.answers[found.labels == 0] = 0
    chances = after(X, found)[0].open_to(X, K)[:, K - 1]
    assert chances[near].max() < 0.5 < 0.9 < np.median(chances[~near])


@given(SEEDS, st.integers(2, 30))
def test_the_covered_share_is_that_of_the_twin(seed, n):
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=n)
    answers, q = rng.integers(2, size=n).astype(float), rng.uniform(0.01, 1, n)
    known = rng.random(K) < 0.3
    found = covered(Rounds(labels, answers, q, known), np.zeros(K))
    expected = oracle.covered(
        labels.tolist(), answers, q, np.flatnonzero(known).tolist(), module._HEAVIEST
    )
    assert found == pytest.approx(np.clip(expected, *module._COVERED))


@given(SEEDS)
def test_likeness_is_the_most_probable_one(seed):
    rng = np.random.default_rng(seed)
    X, y = clusters(rng, 14, n_labels=3, spread=1.0)
    directions = Directions(X, X.mean(axis=0))
    cosines = directions.with_others(directions)
    found = likeness(cosines, y)
    if (np.bincount(y) > 1).sum() < 2:
        assert found is None
        return
    weights = oracle.pair_weights(y.tolist(), module._OF_A_LABEL)
    best = minimize(
        oracle.penalised_loss,
        np.zeros(2),
        (cosines.tolist(), weights, module._RIDGE, module._BINS),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-10, "maxiter": 2000},
    ).x
    if found is None:
        assert best[1] <= 1e-4
    else:
        np.testing.assert_allclose(found, best, rtol=1e-3, atol=1e-3)


@given(SEEDS, st.floats(0.01, 0.99))
def test_what_is_missing_has_the_given_mean(seed, share):
    missing = np.random.default_rng(seed).beta(0.5, 0.5, size=50)
    search = Search(surprise=surprise_at(missing, share))
    found = search.missing(missing)
    assert found.mean() == pytest.approx(share, abs=1e-4)
    assert (np.argsort(found) == np.argsort(missing)).all() or len(set(found)) < 50


def test_without_pairs_to_compare_nothing_is_ruled_out():
    X, found = rounds()
    found.answers[:] = 0
    search = after(X, found)[0]
    assert search.tries is None
    assert (search.open_to(X, K) == 1).all()


def test_rows_that_all_are_alike_do_no_harm():
    X, found = rounds()
    for rows in (np.ones_like(X), np.zeros_like(X)):
        for form in (np.asarray, sparse.csr_array):
            search = after(form(rows), found)[0]
            chances = search.open_to(form(rows), K)
            assert ((chances >= 0) & (chances <= 1)).all()


@given(SEEDS, st.floats(1e-6, 1.0))
def test_propensities_add_up_whatever_was_tried(seed, smallest):
    X, found = rounds(seed=seed)
    search, _, _ = after(X, found)
    rng = np.random.default_rng(seed)
    counts = LabelCounts(K).with_answers(
        found.labels[:, None], found.answers[:, None], found.propensities[:, None]
    )
    z, spread = 3 * rng.normal(size=(60, K)), rng.random((60, K))
    q = inclusion(
        z, spread, counts, EXCLUSIVE, size=1, smallest=smallest, rng=rng, search=search, rows=X
    )
    np.testing.assert_allclose(q.sum(axis=1), 1)
    assert (q >= smallest * 0.2 / K * (1 - 1e-12)).all()


def test_classifiers_search_and_lists_do_not():
    X, y = clusters(np.random.default_rng(0), 200)
    one = play(ps.BanditClassifier(classes=range(4), random_state=0), X, y)
    assert isinstance(one._search, Search)
    many = ps.BanditListClassifier(classes=range(4), list_size=2, random_state=0)
    assert play(many, X, np.eye(4)[y])._search is None
