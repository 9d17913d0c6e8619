"""What an answer says about the labels: likelihoods of right and wrong, and their derivatives.

Each is a function of the logits z (n, K) of a stretch of rounds, the labels shown (n, m) and the
answers (n, m) in [0, 1]. It returns the negative log-likelihood and the chances of the labels
shown, its gradient in z (in place of z), and for `curvatures` the diagonal of its second
derivative, or 0 where that may be negative (docs/maths.md, "Learning from right and wrong").
"""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

__all__ = ["EXCLUSIVE", "INDEPENDENT", "Likelihood"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_TINY = 1e-12  # probabilities are kept so far from 0 and 1 in logarithms
_SMALL = 60.0  # logits up to here have powers that neither overflow nor vanish


class Likelihood(ABC):
    """How probable answers are, given the logits of all labels."""

    @abstractmethod
    def probabilities(self, z: Array) -> Array:
        """P(label is right) for every label, in place of the logits."""

    @abstractmethod
    def loss(self, z: Array, shown: Labels, answers: Array) -> tuple[float, Array]:
        """Sum over rounds of -ln P(answers), and P(right) of labels shown; z becomes gradient."""

    @abstractmethod
    def curvatures(self, z: Array, shown: Labels, answers: Array) -> Array:
        """Second derivative of the loss in each logit, shape (n, K), in place of z."""

    @abstractmethod
    def tells_of_all(self, answers: Array) -> npt.NDArray[np.bool_]:
        """Whether a round has curvature in all logits; others have p (1 - p) in those shown."""


class _Exclusive(Likelihood):
    """One label is right: p = softmax(z), and one is shown.

    -ln P(answer) = -r ln p_a - (1-r) ln(1-p_a): a wrong guess rules a label out.
    """

    def probabilities(self, z: Array) -> Array:
        z /= _powers(z)[:, None]
        return z

    def loss(self, z: Array, shown: Labels, answers: Array) -> tuple[float, Array]:
        rows, labels, r = np.arange(len(z)), shown[:, 0], answers[:, 0]
        totals = _powers(z)
        hit = z[rows, labels] / totals
        # Of single precision, what is left of a probability near one is rounding.
        miss = np.maximum(1 - hit, max(_TINY, np.finfo(z.dtype).eps))
        loss = -(r * np.log(np.maximum(hit, _TINY)) + (1 - r) * np.log(miss)).sum()
        # d/dz of -ln p_a is p - e_a, and that of -ln(1 - p_a) is -(p - e_a) p_a/(1 - p_a).
        pull = r - (1 - r) * hit / miss
        z *= (pull / totals)[:, None]
        z[rows, labels] -= pull
        return float(loss), hit[:, None]

    def curvatures(self, z: Array, shown: Labels, answers: Array) -> Array:
        """A right answer tells about all labels, a wrong one about the label shown."""
        p, rows, labels = self.probabilities(z), np.arange(len(z)), shown[:, 0]
        p *= 1 - p
        own = p[rows, labels]
        p *= answers
        p[rows, labels] = own
        return p

    def tells_of_all(self, answers: Array) -> npt.NDArray[np.bool_]:
        return answers[:, 0] > 0


class _Independent(Likelihood):
    """Any number of labels is right, each with p = sigmoid(z); answers tell about those shown."""

    def probabilities(self, z: Array) -> Array:
        # sigmoid(z) = (1 + tanh(z/2))/2, which cannot overflow.
        z *= 0.5
        np.tanh(z, out=z)
        z += 1
        z *= 0.5
        return z

    def loss(self, z: Array, shown: Labels, answers: Array) -> tuple[float, Array]:
        own = np.take_along_axis(z, shown, axis=1)
        loss = (np.logaddexp(0.0, own) - answers * own).sum()
        p = self.probabilities(own)
        z[:] = 0.0
        np.put_along_axis(z, shown, p - answers, axis=1)
        return float(loss), p

    def curvatures(self, z: Array, shown: Labels, answers: Array) -> Array:
        own = self.probabilities(np.take_along_axis(z, shown, axis=1))
        z[:] = 0.0
        np.put_along_axis(z, shown, own * (1 - own), axis=1)
        return z

    def tells_of_all(self, answers: Array) -> npt.NDArray[np.bool_]:
        return np.zeros(len(answers), dtype=np.bool_)


def _powers(z: Array) -> Array:
    """Sums of e^z by rows; z becomes e^z, all of a row by the same factor."""
    if not -_SMALL < z.min() <= z.max() < _SMALL:
        z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    return np.asarray(z @ np.ones(z.shape[1], dtype=z.dtype))


EXCLUSIVE: Likelihood = _Exclusive()
INDEPENDENT: Likelihood = _Independent()
