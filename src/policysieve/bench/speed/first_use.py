"""What the first use costs: importing, compiling, and coming back to what was compiled."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from policysieve.bench.speed.yardsticks import best_seconds, run_code
from policysieve.policies import PolicyTable

__all__ = ["first_use"]

_N_ACTIONS = 100
_N_POLICIES = 100

# Half of the policies are right at a context, so that the first rounds have rewards.
_CODE = f"""
import sys
import numpy as np
import policysieve as ps

path, mapped = sys.argv[1:]
n_actions = {_N_ACTIONS}
if mapped == "True":
    policies = ps.PolicyTable.load(path, n_actions)
else:
    policies = ps.PolicyTable(np.load(path), n_actions)
problem = ps.Problem(n_actions=n_actions, epsilon=0.05, delta=0.05)
learner = ps.Sieve(policies, problem, rng=0)
first = learner.exploration
contexts = np.arange(learner.ask_limit)  # up to the first look
decisions = learner.ask(contexts)
learner.tell(decisions, decisions.actions[:, 0] == contexts % n_actions)
assert learner.exploration is not first
learner.recommend()
"""


def first_use(*, n_contexts: int = 500, repeats: int = 3) -> dict[str, Any]:
    """Seconds of new processes that play the Sieve up to its first look and recommend.

    First with an empty cache of compiled functions, then with the one that this has filled, and
    then with a memory-mapped table, for which nothing should be compiled anew.

    Parameters
    ----------
    n_contexts : int
        Rows of the table of 100 policies.
    repeats : int
        Processes, of which the quickest counts; but only one has an empty cache, and one a
        memory-mapped table.
    """
    with TemporaryDirectory() as folder:
        cache, path = Path(folder, "cache"), Path(folder, "table.npy")
        cache.mkdir()
        _table(n_contexts).save(path)
        use = partial(run_code, environment={"NUMBA_CACHE_DIR": str(cache)})
        python = best_seconds(partial(use, "pass"), repeats)
        imported = best_seconds(partial(use, "import policysieve"), repeats)
        empty = _seconds(partial(use, _CODE, str(path), "False"))
        cached = best_seconds(partial(use, _CODE, str(path), "False"), repeats)
        compiled = _n_compiled(cache)
        mapped = _seconds(partial(use, _CODE, str(path), "True"))
        return {
            "python_seconds": python,
            "import_seconds": imported,
            "empty_cache_seconds": empty,
            "cached_seconds": cached,
            "mapped_seconds": mapped,
            "compiled": compiled,
            "compiled_for_mapped": _n_compiled(cache) - compiled,
        }


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _table(n_contexts: int) -> PolicyTable:
    rng = np.random.default_rng(0)
    right = rng.random((n_contexts, _N_POLICIES)) < 0.5
    labels = np.arange(n_contexts)[:, None] % _N_ACTIONS
    actions = np.where(right, labels, rng.integers(_N_ACTIONS, size=right.shape))
    return PolicyTable(actions, n_actions=_N_ACTIONS)


def _n_compiled(cache: Path) -> int:
    """Functions in numba's cache, counted once for each kind of arguments."""
    return sum(1 for _ in cache.rglob("*.nbc"))
