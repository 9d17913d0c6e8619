"""How long proofs will take, rival by rival. Plain Python, nothing of ours."""

import math

from tests.oracles.capped import DELTA, log_mean


def times_as_long(log_wealths, threshold, most=100.0):
    """The least t >= 1 with ln mean exp(t w) >= threshold, by small steps; None beyond most."""
    t = 1.0
    while log_mean([t * w for w in log_wealths]) < threshold:
        t *= 1.0005
        if t > most * 1.0005:
            return None
    return t


def _slowest(found):
    return None if None in found else max(found, default=1.0)


def times_to_proof(fold, leader=None):
    """Of the slowest rival of a leader, by default of who leads."""
    standing, _ = fold.now()
    leader = standing.leader if leader is None else leader
    threshold = math.log((fold.n_policies - 1) / (DELTA["retrospect"] * fold.delta))
    return _slowest(
        [
            times_as_long(fold.log_wealths(fold.kept, leader, p, fold.epsilon), threshold)
            for p in standing.survivors
            if p not in fold.same[leader]
        ]
    )


def times_to_gain(fold, today, delta):
    """Of bets that the leader is better than the policy that runs today."""
    standing, _ = fold.now()
    threshold = math.log(2 * (fold.n_policies - 1) / delta) - math.log(0.9)
    wealths = fold.log_wealths(fold.kept, standing.leader, today, 0.0)
    return times_as_long(wealths, threshold)


def interval(times, rounds, next_look):
    """Expected, least and most rounds in all."""
    factors = (times**0.88, math.sqrt(times), 1.3 * times)
    return tuple(max(next_look, math.ceil(rounds * factor)) for factor in factors)
