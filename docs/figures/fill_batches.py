"""Measure what larger batches cost, and put it into the table of `docs/costly.md`.

Run it with `python docs/figures/fill_batches.py`; it takes about a minute. The same seeds give the
same table.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import policysieve as ps

PAGE = Path(__file__).parents[1] / "costly.md"
SEEDS = range(100, 120)  # others than those that the advice was chosen on, 0 to 19
EPSILON, DELTA = 0.05, 0.05
TASKS: dict[str, dict[str, Any]] = {
    "one good policy of 100, 20 actions": {
        "profile": "one_good",
        "n_actions": 20,
        "n_policies": 100,
    },
    "30 close policies, 10 actions": {
        "profile": "close",
        "n_actions": 10,
        "n_policies": 30,
        "noise": 0.2,
    },
    "100 that err alike, 20 actions": {
        "profile": "confusable",
        "n_actions": 20,
        "n_policies": 100,
        "noise": 0.1,
    },
    "10 that err alike, 50 actions": {
        "profile": "confusable",
        "n_actions": 50,
        "n_policies": 10,
        "noise": 0.1,
    },
}
TASKS["one good policy of 300, 100 actions"] = {  # which the advice was not chosen on
    "profile": "one_good",
    "n_actions": 100,
    "n_policies": 300,
}
SIZES: dict[str, int | None] = {
    "`ask_limit`": 0,
    "at most 50": 50,
    "**`batch_size`**": None,
    "at most 200": 200,
    "at most 500": 500,
}


def played(task: dict[str, Any], size: int | None, seed: int) -> tuple[int, int, int]:
    """Rounds, batches and answers of candidates until epsilon is certified."""
    world = ps.worlds.SparseSynthetic(n_contexts=500, rng=seed, **task)
    policies = ps.PolicyTable(world.pool, n_actions=world.n_actions)
    learner = ps.Sieve(policies, world.problem(epsilon=EPSILON, delta=DELTA), rng=seed)
    batches = answers = 0
    rng = np.random.default_rng(1000 + seed)
    while not learner.finished:
        some = learner.ask_limit if size == 0 else learner._batch_of(size)  # as ps.run has it
        answers += some * len(learner.survivors)
        draw = world.draw(some, rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))
        batches += 1
    return learner.rounds, batches, answers


def rows() -> Iterator[str]:
    """The table in Markdown."""
    yield "| batches | " + " | ".join(TASKS) + " |"
    yield "| --- |" + " ---: |" * len(TASKS)
    for name, size in SIZES.items():
        cells = []
        for task in TASKS.values():
            found = np.mean([played(task, size, seed) for seed in SEEDS], axis=0)
            cells.append(" / ".join(f"{count:,.0f}" for count in found))
        yield f"| {name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    table = "\n".join(rows())
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(r"(?m)^\| batches \|.*(\n\|.*)*", table, text), encoding="utf-8")
    print(table)
