"""Draw plan.svg, dec.svg and scaling-bounds.svg: rounds against epsilon, and worst cases.

Run it with `python docs/figures/make_theory.py`; a folder as its argument takes the files.
"""

import sys
from math import log
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
problem = ps.Problem(n_actions=100, epsilon=0.05, delta=0.05)
figures = {
    "plan": rounds_against_epsilon(plans),
    "dec": dec_figure(),
    "scaling-bounds": ps.theory.figure(problem, log(1000)),
}

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
for name, figure in figures.items():
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "policysieve"}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
