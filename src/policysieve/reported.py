"""Results that can be written as a page."""

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policysieve.report import Page

__all__ = ["Reported"]


class Reported(ABC):
    """A result that can write a page about itself."""

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        figures: str | os.PathLike[str] | None = None,
        command: str | None = None,
    ) -> None:
        """Write one self-contained HTML page with tables and plots.

        Parameters
        ----------
        path : path
            An existing file is replaced only when the whole page is written.
        title : str, optional
            By default what came out, in a few words.
        figures : path, optional
            Folder for the figures as PNG and SVG; none are written by default.
        command : str, optional
            The command that made the result, shown at the end.
        """
        self._page(title, command).save(path, figures=figures)

    @abstractmethod
    def _page(self, title: str | None, command: str | None) -> "Page":
        """The page about this result."""
