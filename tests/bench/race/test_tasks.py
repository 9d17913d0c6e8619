"""The tasks of the race."""

import numpy as np
import pytest

from policysieve.bench.race import tasks
from policysieve.bench.race.tasks import TASKS
from tests.datasets import needs_dataset


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if not task.fixed])
def test_made_up(name, monkeypatch):
    """Policies that fit the world, some within epsilon of the best, and another one by seed."""
    monkeypatch.setattr(tasks, "N_POLICIES", 40)
    monkeypatch.setattr(tasks, "_CONTEXTS", 60)
    task, found = TASKS[name], []
    for seed in (0, 1):
        world, policies = task.build(seed)
        policies.check_fits(world.problem(epsilon=task.epsilon, delta=0.05))
        values = world.values(policies)
        right = values >= values.max() - task.epsilon
        assert 0 < right.sum() < len(values)
        found.append(values)
    assert (found[0] != found[1]).any()


def test_epsilon_grows_with_what_a_round_can_earn():
    assert {name for name, task in TASKS.items() if task.epsilon != 0.05} == {
        "yeast",
        "tags_100",
        "rankers_50",
    }


def test_names_are_the_keys():
    assert all(task.name == name and task.summary for name, task in TASKS.items())


def test_a_data_set_is_split_into_training_rows_and_the_world(monkeypatch, tmp_path):
    data = needs_dataset("digits")
    monkeypatch.setenv("POLICYSIEVE_CACHE", str(tmp_path))
    monkeypatch.setattr(tasks, "N_POLICIES", 4)
    monkeypatch.setattr(tasks, "load_dataset", lambda name: data)
    monkeypatch.setattr(tasks, "_MOST_WORLD_ROWS", 150)
    world, policies = TASKS["digits"].build(0)
    assert (policies.n_policies, policies.n_contexts, policies.n_actions) == (4, 150, 10)
    right = policies.actions(np.arange(150))[:, :, 0] == data.y[600:750, None]
    np.testing.assert_allclose(world.values(policies), right.mean(axis=0))
    assert right.mean() > 0.3
    np.testing.assert_array_equal(TASKS["digits"].build(7)[1].table, policies.table)
