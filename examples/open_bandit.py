"""Real traffic: what 10,000 rounds of a fashion shop prove about 91 policies, and what they do not.

Run it with `python examples/open_bandit.py`, or cell by cell in an editor that knows `# %%`.
A folder as its argument keeps the files it writes.
"""

# %% [markdown]
# The Open Bandit sample has two logs of the same week: one of items shown uniformly at random, one
# of items shown by Bernoulli Thompson sampling. A round is one item out of 80 at one of three
# places of a page; the reward is a click. About 0.4% of the rounds have one.

# %%
import sys
import tempfile
from pathlib import Path

import numpy as np

import policysieve as ps
from policysieve.formats import convert

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
uniform, thompson = (ps.worlds.fetch_log(f"open-bandit-{name}") for name in ("random", "bts"))

# %% [markdown]
# Features of shoppers are coded words, with codes that belong to one file, so both logs are
# converted together.

# %%
both = folder / "both.csv"
both.write_text(thompson.read_text() + uniform.read_text().partition("\n")[2])
convert(both, folder / "both.parquet")
rounds = ps.Log.load(folder / "both.parquet")
past, log = rounds[:10_000], rounds[10_000:]

# %% [markdown]
# First of all: can the logs be what they say? The propensities of Thompson sampling were computed
# afterwards, by simulation. Small ones make the limits of its tests wide: a log can pass because
# it is right, or because it tells too little.

# %%
for name, part in (("uniform", log), ("Thompson", past)):
    health = ps.check_log(part, n_actions=80)
    found = {finding.name: finding.value for finding in health.findings}
    print(f"{name} log: {health.worst}, smallest propensity {found['smallest propensity']}")
    print(f"  mean weight {found['mean weight']}, effective rounds {found['effective rounds']}")
    print(f"  a click in {found['rewards']}")

# %% [markdown]
# Policies are fitted on the log of Thompson sampling and judged by the uniform one: clicks that a
# policy was chosen for must not be counted in its favour.

# %%
SHOPPER, AFFINITY, PLACE = range(4), slice(4, 84), 84  # columns of the contexts


def favourite(rows):
    """The item with the largest click rate of some past rounds, drawn to the mean of all."""
    shown = np.bincount(past.actions[rows, 0], minlength=80)
    clicks = np.bincount(past.actions[rows, 0], past.rewards[rows, 0], minlength=80)
    return int(((clicks + 1) / (shown + 1 / past.rewards.mean())).argmax())


everybody = favourite(slice(None))


def popular(*columns):
    """A policy: what those who are alike in some columns like best."""

    def group(contexts):
        return contexts[:, columns] @ 10.0 ** np.arange(len(columns))

    groups = group(past.contexts)
    best = {name: favourite(groups == name) for name in np.unique(groups)}
    return lambda contexts: [best.get(name, everybody) for name in group(contexts)]


def nearest(contexts):
    """A policy: the item that a shopper has most to do with, else what all like best."""
    affinity = contexts[:, AFFINITY]
    return np.where(affinity.any(axis=1), affinity.argmax(axis=1), everybody)


pool = {f"item {i}": lambda contexts, i=i: np.full(len(contexts), i) for i in range(80)}
pool |= {"popular": popular(), "popular by place": popular(PLACE), "nearest": nearest}
pool |= {f"popular by feature {i}": popular(i) for i in SHOPPER}
pool |= {f"popular by feature {i} and place": popular(i, PLACE) for i in SHOPPER}
policies = ps.FunctionPolicies(pool, n_actions=80)

# %% [markdown]
# What does the uniform log say about them? Limits hold for all policies at once. It showed each of
# the 80 items with the same probability, at any place: that is the floor that a proof counts on.

# %%
problem = ps.Problem(n_actions=80, sparsity=1, epsilon=0.002, delta=0.05)
selection = ps.select(log, policies, problem, floor=1 / 80)
for i in [*(row["policy"] for row in selection.leaders(3)), *range(80, len(pool))]:
    interval = f"[{selection.lower[i]:.3f}, {selection.upper[i]:.3f}]"
    print(f"{policies.name_of(i):32} {selection.values[i]:.3f} in {interval}")
print(selection.guarantee)
selection.report(folder / "open-bandit.html", title="Open Bandit sample")
print("Report:", folder / "open-bandit.html")

# %% [markdown]
# Hardly anything. A policy agrees with a uniform log in one round of 80, so there is not even one
# click for every second item. How many rounds would it take? `plan` guarantees a number for every
# shop with these sizes, where the clicks on 80 items at one place sum to one at most.

# %%
sizes = ps.plan(problem, n_policies=len(pool))
print(sizes.explain())

# %% [markdown]
# This shop has few clicks, so variances are far below what a plan must allow for, and betting
# takes advantage of that. Suppose that these 10,000 rounds came again and again. That exaggerates
# how much policies differ, as the luck of the first round repeats, but shows the size.

# %%
table = ps.PolicyTable(policies.actions(log.contexts), n_actions=80)
rng = np.random.default_rng(0)
for n in (100_000, 300_000, 1_000_000):
    again = rng.integers(0, len(log), n)
    more = ps.Log(
        contexts=again,
        actions=log.actions[again],
        propensities=log.propensities[again],
        rewards=log.rewards[again],
    )
    bound = ps.select(more, table, problem, floor=1 / 80).certificate.suboptimality_bound
    print(f"{n:9,} rounds like these: no policy is better by more than {bound:.4f}")
