"""Finding the policies that show a given action, as fast as memory delivers the row."""

import numpy as np

from policysieve.kernels import kernel

_ONE = np.uint64(1)
_FULL = np.uint64(2**64 - 1)

# Position of a 64-bit number's only set bit: multiply by a de Bruijn sequence, look up the top six.
_DE_BRUIJN = 0x03F79D71B4CB0A89
_POSITION = np.zeros(64, np.uint8)
for _bit in range(64):
    _POSITION[(_DE_BRUIJN << _bit & 2**64 - 1) >> 58] = _bit
_SEQUENCE = np.uint64(_DE_BRUIJN)
_TOP = np.uint64(58)


@kernel
def find_hits(row, item, m, first, hits, n):
    """Append to hits[n:] the policies whose slate holds item; return the new n.

    row is a run of slates at one context, flat, m items per policy, starting with policy `first`;
    slates are sets, so a policy is found at most once. Eight bytes are compared at a time:
    x = word ^ pattern has a zero lane exactly where the item stands, and there alone the top bit of
    ((x & low) + low) | x | low is unset.
    """
    begin = n
    size = row.size
    width = row.itemsize
    head = size  # wide dtypes are compared one by one
    if width <= 2:
        head = min(((8 - row.ctypes.data % 8) % 8) // width, size)  # up to an aligned address
    for i in range(head):
        if row[i] == item:
            hits[n] = i
            n += 1
    if head < size:
        lanes = 8 // width
        shift = np.uint64(3 if width == 1 else 4)  # from bits to lanes
        ones = _FULL // ((_ONE << np.uint64(8 * width)) - _ONE)  # 1 in every lane
        pattern = ones * np.uint64(item)
        low = ~(ones << np.uint64(8 * width - 1))
        n_words = (size - head) // lanes
        words = row[head : head + n_words * lanes].view(np.uint64)
        for k in range(n_words):
            x = words[k] ^ pattern
            found = ~(((x & low) + low) | x | low)
            while found:
                lowest = found & (~found + _ONE)
                lane = np.int64(_POSITION[(lowest * _SEQUENCE) >> _TOP] >> shift)
                hits[n] = head + k * lanes + lane
                n += 1
                found ^= lowest
        for i in range(head + n_words * lanes, size):
            if row[i] == item:
                hits[n] = i
                n += 1
    if m > 1:  # from places in the row to policies
        for h in range(begin, n):
            hits[h] //= m
    if first > 0:
        for h in range(begin, n):
            hits[h] += first
    return n
