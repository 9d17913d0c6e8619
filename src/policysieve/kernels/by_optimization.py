"""Exploration by optimization: what to play, and how far a reward moves the weights.

Legend (docs/maths.md, "Exploration by optimization"): w = marginal of the reference weights at
the context, n = number of actions with w > 0, G = the paper's gamma >= n, q = distribution to
play, kappa = how far a reward at a moves w_a, xi = logarithm of the factor by which the policies
that choose a gain on all others. Nothing here loses a small positive w_a or the last digits of
1 - w_a: such terms are built from sums of positive numbers only.
"""

import math

from policysieve.kernels import kernel


@kernel
def closed_form_q(w, G, q):
    """Fill q with the closed form for 0/1 rewards and return kappa, in O(K).

    kappa is the positive root of n k^2 + (G - n + 2) k = sum w (1 - w), and
    q_a = (w_a + kappa)(1 - w_a - kappa) / (kappa G) where w_a > 0, else 0. A point mass has
    kappa = 0 and q = w. With rest = 1 - max w, the sum of the others, everything is computed in
    units of `rest`, and 1 - w_a - kappa as (max w - w_a) + gap, gap = rest - kappa.
    """
    top = 0
    for a in range(len(w)):
        if w[a] > w[top]:
            top = a
    n = 0
    rest = 0.0
    for a in range(len(w)):
        if w[a] > 0.0:
            n += 1
            if a != top:
                rest += w[a]
        q[a] = 0.0
    if n == 1:
        q[top] = 1.0
        return 0.0
    second = 0.0  # sum of w^2 / rest over the others
    spread = w[top]  # sum of w (1 - w) / rest over all; that of the largest is itself
    for a in range(len(w)):
        if a != top:
            share = w[a] / rest
            second += share * w[a]
            spread += share * (1.0 - w[a])
    b = G - n + 2.0
    root = math.sqrt(b * b + 4.0 * n * rest * spread)
    kappa = 2.0 * spread / (b + root)  # in units of rest, as is gap
    gap = 2.0 * ((n + 1.0) * rest + (G - n) + second) / (2.0 * n * rest + b + root)
    for a in range(len(w)):
        if a != top and w[a] > 0.0:
            left = (w[top] - w[a]) + gap * rest
            q[a] = (w[a] / rest + kappa) * left / (kappa * G)
    q[top] = (w[top] + kappa * rest) * gap / (kappa * G)
    return kappa * rest


@kernel
def closed_form_log_ratio(w_a, kappa, q_a, G):
    """xi(a; a, 1) = ln[(w_a + kappa)(1 - w_a) / (w_a (1 - w_a - kappa))] of a rewarded action.

    1 - w_a - kappa = kappa G q_a / (w_a + kappa) makes both logarithms positive, so that nothing
    cancels: the first is of the gain of a, the second of the loss of all others.
    """
    if kappa == 0.0:
        return 0.0
    return _log1p_ratio(kappa, w_a) + _log1p_ratio(w_a + kappa, G * q_a)


@kernel
def real_valued_q(w, G, q):
    """Fill q with 1/G + (1 - n/G) w where w > 0, for rewards in [0, 1]; return G - n."""
    n = 0
    for a in range(len(w)):
        if w[a] > 0.0:
            n += 1
    for a in range(len(w)):
        q[a] = (1.0 + (G - n) * w[a]) / G if w[a] > 0.0 else 0.0
    return G - n


@kernel
def real_valued_log_ratio(w_a, excess, r):
    """xi(a; a, r) = -ln(1 - r / (G q_a)) for a reward r in [0, 1], with excess = G - n > 0."""
    return _log1p_ratio(r, (1.0 - r) + excess * w_a)


@kernel
def closed_form_log_ratios(w, kappa, q, G, xi):
    """Fill xi with `closed_form_log_ratio` of every action, 0 where w is."""
    for a in range(len(w)):
        xi[a] = closed_form_log_ratio(w[a], kappa, q[a], G) if w[a] > 0.0 else 0.0


@kernel
def _log1p_ratio(x, y):
    """ln(1 + x / y) for x >= 0 and y > 0, also where x / y would overflow."""
    if x > 1e290 * y:
        return math.log(x) - math.log(y)
    return math.log1p(x / y)


@kernel
def closed_forms(w, rows, G, q, kappa):
    """Exploration by optimization for 0/1 rewards at each of the rows."""
    for i in rows:
        kappa[i] = closed_form_q(w[i], G, q[i])


@kernel
def closed_form_steps(w_a, kappa, q_a, G, steps):
    """Log-ratios by which a reward at the played actions moves the weights."""
    for i in range(len(w_a)):
        steps[i] = closed_form_log_ratio(w_a[i], kappa[i], q_a[i], G)


@kernel
def real_valued_forms(w, rows, G, q, excess):
    """Exploration by optimization for rewards in [0, 1] at each of the rows."""
    for i in rows:
        excess[i] = real_valued_q(w[i], G, q[i])


@kernel
def real_valued_steps(w_a, excess, rewards, steps):
    """Log-ratios by which rewards at the played actions move the weights."""
    for i in range(len(w_a)):
        steps[i] = real_valued_log_ratio(w_a[i], excess[i], rewards[i])
