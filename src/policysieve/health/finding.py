"""One thing that was looked at in a log."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Finding", "Verdict"]

Verdict = Literal["ok", "warning", "broken"]


@dataclass(frozen=True, eq=False)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    name : str
    verdict : "ok", "warning" or "broken"
    value : str
        The number that matters most.
    sentence : str
        What was found, in plain words.
    numbers : dict
        The numbers behind it, by name.
    """

    name: str
    verdict: Verdict
    value: str
    sentence: str
    numbers: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)
