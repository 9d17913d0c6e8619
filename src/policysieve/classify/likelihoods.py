"""What an answer says about the labels: likelihoods of right and wrong, and their derivatives.

Each is a function of the logits z (n, K) of a stretch of rounds, the labels shown (n, m) and the
answers (n, m) in [0, 1]. It returns the negative log-likelihood, its gradient in z (in place of z),
and for `curvatures` the diagonal of its second derivative, or 0 where that may be negative
(docs/maths.md, "Learning from right and wrong").
"""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

__all__ = ["EXCLUSIVE", "INDEPENDENT", "Likelihood"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_TINY = 1e-12  # probabilities are kept so far from 0 and 1 in logarithms


class Likelihood(ABC):
    """How probable answers are, given the logits of all labels."""

    @abstractmethod
    def probabilities(self, z: Array) -> Array:
        """P(label is right) for every label, in place of the logits."""

    @abstractmethod
    def loss(self, z: Array, shown: Labels, answers: Array) -> float:
        """Sum over rounds of -ln P(answers); z becomes its gradient."""

    @abstractmethod
    def curvatures(self, z: Array, shown: Labels, answers: Array) -> Array:
        """Second derivative of the loss in each logit, shape (n, K), in place of z."""


class _Exclusive(Likelihood):
    """One label is right: p = softmax(z), and one is shown.

    -ln P(answer) = -r ln p_a - (1-r) ln(1-p_a): a wrong guess rules a label out.
    """

    def probabilities(self, z: Array) -> Array:
        z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
        return z

    def loss(self, z: Array, shown: Labels, answers: Array) -> float:
        p, rows, labels, r = self.probabilities(z), np.arange(len(z)), shown[:, 0], answers[:, 0]
        hit = p[rows, labels]
        # Of single precision, what is left of a probability near one is rounding.
        miss = np.maximum(1 - hit, max(_TINY, np.finfo(z.dtype).eps))
        loss = -(r * np.log(np.maximum(hit, _TINY)) + (1 - r) * np.log(miss)).sum()
        # d/dz of -ln p_a is p - e_a, and that of -ln(1 - p_a) is -(p - e_a) p_a/(1 - p_a).
        pull = r - (1 - r) * hit / miss
        p *= pull[:, None]
        p[rows, labels] -= pull
        return float(loss)

    def curvatures(self, z: Array, shown: Labels, answers: Array) -> Array:
        """A right answer tells about all labels, a wrong one about the label shown."""
        p, rows, labels = self.probabilities(z), np.arange(len(z)), shown[:, 0]
        p *= 1 - p
        own = p[rows, labels]
        p *= answers
        p[rows, labels] = own
        return p


class _Independent(Likelihood):
    """Any number of labels is right, each with p = sigmoid(z); answers tell about those shown."""

    def probabilities(self, z: Array) -> Array:
        # sigmoid(z) = (1 + tanh(z/2))/2, which cannot overflow.
        z *= 0.5
        np.tanh(z, out=z)
        z += 1
        z *= 0.5
        return z

    def loss(self, z: Array, shown: Labels, answers: Array) -> float:
        own = np.take_along_axis(z, shown, axis=1)
        loss = (np.logaddexp(0.0, own) - answers * own).sum()
        gradient = self.probabilities(own) - answers
        z[:] = 0.0
        np.put_along_axis(z, shown, gradient, axis=1)
        return float(loss)

    def curvatures(self, z: Array, shown: Labels, answers: Array) -> Array:
        own = self.probabilities(np.take_along_axis(z, shown, axis=1))
        z[:] = 0.0
        np.put_along_axis(z, shown, own * (1 - own), axis=1)
        return z


EXCLUSIVE: Likelihood = _Exclusive()
INDEPENDENT: Likelihood = _Independent()
