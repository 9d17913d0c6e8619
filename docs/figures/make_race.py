"""Draw rounds-to-proof.svg: rounds until epsilon is proved on real data, from the stored race.

Run it with `python docs/figures/make_race.py`; a folder as its argument takes the file.
"""

import json
import sys
from pathlib import Path

from matplotlib import rc_context

from policysieve.report.style import colours, legend, log_axes, look, name_rows, new_figure

RACE = Path(__file__).parents[2] / "benchmarks" / "samples" / "samples.json"
TASKS = {
    "letter": "letters, 26 classes",
    "r52": "news, 52 subjects",
    "20newsgroups": "20 newsgroups",
    "digits": "handwritten digits",
    "pendigits": "pen strokes of digits",
    "yeast": "genes, 3 of 14 labels",
}
LEARNERS = {"Sieve": "Sieve", "Uniform": "uniform exploration", "PoliciesAsArms": "A/B/n test"}

found = {
    (row["task"], row["learner"]): row
    for row in json.loads(RACE.read_text(encoding="utf-8"))["proving"]
}
with look():
    figure, axes = new_figure(height=4.2)
    for k, (learner, colour, marker) in enumerate(zip(LEARNERS, colours(3), "os^", strict=True)):
        for row, task in enumerate(TASKS):
            one = found[task, learner]
            at = row + 0.27 * (k - 1)
            axes.plot(one["rounds"], [at] * len(one["rounds"]), marker, c=colour, alpha=0.35, ms=3)
            label = LEARNERS[learner] if row == 0 else None
            axes.plot(one["median"], at, marker, c=colour, ms=7, label=label)
            axes.annotate(
                f"{one['median']:,.0f}",
                (max(one["rounds"]), at),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=colour,
            )
    log_axes(axes, "rounds until the proof (log scale)")
    axes.set(yscale="linear", xlim=(300, 200_000), ylabel="")
    name_rows(axes, list(TASKS.values()), lines=False)
    for row in range(1, len(TASKS)):
        axes.axhline(row - 0.5, lw=0.6, alpha=0.12)
    legend(figure, axes)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    with rc_context({"svg.fonttype": "path"}):
        figure.savefig(folder / "rounds-to-proof.svg", metadata={"Date": None})
