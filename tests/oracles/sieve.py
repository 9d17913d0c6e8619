"""The Sieve's exploration at one context. Plain Python, nothing of ours.

slates[p] is the slate of policy p at the context, needs and shares map policies to numbers.
"""


def item_needs(slates, needs):
    """The largest need of a survivor that shows the item, for every item that one shows."""
    found = {}
    for policy, need in needs.items():
        for item in slates[policy]:
            found[int(item)] = max(found.get(int(item), 0.0), float(need))
    return found


def inclusion(slates, needs):
    """min(1, c v) for every item, with c such that they sum to m; c is found by bisection."""
    v = item_needs(slates, needs)
    m = len(slates[next(iter(needs))])
    if len(v) == m:
        return dict.fromkeys(v, 1.0)
    low, high = 0.0, m / min(v.values())
    for _ in range(300):
        c = (low + high) / 2
        if sum(min(1.0, c * need) for need in v.values()) < m:
            low = c
        else:
            high = c
    return {item: min(1.0, high * need) for item, need in v.items()}


def propensities(gamma, slates, needs, shares):
    """W of every item that a survivor shows."""
    pi = inclusion(slates, needs)
    q = dict.fromkeys(pi, 0.0)
    for policy, share in shares.items():
        for item in slates[policy]:
            q[int(item)] += share
    return {item: gamma * pi[item] + (1 - gamma) * q[item] for item in pi}


def systematic(u, pi):
    """Items in whose stretch of [0, m) one of u, u + 1, ... falls; pi is in the order of these."""
    m = round(sum(pi.values()))
    picked, start = [], 0.0
    for item, chance in pi.items():
        if any(start <= u + k < start + chance for k in range(m)):
            picked.append(item)
        start += chance
    return picked
