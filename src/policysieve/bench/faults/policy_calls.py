"""Classes of policies, each with arguments that are right."""

from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import policysieve as ps
from policysieve.bench.faults.call import ACTIONS, Call, K, N, a_problem, a_table, some_features

__all__ = ["POLICY_CALLS"]


@cache
def _model(labels: Any = (0, 1, 2, 0, 1, 2)) -> Any:
    return LogisticRegression().fit(np.arange(12.0).reshape(6, 2), labels)


def _functions() -> Any:
    return ps.FunctionPolicies([lambda x: np.zeros(len(x), dtype=int)], K)


def _kept(_: Any, policies: Any, folder: Any, version: Any, contexts: Any) -> Any:
    ps.cached(policies, folder, version=version)
    with TemporaryDirectory() as place:  # and no other folder is made
        return ps.cached(policies, place, version=version).actions(contexts)


POLICY_CALLS: dict[str, Call] = {
    "PolicyTable": Call(
        lambda _, actions, n_actions: ps.PolicyTable(actions, n_actions),
        lambda: {"actions": np.zeros((4, 3), dtype=int), "n_actions": K},
    ),
    "Problem with names": Call(
        lambda _, **asked: ps.Problem(epsilon=0.1, delta=0.1, **asked),
        lambda: {"n_actions": K, "actions": list(ACTIONS)},
    ),
    "PolicyTable with names": Call(
        lambda _, table, which, **how: ps.PolicyTable(table, **how).actions([0], which),
        lambda: {
            "table": np.array([["hats", "bags"], ["bags", "shoes"]]),
            "which": ["new", "old"],
            "names": ["old", "new"],
            "actions": list(ACTIONS),
        },
    ),
    "FunctionPolicies with names": Call(
        lambda _, functions, actions: ps.FunctionPolicies(functions, actions=actions).actions(
            np.ones((2, 1))
        ),
        lambda: {
            "functions": {"one": lambda x: np.array(["hats", "bags"])},
            "actions": list(ACTIONS),
        },
    ),
    "EstimatorPolicies with names": Call(
        lambda _, models, slate_size, names, actions: ps.EstimatorPolicies(
            models, slate_size=slate_size, names=names, actions=actions
        ).actions(some_features()),
        lambda: {
            "models": [_model(ACTIONS * 2)],
            "slate_size": 1,
            "names": ["regression"],
            "actions": list(ACTIONS),
        },
    ),
    "Policies.name_of": Call(lambda _, number: a_table().name_of(number), lambda: {"number": 1}),
    "Policies.number_of": Call(
        lambda _, policy: ps.PolicyTable([[0, 1]], 2, names=["old", "new"]).number_of(policy),
        lambda: {"policy": "new"},
    ),
    "PolicyTable.actions": Call(
        lambda _, contexts, which: a_table().actions(contexts, which),
        lambda: {"contexts": np.array([0, 1]), "which": np.array([0, 2])},
    ),
    "FunctionPolicies": Call(
        lambda _, contexts, functions, **how: ps.FunctionPolicies(functions, **how).actions(
            contexts
        ),
        lambda: {
            "contexts": some_features(),
            "functions": [lambda x: np.zeros(len(x), dtype=int)],
            "n_actions": K,
            "slate_size": 1,
            "vectorized": True,
        },
    ),
    "FunctionPolicies with calls": Call(
        lambda _, contexts, functions, n_actions, **how: ps.FunctionPolicies(
            functions, n_actions, vectorized=False, calls=ps.Calls(**how)
        ).actions(contexts),
        lambda: {
            "contexts": some_features(),
            "functions": [lambda x: 0],
            "n_actions": K,
            "at_once": 2,
            "retries": 0,
            "timeout": 10.0,
            "fallback": 1,
        },
    ),
    "Policies.usage": Call(
        lambda _, functions: ps.FunctionPolicies(functions, K).usage().to_dict(),
        lambda: {"functions": [lambda x: np.zeros(len(x), dtype=int)]},
    ),
    "cached": Call(
        _kept,
        lambda: {
            "policies": _functions(),
            "folder": "answers",
            "version": "1",
            "contexts": some_features(),
        },
    ),
    "EstimatorPolicies": Call(
        lambda _, contexts, models, **how: ps.EstimatorPolicies(models, **how).actions(contexts),
        lambda: {
            "contexts": some_features(),
            "models": [_model()],
            "n_actions": K,
            "slate_size": 1,
        },
    ),
    "LinearPolicies": Call(
        lambda _, contexts, weights, slate_size: ps.LinearPolicies(
            weights, slate_size=slate_size
        ).actions(contexts),
        lambda: {
            "contexts": some_features(),
            "weights": np.ones((2, K, 2)),
            "slate_size": 1,
        },
    ),
    "TabularPolicies.best": Call(
        lambda _, n_contexts, n_actions, contexts, actions, weights: ps.TabularPolicies(
            n_contexts=n_contexts, n_actions=n_actions
        ).best(contexts, actions, weights),
        lambda: {
            "n_contexts": 6,
            "n_actions": K,
            "contexts": np.array([0, 1]),
            "actions": np.array([0, 1]),
            "weights": np.array([0.5, 2.0]),
        },
    ),
    "TreePolicies.best": Call(
        lambda _, rows, n_actions, depth, n_bins, contexts, actions, weights: ps.TreePolicies(
            rows, n_actions=n_actions, depth=depth, n_bins=n_bins
        ).best(contexts, actions, weights),
        lambda: {
            "rows": some_features(),
            "n_actions": K,
            "depth": 1,
            "n_bins": 4,
            "contexts": some_features()[:2],
            "actions": np.array([0, 1]),
            "weights": np.array([0.5, 2.0]),
        },
    ),
    "StumpPolicies": Call(
        lambda _, rows, contexts, **how: ps.StumpPolicies(rows, **how).answers(contexts),
        lambda: {
            "rows": some_features(),
            "contexts": some_features(),
            "n_actions": K,
            "n_bins": 4,
        },
    ),
    "OraclePolicies": Call(
        lambda _, estimator, contexts, **how: ps.OraclePolicies(estimator, **how).best(
            contexts, np.array([0, 1, 2, 0]), np.ones(N)
        ),
        lambda: {
            "estimator": LogisticRegression(),
            "contexts": some_features(),
            "n_actions": K,
            "log_size": 5.0,
            "features": None,
            "fits": 2,
        },
    ),
    "RandomizedPolicy": Call(
        lambda _, policies, shares, contexts: ps.RandomizedPolicy(policies, shares).sample(
            contexts, rng=0
        ),
        lambda: {
            "policies": a_table(),
            "shares": np.full(5, 0.2),
            "contexts": np.array([0, 1]),
        },
    ),
    "natarajan_cover": Call(
        lambda _, hypotheses, contexts, problem, **how: ps.natarajan_cover(
            hypotheses, contexts, problem, **how
        ),
        lambda: {
            "hypotheses": a_table(),
            "contexts": np.arange(200) % 6,
            "problem": a_problem(),
            "dimension": None,
            "delta0": 0.05,
            "rng": 0,
        },
    ),
}
