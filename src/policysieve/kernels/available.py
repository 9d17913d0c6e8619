"""Where not every action can be shown: slates of those that can.

Legend (docs/maths.md, "Available actions"): mask (n, K) says which actions are available at each
context, at least m of them; uniforms u are used row by row, as in `slates`.
"""

import numpy as np

from policysieve.kernels import kernel
from policysieve.kernels.slates import draw_subset


@kernel
def list_available(allowed, listed):
    """Write the numbers of the True entries of allowed (K,) into listed (K,); return how many."""
    size = 0
    for a in range(len(allowed)):
        if allowed[a]:
            listed[size] = a
            size += 1
    return size


@kernel
def available_subsets(u, mask, out):
    """Uniformly random ordered m-subsets of the available actions, into out (n, m), from u (n, m).

    Where all are available they are those of `uniform_subsets`.
    """
    m = u.shape[1]
    listed = np.empty(mask.shape[1], np.int64)
    swapped = np.empty(m, np.int64)
    for i in range(len(u)):
        size = list_available(mask[i], listed)
        if m == 1:
            out[i, 0] = listed[min(int(u[i, 0] * size), size - 1)]
        else:
            draw_subset(u[i], size, listed, swapped, out[i])


@kernel
def top_available(scores, mask, out):
    """The m available actions with the largest scores (n, P, K), best first, into out (n, P, m).

    Ties go to the lower number; a score that is no number comes last.
    """
    n, P, m = out.shape
    listed = np.empty(mask.shape[1], np.int64)
    top = np.empty(m)
    for i in range(n):
        size = list_available(mask[i], listed)
        for p in range(P):
            count = 0
            for k in range(size):
                a = listed[k]
                score = scores[i, p, a]
                if not score >= -np.inf:
                    score = -np.inf
                if count == m and not score > top[m - 1]:
                    continue
                j = min(count, m - 1)
                while j > 0 and score > top[j - 1]:
                    top[j] = top[j - 1]
                    out[i, p, j] = out[i, p, j - 1]
                    j -= 1
                top[j] = score
                out[i, p, j] = a
                count = min(count + 1, m)


@kernel
def mend_slates(slates, mask, order):
    """Replace what is not available in slates (n, P, m), in place, by the first of order that is.

    What is available keeps its place, and no item comes twice. Return the first i P + p where order
    has not enough, or -1.
    """
    n, P, m = slates.shape
    spare = np.empty(len(order), np.int64)
    for i in range(n):
        size = -1
        for p in range(P):
            k = 0
            for j in range(m):
                if mask[i, slates[i, p, j]]:
                    continue
                if size < 0:
                    size = 0
                    for a in order:
                        if mask[i, a]:
                            spare[size] = a
                            size += 1
                found = False
                while k < size and not found:
                    found = True
                    for other in range(m):
                        if slates[i, p, other] == spare[k]:
                            found = False
                    if not found:
                        k += 1
                if not found:
                    return i * P + p
                slates[i, p, j] = spare[k]
                k += 1
    return -1
