"""Exact limits for statistical tests at fixed seeds."""

from scipy import stats

TINY = 1e-6  # chance of a false alarm of one test


def assert_binomial(successes, trials, probability, alpha=TINY):
    """`successes` is compatible with Binomial(trials, probability), two-sided."""
    low = stats.binom.ppf(alpha / 2, trials, probability)
    high = stats.binom.ppf(1 - alpha / 2, trials, probability)
    assert low <= successes <= high, (successes, trials, probability, (low, high))


def assert_at_most(failures, trials, probability, alpha=TINY):
    """`failures` is compatible with a failure probability of at most `probability`."""
    high = stats.binom.ppf(1 - alpha, trials, probability)
    assert failures <= high, (failures, trials, probability, high)
