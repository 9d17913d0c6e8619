"""Whether a log can be believed: propensities, support, drift, and what else goes wrong."""

from policysieve.health.checking import LogHealth, check_log
from policysieve.health.findings import Finding

__all__ = ["Finding", "LogHealth", "check_log"]
