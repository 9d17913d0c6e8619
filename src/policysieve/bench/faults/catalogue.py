"""The public functions of the package, each with arguments that are right."""

from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression

import policysieve as ps
from policysieve.bench.faults.call import (
    CSV,
    Call,
    K,
    N,
    a_log,
    a_problem,
    a_table,
    log_state,
    some_columns,
    some_features,
)
from policysieve.bench.faults.classifier_calls import CLASSIFIER_CALLS
from policysieve.bench.faults.learner_calls import LEARNER_CALLS, a_learner
from policysieve.bench.faults.other_calls import OTHER_CALLS
from policysieve.bench.faults.outcome_calls import OUTCOME_CALLS
from policysieve.bench.faults.study_calls import STUDY_CALLS

__all__ = ["CALLS"]

_ACTIONS = ("shoes", "hats", "bags")


@cache
def _model(labels: Any = (0, 1, 2, 0, 1, 2)) -> Any:
    return LogisticRegression().fit(np.arange(12.0).reshape(6, 2), labels)


def _world() -> Any:
    return ps.worlds.SparseSynthetic(n_actions=K, n_contexts=6, n_policies=5, profile="one_good")


def _functions() -> Any:
    return ps.FunctionPolicies([lambda x: np.zeros(len(x), dtype=int)], K)


def _kept(_: Any, policies: Any, folder: Any, version: Any, contexts: Any) -> Any:
    ps.cached(policies, folder, version=version)
    with TemporaryDirectory() as place:  # and no other folder is made
        return ps.cached(policies, place, version=version).actions(contexts)


@cache
def _selection() -> ps.Selection:
    return ps.select(a_log(), a_table(), a_problem(), floor=0.1)


