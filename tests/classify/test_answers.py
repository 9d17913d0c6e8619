"""Rounds in blocks, dense and sparse."""

import numpy as np
import pytest
from scipy import sparse

from policysieve.classify.answers import Answers, stacked
from policysieve.log import Log

X = np.arange(12.0).reshape(6, 2)
FORMS = [np.asarray, sparse.csr_matrix, sparse.csr_array]


def log_of(first, n):
    numbers = np.arange(first, first + n)
    return Log(
        contexts=numbers, actions=numbers % 3, propensities=np.full(n, 0.5), rewards=numbers % 2
    )


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_matrices_of_any_form_go_below_each_other(first, second):
    whole = stacked([first(X[:4]), second(X[4:])])
    assert hasattr(whole, "tocsr") == (np.asarray not in (first, second) or first != second)
    np.testing.assert_array_equal(whole.toarray() if hasattr(whole, "tocsr") else whole, X)


def test_a_single_matrix_stays_as_it_is():
    assert stacked([X]) is X


def test_blocks_become_one_in_order():
    answers = Answers()
    for first, n in ((0, 1), (1, 3), (4, 2)):
        answers.add(X[first : first + n], log_of(first, n), np.full((n, 1), first))
        rows, log, best = answers.together()
        assert answers.rounds == len(log) == len(rows) == len(best) == first + n
    np.testing.assert_array_equal(rows, X)
    assert log == log_of(0, 6)
    assert best[:, 0].tolist() == [0, 1, 1, 1, 4, 4]


def test_blocks_that_do_not_fit_leave_all_as_it_was():
    answers = Answers()
    answers.add(X[:2], log_of(0, 2), np.zeros((2, 1), int))
    answers.add(X[2:3], log_of(2, 1), np.zeros((1, 5), int))
    for _ in range(2):
        with pytest.raises(ValueError, match="dimension"):
            answers.together()
    assert [len(rows) for rows in answers.rows] == [len(log) for log in answers.logs] == [2, 1]
