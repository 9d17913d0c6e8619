"""Best-arm identification, round by round. Plain Python, nothing of ours."""

import math


def log_wealth(rewards, shares, mean):
    """ln of the mean over shares s of the product of 1 - s + s x/mean."""
    logs = [math.fsum(math.log(1 - s + s * x / mean) for x in rewards) for s in shares]
    top = max(logs)
    return top + math.log(sum(math.exp(x - top) for x in logs) / len(logs))


def lower_bound(rewards, shares, log_threshold):
    """The mean at which the log-wealth has fallen to the threshold, 0 if it never reaches it."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        if log_wealth(rewards, shares, middle) >= log_threshold:
            low = middle
        else:
            high = middle
    return low


def upper_bound(rewards, shares, log_threshold):
    return 1 - lower_bound([1 - x for x in rewards], shares, log_threshold)


def identify(rows, epsilon, shares, log_below, log_above):
    """Rewards (n, P) in; the rewards that each arm has met and the proved arm, None if none."""
    arms = range(len(rows[0]))
    met, plan = [[] for _ in arms], list(arms)
    upper = {}
    for row in rows:
        if not plan:
            leader = max(arms, key=lambda a: (sum(met[a]) / len(met[a]), -a))
            rival = max((a for a in arms if a != leader), key=lambda a: (upper[a], -a))
            if lower_bound(met[leader], shares, log_below) >= upper[rival] - epsilon:
                return met, leader
            plan = [leader, rival]
        arm = plan.pop(0)
        met[arm].append(row[arm])
        upper[arm] = upper_bound(met[arm], shares, log_above)
    return met, None
