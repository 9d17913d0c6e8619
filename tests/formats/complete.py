"""A log with all that there can be beside its rounds."""

import numpy as np

from policysieve.log import Log


def log_of(m=1, *, names=None, **more):
    """Four rounds of six actions with all that there can be beside them."""
    actions = np.array([[0, 1], [1, 5], [2, 0], [3, 4]])[:, :m]
    mask = np.ones((4, 6), bool)
    mask[[0, 1], [3, 2]] = False
    columns = {
        "contexts": np.arange(8.0).reshape(4, 2),
        "actions": actions,
        "propensities": np.full((4, m), 0.25),
        "rewards": np.array([[1, 0], [0, 0], [1, 1], [0, 0]])[:, :m],
        "available": mask,
        "units": ["a", "b, b", "a", '"c" ü'],
        "outcomes": {"sale": np.array([[9.5, -1], [np.nan, 0], [0, np.nan], [1, 2]])[:, :m]},
        "action_names": names,
        **more,
    }
    return Log(**columns)
