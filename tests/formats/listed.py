"""Rounds with full distributions, and what a row of each format looks like."""

import numpy as np

from policysieve.log import Distributions, Rounds

HOLDING = ("parquet", "csv", "jsonl", "dsjson")
LISTS = [[(0, 0.5), (2, 0.5)], [(1, 0.25), (3, 0.75)]]
ROUNDS = Rounds(
    np.array([17, 4]),
    np.array([[2], [1]], np.int32),
    np.array([[0.5], [0.25]]),
    np.array([[1.0], [0.0]]),
    distributions=Distributions.of(LISTS, 2),
)
HEADER = "context,action,propensity,reward,distribution\n"
ROW = {"context": 1, "actions": [2], "propensities": [0.5], "rewards": [1]}
DSJSON = {
    "_label_cost": -1.0,
    "_label_probability": 0.5,
    "_labelIndex": 2,
    "c": {"_multi": [{}] * 4},
}
