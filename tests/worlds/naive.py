"""Values by plain loops: nothing here is shared with the code under test."""


def naive_values(slates, rewards, probabilities=None):
    """Expected reward of each policy.

    slates[x][p] lists the items that policy p shows at context x; rewards[x][a] = E[r(a) | x].
    """
    n_contexts = len(slates)
    values = []
    for p in range(len(slates[0])):
        total = 0.0
        for x in range(n_contexts):
            earned = 0.0
            for item in slates[x][p]:
                earned += float(rewards[x][int(item)])
            total += earned / n_contexts if probabilities is None else earned * probabilities[x]
        values.append(total)
    return values
