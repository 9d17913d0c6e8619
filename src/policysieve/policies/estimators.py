"""Policies that are fitted classifiers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_list
from policysieve.checks import as_contexts
from policysieve.errors import InvalidArgumentError, PolicyFailureError
from policysieve.policies.base import Policies, top_actions

__all__ = ["EstimatorPolicies"]


class EstimatorPolicies(Policies):
    """Fitted models as policies: their classes are action numbers.

    Parameters
    ----------
    models : sequence of fitted estimators
        For single actions anything with ``predict``. For slates anything with ``classes_`` and
        ``predict_proba`` or ``decision_function``: the m classes with the largest scores are
        shown, classes the model has never seen come last, in order.
    n_actions : int
        Number K of actions; labels are 0, ..., K-1.
    slate_size : int
        Number m of actions shown.
    """

    def __init__(self, models: Sequence[Any], n_actions: int, *, slate_size: int = 1) -> None:
        if hasattr(models, "predict"):
            raise InvalidArgumentError(
                f"models must be a sequence of models, got one {type(models).__name__}"
            )
        self.models = as_list("models", models, "a sequence of models")
        super().__init__(n_policies=len(self.models), n_actions=n_actions, slate_size=slate_size)
        for index, model in enumerate(self.models):
            scores = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
            if slate_size == 1 and not hasattr(model, "predict"):
                raise InvalidArgumentError(
                    f"models must have predict, model {index} is a {type(model).__name__}"
                )
            if slate_size > 1 and not (scores and hasattr(model, "classes_")):
                raise InvalidArgumentError(
                    "models must be fitted and have predict_proba or decision_function for slates, "
                    f"model {index} is a {type(model).__name__}"
                )

    def __getstate__(self) -> dict[str, Any]:
        self._check_pickles("model", self.models)
        return self.__dict__

    def check_contexts(self, contexts: Any) -> npt.NDArray[Any]:
        """Return the contexts as an array: feature rows, or strings, or raise."""
        x = as_contexts(contexts)
        if x.ndim == 1 and x.dtype != object:
            raise InvalidArgumentError(
                f"contexts must be feature rows of shape (n, n_features), got shape {x.shape}; for "
                "one context pass x[None, :]"
            )
        return x

    def checked(self, answer: Any, n: int) -> npt.NDArray[Any]:
        """What the first model predicted for n contexts as slates, shape (n, m), or raise."""
        return self._checked_slates(0, answer, n)

    def _evaluate(
        self, contexts: npt.NDArray[Any], which: npt.NDArray[np.intp] | None
    ) -> npt.NDArray[Any]:
        def answer(policy: int) -> Any:
            if self.slate_size == 1:
                return self.models[policy].predict(contexts)
            return top_actions(self._scores(policy, contexts), self.slate_size)

        return self._ask_each(which, len(contexts), answer)

    def _scores(self, policy: int, contexts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The model's scores spread over all K actions, minus infinity where it knows none."""
        model = self.models[policy]
        method = getattr(model, "predict_proba", None) or model.decision_function
        known = np.asarray(method(contexts), dtype=np.float64)
        if known.ndim == 1:  # decision_function of a two-class model
            known = np.stack([-known, known], axis=1)
        if not np.isfinite(known).all():
            raise PolicyFailureError(policy, "returned scores that are not finite")
        classes = self._checked_classes(policy, model.classes_, known.shape[1])
        scores = np.full((len(known), self.n_actions), -np.inf)
        scores[:, classes] = known
        return scores

    def _checked_classes(self, policy: int, classes: Any, n_columns: int) -> npt.NDArray[np.intp]:
        labels = np.asarray(classes)
        if labels.shape != (n_columns,) or labels.dtype.kind not in "iuf":
            raise PolicyFailureError(
                policy, f"must have one whole-number class per score, got {labels!r}"
            )
        if not np.array_equal(labels, np.unique(np.floor(labels))):
            raise PolicyFailureError(
                policy, f"must have different whole-number classes in order, got {labels!r}"
            )
        if labels.min() < 0 or labels.max() >= self.n_actions:
            raise PolicyFailureError(
                policy, f"has classes outside [0, {self.n_actions - 1}]: {labels!r}"
            )
        return labels.astype(np.intp)
