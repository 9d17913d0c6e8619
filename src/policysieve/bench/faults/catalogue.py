"""The public functions of the package, each with arguments that are right."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import policysieve as ps
from policysieve.exploration import LEARNERS

__all__ = ["CALLS", "CSV", "Call"]

CSV = "a file of rounds"
_K, _N = 3, 4  # actions and rounds


@dataclass(frozen=True)
class Call:
    """One public function, with arguments that are right.

    Attributes
    ----------
    run : function
        Takes what `make` returns, and the arguments by name.
    good : function () -> dict
        Arguments that it takes; `CSV` stands for the path of a log.
    make : function () -> object
        What is called, or None.
    state : function (object) -> object
        What must not change if the call fails.
    """

    run: Callable[..., Any]
    good: Callable[[], dict[str, Any]]
    make: Callable[[], Any] = lambda: None
    state: Callable[[Any], Any] = lambda _made: None


def _problem(**changed: Any) -> ps.Problem:
    return ps.Problem(**{"n_actions": _K, "epsilon": 0.2, "delta": 0.1, **changed})


@cache
def _table() -> ps.PolicyTable:
    actions = np.random.default_rng(0).integers(0, _K, (6, 5))
    return ps.PolicyTable(actions, n_actions=_K)


def _columns() -> dict[str, Any]:
    return {
        "contexts": np.array([0, 5, 2, 2]),
        "actions": np.array([0, 1, 2, 1]),
        "propensities": np.full(_N, 1 / _K),
        "rewards": np.array([0.0, 1.0, 0.0, 1.0]),
    }


def _log() -> ps.Log:
    return ps.Log(**_columns(), distributions=np.full((_N, _K), 1 / _K))


def _features() -> Any:
    return np.random.default_rng(1).normal(size=(_N, 2))


@cache
def _model() -> Any:
    return LogisticRegression().fit(np.arange(12.0).reshape(6, 2), [0, 1, 2, 0, 1, 2])


def _world() -> Any:
    return ps.worlds.SparseSynthetic(n_actions=_K, n_contexts=6, n_policies=5, profile="one_good")


def _log_state(log: ps.Log) -> Any:
    arrays = (log.contexts, log.actions, log.propensities, log.rewards)
    return [array.tolist() for array in arrays], log.has_distributions


def _learner(kind: str) -> Any:
    short = {"explore_rounds": 20, "estimate_rounds": 50}
    two_phases = kind in ("LowVarianceExploration", "LogBarrier", "ListWeights")
    learner: Any = LEARNERS[kind]
    return learner(_table(), _problem(), rng=0, **(short if two_phases else {"rounds": 100}))


def _asked(kind: str) -> Any:
    learner = _learner(kind)
    decisions = learner.ask([0, 1, 2, 3])
    return learner, decisions


def _decided(learner: Any) -> ps.Log:
    """Rounds that a learner's exploration has decided elsewhere."""
    made = learner.exploration.ask(np.arange(_N), rng=0)
    return ps.Log(
        contexts=made.contexts,
        actions=made.actions,
        propensities=made.propensities,
        rewards=np.zeros(_N),
    )


def _learner_state(learner: Any) -> Any:
    drawn = repr(learner._rng.bit_generator.state)
    return learner.rounds, learner.pending, learner.finished, drawn, _log_state(learner.log)


def _classifier(asked: bool) -> Any:
    learner = ps.BanditClassifier(classes=["a", "b", "c"], random_state=0)
    return learner, learner.ask(_features()) if asked else None


def _classifier_state(made: Any) -> Any:
    learner, decisions = made
    known = None if decisions is None else learner.predict_proba(np.ones((1, 2))).tolist()
    return learner.rounds, learner.pending, known


def _method(kind: str) -> dict[str, Call]:
    """The methods of one kind of learner."""

    def learner() -> Any:
        return _learner(kind)

    def asked() -> Any:
        return _asked(kind)

    def of_asked(made: Any) -> Any:
        return _learner_state(made[0])

    return {
        f"{kind}.ask": Call(
            lambda one, contexts: one.ask(contexts),
            lambda: {"contexts": np.array([0, 1, 2, 3])},
            learner,
            _learner_state,
        ),
        f"{kind}.tell": Call(
            lambda made, rewards, rows: made[0].tell(made[1][rows], rewards),
            lambda: {"rewards": np.array([0.0, 1.0, 0.0, 0.0]), "rows": np.arange(_N)},
            asked,
            of_asked,
        ),
        f"{kind}.tell decisions": Call(
            lambda made, decisions: made[0].tell(
                made[1] if decisions is None else decisions, np.zeros(_N)
            ),
            lambda: {"decisions": None},
            asked,
            of_asked,
        ),
        f"{kind}.expire": Call(
            lambda made, older_than: made[0].expire(older_than=older_than),
            lambda: {"older_than": 1000.0},
            asked,
            of_asked,
        ),
        f"{kind}.learn": Call(
            lambda one, rounds, exploration: one.learn(
                _decided(one) if rounds is None else rounds,
                one.exploration if exploration is None else exploration,
            ),
            lambda: {"rounds": None, "exploration": None},
            learner,
            _learner_state,
        ),
    }


