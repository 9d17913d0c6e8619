"""What was seen: rounds in memory, on disk, and on their way between the two."""

from policysieve.log.beside import NOTHING, Beside
from policysieve.log.distributions import Distributions
from policysieve.log.log import Log
from policysieve.log.log_file import LogFile
from policysieve.log.mapping import ColumnMap
from policysieve.log.opening import AnyLog, load_for, log_paths, open_for, open_log
from policysieve.log.ranges import in_unit
from policysieve.log.rounds import Layout, Rounds

__all__ = [
    "NOTHING",
    "AnyLog",
    "Beside",
    "ColumnMap",
    "Distributions",
    "Layout",
    "Log",
    "LogFile",
    "Rounds",
    "in_unit",
    "load_for",
    "log_paths",
    "open_for",
    "open_log",
]
