"""Rounds in blocks, dense and sparse."""

import numpy as np
import pytest
from scipy import sparse

from policysieve.classify.answers import AnsweredRounds, Rows, stacked
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
    answers, before = AnsweredRounds(), []
    for first, n in ((0, 1), (1, 3), (4, 2)):
        before.append(answers)
        rows = Rows(X[first : first + n], np.full((n, 1), first))
        answers = answers.plus(rows, log_of(first, n))
        features, log, best = answers.together()
        assert answers.rounds == len(log) == len(features) == len(best) == first + n
    np.testing.assert_array_equal(features, X)
    assert log == log_of(0, 6)
    assert best[:, 0].tolist() == [0, 1, 1, 1, 4, 4]
    assert [one.rounds for one in before] == [0, 1, 4]


def test_there_are_few_blocks():
    answers = AnsweredRounds()
    for k in range(300):
        answers = answers.plus(Rows(X[:1], np.zeros((1, 1), int)), log_of(k, 1))
        assert len(answers.blocks) <= 10
    assert answers.together()[1] == log_of(0, 300)


def test_rows_are_taken_and_put_behind_each_other():
    rows = Rows(X, np.arange(6)[:, None])
    again = rows.take(slice(0, 2)).plus(rows.take([2, 3, 4, 5]))
    np.testing.assert_array_equal(again.features, X)
    assert again.best[:, 0].tolist() == list(range(6))
