"""First rounds of units, and how often a value comes again soon, by brute force."""

from itertools import permutations


def first_rounds(units):
    """Places at which a unit comes for the first time."""
    return [i for i, unit in enumerate(units) if unit not in list(units[:i])]


def again_within(values, within):
    """Places whose value was there last at most so many places before."""
    count = 0
    for i, value in enumerate(values):
        earlier = [j for j in range(i) if values[j] == value]
        count += bool(earlier) and i - earlier[-1] <= within
    return count


def expected_again(values, within):
    """The mean of that over all orders."""
    orders = list(permutations(values))
    return sum(again_within(order, within) for order in orders) / len(orders)
