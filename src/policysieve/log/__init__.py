"""What was seen: rounds in memory, on disk, and on their way between the two."""

from policysieve.log.distributions import Distributions
from policysieve.log.log import Log
from policysieve.log.opening import AnyLog, LogFile, log_paths, open_log
from policysieve.log.rounds import Layout, Rounds

__all__ = ["AnyLog", "Distributions", "Layout", "Log", "LogFile", "Rounds", "log_paths", "open_log"]
