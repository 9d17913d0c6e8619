import copy
import pickle
import sys
import threading

import numpy as np
import pytest

from policysieve.columns import Columns
from policysieve.frames import ContextFrame


def test_longer_columns_leave_shorter_ones_alone():
    first = Columns(np.arange(3))
    second = first.plus(np.array([3, 4]))
    third = second.plus(np.array([5]))
    assert [len(column) for column in (first, second, third)] == [3, 5, 6]
    assert third.arrays[0].tolist() == list(range(6))
    assert second.arrays[0].tolist() == list(range(5))
    assert first.plus(np.empty(0, int)) is first


def test_two_continuations_do_not_meet():
    start = Columns(np.arange(2)).plus(np.array([2]))
    one, other = start.plus(np.array([10, 11])), start.plus(np.array([20]))
    again = one.plus(np.array([12]))
    assert one.arrays[0].tolist() == [0, 1, 2, 10, 11]
    assert other.arrays[0].tolist() == [0, 1, 2, 20]
    assert again.arrays[0].tolist() == [0, 1, 2, 10, 11, 12]
    assert start.arrays[0].tolist() == [0, 1, 2]


def test_memory_is_shared_and_grows_by_doubling():
    column, rooms = Columns(np.zeros((1, 2))), set()
    for k in range(1000):
        column = column.plus(np.full((1, 2), k))
        rooms.add(id(column._room))
    assert len(rooms) < 10
    np.testing.assert_array_equal(column.arrays[0][1:, 0], np.arange(1000))


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (np.arange(2), np.array([0.5]), np.float64),
        (np.array(["a"], object), np.array(["bc"], object), object),
        (np.arange(2, dtype=np.uint8), np.arange(2, dtype=np.int32), np.int32),
    ],
)
def test_kinds_of_rows(first, second, dtype):
    both = Columns(first).plus(second)
    assert both.arrays[0].dtype == dtype
    assert both.arrays[0].tolist() == [*first.tolist(), *second.tolist()]


def test_columns_travel_without_their_room():
    column = Columns(np.arange(3)).plus(np.arange(100)).plus(np.arange(5))
    travelled = pickle.loads(pickle.dumps(column))
    np.testing.assert_array_equal(travelled.arrays[0], column.arrays[0])
    assert len(pickle.dumps(column)) < 8 * 108 + 400
    assert copy.deepcopy(column) is column


def test_continuations_in_two_threads_do_not_meet():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            start = Columns(np.zeros(40), np.zeros(40)).plus(np.zeros(1), np.zeros(1))
            found = {}

            def go_on(value, start=start, found=found):
                rows = np.full(20, value)
                found[value] = start.plus(rows, rows)

            threads = [threading.Thread(target=go_on, args=(value,)) for value in (1.0, 2.0)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for value, columns in found.items():
                assert all((array[41:] == value).all() for array in columns.arrays)
    finally:
        sys.setswitchinterval(before)


def test_memory_is_shared_next_to_rows_of_a_table():
    rows = ContextFrame.of([{"a": 1}])
    columns, rooms = Columns(rows, np.zeros(1)), []
    for k in range(200):
        columns = columns.plus(rows, np.full(1, k))
        if not rooms or rooms[-1] is not columns._room:
            rooms.append(columns._room)
    assert len(rooms) < 8
    assert columns.arrays[1][1:].tolist() == list(range(200))
    assert len(columns.arrays[0]) == 201
