"""Draw sparse-rewards.svg: how uncertain the estimates of policies are, by exploration.

Run it with `python docs/figures/make_sparse_rewards.py`; a folder as its argument takes the file.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import rc_context

import policysieve as ps
from policysieve.report.style import colours, log_axes, look, new_panels, shared_legend

N_CONTEXTS, N_POLICIES, N_GOOD = 400, 1000, 10
ACTIONS = (10, 30, 100, 300, 1000)
SHOWN, DRAWN = 100, 60  # actions and policies of the panel that shows single policies
ROUNDS_PER_ACTION = 100  # of phase 1
KINDS = ("uniform actions", "all policies alike", "low-variance design")


def variance_terms(n_actions):
    """Values of all policies, and for each kind of exploration the variance terms E[r/W].

    One action is right at each context. Ten policies are right at 50% to 80% of the contexts and
    guess elsewhere, the others always guess.
    """
    rng = np.random.default_rng(n_actions)
    labels = rng.integers(n_actions, size=N_CONTEXTS)
    skill = np.zeros(N_POLICIES)
    skill[:N_GOOD] = np.linspace(0.5, 0.8, N_GOOD)
    guesses = rng.integers(n_actions, size=(N_CONTEXTS, N_POLICIES))
    table = np.where(rng.random(guesses.shape) < skill, labels[:, None], guesses)

    policies = ps.PolicyTable(table, n_actions=n_actions)
    world = ps.worlds.Classification(None, labels, n_actions=n_actions, contexts="rows")
    learner = ps.LowVarianceExploration(
        policies,
        world.problem(epsilon=0.05, delta=0.05),
        explore_rounds=ROUNDS_PER_ACTION * n_actions,
        estimate_rounds=1,
        rng=0,
    )
    ps.run(learner, world, learner.explore_rounds, batch_size=1000, progress=False)

    right = table == labels[:, None]
    designed = learner.design.propensities(np.arange(N_CONTEXTS))
    alike = learner.mixing / n_actions + (1 - learner.mixing) * right.mean(axis=1)
    propensities = (
        np.full(N_CONTEXTS, 1 / n_actions),
        alike,
        designed[np.arange(N_CONTEXTS), labels],
    )
    terms = {
        kind: (right / w[:, None]).mean(axis=0) for kind, w in zip(KINDS, propensities, strict=True)
    }
    return right.mean(axis=0), terms


found = {n_actions: variance_terms(n_actions) for n_actions in ACTIONS}
largest = {kind: [terms[kind].max() for _, terms in found.values()] for kind in KINDS}

with look():
    figure, (left, right) = new_panels(2, columns=2, height=3.2)
    values, terms = found[SHOWN]
    for kind, colour, marker in zip(KINDS, colours(3), "os^", strict=True):
        left.plot(values[:DRAWN], terms[kind][:DRAWN], marker, c=colour, alpha=0.6)
        right.plot(ACTIONS, largest[kind], f"-{marker}", c=colour, label=kind)
    log_axes(right, "number of actions")
    log_axes(left, "value of the policy")
    left.set(xscale="linear", ylabel="variance term")
    left.set_title(f"{DRAWN} of the policies, {SHOWN} actions", loc="left", fontsize=9.5)
    right.set_title("the largest of all policies", loc="left", fontsize=9.5)
    shared_legend(figure, [right])
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    with rc_context({"svg.fonttype": "path"}):
        figure.savefig(folder / "sparse-rewards.svg", metadata={"Date": None})

for i, n_actions in enumerate(ACTIONS):
    print(f"{n_actions:5,}", *(f"{largest[kind][i]:8.1f}" for kind in KINDS))
