"""Public functions called with hostile values: each works, or raises an error of ours."""

import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import policysieve as ps
from policysieve.bench.faults.call import CSV, Call
from policysieve.bench.faults.catalogue import CALLS
from policysieve.bench.faults.values import hostile_value

__all__ = ["fuzz_calls"]

_ALLOWED = (ps.PolicySieveError, FileNotFoundError, NotFittedError)
_ROUNDS = "context,action,propensity,reward\n1,0,0.5,1\n2,1,0.5,0\n"


def fuzz_calls(n: int, seed: int = 0) -> dict[str, Any]:
    """Call public functions with one or two hostile arguments, so many times.

    Parameters
    ----------
    n : int
    seed : int
        The same numbers give the same calls.

    Returns
    -------
    dict
        ``inputs_tried``: n. ``foreign``: calls that raised what is neither ours nor documented,
        each with its arguments and the error. ``changed``: calls that failed and left their object
        other than it was.
    """
    rng = np.random.default_rng(seed)
    names = list(CALLS)
    found: dict[str, Any] = {"inputs_tried": n, "foreign": [], "changed": []}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "log.csv"
        path.write_text(_ROUNDS)
        for _ in range(n):
            name = names[rng.integers(len(names))]
            good = {
                key: str(path) if isinstance(value, str) and value == CSV else value
                for key, value in CALLS[name].good().items()
            }
            count = min(len(good), 1 + int(rng.random() < 0.2))
            chosen = rng.choice(list(good), size=count, replace=False).tolist()
            odd = {key: hostile_value(good[key], rng) for key in chosen}
            words = f"{name}({', '.join(f'{key}={one.words}' for key, one in odd.items())})"
            values = {key: one.value for key, one in odd.items()}
            _try(CALLS[name], {**good, **values}, words, found)
    return found


def _try(call: Call, arguments: dict[str, Any], words: str, found: dict[str, Any]) -> None:
    """Make one call, and write down what should not have come of it."""
    made = call.make()
    before = call.state(made)
    try:
        call.run(made, **arguments)
        return
    except _ALLOWED:
        pass
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        found["foreign"].append(f"{words}: {type(error).__name__}: {str(error)[:200]} ({place})")
    if call.state(made) != before:
        found["changed"].append(words)
