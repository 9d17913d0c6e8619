import numpy as np
import pytest

from policysieve.evidence.groups import Thresholds


@pytest.mark.parametrize("size", [1, 10, 64, 200])
def test_thresholds_are_medians_of_the_first_rounds_whatever_the_batches(size):
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(200, 3))
    contexts[5, 0] = np.nan
    thresholds = Thresholds()
    parts = [thresholds.above(contexts[i : i + size]) for i in range(0, 200, size)]
    above = np.concatenate(parts)
    assert np.isnan(above[:64]).all()
    lower = [np.nanquantile(contexts[:64, j], 0.5, method="lower") for j in range(3)]
    assert thresholds.medians.tolist() == lower
    np.testing.assert_array_equal(above[64:], contexts[64:] > lower)


def test_columns_without_order_are_looked_at_no_less():
    """Infinite, huge, constant and missing entries."""
    contexts = np.zeros((100, 4))
    contexts[::2, 0], contexts[1::2, 0] = np.inf, -np.inf
    contexts[::2, 1], contexts[1::2, 1] = 1e308, -1e308
    contexts[:, 2] = np.nan
    above = Thresholds().above(contexts)[64:]
    np.testing.assert_array_equal(above[:, 0], np.arange(64, 100) % 2 == 0)
    np.testing.assert_array_equal(above[:, 1], above[:, 0])
    assert np.isnan(above[:, 2]).all()
    assert (above[:, 3] == 0).all()


@pytest.mark.parametrize(
    "contexts", [np.arange(9), np.array(["a", "b"], dtype=object), np.zeros((9, 0))]
)
def test_row_numbers_text_and_nothing_have_no_columns(contexts):
    assert Thresholds().above(contexts) is None
