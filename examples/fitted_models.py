"""Choose among fitted scikit-learn models, hearing only "right" or "wrong".

Run it with `python examples/fitted_models.py`, or cell by cell in an editor that knows `# %%`.
A folder as its argument keeps the files it writes.
"""

# %% [markdown]
# Sixteen models were fitted to 300 images of digits. Which of them is best on the images to come?
# Each image is shown to us once, we answer with one digit, and hear whether it is right. The
# right digit is never told, so a wrong answer says little about models that would have answered
# otherwise.

# %%
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import policysieve as ps
from policysieve.report import value_intervals

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
digits = ps.worlds.load_dataset("digits")
train, live = slice(0, 300), slice(300, None)

models = {
    f"tree of depth {d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in range(2, 10)
}
models |= {f"nearest {k}": KNeighborsClassifier(k) for k in (1, 5, 20, 80)}
for c in (0.01, 1.0):
    models[f"logistic, C={c}"] = make_pipeline(StandardScaler(), LogisticRegression(C=c))
models |= {f"Bayes, smoothing {s}": GaussianNB(var_smoothing=s) for s in (1e-9, 0.1)}
for model in models.values():
    model.fit(digits.X[train], digits.y[train])

# %% [markdown]
# How many rounds will it take at most? That can be said before the first one, for low-variance
# exploration and for uniform guesses, whatever the models are.

# %%
fitted = ps.EstimatorPolicies(models, n_actions=10)
problem = ps.Problem(n_actions=10, sparsity=1, epsilon=0.05, delta=0.05)
sizes = ps.plan(problem, n_policies=len(models))
print(f"sure to be enough: {sizes.total_rounds:,} rounds, {sizes.uniform_rounds:,} if uniform")

# %% [markdown]
# The Sieve stops as soon as its certificate says that no other model is better by more than
# epsilon. Uniform guesses are judged by the same kind of certificate, after as many rounds. At
# work, `ask` takes images and asks the models; here all images are known, so each model is asked
# about each image once.

# %%
policies = ps.PolicyTable(fitted.actions(digits.X[live]), n_actions=10, names=fitted.names)
world = ps.worlds.Classification(None, digits.y[live], contexts="rows")
sieve = ps.Sieve(policies, problem, rng=0)
result = ps.run(sieve, world, rng=0)
best = sieve.recommend()
print(f"{sieve.rounds:,} rounds: {best.policy_name}. {best.guarantee}")

guesses = ps.Uniform(policies, problem, rounds=sieve.rounds, rng=0)
ps.run(guesses, world, max_rounds=sieve.rounds, rng=0)
proof = ps.select(guesses.log, policies, problem, exploration=guesses.exploration).certificate
print(f"uniform guesses prove {proof.suboptimality_bound:.3f} by then")

# %% [markdown]
# Here the truth is known: what each model gets right on all images to come.

# %%
truth = world.values(policies)
top = policies.name_of(np.argmax(truth))
print(f"right: {truth[best.policy]:.3f}, best of all: {truth.max():.3f}", top)
value_intervals(result).savefig(folder / "models.png", dpi=150)
print("Plot:", folder / "models.png")
