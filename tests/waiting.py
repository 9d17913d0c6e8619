"""Waiting for what others do at their own pace."""

import time

__all__ = ["until"]


def until(holds, seconds=60):
    """Return once something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
