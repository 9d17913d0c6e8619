"""The public functions of the package, each with arguments that are right."""

from functools import cache

import numpy as np
import pyarrow as pa

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
from policysieve.bench.faults.policy_calls import POLICY_CALLS
from policysieve.bench.faults.study_calls import STUDY_CALLS
from policysieve.bench.faults.world_calls import WORLD_CALLS, a_world

__all__ = ["CALLS"]


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
            "world": a_world(),
            "max_rounds": 20,
            "batch_size": 10,
            "checkpoints": 2,
            "rng": 0,
        },
    ),
    **POLICY_CALLS,
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
    **WORLD_CALLS,
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
