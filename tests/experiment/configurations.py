"""Small experiments, as they would be read from a file."""

from copy import deepcopy
from typing import Any

SMALL: dict[str, Any] = {
    "world": {
        "kind": "SparseSynthetic",
        "n_actions": 5,
        "n_contexts": 40,
        "n_policies": 12,
        "profile": "close",
    },
    "policies": {"kind": "world"},
    "problem": {"epsilon": 0.2, "delta": 0.1},
    "learner": [{"kind": "Sieve"}, {"kind": "Uniform"}],
    "run": {"rounds": 400, "seeds": 2, "batch_size": 50},
}


def small(**changes: Any) -> dict[str, Any]:
    """The small one with values changed; ``learner__0__kind`` is ``learner[0].kind``.

    None takes a key away.
    """
    configuration = deepcopy(SMALL)
    for place, value in changes.items():
        *way, last = place.split("__")
        table: Any = configuration
        for step in way:
            table = table[int(step)] if step.isdigit() else table[step]
        if value is None:
            del table[last]
        else:
            table[last] = value
    return configuration
