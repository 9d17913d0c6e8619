"""Small models work in one thread, and leave the others as they were."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from policysieve.classify.likelihoods import EXCLUSIVE, Likelihood
from policysieve.classify.model import LabelModel
from policysieve.classify.threads import few_threads


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("the linear algebra library here has no threads")
        yield


def test_small_matrices_have_one_thread_and_large_ones_all():
    with few_threads(100):
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    with few_threads(10**9):
        assert blas_threads() == {2}


class Spy(Likelihood):
    """Notes how many threads there are when it is asked."""

    def __init__(self):
        self.seen = set()

    def probabilities(self, z):
        return EXCLUSIVE.probabilities(z)

    def loss(self, z, shown, answers):
        self.seen |= blas_threads()
        return EXCLUSIVE.loss(z, shown, answers)

    def curvatures(self, z, shown, answers):
        return EXCLUSIVE.curvatures(z, shown, answers)


def test_a_model_is_fitted_in_one_thread():
    spy = Spy()
    model = LabelModel(n_labels=3, n_features=2, likelihood=spy, prior_variance=20.0)
    rng = np.random.default_rng(0)
    X, labels, answers = rng.normal(size=(20, 2)), rng.integers(3, size=(20, 1)), np.ones((20, 1))
    model.fitted([(X, labels, answers)])
    assert spy.seen == {1}
    assert blas_threads() == {2}
