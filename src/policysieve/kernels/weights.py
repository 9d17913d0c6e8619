"""Exponential weights: of listed policies, and of all functions of a finite context set.

Legend (docs/maths.md, "All functions of a finite context set"): P policies, K actions, n rounds;
log_w (P,) the log-weights of a list. All functions are one softmax for each context: a slot is a
context that has had an event; log_w (slots, K) its log-weights, cum (slots, K) the sum over rounds
of its marginals up to round last (slots,), now the rounds so far.
"""

import numpy as np

from policysieve.kernels import kernel
from policysieve.kernels.hits import find_hits

FAINTEST = -600.0  # logarithm of a weight, relative to the largest: no weight ever vanishes


@kernel
def add_steps(table, rows, actions, steps, log_w):
    """Add steps[i] to log_w of every policy that shows actions[i] at rows[i]; table (., P, 1)."""
    P = table.shape[1]
    hits = np.empty(P, np.int32)
    for i in range(len(rows)):
        for h in range(find_hits(table[rows[i]].reshape(P), actions[i], 1, 0, hits, 0)):
            log_w[hits[h]] += steps[i]


@kernel
def softmax(log_w, out):
    """Fill out with exp(log_w) normalised."""
    top = log_w[0]
    for a in range(1, len(log_w)):
        top = max(top, log_w[a])
    total = 0.0
    for a in range(len(log_w)):
        out[a] = np.exp(max(log_w[a] - top, FAINTEST))
        total += out[a]
    for a in range(len(log_w)):
        out[a] /= total


@kernel
def tabular_add(slots, actions, steps, now, log_w, cum, last):
    """Bring the slots' sums up to date, then add steps[i] to log_w[slots[i], actions[i]]."""
    p = np.empty(log_w.shape[1])
    for i in range(len(slots)):
        k = slots[i]
        if last[k] < now:
            softmax(log_w[k], p)
            for a in range(len(p)):
                cum[k, a] += (now - last[k]) * p[a]
            last[k] = now
        log_w[k, actions[i]] += steps[i]


@kernel
def tabular_totals(slots, now, log_w, cum, last, out):
    """Sums over the rounds so far of the marginals, into out (n, K); slot -1 has had no event."""
    K = out.shape[1]
    p = np.empty(K)
    for i in range(len(slots)):
        k = slots[i]
        if k < 0:
            out[i, :] = now / K
            continue
        softmax(log_w[k], p)
        for a in range(K):
            out[i, a] = cum[k, a] + (now - last[k]) * p[a]


@kernel
def tabular_marginals(slots, log_w, out):
    """The marginals as the weights stand, into out (n, K)."""
    for i in range(len(slots)):
        if slots[i] < 0:
            out[i, :] = 1.0 / out.shape[1]
        else:
            softmax(log_w[slots[i]], out[i])
