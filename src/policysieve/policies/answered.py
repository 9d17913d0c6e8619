"""Whether what a policy has answered can be shown: the right shape, known actions, none twice."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.checks import repeated_items
from policysieve.errors import InvalidArgumentError, PolicyFailureError
from policysieve.naming import labels_of, looked_up
from policysieve.policies.policy_class import PolicyClass

__all__ = ["CheckedAnswers", "mended"]

_FEW = 20  # labels that an error lists


class CheckedAnswers(PolicyClass):
    """A class whose policies are code of others, so that what they answer is checked."""

    def _checked_slates(self, policy: int, answer: Any, n: int) -> npt.NDArray[Any]:
        """One policy's answer for n contexts as an (n, slate_size) array, or an error naming it."""
        try:
            slates = labels_of("answers", answer, "an array of actions")
        except InvalidArgumentError as error:
            raise self._failure(policy, f"returned no actions: {error}") from error
        if slates.ndim == 1 and self.slate_size == 1:
            slates = slates[:, None]
        if slates.shape != (n, self.slate_size):
            also = f" or ({n},)" if self.slate_size == 1 else ""
            raise self._failure(
                policy,
                f"must return actions of shape ({n}, {self.slate_size}){also}, got {slates.shape}",
            )
        slates = self._numbered(policy, slates)
        floats = slates.dtype.kind == "f" and np.array_equal(slates, np.floor(slates))
        if slates.size and not floats and slates.dtype.kind not in "iu":
            raise self._failure(
                policy,
                f"must return whole numbers or names of actions, got {slates.dtype} such as "
                f"{shown(slates.flat[0])}; number the labels from 0, or make them strings, and "
                "give all of them as actions=[...]",
            )
        if slates.size and (slates.min() < 0 or slates.max() >= self.n_actions):
            bad = slates[(slates < 0) | (slates >= self.n_actions)][0]
            number = int(bad) if np.isfinite(bad) else float(bad)
            raise self._failure(
                policy,
                f"returned action {shown(number)}, which is not in [0, {self.n_actions - 1}]; "
                "actions are numbered from 0",
            )
        if floats:
            slates = slates.astype(np.int64)  # many estimators predict whole numbers as floats
        twice = repeated_items(slates)
        if twice.any():
            row = int(np.flatnonzero(twice)[0])
            raise self._failure(
                policy, f"returned the slate {slates[row].tolist()}, whose items are not different"
            )
        return slates

    def _numbered(
        self, policy: int, labels: npt.NDArray[Any], what: str = "the label"
    ) -> npt.NDArray[Any]:
        """Names of actions that a policy has answered with as numbers, or an error naming it."""
        if labels.size and labels.dtype.kind in "biuf" and self._confusable is not None:
            number, name = self._confusable
            raise self._failure(
                policy,
                f"returned numbers, but {name!r} is the name of action {number}: return names, as "
                "strings, or name the actions otherwise",
            )
        if self.action_names is None and labels.dtype.kind in "UTO":
            found = sorted({label for label in labels.reshape(-1) if isinstance(label, str)})
            if found:
                raise self._failure(
                    policy,
                    f"returned names of actions, such as {shown(str(found[0]))}; say which there "
                    f"are and in which order: {mended(type(self).__name__, found)}",
                )
        try:
            return looked_up(what, labels, self.action_names)
        except InvalidArgumentError as error:
            raise self._failure(policy, f"has a label that is no action: {error}") from error

    @cached_property
    def _confusable(self) -> tuple[int, str] | None:
        """An action whose name is the number of another one; None if there is none."""
        for number, name in enumerate(self.action_names or ()):
            if name.isdecimal() and number != int(name) < self.n_actions:
                return number, name
        return None

    def _failure(self, policy: int, problem: str) -> PolicyFailureError:
        """The error of one policy, by its name if it has one."""
        name = None if self.names is None else self.names[policy]
        return PolicyFailureError(policy, problem, name)


def mended(kind: str, labels: Iterable[str]) -> str:
    """The call that would take models or functions with these labels."""
    listed = [str(label) for label in labels]
    few = ", ".join(map(repr, listed[:_FEW])) + (", ..." if len(listed) > _FEW else "")
    return f"{kind}(..., actions=[{few}])"
