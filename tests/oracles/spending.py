"""What exploring costs, round by round and item by item. Plain Python, nothing of ours.

today[t] is the slate of the policy that runs today at round t; shown[t], propensities[t] and
rewards[t] are what round t showed, how probably, and what it earned.
"""

from tests.oracles.classical import boundary


def shared(explored, today, traffic):
    """Propensities of all items if only a share of the rounds explores."""
    return [
        traffic * w + (1 - traffic if item in today else 0.0) for item, w in enumerate(explored)
    ]


def scores(today, shown, propensities, rewards, f):
    """What each round says that the policy that runs today would earn, and that was lost."""
    worth, lost = [], []
    for slate, items, ws, rs in zip(today, shown, propensities, rewards, strict=True):
        total = 0.0
        for item in slate:
            total += f
            for other, w, r in zip(items, ws, rs, strict=True):
                if other == item:
                    total += (r - f) / w
        worth.append(total)
        lost.append(total - sum(rs))
    return worth, lost


def upper(x, largest, delta):
    """Upper limit on the sum of the means of numbers that are at most `largest`."""
    return sum(x) + largest * boundary(sum((z / largest) ** 2 for z in x), delta, 1.0, 10.0)


def expected(traffic):
    """The smallest f in [0, 1] with (1-f)(1/W - 1) <= 1 for all W >= 1 - traffic, by search."""
    for step in range(100_001):
        f = step / 100_000
        if (1 - f) * traffic <= (1 - traffic) * (1 + 1e-12):
            return f
    return 1.0


def limits(today, shown, propensities, rewards, cap, traffic, delta):
    """Lower and upper limit on the expected reward lost."""
    m, n = len(shown[0]), len(shown)
    low = scores(today, shown, propensities, rewards, 0.0)[1]
    high = scores(today, shown, propensities, rewards, expected(traffic))[1]
    least = max(-n * traffic * cap, -upper([-z for z in low], cap, delta / 2))
    most = min(n * traffic * cap, upper(high, m, delta / 2))
    return min(least, most), most


def room(today, shown, propensities, rewards, cap, traffic, delta, max_loss, unlearnt):
    """How many more rounds may explore if all of these did."""
    m, n, f = len(shown[0]), len(shown), expected(traffic)
    worth, lost = scores(today, shown, propensities, rewards, f)
    largest = m * (1.0 if traffic == 1 else f + (1 - f) / (1 - traffic))
    most = min(cap, upper(worth, largest, delta / 2) / n)
    spent = min(n * traffic * most, upper(lost, m, delta / 2))
    left = (max_loss - spent) / (traffic * most) - unlearnt
    return max(0, int(left))
