"""Draw plan.svg and dec.svg: rounds against epsilon, and worst cases against the price.

Run it with `python docs/figures/make_theory.py`; a folder as its argument takes the files.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import rc_context

import policysieve as ps
from policysieve.report import rounds_against_epsilon
from policysieve.report.theory_plots import dec_figure

plans = [
    ps.plan(ps.Problem(n_actions=100, epsilon=float(epsilon), delta=0.05), n_policies=1000)
    for epsilon in np.geomspace(0.001, 0.45, 40)
]
figures = {"plan": rounds_against_epsilon(plans), "dec": dec_figure()}

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
for name, figure in figures.items():
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "policysieve"}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
