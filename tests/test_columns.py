import copy
import pickle

import numpy as np
import pytest

from policysieve.columns import Column


def test_longer_columns_leave_shorter_ones_alone():
    first = Column(np.arange(3))
    second = first.plus(np.array([3, 4]))
    third = second.plus(np.array([5]))
    assert [len(column) for column in (first, second, third)] == [3, 5, 6]
    assert third.values.tolist() == list(range(6))
    assert second.values.tolist() == list(range(5))
    assert first.plus(np.empty(0, int)) is first


def test_two_continuations_do_not_meet():
    start = Column(np.arange(2)).plus(np.array([2]))
    one, other = start.plus(np.array([10, 11])), start.plus(np.array([20]))
    again = one.plus(np.array([12]))
    assert one.values.tolist() == [0, 1, 2, 10, 11]
    assert other.values.tolist() == [0, 1, 2, 20]
    assert again.values.tolist() == [0, 1, 2, 10, 11, 12]
    assert start.values.tolist() == [0, 1, 2]


def test_memory_is_shared_and_grows_by_doubling():
    column, rooms = Column(np.zeros((1, 2))), set()
    for k in range(1000):
        column = column.plus(np.full((1, 2), k))
        rooms.add(id(column._room))
    assert len(rooms) < 10
    np.testing.assert_array_equal(column.values[1:, 0], np.arange(1000))


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (np.arange(2), np.array([0.5]), np.float64),
        (np.array(["a"], object), np.array(["bc"], object), object),
        (np.arange(2, dtype=np.uint8), np.arange(2, dtype=np.int32), np.int32),
    ],
)
def test_kinds_of_rows(first, second, dtype):
    both = Column(first).plus(second)
    assert both.values.dtype == dtype
    assert both.values.tolist() == [*first.tolist(), *second.tolist()]


def test_columns_travel_without_their_room():
    column = Column(np.arange(3)).plus(np.arange(100)).plus(np.arange(5))
    travelled = pickle.loads(pickle.dumps(column))
    np.testing.assert_array_equal(travelled.values, column.values)
    assert len(pickle.dumps(column)) < 8 * 108 + 400
    assert copy.deepcopy(column) is column
