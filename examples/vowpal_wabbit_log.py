"""A log of Vowpal Wabbit: converted, checked, and the best of some rules chosen from it.

Run it with `python examples/vowpal_wabbit_log.py`, or cell by cell in an editor that knows `# %%`.
A folder as its argument keeps the files it writes.
"""

# %% [markdown]
# A newspaper shows one of four sections first. Who reads what depends on the device and on the
# time of day, which nobody knows but this cell.

# %%
import sys
import tempfile
from pathlib import Path

import numpy as np

import policysieve as ps
from policysieve.formats import convert
from policysieve.report import mean_weights

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
SECTIONS = ["politics", "sports", "music", "food"]
FLOOR = 0.2 / 4  # no section can have a smaller probability
RATES = {
    ("phone", "morning"): [0.30, 0.10, 0.05, 0.02],
    ("phone", "evening"): [0.05, 0.30, 0.20, 0.10],
    ("desk", "morning"): [0.25, 0.05, 0.05, 0.05],
    ("desk", "evening"): [0.05, 0.10, 0.10, 0.25],
}

# %% [markdown]
# Vowpal Wabbit learns what to show, and shows something else in a fifth of the rounds. Each round
# becomes one line, `action:cost:probability | features`, where a click is a cost of 0. Where
# Vowpal Wabbit is not installed, a rule that shows politics in most rounds stands in for it.

# %%
try:
    from vowpalwabbit import Workspace

    learner = Workspace("--cb_explore 4 --epsilon 0.2 --quiet -q ::")
except ImportError:
    learner = None
rng = np.random.default_rng(7)
lines = []
for _ in range(5000):
    device, time = list(RATES)[rng.integers(4)]
    features = f"| device={device} time={time}"
    odds = np.array(learner.predict(features) if learner else [0.7, 0.1, 0.1, 0.1])
    action = rng.choice(4, p=odds / odds.sum())
    cost = float(rng.random() >= RATES[device, time][action])
    lines.append(f"{action + 1}:{cost}:{odds[action]} {features}")
    if learner:
        learner.learn(lines[-1])
(folder / "news.vw").write_text("\n".join(lines) + "\n")
print("made by", "Vowpal Wabbit" if learner else "a fixed rule", "-", lines[0])

# %% [markdown]
# Costs lie between 0 and 1, so rewards, which are minus costs, lie between -1 and 0, and are kept
# so. Features of another tool's own kind stay text, as it wrote them.

# %%
done = convert(folder / "news.vw", folder / "news.parquet", reward_range=(-1, 0))
print(f"{done.rounds:,} rounds, contexts are {done.contexts}, mean reward {done.mean_reward:.3f}")
health = ps.check_log(folder / "news.parquet", n_actions=4)
print(health.verdict)
mean_weights(health).savefig(folder / "weights.png", dpi=150)
print("Plot:", folder / "weights.png")

# %% [markdown]
# Which rule would have earned most? Rules are plain functions of the text: one section for each
# combination of two answers, by device or by time. A line has the probability of what was shown
# only, so a proof counts on a floor: a fifth of the rounds are shared by four sections.


# %%
def rule(feature, yes, no):
    """Show one section to those whose features have a word, another one to the rest."""
    return lambda text: yes if feature in text else no


pairs = [(yes, no) for yes in range(4) for no in range(4)]
rules = [(feature, *pair) for feature in ("device=phone", "time=morning") for pair in pairs]
policies = ps.FunctionPolicies([rule(*one) for one in rules], n_actions=4, vectorized=False)
problem = ps.Problem(n_actions=4, reward_range=(-1, 0), epsilon=0.1, delta=0.05)
selection = ps.select(folder / "news.parquet", policies, problem, floor=FLOOR)
feature, yes, no = rules[selection.policy]
print(f"best rule: {SECTIONS[yes]} if {feature}, else {SECTIONS[no]}")
print(f"it earns {selection.value:.3f}, the log earned {done.mean_reward:.3f}")
print(selection.guarantee)
