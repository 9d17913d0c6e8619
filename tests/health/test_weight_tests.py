import numpy as np
import pytest
from scipy import stats

from policysieve.health.weight_tests import exact_weights


def test_exact_limits_are_clopper_and_pearsons():
    shown, propensities = np.array([0, 17, 80, 100]), np.array([0.1, 0.2, 0.7, 1.0])
    found = exact_weights(100, shown, propensities, delta=0.04)
    for i, count in enumerate(shown.tolist()):
        level = stats.binomtest(count, 100).proportion_ci(1 - 0.01, method="exact")
        assert found.lower[i] == pytest.approx(level.low / propensities[i])
        assert found.upper[i] == pytest.approx(level.high / propensities[i])
    np.testing.assert_allclose(found.mean, shown / 100 / propensities)
