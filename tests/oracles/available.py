"""Where not every action can be shown, one context at a time. Plain Python, nothing of ours.

`allowed` is the set of the available actions, slates[p] what policy p would show if all were.
"""

from itertools import combinations


def mended(slate, allowed, order):
    """Available items in their places, and in the others the first of order that are available."""
    found = [item if item in allowed else None for item in slate]
    spare = [item for item in order if item in allowed and item not in slate]
    return [spare.pop(0) if item is None else item for item in found]


def ranked(scores, allowed, m):
    """The m available actions with the largest scores, of equals the lower number first."""
    return sorted(allowed, key=lambda item: (-scores[item], item))[:m]


def uniform(K, m, allowed):
    """Share of all m-subsets of the available actions that hold each action."""
    subsets = list(combinations(sorted(allowed), m))
    return [sum(item in subset for subset in subsets) / len(subsets) for item in range(K)]


def mixed(K, m, allowed, gamma, follow):
    """With probability gamma a uniform slate; else each item is shown as often as follow says."""
    even = uniform(K, m, allowed)
    return [gamma * even[item] + (1 - gamma) * follow[item] for item in range(K)]


def followed(K, slates, shares):
    """How often each item is shown if policies are drawn by shares, a dict."""
    return [
        sum(share for policy, share in shares.items() if item in slates[policy])
        for item in range(K)
    ]


def of_a_list(K, m, allowed, slates, listed):
    """A uniform slate of what listed policies show, or of all that is available for no list."""
    items = {item for policy in listed for item in slates[policy]} or allowed
    return uniform(K, m, items)


def by_optimization(w, G):
    """q = (w + k)(1 - w - k)/(k G) where w > 0, for the k at which it sums to one, by bisection."""
    positive = [share for share in w if share > 0]
    if len(positive) == 1:
        return [float(share > 0) for share in w]

    def form(k, share):
        return (share + k) * (1 - share - k) / (k * G) if share > 0 else 0.0

    low, high = 1e-15, 1 - max(positive)
    for _ in range(200):
        middle = (low + high) / 2
        if sum(form(middle, share) for share in w) > 1:
            low = middle
        else:
            high = middle
    return [form(high, share) for share in w]
