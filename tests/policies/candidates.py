"""Candidates that are awaited, that fail, and what was counted."""

import asyncio


async def thrice(x):
    await asyncio.sleep(0.001 * (int(x) % 3))  # later ones come earlier
    return int(3 * x) % 5


def plain(x):
    return int(x + 1) % 5


async def pair(x):
    return [int(x) % 5, int(x + 2) % 5]


class Failing:
    """Fails so many times at each context."""

    def __init__(self, times, error=None):
        self.times, self.error, self.asked = times, error or ConnectionError("down"), {}

    async def __call__(self, x):
        self.asked[int(x)] = self.asked.get(int(x), 0) + 1
        if self.asked[int(x)] <= self.times:
            raise self.error
        return 1


def counts(policies, policy=0):
    one = policies.usage().candidates[policy]
    return one.calls, one.contexts, one.retries, one.timeouts, one.fallbacks
