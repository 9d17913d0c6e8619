"""Policies that are fitted classifiers."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.checks import as_contexts
from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame, check_columns, own_copy
from policysieve.naming import named_parts, number_of
from policysieve.policies.answered import mended
from policysieve.policies.base import Policies, top_actions
from policysieve.policies.restricting import best_available

__all__ = ["EstimatorPolicies"]

Frames = dict[tuple[str, ...] | None, Any]
"""Contexts as data frames by their columns: many models share one."""


class EstimatorPolicies(Policies):
    """Fitted models as policies: their classes are actions, by number or by name.

    Parameters
    ----------
    models : sequence of fitted estimators, or dict of them by name
        For single actions anything with ``predict``. For slates, and for single actions without
        ``predict``, anything with ``classes_`` and ``predict_proba`` or ``decision_function``: the
        m classes with the largest scores are shown, classes the model has never seen come last, in
        order. Models that were fitted on data frames get the columns that they know, by name, in
        the order that they know.
    n_actions : int
        Number K of actions; labels are 0, ..., K-1. May be left out where they are named.
    slate_size : int
        Number m of actions shown.
    names : sequence of str, optional
        Names of the models.
    actions : sequence of str, optional
        Names of the actions, which may be the models' labels, in the order of their numbers.
    fallback : sequence of actions, optional
        What takes the place of actions that are not available, the first choice first, by number
        or name; for models without scores. Others show their best available ones, and keep to
        ``predict`` where what that says is available.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> short = SimpleNamespace(predict=lambda rows: ["hats"] * len(rows))
    >>> policies = EstimatorPolicies({"short": short}, actions=["shoes", "hats"])
    >>> policies.actions([[1.0], [2.0]], which=["short"])[:, :, 0].tolist()
    [[1], [1]]
    """

    called = True

    def __init__(
        self,
        models: Sequence[Any] | Mapping[str, Any],
        n_actions: int | None = None,
        *,
        slate_size: int = 1,
        names: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
        fallback: Sequence[int | str] | None = None,
    ) -> None:
        if hasattr(models, "predict"):
            raise InvalidArgumentError(
                f"models must be a sequence of models, got one {type(models).__name__}"
            )
        self.models, known = named_parts("models", models, "a sequence of models", names)
        if actions is None and (labels := _string_labels(self.models)):
            raise InvalidArgumentError(
                f"models predict names of actions, such as {labels[0]!r}; say which there are and "
                f"in which order: {mended(type(self).__name__, labels)}"
            )
        super().__init__(
            n_policies=len(self.models),
            n_actions=n_actions,
            slate_size=slate_size,
            names=known,
            actions=actions,
            fallback=fallback,
        )
        for index, model in enumerate(self.models):
            scores = _has_scores(model)
            name = f"model {index if self.names is None else repr(self.names[index])}"
            if slate_size == 1 and not (scores or hasattr(model, "predict")):
                raise InvalidArgumentError(
                    "models must have predict, or be fitted and have predict_proba, "
                    f"{name} is a {type(model).__name__}"
                )
            for one in _string_labels([model]):
                number_of(f"the label of {name}", one, self.action_names)
            label = _outside(model, self.n_actions)
            if label is not None:
                raise InvalidArgumentError(
                    f"models must have labels in [0, {self.n_actions - 1}], numbered from 0, or "
                    f"names of actions, {name} has {label}; fit it on names, such as "
                    "y.astype(str), and give them as actions=[...]"
                )
            if slate_size > 1 and not scores:
                raise InvalidArgumentError(
                    "models must be fitted and have predict_proba or decision_function for slates, "
                    f"{name} is a {type(model).__name__}"
                )

    def __getstate__(self) -> dict[str, Any]:
        self._check_pickles("model", self.models)
        return self.__dict__

    def part(self, numbers: npt.NDArray[np.intp]) -> Self:
        """Some of the models."""
        return self._like(numbers, models=[self.models[p] for p in numbers.tolist()])

    def check_contexts(self, contexts: Any) -> Any:
        """Return the contexts as rows of a table, or an array of feature rows or strings."""
        x = as_contexts(contexts)
        if isinstance(x, ContextFrame):
            if not x.dtype.is_sparse:
                self._check_columns(x.dtype.names)
            return x
        if x.ndim == 1 and x.dtype != object:
            raise InvalidArgumentError(
                f"contexts must be feature rows of shape (n, n_features), got shape {x.shape}; for "
                "one context pass x[None, :]"
            )
        return x

    def checked(self, answer: Any, n: int) -> npt.NDArray[Any]:
        """What the first model predicted for n contexts as slates, shape (n, m), or raise."""
        return self._checked_slates(0, answer, n)

    @cached_property
    def _columns(self) -> list[tuple[str, ...] | None]:
        """For each model the columns that it was fitted on, in order; None if it does not say."""
        found = [getattr(model, "feature_names_in_", None) for model in self.models]
        return [None if names is None else tuple(map(str, names)) for names in found]

    def _columns_in(self, names: tuple[str, ...], policy: int) -> tuple[str, ...] | None:
        """The columns that a model was fitted on, as they are called in a table.

        LightGBM takes a column by its name, and says afterwards that it has underscores for spaces.
        """
        columns = self._columns[policy]
        if columns is None or not hasattr(self.models[policy], "feature_name_"):
            return columns
        spaced = {name.replace(" ", "_"): name for name in names}
        return tuple(name if name in names else spaced.get(name, name) for name in columns)

    def _check_columns(self, names: tuple[str, ...]) -> None:
        """Raise unless a table has what the models were fitted on, and nothing else."""
        for i, (model, columns) in enumerate(zip(self.models, self._columns, strict=True)):
            if columns is None and hasattr(model, "n_features_in_"):
                raise InvalidArgumentError(
                    f"contexts must be an array for {self.name_of(i)}, a {type(model).__name__} "
                    "that was fitted on one and does not know columns by name; fit it on a data "
                    "frame, or pass contexts[columns].to_numpy()"
                )
        found = [self._columns_in(names, i) for i in range(len(self.models))]
        known = [columns for columns in found if columns is not None]
        fitted_on = list(dict.fromkeys(name for columns in known for name in columns))
        allowed = fitted_on if len(known) == len(self.models) else None
        check_columns("contexts", names, needed=fitted_on, allowed=allowed)

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        frames: Frames = {}

        def answer(policy: int) -> Any:
            rows = self._rows_for(policy, contexts, frames)
            if self.slate_size == 1 and hasattr(self.models[policy], "predict"):
                return self.models[policy].predict(rows)
            return top_actions(self._scores(policy, rows), self.slate_size)

        return self._ask_each(which, len(contexts), answer)

    def _evaluate_among(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        if self.slate_size == 1:  # predict has the first word, which need not be the largest score
            return super()._evaluate_among(contexts, which, available)
        frames: Frames = {}
        mask = available.dense()

        def answer(policy: int) -> Any:
            rows = self._rows_for(policy, contexts, frames)
            return self._best_available(policy, rows, mask)

        return self._ask_each(which, len(contexts), answer)

    def _mended(
        self,
        contexts: Any,
        which: npt.NDArray[np.intp] | None,
        slates: npt.NDArray[Any],
        available: Available,
    ) -> npt.NDArray[Any]:
        """Best available ones by scores, of models that have them, where they must be others."""
        mask, found = available.dense(), slates.copy()
        everyone = np.arange(self.n_policies) if which is None else which
        for column, policy in enumerate(everyone.tolist()):
            said = slates[:, column].astype(np.intp)
            stuck = np.flatnonzero(~available.has(said).all(axis=1))
            if not len(stuck) or not _has_scores(self.models[policy]):
                continue
            rows = self._rows_for(policy, contexts[stuck], {})
            best = partial(self._best_available, contexts=rows, mask=mask[stuck])
            found[stuck, column] = self._answer_of(policy, best, len(stuck), 1)
        return super()._mended(contexts, which, found, available)

    def _best_available(
        self, policy: int, contexts: Any, mask: npt.NDArray[np.bool_]
    ) -> npt.NDArray[Any]:
        """The best available actions by the scores of a model, shape (n, slate_size)."""
        scores = self._scores(policy, contexts)[:, None]
        return best_available(scores, mask, self.slate_size, np.int64)[:, 0]

    def _rows_for(self, policy: int, contexts: Any, frames: "Frames") -> Any:
        """The contexts as a model takes them; `frames` has those of other models."""
        if not isinstance(contexts, ContextFrame):
            return contexts
        sparse, names = contexts.dtype.is_sparse, contexts.dtype.names
        columns = None if sparse else self._columns_in(names, policy)
        if columns not in frames:
            named = None if columns is None else contexts.select(columns).frame()
            frames[columns] = contexts.native() if named is None else named
        return own_copy(frames[columns])

    def _scores(self, policy: int, contexts: Any) -> npt.NDArray[Any]:
        """The model's scores spread over all K actions, minus infinity where it knows none."""
        model = self.models[policy]
        method = getattr(model, "predict_proba", None) or model.decision_function
        known = np.asarray(method(contexts), dtype=np.float64)
        if known.ndim == 1:  # decision_function of a two-class model
            known = np.stack([-known, known], axis=1)
        if not np.isfinite(known).all():
            raise self._failure(policy, "returned scores that are not finite")
        classes = self._checked_classes(policy, model.classes_, known.shape[1])
        scores = np.full((len(known), self.n_actions), -np.inf)
        scores[:, classes] = known
        return scores

    def _checked_classes(self, policy: int, classes: Any, n_columns: int) -> npt.NDArray[np.intp]:
        labels = np.asarray(classes)
        names = labels.dtype.kind in "UTO"
        if names:
            labels = self._numbered(policy, labels, what="its class")
        if labels.shape != (n_columns,) or labels.dtype.kind not in "iuf":
            raise self._failure(
                policy, f"must have one whole-number class per score, got {labels!r}"
            )
        ordered = np.sort(labels) if names else labels  # names need not be numbered in order
        if not np.array_equal(ordered, np.unique(np.floor(labels))):
            raise self._failure(
                policy, f"must have different whole-number classes in order, got {labels!r}"
            )
        if labels.min() < 0 or labels.max() >= self.n_actions:
            raise self._failure(
                policy, f"has classes outside [0, {self.n_actions - 1}]: {labels!r}"
            )
        return labels.astype(np.intp)


def _has_scores(model: Any) -> bool:
    """Whether a model ranks its classes."""
    scores = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    return scores and hasattr(model, "classes_")


def _outside(model: Any, n_actions: int) -> int | None:
    """A label of a model that is the number of no action; None if there is none, or no labels."""
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, np.ndarray) or classes.dtype.kind not in "iu":
        return None
    outside = classes[(classes < 0) | (classes >= n_actions)]
    return int(outside[0]) if len(outside) else None


def _string_labels(models: Sequence[Any]) -> list[str]:
    """All strings among the classes of models, sorted."""
    found: set[str] = set()
    for model in models:
        classes = getattr(model, "classes_", ())
        if isinstance(classes, Sequence | np.ndarray) and not isinstance(classes, str):
            found.update(str(label) for label in classes if isinstance(label, str))
    return sorted(found)
