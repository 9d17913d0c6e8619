"""What tests of lost nodes and actors share."""

import threading
import time
from contextlib import contextmanager

_SECONDS = 40  # after which a mark will not come any more


@contextmanager
def when_there(mark, action):
    """Within, call an action as soon as a file is there."""
    done = threading.Event()

    def wait():
        until = time.monotonic() + _SECONDS
        while not mark.exists() and time.monotonic() < until:
            time.sleep(0.02)
        if mark.exists():
            action()
            done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()
    assert done.is_set(), "what should happen in the middle has not happened"
