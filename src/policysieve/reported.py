"""Results that can be written as a page."""

import os
from importlib import import_module

__all__ = ["Reported"]


class Reported:
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
        # The one way from results to pages. By name, because pages know results and not the
        # other way round, and only now, because they draw.
        page_of = import_module("policysieve.report").page_of
        page_of(self, title=title, command=command).save(path, figures=figures)
