"""Where unknown labels are looked for: as their twins say, and not where they were tried.

And what known ones look like.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

import policysieve as ps
from policysieve.classify import likeness as alike
from policysieve.classify import search as module
from policysieve.classify.exploring import LabelCounts, inclusion
from policysieve.classify.likelihoods import EXCLUSIVE
from policysieve.classify.likeness import Directions, Likeness, last_of_each, ratio
from policysieve.classify.search import Search
from tests.classify.tasks import clusters, play
from tests.oracles import label_search as oracle
from tests.oracles.label_model import softmax

SEEDS = st.integers(0, 2**32 - 1)
K = 5


def rounds(n=60, seed=0, n_clusters=K):
    """Rows of clusters of which the last label was never shown rightly, and the rounds there."""
    rng = np.random.default_rng(seed)
    X, y = clusters(rng, n, n_labels=n_clusters, spread=0.3)
    X = X + 1.0  # a centre that is not zero
    shown = rng.integers(K, size=n)
    answers = ((shown == y) & (shown < K - 1)).astype(float)
    return X, shown, answers


def after(X, labels, answers):
    shown = np.bincount(labels, minlength=K).astype(float)
    right = np.bincount(labels, answers, K)
    known = Likeness.of([(X, labels[:, None], answers[:, None])], K)
    common, unsure = np.linspace(0.1, 0.3, K), np.linspace(0.02, 0.1, K)
    return Search.after(X, labels, answers, shown, right, known, common, unsure), shown, right


def examples(X, labels, answers):
    """Cosines of the last right answers, and their labels."""
    hits, centre = np.flatnonzero(answers), X.mean(axis=0)
    hits = hits[oracle.last_of_each(labels[hits].tolist(), alike._OF_EACH)]
    cosines = [[oracle.cosine(X[i], X[j], centre) for j in hits] for i in hits]
    return np.array(cosines), labels[hits]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_labels_are_ruled_out_as_by_the_twin(form):
    X, labels, answers = rounds()
    search, shown, right = after(form(X), labels, answers)
    centre = X.mean(axis=0)
    offset, slope = ratio(*examples(X, labels, answers))
    tries = [
        (X[i], labels[i])
        for i in range(len(X))
        if not answers[i] and right[labels[i]] < module._FAMILIAR
    ]
    new = rounds(8, seed=1)[0]
    expected = [
        oracle.open_to(x, tries, centre, shown, offset, slope, K, module._SUREST) for x in new
    ]
    for rows in (new, sparse.csr_array(new)):
        np.testing.assert_allclose(search.open_to(rows, K), expected, rtol=1e-3)
    assert search.open_to(new[:0], K).shape == (0, K)


def test_a_label_stays_open_where_it_was_not_tried():
    """Label 4 was tried in vain around one cluster only."""
    X, labels, answers = rounds(400)
    near = np.linalg.norm(X - X[0], axis=1) < 1
    labels[(labels == K - 1) & ~near] = 0
    answers[labels == 0] = 0
    chances = after(X, labels, answers)[0].open_to(X, K)[:, K - 1]
    assert chances[near].max() < 0.5 < 0.9 < np.median(chances[~near])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_typical_logits_are_log_ratios_for_the_mean_direction(form):
    """For rows of root mean square length, as the twin has them; labelled rows count too."""
    X, labels, answers = rounds()
    parts = [slice(0, 25), slice(25, None)]
    blocks = [(form(X[part]), labels[part, None], answers[part, None]) for part in parts]
    found = Likeness.of(blocks, K)
    offset, slope = ratio(*examples(X, labels, answers))
    assert (found.offset, found.slope) == pytest.approx((offset, slope), rel=1e-4)
    hits = [(X[i], labels[i]) for i in np.flatnonzero(answers)]
    for x in X[:10]:
        expected = oracle.typical(x, X.tolist(), hits, offset, slope, K)
        np.testing.assert_allclose(x @ found.typical[:-1] + found.typical[-1], expected, rtol=1e-3)


@given(st.lists(st.integers(0, 3), max_size=60))
def test_the_last_examples_of_each_label_are_compared(labels):
    found = last_of_each(np.array(labels, dtype=np.intp))
    assert found.tolist() == oracle.last_of_each(labels, alike._OF_EACH)


def searched(z, right, common, unsure):
    """Shares of rounds that look for unknown labels."""
    return Search(np.asarray(common), np.asarray(unsure)).share(z, np.asarray(right))[:, 0]


Z = np.array([[4.0, 0.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.0, 3.0]])


@pytest.mark.parametrize(
    "right", [[1.0, 0, 0], [400.0, 3, 0], [0.5, 90, 0], [0, 0, 0], [5.0, 5, 5], [1e6, 0, 2]]
)
@pytest.mark.parametrize("unsure", [1e-6, 0.01, 0.2])
def test_unknown_labels_are_looked_for_as_by_the_twin(right, unsure):
    common, doubts = [0.5, 0.4, 0.1], [unsure, unsure / 2, unsure / 3]
    found = searched(Z, right, common, doubts)
    expected = [oracle.search_share(row, right, common, doubts) for row in Z.tolist()]
    np.testing.assert_allclose(found, expected)


def test_finding_is_never_worth_nothing():
    """With many unknown labels of small shares, it still counts a fiftieth."""
    z = np.concatenate([[5.0], np.full(199, 0.5)])
    right, common, unsure = np.eye(200)[0], np.full(200, 1 / 200), np.full(200, 0.2)
    odds = 0.02 * 199 * np.exp(0.5 - 5.0)
    assert searched(z[None], right, common, unsure) == pytest.approx(odds**2 / (1 + odds**2))
    assert oracle.search_share(z, right, common, unsure) == pytest.approx(odds**2 / (1 + odds**2))


def test_unknown_labels_are_looked_for_where_there_is_little_to_learn_of_known_ones():
    """Because these fit badly, had many right answers, or the model is sure of them."""
    common, doubts, less = [0.5, 0.4, 0.1], [0.2, 0.2, 0.1], [0.02, 0.02, 0.1]
    few, many = [2.0, 2.0, 0], [20.0, 20.0, 0]
    z = np.array([[9.0, 0, 0], [1, 0, 0], [0, 0, 3]])
    assert (np.diff(searched(z, few, common, doubts)) > 0).all()
    assert (searched(Z, few, common, doubts) < searched(Z, many, common, doubts)).all()
    assert (searched(Z, few, common, doubts) < searched(Z, few, common, less)).all()


@given(SEEDS, st.sampled_from([1.0, 1e3, 1e200]))
def test_shares_of_search_are_shares_however_sure_the_model_is(seed, size):
    """Warnings are errors, so overflow would be seen."""
    rng = np.random.default_rng(seed)
    right = rng.integers(3, size=K) * rng.random(K)
    p = EXCLUSIVE.probabilities(size * rng.normal(size=(6, K)))
    found = searched(
        size * rng.normal(size=(6, K)), right, p.mean(axis=0), (p * (1 - p)).mean(axis=0)
    )
    assert ((found >= 0) & (found <= 1)).all()


@given(SEEDS)
def test_likeness_is_the_most_probable_one(seed):
    rng = np.random.default_rng(seed)
    X, y = clusters(rng, 14, n_labels=3, spread=1.0)
    directions = Directions(X, X.mean(axis=0))
    cosines = directions.with_others(directions)
    found = ratio(cosines, y)
    if (np.bincount(y) > 1).sum() < 2:
        assert found is None
        return
    weights = oracle.pair_weights(y.tolist(), alike._OF_A_LABEL)
    best = minimize(
        oracle.penalised_loss,
        np.zeros(2),
        (cosines.tolist(), weights, alike._RIDGE, alike._BINS),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-10, "maxiter": 2000},
    ).x
    if found is None:
        assert best[1] <= 1e-4
    else:
        np.testing.assert_allclose(found, best, rtol=1e-3, atol=1e-3)


def test_without_pairs_to_compare_nothing_is_ruled_out():
    X, labels, answers = rounds()
    search = after(X, labels, 0 * answers)[0]
    assert search.tries is None
    assert (search.open_to(X, K) == 1).all()


def test_rows_that_all_are_alike_do_no_harm():
    X, labels, answers = rounds()
    for rows in (np.ones_like(X), np.zeros_like(X)):
        for form in (np.asarray, sparse.csr_array):
            search = after(form(rows), labels, answers)[0]
            chances = search.open_to(form(rows), K)
            assert ((chances >= 0) & (chances <= 1)).all()


@given(SEEDS, st.floats(1e-6, 1.0))
def test_propensities_add_up_whatever_was_tried(seed, smallest):
    X, labels, answers = rounds(seed=seed)
    search, _, _ = after(X, labels, answers)
    rng = np.random.default_rng(seed)
    counts = LabelCounts(K).with_answers(
        labels[:, None], answers[:, None], rng.uniform(0.02, 1, (60, 1))
    )
    z, spread = 3 * rng.normal(size=(60, K)), rng.random((60, K))
    q = inclusion(
        z, spread, counts, EXCLUSIVE, size=1, smallest=smallest, rng=rng, search=search, rows=X
    )
    np.testing.assert_allclose(q.sum(axis=1), 1)
    assert (q >= smallest * 0.2 / K * (1 - 1e-12)).all()


@pytest.mark.parametrize("n_labels", [2, K])
@pytest.mark.parametrize("right", ["none", "some", "all"])
def test_probabilities_are_those_of_the_twin_also_with_a_search(n_labels, right):
    rng = np.random.default_rng(n_labels)
    X = rng.normal(size=(40, 3))
    labels = np.arange(40) % n_labels
    answers = {"none": 0.0, "some": (labels == 0) & (rng.random(40) < 0.5), "all": labels >= 0}
    told = np.asarray(answers[right] * np.ones(40))
    weights = rng.uniform(0.1, 1, (40, 1))
    counts = LabelCounts(n_labels).with_answers(labels[:, None], told[:, None], weights)
    blocks = list(
        zip(labels[:, None].tolist(), told[:, None].tolist(), weights.tolist(), strict=True)
    )
    common, unsure = rng.random(n_labels) / n_labels, rng.random(n_labels) / 50
    known = Likeness.of([(X, labels[:, None], told[:, None])], n_labels)
    search = Search.after(X, labels, told, counts.shown, counts.right, known, common, unsure)
    for n in (1, 6):
        z, sd, rows = 2 * rng.normal(size=(n, n_labels)), rng.random((n, n_labels)), X[:n] + 0.1
        found = inclusion(
            z,
            sd,
            counts,
            EXCLUSIVE,
            size=1,
            smallest=0.1,
            rng=np.random.default_rng(3),
            search=search,
            rows=rows,
        )
        normal = np.random.default_rng(3).standard_normal((4, *z.shape))
        opened = search.open_to(rows, n_labels)
        for i in range(n):
            share = oracle.search_share(z[i].tolist(), counts.right.tolist(), common, unsure)
            expected = oracle.inclusion(
                z[i].tolist(),
                sd[i].tolist(),
                blocks,
                opened[i],
                share,
                softmax,
                0.1,
                normal[:, i].tolist(),
            )
            np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-9)


def test_typical_weights_are_those_of_the_same_rows_dense():
    """To more digits than single precision has, but for pairs of examples, which need fewer."""
    X, labels, answers = rounds()
    hits = np.flatnonzero(answers)
    centre = X.mean(axis=0)
    sums = [
        Directions(form(X[hits]), centre, np.float64).sums(labels[hits], K)
        for form in (np.asarray, sparse.csr_array)
    ]
    np.testing.assert_allclose(*sums, rtol=1e-12, atol=1e-12)


def test_classifiers_look_at_what_they_say_of_rows_that_they_did_not_learn_from():
    X, y = clusters(np.random.default_rng(0), 300)
    clf = play(ps.BanditClassifier(classes=range(4), random_state=0), X[:150], y[:150], batch=150)
    p = clf.predict_proba(X[150:])
    before = clf._model
    play(clf, X[150:], y[150:], batch=150)
    np.testing.assert_allclose(clf._search.unsure, (p * (1 - p)).mean(axis=0))
    logits, spread = before.logits(X[150:]), before.spreads(X[150:])
    draws = np.random.default_rng(300).standard_normal((4, *logits.shape))
    p = [
        EXCLUSIVE.probabilities(logits + c * spread * e)
        for c, e in zip([0.3, 0.6, 0.9, 1.2], draws, strict=True)
    ]
    mean = EXCLUSIVE.probabilities(logits.copy()) / 2 + sum(p) / 8
    np.testing.assert_allclose(clf._search.common, mean.mean(axis=0))


def test_classifiers_search_and_lists_do_not():
    X, y = clusters(np.random.default_rng(0), 200)
    one = play(ps.BanditClassifier(classes=range(4), random_state=0), X, y)
    assert isinstance(one._search, Search)
    many = ps.BanditListClassifier(classes=range(4), list_size=2, random_state=0)
    assert play(many, X, np.eye(4)[y])._search is None
