"""Log-wealth of bets that a leader is not much worse than each other policy.

Legend (docs/maths.md, "Betting"): P policies, G bets lam, Z = R(leader) - R(pi). wealth (P, E, G)
holds, for each policy, each of E values of epsilon and each bet, the log-wealth beyond what every
policy has, which is in common (E, G).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.kernels import kernel
from policysieve.kernels.hits import find_hits
from policysieve.kernels.threads import in_pieces

Array = npt.NDArray[Any]

_RUN = 256  # events whose factors are computed together
_TILE = 1024  # policies whose wealth stays in the cache
_SLOTS = 8  # of factors that come again in a run: their hits are counted, and added up once
_WORK = 1 << 20  # policies times events, from which on threads pay
_LEAST = 25  # policies of a thread: each works out the factors of all events


@kernel
def _log_factors(z, lam, epsilons, out):
    """out[e, g] = ln(1 + lam[g] (z + epsilons[e]))."""
    for e in range(len(epsilons)):
        for g in range(len(lam)):
            out[e, g] = np.log1p(lam[g] * (z + epsilons[e]))


@kernel
def _slot_of(own, now, c, of_slot, n_slots):
    """The slot with the gains of event c, or n_slots if there is none."""
    for s in range(n_slots):
        if own[of_slot[s]] == own[c] and now[of_slot[s]] == now[c]:
            return s
    return n_slots


@kernel
def _bet_on_tile(
    table,
    rows,
    actions,
    gains,
    gain,
    own,
    only,
    slot,
    of_slot,
    lam,
    epsilons,
    missed,
    hit,
    wealth,
    first,
    last,
    hits,
    counts,
):
    """Add to the wealth of policies first..last-1 what a run of events has for those it hits."""
    m = table.shape[2]
    E, G = wealth.shape[1], wealth.shape[2]
    for i in range(len(rows)):
        row = table[rows[i], first:last]
        if only[i] >= 0:
            slates = row.reshape((last - first) * m)
            n_hits = find_hits(slates, actions[i, only[i]], m, first, hits, 0)
            if slot[i] >= 0:
                for h in range(n_hits):
                    counts[hits[h] - first, slot[i]] += 1
                continue
            for h in range(n_hits):
                p = hits[h]
                for e in range(E):
                    for g in range(G):
                        wealth[p, e, g] += hit[i, e, g]
            continue
        for k in range(actions.shape[1]):
            gain[actions[i, k]] = gains[i, k]
        for p in range(first, last):
            other = 0.0
            for k in range(m):
                other += gain[row[p - first, k]]
            if other > 0.0:
                for e in range(E):
                    for g in range(G):
                        factor = np.log1p(lam[g] * (own[i] - other + epsilons[e]))
                        wealth[p, e, g] += factor - missed[i, e, g]
        for k in range(actions.shape[1]):
            gain[actions[i, k]] = 0.0
    for p in range(first, last):
        for s in range(len(of_slot)):
            if counts[p - first, s] > 0:
                for e in range(E):
                    for g in range(G):
                        wealth[p, e, g] += counts[p - first, s] * hit[of_slot[s], e, g]
                counts[p - first, s] = 0


@kernel
def bet_piece(table, rows, actions, gains, K, leader, lam, epsilons, common, wealth, first, last):
    """`bet_on_events` for the policies first..last-1; common is this piece's own copy.

    A run of events is bet on by one tile of policies after the other, whose wealth stays in the
    cache meanwhile.
    """
    n, m = len(rows), table.shape[2]
    E, G = len(epsilons), len(lam)
    missed, hit = np.empty((_RUN, E, G)), np.empty((_RUN, E, G))
    own, now, only = np.empty(_RUN), np.empty(_RUN), np.empty(_RUN, np.int64)
    slot, of_slot = np.empty(_RUN, np.int64), np.empty(_SLOTS, np.int64)
    gain, hits = np.zeros(K), np.empty(_TILE, np.int32)
    counts = np.zeros((_TILE, _SLOTS), np.int32)
    for begin in range(0, n, _RUN):
        end, n_slots = min(begin + _RUN, n), 0
        for i in range(begin, end):
            rewarded, last_rewarded, total, c = 0, 0, 0.0, i - begin
            for k in range(actions.shape[1]):
                if gains[i, k] > 0.0:
                    rewarded += 1
                    last_rewarded = k
                    for j in range(m):
                        if table[rows[i], leader, j] == actions[i, k]:
                            total += gains[i, k]
            own[c], now[c] = total, gains[i, last_rewarded]
            only[c] = last_rewarded if rewarded == 1 else -1
            found = _slot_of(own, now, c, of_slot, n_slots)
            slot[c] = found if found < _SLOTS else -1
            if found < n_slots:
                missed[c], hit[c] = missed[of_slot[found]], hit[of_slot[found]]
            else:
                if n_slots < _SLOTS:
                    of_slot[n_slots] = c
                    n_slots += 1
                _log_factors(total, lam, epsilons, missed[c])
                _log_factors(total - now[c], lam, epsilons, hit[c])
                hit[c] -= missed[c]
            common += missed[c]
        for tile in range(first, last, _TILE):
            _bet_on_tile(
                table,
                rows[begin:end],
                actions[begin:end],
                gains[begin:end],
                gain,
                own,
                only,
                slot,
                of_slot[:n_slots],
                lam,
                epsilons,
                missed,
                hit,
                wealth,
                tile,
                min(tile + _TILE, last),
                hits,
                counts,
            )


def bet_on_events(
    table: Array,
    rows: Array,
    actions: Array,
    gains: Array,
    n_actions: int,
    leader: int,
    lam: Array,
    epsilons: Array,
    common: Array,
    wealth: Array,
) -> None:
    """Add the log-factors of events to the wealth; rounds without reward are the caller's.

    table (., P, m), rows (n,), actions and gains = r/W (n, m'). Where there is much to do the class
    is cut into pieces for threads.
    """
    events, start = (table, rows, actions, gains, n_actions), common.copy()

    def bet(first: int, last: int) -> None:
        own = start.copy() if first else common
        bet_piece(*events, leader, lam, epsilons, own, wealth, first, last)

    if table.shape[1] * len(rows) >= _WORK:
        in_pieces(bet, table.shape[1], _LEAST)
    else:
        bet(0, table.shape[1])
