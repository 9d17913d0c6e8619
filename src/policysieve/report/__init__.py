"""Plots of results, and one self-contained HTML page of them."""

from policysieve.report.page import Page
from policysieve.report.plots import (
    estimate_over_rounds,
    suboptimality_over_rounds,
    value_intervals,
)
from policysieve.report.run_report import save_run_report

__all__ = [
    "Page",
    "estimate_over_rounds",
    "save_run_report",
    "suboptimality_over_rounds",
    "value_intervals",
]
