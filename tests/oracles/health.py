"""Limits on mean importance weights, round by round."""

import math


def limits(weights, largest, delta, tests):
    """Mean of the weights of one group with limits, where `tests` groups are looked at."""
    n = len(weights)
    mean = sum(weights) / n
    squares = sum((y - 1) ** 2 for y in weights)
    bets = [2.0**-k for k in range(1, 21)]
    log_term = math.log(2 * tests * len(bets) / delta)
    scale = max(largest - 1, 0.01)
    below, above = [], []
    for bet in bets:
        psi = -math.log(1 - bet) - bet
        below.append((psi * squares + log_term) / (n * bet))
        above.append((psi * squares / scale**2 + log_term) * scale / (n * bet))
    return mean, mean - min(below), mean + min(above)


def weights_of_action(action, slates, propensities):
    """1/W in rounds that show the action, 0 in others."""
    return [
        sum(1 / w for item, w in zip(slate, shown, strict=True) if item == action)
        for slate, shown in zip(slates, propensities, strict=True)
    ]


def weights_of_rounds(propensities, n_actions):
    """Sum of 1/W over the shown items, divided by the number of actions."""
    return [sum(1 / w for w in shown) / n_actions for shown in propensities]
