"""Candidate routers for text: find the one that sends most messages to the right desk.

Run it with `python examples/text_intents.py`, or cell by cell in an editor that knows `# %%`.
A folder as its argument keeps the files it writes.
"""

# %% [markdown]
# News of 1987 come in as text and go to one of 52 desks. Only the desk that got a message can say
# whether it was right there. Some routers were fitted to 500 old messages, others are rules that
# somebody wrote by hand.

# %%
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import policysieve as ps

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
news = ps.worlds.load_dataset("r52")
texts, desks = news.X[:3000], news.y[:3000]
train, live = slice(0, 500), slice(500, None)


def rule(words, otherwise):
    """Send a message to the first desk that has its word in it, else to one for the rest."""
    numbers = [(word, news.classes.index(desk)) for word, desk in words.items()]
    rest = news.classes.index(otherwise)
    return lambda text: next((desk for word, desk in numbers if word in text), rest)


routers = {
    "all to earn": rule({}, "earn"),
    "all to acq": rule({}, "acq"),
    "words by hand": rule({"oil": "crude", "acqui": "acq", "wheat": "grain"}, "earn"),
    "words by hand, more": rule(
        {"oil": "crude", "acqui": "acq", "tariff": "trade", "ship": "ship", "rate": "interest"},
        "earn",
    ),
}
for vocabulary in (200, 1600):
    for kind in (MultinomialNB(), ComplementNB(), RidgeClassifier()):
        words = TfidfVectorizer(max_features=vocabulary, stop_words="english", sublinear_tf=True)
        model = make_pipeline(words, kind).fit(texts[train], desks[train])
        routers[f"{type(kind).__name__}, {vocabulary} words"] = model
print(f"{len(routers)} routers, {news.n_classes} desks, {len(texts[live]):,} messages to come")

# %% [markdown]
# Policies may be of any kind, as long as each says where a message goes. Contexts are the texts.


# %%
def asked(router):
    """A router as a function of many texts."""
    if hasattr(router, "predict"):
        return router.predict
    return lambda many: [router(text) for text in many]


functions = {name: asked(router) for name, router in routers.items()}
policies = ps.FunctionPolicies(functions, actions=news.classes)
problem = ps.Problem(actions=news.classes, sparsity=1, epsilon=0.1, delta=0.05)
learner = ps.Sieve(policies, problem, rounds=8000, rng=0)
rng = np.random.default_rng(0)
while not learner.finished:
    rows = rng.integers(500, 3000, learner.batch_size)
    decisions = learner.ask(texts[rows])
    learner.tell(decisions, decisions.actions[:, 0] == desks[rows])

best = learner.recommend()
print(f"{learner.rounds:,} messages, {learner.log.rewards.mean():.0%} of them at the right desk")
print(f"{best.policy_name}: {best.value:.2f} in [{best.lower:.2f}, {best.upper:.2f}]")
print(best.guarantee)
learner.log.save(folder / "routed.parquet")
print("Log of all decisions:", folder / "routed.parquet")

# %% [markdown]
# Here the right desks are known, so the routers can be compared as nobody could at work.

# %%
right = (policies.actions(texts[live])[:, :, 0] == desks[live, None]).mean(axis=0)
for i in np.argsort(-right)[:3]:
    print(f"{right[i]:.3f} {policies.name_of(i)}")
