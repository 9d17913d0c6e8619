"""The tasks of the race: made-up worlds, real data sets with real classifiers, hard instances."""

from functools import partial

from policysieve.bench.rounds import EPSILON, Made, Task
from policysieve.bench.texts import reduced_rows, word_rows
from policysieve.policies import EstimatorPolicies, PolicyTable
from policysieve.worlds import (
    Classification,
    HiddenArm,
    Multilabel,
    RareContext,
    SparseSynthetic,
    World,
    load_dataset,
)
from policysieve.worlds.pools import make_pool

__all__ = ["TASKS"]

N_POLICIES = 300
_CONTEXTS = 500  # of a made-up world
_TRAINING_ROWS = {"digits": 600, "yeast": 1200}
_MOST_TRAINING_ROWS = 1500
_MOST_WORLD_ROWS = 2000
_TEXT_FEATURES = 100


def _synthetic(
    profile: str,
    n_actions: int,
    seed: int,
    *,
    n_contexts: int = _CONTEXTS,
    slate_size: int = 1,
    sparsity: float = 1.0,
) -> Made:
    world = SparseSynthetic(
        n_actions=n_actions,
        n_contexts=n_contexts,
        n_policies=N_POLICIES,
        profile=profile,
        slate_size=slate_size,
        sparsity=sparsity,
        rng=seed,
    )
    return world, PolicyTable(world.pool, n_actions=n_actions)


def _rare_context(seed: int) -> Made:
    world = RareContext(n_actions=100, epsilon=EPSILON, rng=seed)
    return world, PolicyTable(world.pool, n_actions=100)


def _hidden_arm(seed: int) -> Made:
    world = HiddenArm(n_actions=100, sparsity=1.0, epsilon=EPSILON, rng=seed)
    return world, PolicyTable(world.pool, n_actions=100)


def _dataset(name: str, seed: int, *, slate_size: int = 1) -> Made:
    """Train a pool on the first rows; the world is made of later ones."""
    data = load_dataset(name)
    n_train = _TRAINING_ROWS.get(name, _MOST_TRAINING_ROWS)
    rest = slice(n_train, n_train + _MOST_WORLD_ROWS)
    features = data.X
    if data.is_text:
        rows = word_rows(data.X[: rest.stop], n_train)
        features = reduced_rows(rows, n_train, _TEXT_FEATURES)
    pool = make_pool(features[:n_train], data.y[:n_train], N_POLICIES, 0)
    k = data.n_classes
    slates = EstimatorPolicies(pool, n_actions=k, slate_size=slate_size).actions(features[rest])
    world: World
    if data.is_multilabel:
        world = Multilabel(None, data.y[rest], slate_size, contexts="rows")
    else:
        world = Classification(None, data.y[rest], n_actions=k, contexts="rows")
    return world, PolicyTable(slates, n_actions=k)


def _all_tasks() -> list[Task]:
    words = {
        "one_good": "one good policy among random ones",
        "close": "policies of close value",
        "clusters": "linear policies of different quality",
    }
    tasks = [
        Task(f"{profile}_{k}", f"{text}, {k:,} actions", partial(_synthetic, profile, k))
        for profile, text in words.items()
        for k in (10, 100, 1000)
    ]
    tasks += [
        Task(
            f"confusable_{k}",
            f"classifiers that confuse {k} labels",
            partial(_synthetic, "confusable", k, n_contexts=n),
        )
        for k, n in ((30, 4000), (100, 12_000))
    ]
    tasks += [
        Task(
            "rankers_50",
            "rankers that confuse 50 items, 2 of them right, slates of 3",
            partial(_synthetic, "confusable", 50, n_contexts=8000, slate_size=3, sparsity=2.0),
            epsilon=2 * EPSILON,
        )
    ]
    tasks += [
        Task(name, text, partial(_dataset, name), fixed=True)
        for name, text in {
            "digits": "handwritten digits, 10 classes",
            "pendigits": "pen strokes of digits, 10 classes",
            "letter": "letters in many fonts, 26 classes",
            "r52": "news stories, 52 subjects",
            "20newsgroups": "messages to 20 groups",
        }.items()
    ]
    tasks += [
        Task(
            "yeast",
            "functions of genes, 14 labels, slates of 3",
            partial(_dataset, "yeast", slate_size=3),
            fixed=True,
            epsilon=3 * EPSILON,
        ),
        Task(
            "tags_100",
            "3 right tags of 100, slates of 5",
            partial(_synthetic, "clusters", 100, slate_size=5, sparsity=3.0),
            epsilon=3 * EPSILON,
        ),
        Task("rare_context", "one right action of 100 at a rare context", _rare_context),
        Task("hidden_arm", "one of two arms among 100 is a little better", _hidden_arm),
    ]
    return tasks


TASKS = {task.name: task for task in _all_tasks()}
"""Every task by its name."""
