"""Features in, right or wrong back: classifiers that learn from answers to what they showed."""

from importlib.util import find_spec

from policysieve.errors import MissingExtraError

if find_spec("sklearn") is None:
    raise MissingExtraError("BanditClassifier", "scikit-learn", "sklearn")

from policysieve.classify.classifier import BanditClassifier
from policysieve.classify.labels import LabelDecisions
from policysieve.classify.lists import BanditListClassifier

__all__ = ["BanditClassifier", "BanditListClassifier", "LabelDecisions"]
