"""Best-arm identification: each round follows one policy, which is judged by its own rounds only.

Legend (docs/maths.md, "Policies as arms"): P arms, J equidistant levels of a reward from 0 to 1,
counts (P, J) of the rewards of an arm, G shares s of the capital at stake, mean the mean reward
that is bet against.
"""

import numpy as np

from policysieve.kernels import kernel

_HALVINGS = 25  # of an interval that holds a bound


@kernel
def log_wealth(counts, shares, mean, mirrored):
    """Ln of the mean over shares of the product over rounds of 1 - s + s x/mean.

    Rewards x are those of counts (J,), or 1 - x if mirrored.
    """
    J = len(counts)
    sums = np.zeros(len(shares))
    for g in range(len(shares)):
        for j in range(J):
            count = counts[J - 1 - j] if mirrored else counts[j]
            if count > 0.0:
                sums[g] += count * np.log(1.0 - shares[g] + shares[g] * j / ((J - 1) * mean))
    largest = sums.max()
    return largest + np.log(np.exp(sums - largest).mean())


@kernel
def lower_bound(counts, shares, log_threshold, mirrored):
    """The largest mean found whose log-wealth reaches the threshold, or 0: it falls in the mean."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if log_wealth(counts, shares, middle, mirrored) >= log_threshold:
            low = middle
        else:
            high = middle
    return low


@kernel
def follow_arms(rewards, epsilon, shares, log_below, log_above, counts, means, upper, following):
    """Follow arms through rounds with rewards (n, P) in [0, 1], until one is proved to be best.

    Every arm once, and then in turn the one with the largest mean and the one with the largest
    upper bound among the others; of equals the first. It stops before it follows the former, if
    the upper bound of the latter is within epsilon of the lower bound of the former.

    counts, means (P,) and upper (P,) are carried along, with nan as the mean of an arm that was not
    followed yet; following[0] is the arm to follow next, -1 if that is to be chosen.

    Returns the rounds that were played and the arm that was proved, -1 if none was.
    """
    J = counts.shape[1]
    for i in range(len(rewards)):
        arm = following[0]
        following[0] = -1
        if arm < 0:
            leader, rival = -1, -1
            for a in range(len(means)):
                if np.isnan(means[a]):
                    arm = a
                    break
                if leader < 0 or means[a] > means[leader]:
                    leader = a
            if arm < 0:
                for a in range(len(means)):
                    if a != leader and (rival < 0 or upper[a] > upper[rival]):
                        rival = a
                goal = upper[rival] - epsilon
                if goal <= 0 or log_wealth(counts[leader], shares, goal, False) >= log_below:
                    return i, leader
                arm, following[0] = leader, rival
        place = rewards[i, arm] * (J - 1)
        level = min(int(place), J - 2)
        counts[arm, level] += 1.0 - (place - level)
        counts[arm, level + 1] += place - level
        total, n = 0.0, 0.0
        for j in range(J):
            total += counts[arm, j] * j / (J - 1)
            n += counts[arm, j]
        means[arm] = total / n
        upper[arm] = 1.0 - lower_bound(counts[arm], shares, log_above, True)
    return len(rewards), -1
