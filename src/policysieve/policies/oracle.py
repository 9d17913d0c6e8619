"""Whatever a classifier can be fitted to: a class known only by its weighted fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.checks import as_array, integer, log_of_size
from policysieve.errors import InvalidArgumentError, MissingExtraError
from policysieve.policies.estimators import EstimatorPolicies
from policysieve.policies.implicit import (
    Array,
    ClassWeights,
    ConstantPolicy,
    ImplicitPolicies,
    Policy,
)
from policysieve.policies.table import row_numbers

__all__ = ["FittedPolicy", "OraclePolicies"]


class OraclePolicies(ImplicitPolicies):
    """The policies that a scikit-learn classifier can become.

    The best one for weighted events is searched for by one fit with sample weights, so it is not
    exact: nothing can be certified. Designs are mixtures of several fits
    (docs/maths.md, "Oracles").

    Parameters
    ----------
    estimator : classifier
        Not fitted; it is cloned. Anything whose ``fit`` takes ``sample_weight``, also a Pipeline
        whose last step does. Contexts may then be feature rows, or strings with a Pipeline that
        starts with a vectorizer.
    n_actions : int
        Labels are 0, ..., n_actions - 1.
    log_size : float, optional
        ln|Pi|, or an upper bound on it, of a finite class fixed before the data that every fit
        stays in. It cannot be computed; without it intervals hold for no policy chosen by data.
    features : matrix of shape (n_contexts, n_features), optional
        Dense, or sparse as scipy has them. Contexts are then numbers of its rows.
    fits : int
        How many fits make a design.
    actions : sequence of str, optional
        Names of the actions, in place of their number.
    """

    exact = False
    hedged = False

    def __init__(
        self,
        estimator: Any,
        *,
        n_actions: int | None = None,
        log_size: float | None = None,
        features: Any = None,
        fits: int = 12,
        actions: Sequence[str] | None = None,
    ) -> None:
        super().__init__(n_actions=n_actions, actions=actions)
        if isinstance(estimator, type) or not (
            hasattr(estimator, "fit") and hasattr(estimator, "predict")
        ):
            raise InvalidArgumentError(
                "estimator must be a classifier, an object with fit and predict, got "
                f"{shown(estimator)}"
            )
        if not _takes_sample_weight(estimator):
            raise InvalidArgumentError(
                f"estimator must take sample_weight in fit, {type(estimator).__name__} does not"
            )
        self.estimator = estimator
        self.features = features.tocsr() if hasattr(features, "tocsr") else features
        if self.features is not None and len(getattr(self.features, "shape", ())) != 2:
            raise InvalidArgumentError(
                "features must be a matrix of shape (n_contexts, n_features), got "
                f"{type(features).__name__}"
            )
        self.fits = integer("fits", fits, low=1)
        self._log_size = None if log_size is None else log_of_size("log_size", log_size)

    @property
    def n_contexts(self) -> int | None:
        """Rows of the features, if they were given."""
        return None if self.features is None else int(self.features.shape[0])

    @property
    def log_size(self) -> float | None:
        """As it was given."""
        return self._log_size

    def check_contexts(self, contexts: Any) -> npt.NDArray[Any]:
        """Return the contexts as feature rows, strings or row numbers, or raise."""
        if self.features is not None:
            return row_numbers(contexts, self.features.shape[0], of="the features")
        if hasattr(contexts, "tocsr"):
            raise InvalidArgumentError(
                "contexts must be dense; for a sparse matrix X make OraclePolicies(estimator, "
                "n_actions=..., features=X) and pass row numbers"
            )
        x = as_array(contexts)
        if x.ndim != 2 and x.dtype != object:
            raise InvalidArgumentError(
                f"contexts must be feature rows of shape (n, n_features) or strings, got shape "
                f"{x.shape}; row numbers go with features="
            )
        return x

    def __getstate__(self) -> dict[str, Any]:
        self._check_pickles("estimator", [self.estimator])
        return self.__dict__

    def start_weights(self) -> ClassWeights:
        """There are none: a class known by fits has no marginals."""
        raise InvalidArgumentError(
            "OraclePolicies cannot be hedged over; LowVarianceExploration and Uniform take it"
        )

    def __repr__(self) -> str:
        return f"OraclePolicies({type(self.estimator).__name__}, n_actions={self.n_actions})"

    def _best(
        self, contexts: npt.NDArray[Any], actions: npt.NDArray[np.int64], weights: Array
    ) -> Policy:
        """One weighted fit, or the only action that has weight."""
        counts = weights > 0
        labels = np.unique(actions[counts])
        if len(labels) < 2:
            return ConstantPolicy(int(labels[0]) if len(labels) else 0)
        try:
            from sklearn.base import clone
        except ImportError as error:
            raise MissingExtraError("OraclePolicies", "scikit-learn", "sklearn") from error
        model = clone(self.estimator)
        name = "sample_weight"
        if hasattr(model, "steps"):
            name = f"{model.steps[-1][0]}__{name}"
        scaled = weights[counts] / weights[counts].mean()
        x = contexts[counts] if self.features is None else self.features[contexts[counts]]
        model.fit(x, actions[counts], **{name: scaled})
        return FittedPolicy(model, self.n_actions, self.features)


@dataclass(frozen=True, eq=False, repr=False)
class FittedPolicy(Policy):
    """What a fitted classifier predicts.

    Attributes
    ----------
    model : fitted classifier
    n_actions : int
    features : matrix or None
        Whose rows the contexts number, if they do.
    """

    model: Any
    n_actions: int
    features: Any = None

    def actions(self, contexts: Any) -> npt.NDArray[Any]:
        """The predicted action at each context, shape (n, 1)."""
        checks = EstimatorPolicies([self.model], self.n_actions)
        if self.features is None:
            return np.asarray(checks.actions(contexts)[:, 0])
        rows = row_numbers(contexts, self.features.shape[0], of="the features")
        return checks.checked(self.model.predict(self.features[rows]), len(rows))

    def __repr__(self) -> str:
        return f"FittedPolicy({type(self.model).__name__})"


def _takes_sample_weight(estimator: Any) -> bool:
    """Whether fit takes it, in the last step of a Pipeline, as far as its signature tells."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if not hasattr(last, "fit"):
        return False
    parameters = signature(last.fit).parameters
    rest = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
    return rest or "sample_weight" in parameters
