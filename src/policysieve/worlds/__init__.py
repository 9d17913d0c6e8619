"""Where rewards come from: worlds to learn in, most of them with known answers."""

from policysieve.worlds.availability import Availability
from policysieve.worlds.base import Draw, World
from policysieve.worlds.classification import Classification
from policysieve.worlds.datasets import Dataset, fetch_log, load_dataset
from policysieve.worlds.finite import FiniteWorld
from policysieve.worlds.lower_bounds import HiddenArm, RareContext
from policysieve.worlds.multilabel import Multilabel
from policysieve.worlds.pools import make_pool
from policysieve.worlds.replay import Replay
from policysieve.worlds.synthetic import SparseSynthetic

__all__ = [
    "Availability",
    "Classification",
    "Dataset",
    "Draw",
    "FiniteWorld",
    "HiddenArm",
    "Multilabel",
    "RareContext",
    "Replay",
    "SparseSynthetic",
    "World",
    "fetch_log",
    "load_dataset",
    "make_pool",
]
