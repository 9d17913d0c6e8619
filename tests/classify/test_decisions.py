"""Batches of labels, and parts of them."""

import pickle

import numpy as np
import pytest

import policysieve as ps

X = np.random.default_rng(0).normal(size=(6, 2))
MASK = np.array([True, False, True, False, False, True])


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
