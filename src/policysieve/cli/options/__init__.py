"""Options that several commands share: one name has one meaning everywhere."""

from policysieve.cli.options.candidates import (
    CandidatesOptions,
    against_option,
    candidates_options,
    source_option,
    traffic_option,
)
from policysieve.cli.options.cluster import ClusterOptions, cluster_options
from policysieve.cli.options.grouping import Decorator, count_option, grouped
from policysieve.cli.options.logs import (
    ContextsOptions,
    LogArgument,
    column_map,
    contexts_options,
    format_option,
    log_argument,
    since_option,
)
from policysieve.cli.options.outcomes import OutcomeOptions, outcome_options
from policysieve.cli.options.problem import (
    actions_option,
    as_floor,
    delta_option,
    epsilon_option,
    minimize_option,
    problem_units,
    range_option,
    sparsity_option,
)
from policysieve.cli.options.storage import no_learn_option, storage_option, version_option
from policysieve.cli.options.writing import (
    ExperimentOutput,
    PageOutput,
    PlotOutput,
    experiment_output,
    figures_option,
    folder_option,
    json_option,
    out_option,
    page_options,
    plot_option,
    report_option,
)

__all__ = [
    "CandidatesOptions",
    "ClusterOptions",
    "ContextsOptions",
    "Decorator",
    "ExperimentOutput",
    "LogArgument",
    "OutcomeOptions",
    "PageOutput",
    "PlotOutput",
    "actions_option",
    "against_option",
    "as_floor",
    "candidates_options",
    "cluster_options",
    "column_map",
    "contexts_options",
    "count_option",
    "delta_option",
    "epsilon_option",
    "experiment_output",
    "figures_option",
    "folder_option",
    "format_option",
    "grouped",
    "json_option",
    "log_argument",
    "minimize_option",
    "no_learn_option",
    "out_option",
    "outcome_options",
    "page_options",
    "plot_option",
    "problem_units",
    "range_option",
    "report_option",
    "since_option",
    "source_option",
    "sparsity_option",
    "storage_option",
    "traffic_option",
    "version_option",
]
