"""The figure of docs/exploration-by-optimization.md: what theory allows, and what is proved."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

from policysieve.report.style import colours, legend, look, new_figure
from policysieve.theory import closed_form_bound, dec, dec_bound

__all__ = ["dec_figure"]

_ACTIONS = 10
_SPARSITY = 1.0


def dec_figure() -> Figure:
    """Draw worst cases per round against the price of information, for 10 actions and sparsity 1.

    Returns
    -------
    Figure
        The paper's bound from where it holds, the decision-estimation coefficient at the uniform
        reference, and the closed form at uniform weights from gamma = 10 on. It needs clarabel.
    """
    K, s = _ACTIONS, _SPARSITY
    with look():
        figure, axes = new_figure(3.6)
        paper, true, closed = colours(3)
        price = np.geomspace(32 * K, 1e5, 20)
        axes.plot(
            price,
            [dec_bound(gamma, s, K) for gamma in price],
            "--o",
            markevery=[0],
            color=paper,
            label="the paper's bound, 64 s/gamma",
        )
        price = np.geomspace(2, 1e5, 40)
        reference = np.full(K, s / K)
        axes.plot(
            price,
            [dec(reference, gamma, s).value for gamma in price],
            color=true,
            label="coefficient, uniform reference",
        )
        price = np.geomspace(K, 1e5, 40)
        axes.plot(
            price,
            [closed_form_bound(gamma, s, K) for gamma in price],
            color=closed,
            label="closed form, uniform weights",
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda y, _: f"{y:.9f}".rstrip("0").rstrip("."))
        )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator())
            axis.set_minor_formatter(NullFormatter())
        axes.annotate(
            f"holds from gamma = 32 K = {32 * K}",
            (32 * K, dec_bound(32 * K, s, K)),
            xytext=(0, 6),
            textcoords="offset points",
            color=paper,
        )
        axes.set_xlabel("gamma, the price of information")
        axes.set_ylabel("worst case per round")
        legend(figure, axes)
    return figure
