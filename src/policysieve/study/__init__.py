"""A study survives its process: durable ask and tell on SQLite and PostgreSQL."""

from importlib.util import find_spec

from policysieve.errors import MissingExtraError

if find_spec("sqlalchemy") is None:
    raise MissingExtraError("Study", "SQLAlchemy", "study")

from policysieve.study.history import History, HistoryPoint
from policysieve.study.looking import record_of, summaries
from policysieve.study.results import Pulse, StudyStatus, StudySummary, Told, Verification
from policysieve.study.study import Study
from policysieve.study.traffic import Traffic

__all__ = [
    "History",
    "HistoryPoint",
    "Pulse",
    "Study",
    "StudyStatus",
    "StudySummary",
    "Told",
    "Traffic",
    "Verification",
    "record_of",
    "summaries",
]
