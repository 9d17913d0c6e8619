"""A linear model of right labels, round by round, differentiated by differences.

Plain Python, numpy and a general optimiser, nothing of ours. z holds the logits of one round, shown
its labels and answers what came back, in [0, 1].
"""

import math

import numpy as np
from scipy import optimize


def softmax(z):
    powers = [math.exp(value - max(z)) for value in z]
    return [power / sum(powers) for power in powers]


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def exclusive(z, shown, answers):
    """-ln of the probability of an answer to one label, where exactly one is right."""
    p, r = softmax(z)[shown[0]], answers[0]
    return -(r * math.log(p) + (1 - r) * math.log(1 - p))


def independent(z, shown, answers):
    """-ln of the probability of answers to labels that are right or wrong each for itself."""
    loss = 0.0
    for label, r in zip(shown, answers, strict=True):
        p = sigmoid(z[label])
        loss -= r * math.log(p) + (1 - r) * math.log(1 - p)
    return loss


def gradient(loss, z, step=1e-6):
    """Central differences of a function of a vector."""
    out = np.empty(len(z))
    for k in range(len(z)):
        up, down = np.array(z, float), np.array(z, float)
        up[k] += step
        down[k] -= step
        out[k] = (loss(up) - loss(down)) / (2 * step)
    return out


def second_derivatives(loss, z, step=1e-4):
    """Second central differences in each place of a vector."""
    out = np.empty(len(z))
    for k in range(len(z)):
        up, down = np.array(z, float), np.array(z, float)
        up[k] += step
        down[k] -= step
        out[k] = (loss(up) - 2 * loss(np.array(z, float)) + loss(down)) / step**2
    return out


def penalised(weights, X, shown, answers, loss, prior_variance, center, typical=0.0, tightness=1.0):
    """Minus the log of prior times likelihood; the last row of weights holds the intercepts.

    Weights have variance prior_variance / mean |x|^2, intercepts 1 around `center`; around their
    own mean if that is None. All of them are `typical` before that, and the variances of weights
    are divided by the `tightness` of their label.
    """
    size = sum(value**2 for row in X for value in row) / len(X)
    intercepts, away = weights[-1], weights - typical
    middle = sum(away[-1]) / len(intercepts) if center is None else center
    total = size / prior_variance * float((away[:-1] ** 2 * tightness).sum()) / 2
    total += sum((b - middle) ** 2 for b in away[-1]) / 2
    for x, labels, right in zip(X, shown, answers, strict=True):
        z = [x @ weights[:-1, k] + intercepts[k] for k in range(len(intercepts))]
        total += loss(z, labels, right)
    return total


def most_probable(X, shown, answers, n_labels, loss, prior_variance, center=None, **means):
    """Weights (n_features + 1, n_labels) at the minimum of `penalised`, by a general optimiser."""
    shape = (X.shape[1] + 1, n_labels)

    def objective(flat):
        weights = flat.reshape(shape)
        return penalised(weights, X, shown, answers, loss, prior_variance, center, **means)

    found = optimize.minimize(objective, np.zeros(shape).ravel(), method="BFGS", jac="3-point")
    return found.x.reshape(shape)
