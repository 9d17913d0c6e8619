"""Logs from anywhere: files of several formats, read and written in pieces.

A new format is one file with a `Format`, and its line in `registry.FORMATS`.
"""

from policysieve.formats.converting import Conversion, convert
from policysieve.formats.format import Format
from policysieve.formats.open_bandit import from_bandit_feedback, to_bandit_feedback
from policysieve.formats.registry import FORMATS, open_contexts

__all__ = [
    "FORMATS",
    "Conversion",
    "Format",
    "convert",
    "from_bandit_feedback",
    "open_contexts",
    "to_bandit_feedback",
]
