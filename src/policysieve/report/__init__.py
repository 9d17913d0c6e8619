"""Plots of results, and one self-contained HTML page of them."""

from policysieve.report.bench_report import bench_page, save_bench_report
from policysieve.report.classify_plots import accuracy_by_task
from policysieve.report.experiment_plots import bound_by_learner, suboptimality_by_learner
from policysieve.report.health_plots import mean_weights
from policysieve.report.page import Page
from policysieve.report.pages import page_of
from policysieve.report.plots import (
    estimate_over_rounds,
    suboptimality_over_rounds,
    value_intervals,
)
from policysieve.report.size_plots import (
    cost_against_policies,
    rounds_against_epsilon,
    rounds_to_certify,
)

__all__ = [
    "Page",
    "accuracy_by_task",
    "bench_page",
    "bound_by_learner",
    "cost_against_policies",
    "estimate_over_rounds",
    "mean_weights",
    "page_of",
    "rounds_against_epsilon",
    "rounds_to_certify",
    "save_bench_report",
    "suboptimality_by_learner",
    "suboptimality_over_rounds",
    "value_intervals",
]
