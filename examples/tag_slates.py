"""Slates of tags: find the ranker with most right tags among the three that it may show.

Run it with `python examples/tag_slates.py`, or cell by cell in an editor that knows `# %%`.
A folder as its argument keeps the files it writes.
"""

# %% [markdown]
# A gene of yeast has several of 14 functions. A curator is shown three suggestions for each gene,
# and confirms or rejects each of the three. Which of 15 rankers makes the best suggestions?

# %%
import sys
import tempfile
from pathlib import Path

import policysieve as ps
from policysieve.report import suboptimality_over_rounds

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
genes = ps.worlds.load_dataset("yeast")
train, live = slice(0, 400), slice(400, None)
pool = ps.worlds.make_pool(genes.X[train], genes.y[train], 15, seed=0)
rankers = ps.EstimatorPolicies(pool, n_actions=14, slate_size=3)

# %% [markdown]
# Rankers are asked once about each gene, and their answers kept as a table. A gene has up to
# ten right tags, which bounds the sum of its rewards: `world.problem` knows it.

# %%
policies = ps.PolicyTable(rankers.actions(genes.X[live]), n_actions=14)
world = ps.worlds.Multilabel(None, genes.y[live], slate_size=3, contexts="rows")
problem = world.problem(epsilon=0.2, delta=0.05)
print(f"{len(pool)} rankers, slates of {problem.slate_size}, sparsity {problem.sparsity:g}")

# %% [markdown]
# The propensity of a tag is the probability that it is in the slate, and each tag of a slate has
# a reward of its own: an estimate of a ranker uses the tags it shares with what was shown.

# %%
learner = ps.Sieve(policies, problem, rounds=6000, rng=0)
result = ps.run(learner, world, max_rounds=6000, rng=0)
best = learner.recommend()
shown = learner.log
print(f"first slate {shown.actions[0].tolist()}, propensities {shown.propensities[0].round(2)}")
print(f"{learner.rounds:,} genes: {pool[best.policy].description}")
print(f"right tags per slate {best.value:.2f} in [{best.lower:.2f}, {best.upper:.2f}]")
print(best.guarantee)

# %% [markdown]
# Here all tags are known, so the distance from the best ranker can be drawn.

# %%
truth = world.values(policies)
print(f"true value {truth[best.policy]:.3f}, best of all {truth.max():.3f}")
suboptimality_over_rounds([result]).savefig(folder / "tags.png", dpi=150)
print("Plot:", folder / "tags.png")
