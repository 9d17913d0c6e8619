"""Models of seconds, memory and network that foretell; pages need no cluster to show them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import nnls

__all__ = ["MODELS", "Row", "fitted", "foretold"]

Row = dict[str, Any]

# Of n rounds and p policies. Arrays of rewarded rounds double when they are full.
_TERMS: dict[str, Callable[[float, float], float]] = {
    "start": lambda n, p: 1.0,
    "round": lambda n, p: n,
    "doubled_round": lambda n, p: 2.0 ** math.ceil(math.log2(n)),
    "policy": lambda n, p: p,
    "round_and_policy": lambda n, p: n * p,
}

# What grows, and how: amounts that are added, one for each term.
MODELS = {
    "seconds": ("start", "round", "policy", "round_and_policy"),
    "bytes_here": ("start", "doubled_round", "policy"),
    "bytes_moved": ("start", "round", "policy"),
}


def fitted(rows: list[Row], what: str) -> dict[str, Any]:
    """The amounts of a model with the least relative error on the points that are not held out.

    They are not negative. With the largest relative error on those that are.
    """
    used = [row for row in rows if not row["held_out"]]
    terms = np.array([_terms(row, what) for row in used])
    amounts, _ = nnls(terms / np.array([[row[what]] for row in used]), np.ones(len(used)))
    model = dict(zip(MODELS[what], map(float, amounts), strict=True))
    errors = [foretold(model, what, row) / row[what] - 1 for row in rows if row["held_out"]]
    return {"amounts": model, "largest_error": max(map(abs, errors), default=0.0)}


def foretold(model: dict[str, float], what: str, row: Row) -> float:
    """What a model says of so many rounds and policies."""
    return float(np.dot(list(model.values()), _terms(row, what)))


def _terms(row: Row, what: str) -> list[float]:
    n, p = float(row["rounds"]), float(row["n_policies"])
    return [_TERMS[term](n, p) for term in MODELS[what]]
