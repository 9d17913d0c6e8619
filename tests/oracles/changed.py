"""Evidence that a mean, or some of many, has changed, round by round."""

import math

STAKES = [2.0**-k for k in range(1, 17)]


def boundaries(rounds):
    """16, 18, 20, ... up to `rounds`."""
    found, last = [], 16
    while last <= rounds:
        found.append(last)
        last = math.ceil(last * 1.1)
    return found


def _log_sum(logs):
    top = max(logs)
    return top + math.log(sum(math.exp(one - top) for one in logs))


def _bets(values, centres, mean, unit):
    """Ln of the mean over stakes of the capital that was bet on values above the mean."""
    logs = []
    for stake in STAKES:
        cost = -math.log(1 - stake) - stake
        logs.append(
            sum(
                stake * (value - mean) / unit - cost * ((value - centre) / unit) ** 2
                for value, centre in zip(values, centres, strict=True)
            )
        )
    return _log_sum(logs) - math.log(len(STAKES))


def _centres(values, starts, first):
    """The mean of all values before the stretch that a round is in, within [0, 1]."""
    centres = []
    for t in range(len(values)):
        start = max([0, *(one for one in starts if one <= t)])
        past = values[:start]
        centres.append(min(max(sum(past) / len(past), 0.0), 1.0) if past else first)
    return centres


def log_wealth(earned, missed, most, mean):
    """Ln of the capital of all splits and both directions, if the mean is `mean` throughout."""
    n = len(earned)
    splits = [one for one in boundaries(n) if one < n]
    c_earned, c_missed = _centres(earned, splits, 0.0), _centres(missed, splits, 1.0)

    def above(part):
        return _bets(earned[part], c_earned[part], mean, 1.0)

    def below(part):
        kinds = [_bets(missed[part], c_missed[part], 1 - mean, 1.0) - math.log(2)]
        if most is not None:
            less = [1 - one for one in earned[part]]
            centres = [1 - one for one in c_earned[part]]
            kinds.append(_bets(less, centres, 1 - mean, max(most, 1.0)) - math.log(2))
        return _log_sum(kinds)

    logs = []
    for j, split in enumerate(splits):
        before, after = slice(0, split), slice(split, n)
        prior = math.log(100 / 2 / ((100 + j) * (101 + j)))
        logs.append(prior + below(before) + above(after))
        logs.append(prior + above(before) + below(after))
    return _log_sum(logs)


def log_evidence(earned, missed, most=None):
    """The least of it over all means: it is convex."""
    low, high = 0.0, 1.0
    for _ in range(45):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if log_wealth(earned, missed, most, left) <= log_wealth(earned, missed, most, right):
            high = right
        else:
            low = left
    return log_wealth(earned, missed, most, (low + high) / 2)


def _predicted(rewards, a, b):
    """Ln of the product of the chances that were given to rewards of 0 and 1, one by one."""
    total = 0.0
    for reward in rewards:
        total += math.log((a if reward else b) / (a + b))
        a, b = a + reward, b + 1 - reward
    return total


def _changed_rate(before, after):
    """Ln of likelihoods with one mean before and another after, over the best single mean."""
    first = _predicted(before, 0.5, 0.5)
    logs = []
    for like in (0.0, 100.0):
        weight = min(like, len(before))
        mean = (sum(before) + 0.5) / (len(before) + 1)
        logs.append(_predicted(after, 0.5 + weight * mean, 0.5 + weight * (1 - mean)))
    both = [*before, *after]
    ones, zeros = sum(both), len(both) - sum(both)
    single = sum(n * math.log(n / len(both)) for n in (ones, zeros) if n)
    return first + _log_sum(logs) - math.log(2) - single


def log_evidence_of_rates(places, rewards, n_rates):
    """Of rounds that count for one of many rates each, with rewards of 0 and 1."""
    n = len(rewards)
    logs = []
    for j, split in enumerate(one for one in boundaries(n) if one < n):
        each = []
        for which in range(n_rates):
            mine = [t for t in range(n) if places[t] == which]
            before, after = ([rewards[t] for t in mine if (t < split) == b] for b in (True, False))
            each.append(_changed_rate(before, after))
        for share in (0.9, 0.1):
            bets = sum(math.log(1 - share + share * math.exp(one)) for one in each)
            logs.append(bets + math.log(100 / ((100 + j) * (101 + j)) / 2))
    return _log_sum(logs)


def pairs_that_count(keys, most=256, first=2048):
    """The number of each round's pair from its second time on, -1 before and for others."""
    seen, numbers, found = set(), {}, []
    for t, key in enumerate(keys):
        if key in seen and key not in numbers and t < first and len(numbers) < most:
            numbers[key] = len(numbers)
        seen.add(key)
        found.append(numbers.get(key, -1))
    return found
