"""The estimate that everybody else uses too. Plain Python, nothing of ours."""


def inverse_propensity(actions, propensities, rewards, distribution):
    """Mean over rounds of pi(a|x) r / p, for the shown action a of propensity p and reward r.

    distribution[i][a] is the probability with which the judged policy shows a in round i.
    """
    total = 0.0
    for i, (action, propensity, reward) in enumerate(
        zip(actions, propensities, rewards, strict=True)
    ):
        total += distribution[i][action] / propensity * reward
    return total / len(actions)
