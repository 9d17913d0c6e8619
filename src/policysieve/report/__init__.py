"""Plots of results, and one self-contained HTML page of them."""

from policysieve.report.page import Page
from policysieve.report.plots import (
    estimate_over_rounds,
    suboptimality_over_rounds,
    value_intervals,
)
from policysieve.report.run_report import save_run_report
from policysieve.report.selection_report import save_selection_report
from policysieve.report.size_plots import (
    cost_against_policies,
    rounds_against_epsilon,
    rounds_to_certify,
)

__all__ = [
    "Page",
    "cost_against_policies",
    "estimate_over_rounds",
    "rounds_against_epsilon",
    "rounds_to_certify",
    "save_run_report",
    "save_selection_report",
    "suboptimality_over_rounds",
    "value_intervals",
]
