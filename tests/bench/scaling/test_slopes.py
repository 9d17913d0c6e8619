"""Slopes on log-log axes, and their intervals."""

import numpy as np
import pytest

from policysieve.bench.scaling.slopes import fit_slope
from tests.statistics import assert_binomial


def test_an_exact_power():
    x = [1, 2, 4, 8]
    found = fit_slope(x, [3 * v**1.5 for v in x], [v**2 for v in x])
    assert found["slope"] == pytest.approx(1.5)
    assert found["predicted"] == pytest.approx(2)
    assert (found["low"], found["high"]) == (pytest.approx(1.5), pytest.approx(1.5))
    assert found["verdict"] == "below"


def test_a_predicted_curve_does_not_widen_the_interval():
    x = np.array([1, 2, 4, 8, 16])
    curve = x + x**2
    found = fit_slope(x, (7 * curve).tolist(), curve.tolist())
    assert found["high"] - found["low"] < 1e-9
    assert found["slope"] == pytest.approx(found["predicted"])
    assert found["predicted"] == pytest.approx(1.75, abs=0.1)
    assert found["verdict"] == "as predicted"


def test_by_hand():
    """Ratios 1, e, 1 at logs 0, 1, 2: excess slope 0, residual 2/3, error sqrt(2/3/2)."""
    x = np.exp([0, 1, 2])
    found = fit_slope(x.tolist(), [1, np.e, 1], [1, 1, 1])
    assert found["slope"] == pytest.approx(0)
    assert found["high"] == pytest.approx(12.706 * np.sqrt(1 / 3), rel=1e-4)


@pytest.mark.parametrize(("power", "verdict"), [(3, "above"), (1, "below")])
def test_verdicts(power, verdict):
    x = [1, 2, 4, 8]
    assert fit_slope(x, [v**power for v in x], [v**2 for v in x])["verdict"] == verdict


def test_points_that_were_given_up_do_not_count():
    x = [1, 2, 4, 8]
    some = fit_slope(x, [1, None, 16, 64], [1, 1, 1, 1])
    assert some["slope"] == pytest.approx(2)
    none = fit_slope(x, [1, None, None, 64], [1, 1, 1, 1])
    assert none == {
        "slope": None,
        "low": None,
        "high": None,
        "predicted": None,
        "verdict": "unknown",
    }


def test_the_interval_covers():
    """In 95 of 100 cases for normal noise, by exact binomial limits."""
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2, 4, 8, 16])
    hits, runs = 0, 400
    for _ in range(runs):
        found = fit_slope(x, (x**1.2 * np.exp(0.3 * rng.standard_normal(5))), x**1.2)
        hits += found["low"] <= 1.2 <= found["high"]
    assert_binomial(hits, runs, 0.95)
