"""Labels of any hashable kind, batches of them, and parts of batches."""

import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.classify.labels import as_labels, places_of

MIXED = ["refund", 3, None, (1, 2), 2.5]
X = np.random.default_rng(0).normal(size=(6, 2))
MASK = np.array([True, False, True, False, False, True])


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        (["b", "a"], "U"),
        ((5, 3), "i"),
        (range(4), "i"),
        ([True, False], "b"),
        ([0.5, 0.25], "f"),
        (np.array(["x", "y"]), "U"),
        (np.array([7, 3]), "i"),
        (list(np.array([7, 3])), "i"),
        (list(np.array(["x", "y"])), "U"),
        ([(1, 2), (3, 4)], "O"),
        ([(1, 2), (3,)], "O"),
        ([frozenset("a"), frozenset("b")], "O"),
        (MIXED, "O"),
        (np.array(MIXED, dtype=object), "O"),
        ([1, "1"], "O"),
    ],
    ids=str,
)
def test_labels_keep_their_order_and_kind(classes, kind):
    labels = as_labels(classes)
    assert labels.dtype.kind == kind
    assert labels.shape == (len(classes),)
    assert labels.tolist() == [
        getattr(label, "item", lambda label=label: label)() for label in classes
    ]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("refund", "list of labels, got 'refund'"),
        (3, "list of labels, got 3"),
        ([], "2 or more different labels, got 0"),
        (["a"], "2 or more different labels, got 1"),
        (["a", "b", "a"], "got 3 of which 2 are different"),
        ([1, True], "got 2 of which 1 are different"),
        ([["a"], ["b"]], "hashable labels .*'list'"),
        (np.array([[1, 2], [3, 4]]), "hashable labels"),
        (np.array(3), "list of hashable labels"),
    ],
    ids=str,
)
def test_classes_that_are_refused(classes, message):
    with pytest.raises(ps.InvalidArgumentError, match=f"classes must be .*{message}"):
        as_labels(classes)


def test_places():
    classes = as_labels(MIXED)
    labels = np.array([[None, "refund"], [2.5, 3]], dtype=object)
    assert places_of(labels, classes, "y").tolist() == [[2, 0], [4, 1]]
    assert places_of(np.array([3, 7], dtype=np.int8), as_labels([7, 3]), "y").tolist() == [1, 0]
    assert places_of(np.array([], dtype=object), classes, "y").shape == (0,)


@pytest.mark.parametrize("new", ["delivery", None, 9])
def test_new_labels_are_refused(new):
    labels = np.array(["refund", new], dtype=object)
    with pytest.raises(ps.InvalidArgumentError, match=f"y has the label {new!r}, .* 2 classes"):
        places_of(labels, as_labels(["refund", "other"]), "y")


@pytest.fixture(params=[1, 2])
def batch(request):
    if request.param == 1:
        return ps.BanditClassifier(classes=["a", "b", "c"], random_state=0).ask(X)
    return ps.BanditListClassifier(classes=["a", "b", "c"], list_size=2, random_state=0).ask(X)


def test_a_batch_holds_labels_and_their_propensities(batch):
    assert len(batch) == 6
    assert batch.labels.shape == batch.propensities.shape
    numbers = batch.decisions.actions.reshape(batch.labels.shape)
    np.testing.assert_array_equal(np.array(["a", "b", "c"])[numbers], batch.labels)
    assert repr(batch) == "LabelDecisions(6 rounds)"


@pytest.mark.parametrize(
    "rows", [slice(1, 4), [4, 0], MASK, np.array([2]), 3, -1, np.int64(2)], ids=str
)
def test_a_part_has_the_same_rows_everywhere(batch, rows):
    part = batch[rows]
    numbers = np.atleast_1d(np.arange(6)[rows])
    assert part.decisions.numbers.tolist() == numbers.tolist()
    np.testing.assert_array_equal(part.labels, batch.labels[numbers])
    np.testing.assert_array_equal(part.propensities, batch.propensities[numbers])
    shown = part.propensities.reshape(part.decisions.propensities.shape)
    np.testing.assert_array_equal(part.decisions.propensities, shown)


def test_rows_that_are_not_there(batch):
    with pytest.raises(ps.InvalidArgumentError, match="row numbers below 6"):
        batch[[2, 6]]


def test_batches_cannot_be_changed(batch):
    for part in (batch, batch[1:3]):
        for array in (part.labels, part.propensities):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]


def test_batches_can_be_stored(batch):
    copy = pickle.loads(pickle.dumps(batch))
    np.testing.assert_array_equal(copy.labels, batch.labels)
    np.testing.assert_array_equal(copy.decisions.numbers, batch.decisions.numbers)


def test_a_label_that_has_no_hash_is_new():
    learner = ps.BanditClassifier(classes=["a", "b"])
    with pytest.raises(ps.InvalidArgumentError, match=r"has the label \{'a': 1\}"):
        learner.fit(np.ones((2, 2)), [{"a": 1}, {"a": 1}])
