"""Small models work in one thread, and leave the others as they were."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import policysieve as ps
from policysieve.classify import model as module
from policysieve.classify.likelihoods import EXCLUSIVE, Likelihood
from policysieve.classify.likeness import Directions
from policysieve.classify.model import LabelModel, few_threads
from tests.classify.tasks import clusters, play


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


def test_one_within_another_lifts_nothing():
    with few_threads(100):
        with few_threads(100), few_threads(10**9):
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_errors_lift_the_limit():
    for _ in range(2):
        with pytest.raises(ValueError, match="mismatch"), few_threads(100):
            np.ones((2, 3)) @ np.ones((2, 3))
        assert blas_threads() == {2}
    with few_threads(100):
        assert blas_threads() == {1}


class Pool:
    """A library with threads, whose limits restore what they found."""

    size = 2

    @contextmanager
    def limit(self, limits):
        before, self.size = self.size, limits
        yield
        self.size = before


def test_who_comes_second_and_leaves_last_leaves_all_threads(monkeypatch):
    """As when two learners work in two threads of Python."""
    library = Pool()
    monkeypatch.setattr(module, "_blas", lambda: library)
    second_is_in, first_is_out = Event(), Event()

    def second():
        with few_threads(100):
            second_is_in.set()
            first_is_out.wait(60)

    with ThreadPoolExecutor(1) as pool:
        with few_threads(100):
            working = pool.submit(second)
            assert second_is_in.wait(60)
            assert library.size == 1
        first_is_out.set()
        working.result(60)
    assert library.size == 2
    with few_threads(100):  # and the next one has its limit again
        assert library.size == 1


def test_where_no_library_has_threads_nothing_happens(monkeypatch):
    none = ThreadpoolController().select(prefix="no such library")
    monkeypatch.setattr(module, "_blas", lambda: none)
    with few_threads(100):
        assert blas_threads() == {2}


def test_the_optimiser_loads_no_library_that_is_not_limited():
    """Libraries are looked for once, when a model first multiplies."""
    code = (
        "import policysieve.classify.model as module\n"
        "found = len(module._blas().lib_controllers)\n"
        "import scipy.optimize\n"
        "module._blas.cache_clear()\n"
        "assert found == len(module._blas().lib_controllers)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


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

    def tells_of_all(self, answers):
        return EXCLUSIVE.tells_of_all(answers)


def test_a_model_is_fitted_in_one_thread():
    spy = Spy()
    model = LabelModel(n_labels=3, n_features=2, likelihood=spy, prior_variance=20.0)
    rng = np.random.default_rng(0)
    X, labels, answers = rng.normal(size=(20, 2)), rng.integers(3, size=(20, 1)), np.ones((20, 1))
    model.fitted([(X, labels, answers)])
    assert spy.seen == {1}
    assert blas_threads() == {2}


def test_all_products_of_a_small_classifier_have_one_thread(monkeypatch):
    """Also those of rows with what was tried and with right answers; threads change their bits."""
    seen = []

    def spied(self, others, with_others=Directions.with_others):
        seen.append(blas_threads())
        return with_others(self, others)

    monkeypatch.setattr(Directions, "with_others", spied)
    X, y = clusters(np.random.default_rng(0), 200)
    play(ps.BanditClassifier(classes=range(4), random_state=0), X, y)
    assert len(seen) > 4
    assert all(threads == {1} for threads in seen)
    assert blas_threads() == {2}
