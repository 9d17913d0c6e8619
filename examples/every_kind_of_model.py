"""Models of every kind as candidates: one class of policies, one certificate.

Run it with `python examples/every_kind_of_model.py`, or cell by cell in an editor that knows
`# %%`. It needs the extra `sklearn`; of LightGBM, ONNX, Vowpal Wabbit and River, what is not
installed is left out.
"""

# %% [markdown]
# Which of three things to offer? Each candidate was fitted on 600 visitors of the past, by another
# library. A candidate is anything that takes rows and answers with names of actions.

# %%
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import policysieve as ps

OFFERS = ["bags", "hats", "shoes"]
X, y = make_classification(
    3000, 8, n_informative=5, n_redundant=0, n_classes=3, class_sep=1.3, random_state=0
)
X, offers = X.astype(np.float32), np.array(OFFERS)[y]
past, live = slice(0, 600), slice(600, None)
candidates = {}

# %% [markdown]
# A scikit-learn pipeline predicts names. A model that has `predict_proba` only needs its
# `classes_` as well. `EstimatorPolicies` takes both as they are.

# %%
pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[past], offers[past])


class ProbabilitiesOnly:
    """Stands for a model of your own, which tells how probable each class is, and no more."""

    def __init__(self, rows, labels):
        self.model = GaussianNB().fit(rows, labels)
        self.classes_ = self.model.classes_

    def predict_proba(self, rows):
        """Probabilities, a column for each of `classes_`."""
        return self.model.predict_proba(rows)


bayes = ProbabilitiesOnly(X[past], offers[past])
fitted = ps.EstimatorPolicies({"pipeline": pipeline, "probabilities": bayes}, actions=OFFERS)
candidates["pipeline"] = pipeline.predict
candidates["probabilities"] = lambda rows: bayes.classes_[bayes.predict_proba(rows).argmax(axis=1)]

# %% [markdown]
# A LightGBM booster returns a column of scores for each class: a plain function turns them into
# names.

# %%
try:
    import lightgbm
except ImportError:
    print("LightGBM is not installed: left out")
else:
    booster = lightgbm.train(
        {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1, "seed": 0},
        lightgbm.Dataset(X[past], y[past]),
        num_boost_round=30,
    )
    candidates["booster"] = lambda rows: np.array(OFFERS)[booster.predict(rows).argmax(axis=1)]

# %% [markdown]
# An ONNX session, whatever the model was made with; here a forest of scikit-learn.

# %%
try:
    from onnxruntime import InferenceSession
    from skl2onnx import to_onnx
    from sklearn.ensemble import RandomForestClassifier
except ImportError:
    print("ONNX Runtime or skl2onnx is not installed: left out")
else:
    forest = RandomForestClassifier(30, random_state=0).fit(X[past], offers[past])
    exported = to_onnx(forest, X[:1], options={"zipmap": False}).SerializeToString()
    session = InferenceSession(exported, providers=["CPUExecutionProvider"])
    candidates["onnx"] = lambda rows: session.run(["label"], {"X": rows})[0]

# %% [markdown]
# Vowpal Wabbit and River learn and answer row by row.

# %%
try:
    from vowpalwabbit import Workspace
except ImportError:
    print("Vowpal Wabbit is not installed: left out")
else:
    workspace = Workspace("--oaa 3 --quiet --quadratic ff")

    def line(row):
        """A row in Vowpal Wabbit's words."""
        return "|f " + " ".join(f"{name}:{value:.5f}" for name, value in enumerate(row))

    for row, label in zip(X[past], y[past], strict=True):
        workspace.learn(f"{label + 1} {line(row)}")
    candidates["vowpal wabbit"] = lambda rows: [
        OFFERS[workspace.predict(line(row)) - 1] for row in rows
    ]

try:
    from river import linear_model, preprocessing
except ImportError:
    print("River is not installed: left out")
else:
    softmax = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    for row, offer in zip(X[past], offers[past], strict=True):
        softmax.learn_one(dict(enumerate(row.tolist())), str(offer))
    candidates["river"] = lambda rows: [
        softmax.predict_one(dict(enumerate(row.tolist()))) for row in rows
    ]

# %% [markdown]
# One class, one problem, one certificate. `ask` takes rows as they come, and `tell` hears whether
# the offer was taken.

# %%
policies = ps.FunctionPolicies(candidates, actions=OFFERS)
problem = ps.Problem(actions=OFFERS, epsilon=0.1, delta=0.05)
learner = ps.Sieve(policies, problem, rng=0)
rng = np.random.default_rng(0)
while not learner.finished:
    rows = rng.integers(live.start, len(X), learner.batch_size)
    decisions = learner.ask(X[rows])
    learner.tell(decisions, decisions.actions[:, 0] == y[rows])

best = learner.recommend()
taken = {name: float(np.mean(candidates[name](X[live]) == offers[live])) for name in candidates}
print(f"{learner.rounds:,} rounds among {len(candidates)}: {best.policy_name}.")
print(best.guarantee)
print("truly taken:", ", ".join(f"{name} {share:.3f}" for name, share in taken.items()))