CALLS: dict[str, Call] = {
    "Problem": Call(
        lambda _, **asked: ps.Problem(**asked),
        lambda: {
            "n_actions": K,
            "slate_size": 1,
            "sparsity": 1.0,
            "epsilon": 0.1,
            "delta": 0.1,
            "against": "old",
            "traffic": 0.5,
            "max_loss": 3.0,
        },
    ),
    "Problem and plan": Call(
        lambda _, **asked: ps.plan(ps.Problem(**asked), 10).explain(),
        lambda: {
            "n_actions": K,
            "slate_size": 1,
            "sparsity": 1.0,
            "epsilon": 0.1,
            "delta": 0.1,
        },
    ),
    "plan": Call(
        lambda _, problem, n_policies: ps.plan(problem, n_policies).explain(),
        lambda: {"problem": a_problem(), "n_policies": 10},
    ),
    "plan of a logarithm": Call(
        lambda _, size, sampled: ps.plan(a_problem(), log_n_policies=size, sampled=sampled),
        lambda: {"size": 10.0, "sampled": False},
    ),
    "Log": Call(
        lambda _, **columns: ps.Log(**columns),
        lambda: {**some_columns(), "distributions": np.full((N, K), 1 / K)},
    ),
    "Log of features": Call(
        lambda _, **columns: ps.Log(**columns),
        lambda: {**some_columns(), "contexts": some_features()},
    ),
    "Log of names": Call(
        lambda _, **columns: ps.Log(**columns),
        lambda: {
            **some_columns(),
            "actions": ["b", "a", "c", "a"],
            "distributions": [{"a": 1 / K, "b": 1 / K, "c": 1 / K}] * N,
            "action_names": ("c", "b", "a"),
        },
    ),
    "Log.from_frame": Call(
        lambda _, frame, **columns: ps.Log.from_frame(frame, **columns).to_arrow(),
        lambda: {
            "frame": pa.table({"c": [1, None, 2], "a": list("xyx"), "p": [1.0] * 3, "r": [0] * 3}),
            "context": ["c"],
            "action": "a",
            "propensity": "p",
            "reward": "r",
            "slate": None,
            "position": None,
            "actions": ("y", "x"),
        },
    ),
    "Log.with_action_names": Call(
        lambda log, names: log.with_action_names(names),
        lambda: {"names": ("a", "b", "c")},
        a_log,
        log_state,
    ),
    "Log.append": Call(
        lambda log, **columns: log.append(**columns),
        some_columns,
        lambda: ps.Log(**some_columns()),
        log_state,
    ),
    "Log.extend": Call(
        lambda log, other: log.extend(other), lambda: {"other": a_log()}, a_log, log_state
    ),
    "Log.load": Call(lambda _, log: ps.Log.load(log), lambda: {"log": CSV}),
    "LogFile": Call(
        lambda _, paths, **how: list(ps.LogFile(paths, **how).rounds()),
        lambda: {
            "paths": CSV,
            "format": "csv",
            "reward_range": (0.0, 1.0),
            "missing_reward": 0.0,
            "columns": {
                "context": "context",
                "action": "action",
                "propensity": "propensity",
                "reward": "reward",
            },
            "actions": ("a", "b", "c"),
            "max_bytes": 1 << 20,
        },
    ),
    "check_log": Call(
        lambda _, log, **how: ps.check_log(log, **how),
        lambda: {"log": a_log(), "n_actions": K, "delta": 0.05, "since": 1},
    ),
    "select": Call(
        lambda _, log, policies, problem, **how: ps.select(log, policies, problem, **how),
        lambda: {
            "log": a_log(),
            "policies": a_table(),
            "problem": a_problem(),
            "method": None,
            "floor": 0.1,
            "exploration": None,
            "since": 1,
            "memory_limit": 1000,
        },
    ),
    "select against": Call(
        lambda _, against: (
            ps.select(a_log(), a_table(), a_problem(against=against), floor=0.1).gain
        ),
        lambda: {"against": 1},
    ),
    "Selection.to_frame": Call(
        lambda selection, backend: selection.to_frame(backend),
        lambda: {"backend": "pyarrow"},
        _selection,
    ),
    "Selection.plot": Call(
        lambda selection, name: selection.plot(name), lambda: {"name": "leaders"}, _selection
    ),
    "Selection.compare": Call(
        lambda selection, first, second, beforehand: selection.compare(
            first, second, named_beforehand=beforehand
        ),
        lambda: {"first": 0, "second": 1, "beforehand": True},
        _selection,
    ),
    "Evidence": Call(
        lambda _, policies, problem, log, exploration, memory_limit, keep: ps.Evidence(
            policies, problem, memory_limit=memory_limit, keep=keep
        ).add(log, exploration),
        lambda: {
            "policies": a_table(),
            "problem": a_problem(),
            "log": a_log(),
            "exploration": None,
            "memory_limit": 1000,
            "keep": [0],
        },
    ),
    "Evidence.compare": Call(
        lambda evidence, first, second, beforehand: evidence.compare(
            first, second, named_beforehand=beforehand
        ),
        lambda: {"first": 0, "second": 1, "beforehand": True},
        lambda: ps.Evidence(a_table(), a_problem()),
    ),
    "FloorEvidence": Call(
        lambda _, policies, problem, log, floor, method: ps.FloorEvidence(
            policies, problem, method=method
        ).add(log, floor=floor),
        lambda: {
            "policies": a_table(),
            "problem": a_problem(),
            "log": a_log(),
            "floor": 0.1,
            "method": "betting",
        },
    ),
    "design": Call(
        lambda _, log, policies, problem, **how: ps.design(log, policies, problem, **how),
        lambda: {
            "log": a_log(),
            "policies": a_table(),
            "problem": a_problem(),
            "mixing": 0.5,
            "sampled": False,
            "rng": 0,
        },
    ),
    "run": Call(
        lambda _, learner, world, **how: ps.run(learner, world, progress=False, **how),
        lambda: {
            "learner": a_learner("Uniform"),
            "world": _world(),
            "max_rounds": 20,
            "batch_size": 10,
            "checkpoints": 2,
            "rng": 0,
        },
    ),
    "PolicyTable": Call(
        lambda _, actions, n_actions: ps.PolicyTable(actions, n_actions),
        lambda: {"actions": np.zeros((4, 3), dtype=int), "n_actions": K},
    ),
    "Problem with names": Call(
        lambda _, **asked: ps.Problem(epsilon=0.1, delta=0.1, **asked),
        lambda: {"n_actions": K, "actions": list(_ACTIONS)},
    ),
    "PolicyTable with names": Call(
        lambda _, table, which, **how: ps.PolicyTable(table, **how).actions([0], which),
        lambda: {
            "table": np.array([["hats", "bags"], ["bags", "shoes"]]),
            "which": ["new", "old"],
            "names": ["old", "new"],
            "actions": list(_ACTIONS),
        },
    ),
    "FunctionPolicies with names": Call(
        lambda _, functions, actions: ps.FunctionPolicies(functions, actions=actions).actions(
            np.ones((2, 1))
        ),
        lambda: {
            "functions": {"one": lambda x: np.array(["hats", "bags"])},
            "actions": list(_ACTIONS),
        },
    ),
    "EstimatorPolicies with names": Call(
        lambda _, models, slate_size, names, actions: ps.EstimatorPolicies(
            models, slate_size=slate_size, names=names, actions=actions
        ).actions(some_features()),
        lambda: {
            "models": [_model(_ACTIONS * 2)],
            "slate_size": 1,
            "names": ["regression"],
            "actions": list(_ACTIONS),
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
    "Exploration.choose": Call(
        lambda _, contexts, uniforms: a_learner("Uniform").exploration.choose(contexts, uniforms),
        lambda: {"contexts": np.array([0, 1]), "uniforms": np.full((2, 1), 0.5)},
    ),
    "Exploration.ask": Call(
        lambda _, contexts, rng: a_learner("Sieve").exploration.ask(contexts, rng=rng),
        lambda: {"contexts": np.array([0, 1]), "rng": 0},
    ),
    "Exploration.propensities": Call(
        lambda _, contexts: a_learner("Sieve").exploration.propensities(contexts),
        lambda: {"contexts": np.array([0, 1])},
    ),
    "Exploration.load": Call(
        lambda _, path, policies: ps.Exploration.load(path, policies),
        lambda: {"path": CSV, "policies": a_table()},
    ),
    "SparseSynthetic": Call(
        lambda _, **how: ps.worlds.SparseSynthetic(**how),
        lambda: {
            "n_actions": K,
            "n_contexts": 6,
            "n_policies": 5,
            "profile": "one_good",
            "slate_size": 1,
            "sparsity": 1.0,
            "noise": 0.1,
            "fractional": False,
            "rng": 0,
        },
    ),
    "Classification": Call(
        lambda _, rows, y, **how: ps.worlds.Classification(rows, y, **how),
        lambda: {
            "rows": some_features(),
            "y": np.array([0, 1, 2, 0]),
            "n_actions": K,
            "contexts": "features",
        },
    ),
    "Classification with names": Call(
        lambda _, y, actions: ps.worlds.Classification(some_features(), y, actions=actions),
        lambda: {"y": ["hats", "bags", "hats", "shoes"], "actions": list(_ACTIONS)},
    ),
    "Multilabel with names": Call(
        lambda _, right, actions: ps.worlds.Multilabel(
            some_features(), right, slate_size=1, actions=actions
        ),
        lambda: {"right": [["hats"], [], ["bags", "hats"], ["bags"]], "actions": list(_ACTIONS)},
    ),
    "Multilabel": Call(
        lambda _, rows, right, slate_size, **how: ps.worlds.Multilabel(
            rows, right, slate_size, **how
        ),
        lambda: {
            "rows": some_features(),
            "right": np.eye(4, 3),
            "slate_size": 1,
            "sparsity": 1.0,
            "contexts": "features",
        },
    ),
    "RareContext": Call(
        lambda _, **how: ps.worlds.RareContext(**how),
        lambda: {"n_actions": K, "epsilon": 0.1, "rng": 0},
    ),
    "HiddenArm": Call(
        lambda _, **how: ps.worlds.HiddenArm(**how),
        lambda: {"n_actions": K, "slate_size": 1, "sparsity": 2, "epsilon": 0.1, "rng": 0},
    ),
    "Replay": Call(
        lambda _, log, **how: ps.worlds.Replay(log, **how),
        lambda: {"log": a_log(), "n_actions": K, "sparsity": 1.0, "floor": 0.1},
    ),
    "World.draw": Call(
        lambda world, n, rng: world.draw(n, rng), lambda: {"n": 5, "rng": 0}, _world
    ),
    "World.values": Call(
        lambda world, policies: world.values(policies), lambda: {"policies": a_table()}, _world
    ),
    "Draw.rewards": Call(
        lambda draw, actions: draw.rewards(actions),
        lambda: {"actions": np.array([0, 1, 2, 0])},
        lambda: _world().draw(N, 0),
    ),
    "theory.dec": Call(
        lambda _, means, gamma, sparsity: ps.theory.dec(means, gamma, sparsity),
        lambda: {"means": np.array([0.2, 0.3, 0.5]), "gamma": 96.0, "sparsity": 1.0},
    ),
    "theory.rounds_uniform": Call(
        lambda _, problem, size: ps.theory.rounds_uniform(problem, size),
        lambda: {"problem": a_problem(), "size": 5.0},
    ),
    **CLASSIFIER_CALLS,
    **LEARNER_CALLS,
    **OUTCOME_CALLS,
    **STUDY_CALLS,
    **OTHER_CALLS,
}
"""The public functions, by their names."""
