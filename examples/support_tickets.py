"""Sort support tickets by intent when you only learn whether the routing was right.

Run it with `python examples/support_tickets.py`, or cell by cell in an editor that knows `# %%`.
A folder as its argument keeps the files it writes.
"""

# %% [markdown]
# Nobody labels tickets here. Each is routed to one of twelve teams, and some time later that team
# says "ours" or "not ours". The tickets are made up: a word or two that tell the intent, among
# words that do not, and some words belong to two intents.

# %%
import sys
import tempfile
from collections import deque
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline

import policysieve as ps

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
words = {
    "refund": "refund money back charged twice return",
    "delivery": "parcel courier late tracking arrived return",
    "password": "password login reset locked forgot account",
    "invoice": "invoice vat receipt billing address charged",
    "cancel": "cancel subscription stop renew terminate plan",
    "upgrade": "upgrade premium seats licence tier plan",
    "bug": "crash error freezes bug broken stopped",
    "slow": "slow loading timeout lag minutes late",
    "privacy": "delete data privacy export personal account",
    "payment": "card declined payment bank transfer money",
    "warranty": "warranty repair screen replacement defect broken",
    "praise": "thanks great love helpful wonderful team",
}
filler = ["hello", "please", "my", "order", "since", "yesterday", "the", "app", "help", "again"]
intents = list(words)
rng = np.random.default_rng(0)


def tickets(n):
    """Texts, and the intents that nobody sees."""
    right = rng.choice(intents, size=n)
    telling = [rng.choice(words[intent].split(), rng.integers(1, 3)) for intent in right]
    return [" ".join([*told, *rng.choice(filler, 6)]) for told in telling], right


# %% [markdown]
# Features come from old tickets, without any label.

# %%
old, _ = tickets(2_000)
features = make_pipeline(TfidfVectorizer(), TruncatedSVD(60, random_state=0)).fit(old)

# %% [markdown]
# Tickets are routed in batches of 50. Answers come back three batches late: every batch of
# decisions carries what is needed to learn from it, so that nothing changes but the wait.

# %%
router = ps.BanditClassifier(classes=intents, random_state=0)
waiting = deque()
new_texts, new_intents = tickets(1_000)
new_rows = features.transform(new_texts)
rounds, curve = [], []
for _ in range(80):
    texts, right = tickets(50)
    decisions = router.ask(features.transform(texts))
    waiting.append((decisions, decisions.labels == right))
    if len(waiting) > 3:
        router.tell(*waiting.popleft())
        rounds.append(router.rounds)
        curve.append(router.score(new_rows, new_intents))

print(f"{router.rounds:,} tickets were answered, {router.log.rewards.mean():.0%} routed right.")
print(f"Right on 1,000 new tickets: {curve[-1]:.1%}; blind guesses: {1 / len(intents):.1%}.")

# %% [markdown]
# In a real shop those 1,000 labels do not exist. The answers alone give an interval, valid whenever
# you look, for what the router would have said in the later half of the rounds; and for any other
# classifier, here one that a colleague fitted to 60 tickets labelled by hand.

# %%
few, known = tickets(60)
colleague = NearestCentroid().fit(features.transform(few), known)
own, other = router.accuracy(), router.accuracy(colleague)
print(f"From the answers alone, the router: {own}.")
print(f"The colleague's model: {other}.")
print(f"On the new tickets it is right in {colleague.score(new_rows, new_intents):.1%}.")

# %%
figure = Figure(figsize=(6, 3), layout="constrained")
axes = figure.subplots()
axes.plot(rounds, curve, label="router")
axes.axhline(1 / len(intents), ls=":", color="grey", label="blind guesses")
axes.set(xlabel="answered tickets", ylabel="right on new tickets", ylim=(0, 1))
axes.legend()
figure.savefig(folder / "support_tickets.png", dpi=150)
print(f"Picture: {folder / 'support_tickets.png'}")
