"""Plots of results, and one self-contained HTML page of them."""

from policysieve.report.experiment_plots import bound_by_learner, suboptimality_by_learner
from policysieve.report.health_report import mean_weights
from policysieve.report.page import Page
from policysieve.report.pages import page_of
from policysieve.report.plots import (
    estimate_over_rounds,
    suboptimality_over_rounds,
    value_intervals,
)
from policysieve.report.table import Table
from policysieve.report.theory_plots import rounds_against_epsilon

__all__ = [
    "Page",
    "Table",
    "bound_by_learner",
    "estimate_over_rounds",
    "mean_weights",
    "page_of",
    "rounds_against_epsilon",
    "suboptimality_by_learner",
    "suboptimality_over_rounds",
    "value_intervals",
]
