"""Exponential weights over the policy class, and playing from distributions over actions.

Legend: P policies, K actions, n rounds; log_w (P,) unnormalised log-weights; w (., K) marginals of
the weights and q (., K) distributions to play, one row per context.
"""

import numba as nb
import numpy as np

from policysieve.kernels.by_optimization import (
    closed_form_log_ratio,
    closed_form_q,
    real_valued_log_ratio,
    real_valued_q,
)
from policysieve.kernels.hits import find_hits


@nb.njit(cache=True, nogil=True)
def add_steps(table, rows, actions, steps, log_w):
    """Add steps[i] to log_w of every policy that shows actions[i] at rows[i]; table (., P, 1)."""
    P = table.shape[1]
    hits = np.empty(P, np.int32)
    for i in range(len(rows)):
        for h in range(find_hits(table[rows[i]].reshape(P), actions[i], 1, 0, hits, 0)):
            log_w[hits[h]] += steps[i]


@nb.njit(cache=True, nogil=True)
def draw_actions(q, slots, u, actions):
    """Draw actions[i] from the distribution q[slots[i]] by the uniform u[i]."""
    for i in range(len(slots)):
        left = u[i]
        for a in range(q.shape[1]):
            if q[slots[i], a] > 0.0:
                actions[i, 0] = a
                left -= q[slots[i], a]
                if left < 0.0:
                    break


@nb.njit(cache=True, nogil=True)
def closed_forms(w, rows, G, q, kappa):
    """Exploration by optimization for 0/1 rewards at each of the rows."""
    for i in rows:
        kappa[i] = closed_form_q(w[i], G, q[i])


@nb.njit(cache=True, nogil=True)
def closed_form_steps(w_a, kappa, q_a, G, steps):
    """Log-ratios by which a reward at the played actions moves the weights."""
    for i in range(len(w_a)):
        steps[i] = closed_form_log_ratio(w_a[i], kappa[i], q_a[i], G)


@nb.njit(cache=True, nogil=True)
def real_valued_forms(w, rows, G, q, excess):
    """Exploration by optimization for rewards in [0, 1] at each of the rows."""
    for i in rows:
        excess[i] = real_valued_q(w[i], G, q[i])


@nb.njit(cache=True, nogil=True)
def real_valued_steps(w_a, excess, rewards, steps):
    """Log-ratios by which rewards at the played actions move the weights."""
    for i in range(len(w_a)):
        steps[i] = real_valued_log_ratio(w_a[i], excess[i], rewards[i])
