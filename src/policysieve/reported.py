"""Results that show themselves: as a card in a notebook, a figure, or a page."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Carded", "Reported"]


class Carded:
    """What a notebook shows as a small card instead of text."""

    def _repr_html_(self) -> str:
        html: str = _report().card_of(self)
        return html


class Reported(Carded):
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
        _report().page_of(self, title=title, command=command).save(path, figures=figures)

    def plot(self, name: str | None = None) -> "Figure":
        """One of the figures of the page, as a matplotlib figure.

        A notebook shows it; ``plot().savefig("leaders.png")`` writes it.

        Parameters
        ----------
        name : str, optional
            By default the first: for a run "leaders", "estimate", "suboptimality" or "cost", for an
            experiment "bounds", "suboptimality" or "leaders", for a selection "leaders", for the
            health of a log "weights".

        Raises
        ------
        InvalidArgumentError
            If the page has no figure of that name.
        """
        figure: Figure = _report().figure_of(self, name)
        return figure


def _report() -> Any:
    """The one way from results to what shows them.

    By name, because pages know results and not the other way round, and only when something is to
    be shown, because they draw.
    """
    return import_module("policysieve.report")
