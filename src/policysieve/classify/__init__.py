"""Features in, right or wrong back: classifiers that learn from answers to what they showed."""

from policysieve.errors import MissingExtraError

try:
    import sklearn  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise MissingExtraError("BanditClassifier", "scikit-learn", "sklearn") from error

from policysieve.classify.classifier import BanditClassifier
from policysieve.classify.decisions import LabelDecisions
from policysieve.classify.lists import BanditListClassifier

__all__ = ["BanditClassifier", "BanditListClassifier", "LabelDecisions"]
