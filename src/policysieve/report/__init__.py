"""Plots of results, and one self-contained HTML page of them."""

from policysieve.report.experiment_plots import bound_by_learner, suboptimality_by_learner
from policysieve.report.experiment_report import save_experiment_report
from policysieve.report.page import Page
from policysieve.report.plots import (
    estimate_over_rounds,
    suboptimality_over_rounds,
    value_intervals,
)
from policysieve.report.run_report import save_run_report
from policysieve.report.samples_plots import save_samples_figures
from policysieve.report.selection_report import save_selection_report
from policysieve.report.size_plots import (
    cost_against_policies,
    rounds_against_epsilon,
    rounds_to_certify,
)

__all__ = [
    "Page",
    "bound_by_learner",
    "cost_against_policies",
    "estimate_over_rounds",
    "rounds_against_epsilon",
    "rounds_to_certify",
    "save_experiment_report",
    "save_run_report",
    "save_samples_figures",
    "save_selection_report",
    "suboptimality_by_learner",
    "suboptimality_over_rounds",
    "value_intervals",
]
