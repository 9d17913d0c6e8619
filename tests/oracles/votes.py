"""What a weighted vote shows, counted item by item with exact fractions."""

from fractions import Fraction


def winners(slates, weights):
    """The items with the most votes, most first, as many as a slate has; ties to the lower."""
    total = {}
    for slate, weight in zip(slates, weights, strict=True):
        for item in slate:
            total[int(item)] = total.get(int(item), Fraction(0)) + Fraction(float(weight))
    voted = [item for item in total if total[item] > 0]
    return sorted(voted, key=lambda item: (-total[item], item))[: len(slates[0])]