def _constructor(kind: str) -> Call:
    numbers: dict[str, Any] = {"rounds": 100}
    if kind in ("LowVarianceExploration", "LogBarrier", "ListWeights"):
        numbers = {"explore_rounds": 20, "estimate_rounds": 50, "stop": "planned"}
    if kind == "ListWeights":
        numbers |= {"list_size": 2, "learning_rate": 1.0}
    if kind in ("Exp4", "EpsilonGreedy", "Sieve", "LogBarrier", "ListWeights"):
        numbers |= {"mixing": 0.5}
    if kind in ("Sieve", "PolicyElimination"):
        numbers |= {"memory_limit": 1000}
    if kind == "ExplorationByOptimization":
        numbers |= {"information_weight": 10.0, "rewards": "binary", "output": "erm"}
    learner: Any = LEARNERS[kind]
    return Call(
        lambda _, policies, problem, **others: learner(policies, problem, **others),
        lambda: {"policies": _table(), "problem": _problem(), "rng": 0, **numbers},
    )


CALLS: dict[str, Call] = {
    "Problem": Call(
        lambda _, **asked: ps.Problem(**asked),
        lambda: {"n_actions": _K, "slate_size": 1, "sparsity": 1.0, "epsilon": 0.1, "delta": 0.1},
    ),
    "Problem and plan": Call(
        lambda _, **asked: ps.plan(ps.Problem(**asked), 10).explain(),
        lambda: {"n_actions": _K, "slate_size": 1, "sparsity": 1.0, "epsilon": 0.1, "delta": 0.1},
    ),
    "plan": Call(
        lambda _, problem, n_policies: ps.plan(problem, n_policies).explain(),
        lambda: {"problem": _problem(), "n_policies": 10},
    ),
    "plan of a logarithm": Call(
        lambda _, size, sampled: ps.plan(_problem(), log_n_policies=size, sampled=sampled),
        lambda: {"size": 10.0, "sampled": False},
    ),
    "Log": Call(
        lambda _, **columns: ps.Log(**columns),
        lambda: {**_columns(), "distributions": np.full((_N, _K), 1 / _K)},
    ),
    "Log of features": Call(
        lambda _, **columns: ps.Log(**columns), lambda: {**_columns(), "contexts": _features()}
    ),
    "Log.append": Call(
        lambda log, **columns: log.append(**columns),
        _columns,
        lambda: ps.Log(**_columns()),
        _log_state,
    ),
    "Log.extend": Call(
        lambda log, other: log.extend(other), lambda: {"other": _log()}, _log, _log_state
    ),
    "Log.load": Call(lambda _, log: ps.Log.load(log), lambda: {"log": CSV}),
    "LogFile": Call(
        lambda _, paths, **how: list(ps.LogFile(paths, **how).rounds()),
        lambda: {
            "paths": CSV,
            "format": "csv",
            "reward_range": (0.0, 1.0),
            "missing_reward": 0.0,
            "max_bytes": 1 << 20,
        },
    ),
    "check_log": Call(
        lambda _, log, **how: ps.check_log(log, **how),
        lambda: {"log": _log(), "n_actions": _K, "delta": 0.05},
    ),
    "select": Call(
        lambda _, log, policies, problem, **how: ps.select(log, policies, problem, **how),
        lambda: {
            "log": _log(),
            "policies": _table(),
            "problem": _problem(),
            "method": None,
            "floor": 0.1,
            "exploration": None,
            "memory_limit": 1000,
        },
    ),
    "Evidence": Call(
        lambda _, policies, problem, log, exploration, memory_limit: ps.Evidence(
            policies, problem, memory_limit=memory_limit
        ).add(log, exploration),
        lambda: {
            "policies": _table(),
            "problem": _problem(),
            "log": _log(),
            "exploration": None,
            "memory_limit": 1000,
        },
    ),
    "FloorEvidence": Call(
        lambda _, policies, problem, log, floor, method: ps.FloorEvidence(
            policies, problem, method=method
        ).add(log, floor=floor),
        lambda: {
            "policies": _table(),
            "problem": _problem(),
            "log": _log(),
            "floor": 0.1,
            "method": "betting",
        },
    ),
    "design": Call(
        lambda _, log, policies, problem, **how: ps.design(log, policies, problem, **how),
        lambda: {
            "log": _log(),
            "policies": _table(),
            "problem": _problem(),
            "mixing": 0.5,
            "sampled": False,
            "rng": 0,
        },
    ),
    "run": Call(
        lambda _, learner, world, **how: ps.run(learner, world, progress=False, **how),
        lambda: {
            "learner": _learner("Uniform"),
            "world": _world(),
            "max_rounds": 20,
            "batch_size": 10,
            "checkpoints": 2,
            "rng": 0,
        },
    ),
    "PolicyTable": Call(
        lambda _, actions, n_actions: ps.PolicyTable(actions, n_actions),
        lambda: {"actions": np.zeros((4, 3), dtype=int), "n_actions": _K},
    ),
    "PolicyTable.actions": Call(
        lambda _, contexts, which: _table().actions(contexts, which),
        lambda: {"contexts": np.array([0, 1]), "which": np.array([0, 2])},
    ),
    "FunctionPolicies": Call(
        lambda _, contexts, functions, **how: ps.FunctionPolicies(functions, **how).actions(
            contexts
        ),
        lambda: {
            "contexts": _features(),
            "functions": [lambda x: np.zeros(len(x), dtype=int)],
            "n_actions": _K,
            "slate_size": 1,
            "vectorized": True,
        },
    ),
    "EstimatorPolicies": Call(
        lambda _, contexts, models, **how: ps.EstimatorPolicies(models, **how).actions(contexts),
        lambda: {
            "contexts": _features(),
            "models": [_model()],
            "n_actions": _K,
            "slate_size": 1,
        },
    ),
    "LinearPolicies": Call(
        lambda _, contexts, weights, slate_size: ps.LinearPolicies(
            weights, slate_size=slate_size
        ).actions(contexts),
        lambda: {"contexts": _features(), "weights": np.ones((2, _K, 2)), "slate_size": 1},
    ),
    "TabularPolicies.best": Call(
        lambda _, n_contexts, n_actions, contexts, actions, weights: ps.TabularPolicies(
            n_contexts=n_contexts, n_actions=n_actions
        ).best(contexts, actions, weights),
        lambda: {
            "n_contexts": 6,
            "n_actions": _K,
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
            "rows": _features(),
            "n_actions": _K,
            "depth": 1,
            "n_bins": 4,
            "contexts": _features()[:2],
            "actions": np.array([0, 1]),
            "weights": np.array([0.5, 2.0]),
        },
    ),
    "StumpPolicies": Call(
        lambda _, rows, contexts, **how: ps.StumpPolicies(rows, **how).answers(contexts),
        lambda: {"rows": _features(), "contexts": _features(), "n_actions": _K, "n_bins": 4},
    ),
    "OraclePolicies": Call(
        lambda _, estimator, contexts, **how: ps.OraclePolicies(estimator, **how).best(
            contexts, np.array([0, 1, 2, 0]), np.ones(_N)
        ),
        lambda: {
            "estimator": LogisticRegression(),
            "contexts": _features(),
            "n_actions": _K,
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
            "policies": _table(),
            "shares": np.full(5, 0.2),
            "contexts": np.array([0, 1]),
        },
    ),
    "natarajan_cover": Call(
        lambda _, hypotheses, contexts, problem, **how: ps.natarajan_cover(
            hypotheses, contexts, problem, **how
        ),
        lambda: {
            "hypotheses": _table(),
            "contexts": np.arange(200) % 6,
            "problem": _problem(),
            "dimension": None,
            "delta0": 0.05,
            "rng": 0,
        },
    ),
    "Exploration.choose": Call(
        lambda _, contexts, uniforms: _learner("Uniform").exploration.choose(contexts, uniforms),
        lambda: {"contexts": np.array([0, 1]), "uniforms": np.full((2, 1), 0.5)},
    ),
    "Exploration.ask": Call(
        lambda _, contexts, rng: _learner("Sieve").exploration.ask(contexts, rng=rng),
        lambda: {"contexts": np.array([0, 1]), "rng": 0},
    ),
    "Exploration.propensities": Call(
        lambda _, contexts: _learner("Sieve").exploration.propensities(contexts),
        lambda: {"contexts": np.array([0, 1])},
    ),
    "Exploration.load": Call(
        lambda _, path, policies: ps.Exploration.load(path, policies),
        lambda: {"path": CSV, "policies": _table()},
    ),
    "SparseSynthetic": Call(
        lambda _, **how: ps.worlds.SparseSynthetic(**how),
        lambda: {
            "n_actions": _K,
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
            "rows": _features(),
            "y": np.array([0, 1, 2, 0]),
            "n_actions": _K,
            "contexts": "features",
        },
    ),
    "Multilabel": Call(
        lambda _, rows, right, slate_size, **how: ps.worlds.Multilabel(
            rows, right, slate_size, **how
        ),
        lambda: {
            "rows": _features(),
            "right": np.eye(4, 3),
            "slate_size": 1,
            "sparsity": 1.0,
            "contexts": "features",
        },
    ),
    "RareContext": Call(
        lambda _, **how: ps.worlds.RareContext(**how),
        lambda: {"n_actions": _K, "epsilon": 0.1, "rng": 0},
    ),
    "HiddenArm": Call(
        lambda _, **how: ps.worlds.HiddenArm(**how),
        lambda: {"n_actions": _K, "slate_size": 1, "sparsity": 2, "epsilon": 0.1, "rng": 0},
    ),
    "Replay": Call(
        lambda _, log, **how: ps.worlds.Replay(log, **how),
        lambda: {"log": _log(), "n_actions": _K, "sparsity": 1.0, "floor": 0.1},
    ),
    "World.draw": Call(
        lambda world, n, rng: world.draw(n, rng), lambda: {"n": 5, "rng": 0}, _world
    ),
    "World.values": Call(
        lambda world, policies: world.values(policies), lambda: {"policies": _table()}, _world
    ),
    "Draw.rewards": Call(
        lambda draw, actions: draw.rewards(actions),
        lambda: {"actions": np.array([0, 1, 2, 0])},
        lambda: _world().draw(_N, 0),
    ),
    "BanditClassifier": Call(
        lambda _, rows, **how: ps.BanditClassifier(**how).ask(rows),
        lambda: {
            "rows": _features(),
            "classes": ["a", "b", "c"],
            "prior_variance": 20.0,
            "mixing": 0.1,
            "random_state": 0,
        },
    ),
    "BanditListClassifier": Call(
        lambda _, rows, **how: ps.BanditListClassifier(**how).ask(rows),
        lambda: {
            "rows": _features(),
            "classes": ["a", "b", "c"],
            "list_size": 2,
            "prior_variance": 20.0,
            "mixing": 0.1,
            "random_state": 0,
        },
    ),
    "BanditClassifier.fit": Call(
        lambda made, rows, y: made[0].fit(rows, y),
        lambda: {"rows": _features(), "y": np.array(["a", "b", "c", "a"])},
        lambda: _classifier(False),
        _classifier_state,
    ),
    "BanditClassifier.ask": Call(
        lambda made, rows: made[0].ask(rows),
        lambda: {"rows": _features()},
        lambda: _classifier(True),
        _classifier_state,
    ),
    "BanditClassifier.tell": Call(
        lambda made, rewards: made[0].tell(made[1], rewards),
        lambda: {"rewards": np.array([0.0, 1.0, 0.0, 0.0])},
        lambda: _classifier(True),
        _classifier_state,
    ),
    "BanditClassifier.predict": Call(
        lambda made, rows: made[0].predict(rows),
        lambda: {"rows": _features()},
        lambda: _classifier(True),
        _classifier_state,
    ),
    "BanditClassifier.accuracy": Call(
        lambda made, model, since, delta: made[0].accuracy(model, since=since, delta=delta),
        lambda: {"model": None, "since": 0, "delta": 0.05},
        lambda: _classifier(True),
        _classifier_state,
    ),
    "theory.dec": Call(
        lambda _, means, gamma, sparsity: ps.theory.dec(means, gamma, sparsity),
        lambda: {"means": np.array([0.2, 0.3, 0.5]), "gamma": 96.0, "sparsity": 1.0},
    ),
    "theory.rounds_uniform": Call(
        lambda _, problem, size: ps.theory.rounds_uniform(problem, size),
        lambda: {"problem": _problem(), "size": 5.0},
    ),
    **{kind: _constructor(kind) for kind in LEARNERS},
    **{name: call for kind in LEARNERS for name, call in _method(kind).items()},
}
"""The public functions, by their names."""
