"""What is proved: how many rounds it takes, by whom it was shown, and how hard the problem is.

Nothing here is needed to learn. `BOUNDS` lists the bounds of this paper and of those it names, with
their sources, and `figure` draws all of them against epsilon.
"""

from policysieve.theory.bounds import (
    BOUNDS,
    Bound,
    figure,
    lower_bound_hidden_arm,
    lower_bound_rare_context,
    rate_log_barrier,
    rate_lower_bound,
    rate_multiclass,
    rate_regret,
    rate_sparse,
    rate_uniform,
    rounds_by_optimization,
    rounds_low_variance,
    rounds_uniform,
)
from policysieve.theory.coefficient import DecSolution, closed_form_bound, dec, dec_bound
from policysieve.theory.references import DecSupremum, dec_supremum
from policysieve.theory.variance import rate_variance, variance_bound

__all__ = [
    "BOUNDS",
    "Bound",
    "DecSolution",
    "DecSupremum",
    "closed_form_bound",
    "dec",
    "dec_bound",
    "dec_supremum",
    "figure",
    "lower_bound_hidden_arm",
    "lower_bound_rare_context",
    "rate_log_barrier",
    "rate_lower_bound",
    "rate_multiclass",
    "rate_regret",
    "rate_sparse",
    "rate_uniform",
    "rate_variance",
    "rounds_by_optimization",
    "rounds_low_variance",
    "rounds_uniform",
    "variance_bound",
]
