"""Votes of candidates, and a client that calls nobody, with arguments that are right."""

from typing import Any

import numpy as np

import policysieve as ps
from policysieve.bench.faults.call import Call, a_log, a_problem, a_table

__all__ = ["OTHER_CALLS"]


def _vote(_: Any, policies: Any, weights: Any, contexts: Any) -> Any:
    return ps.VotePolicies(policies, weights).actions(contexts)


def _client(_: Any, name: Any, **given: Any) -> Any:
    with ps.Client(**given) as client:
        return client.study(name)


OTHER_CALLS: dict[str, Call] = {
    "VotePolicies": Call(
        _vote,
        lambda: {"policies": a_table(), "weights": np.ones((2, 5)), "contexts": [0, 5]},
    ),
    "fit_votes": Call(
        lambda _, **given: ps.fit_votes(**given),
        lambda: {
            "log": a_log(),
            "policies": a_table(),
            "problem": a_problem(),
            "temperatures": (0.02, 0.1),
        },
    ),
    "Client": Call(
        _client,
        lambda: {
            "name": "homepage",
            "url": "http://127.0.0.1:9",
            "token": "ps_secret",
            "timeout": 1.0,
            "retries": 0,
            "allow_plain_http": False,
        },
    ),
}
