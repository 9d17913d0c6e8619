"""What tests of lost nodes and actors share."""

import threading
import time
from contextlib import contextmanager

from policysieve.scale.shards import Shards

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


def on_both_nodes(engine, n_shards):
    """Actors of which each node has some: Ray only tries to spread them."""
    while True:  # tests have their limit
        shards = Shards(engine, n_shards)
        places = [actor.__ray_call__.remote(_where) for actor in shards._actors]
        if len(set(engine.ray.get(places))) == 2:
            return shards


def _where(_actor):
    import ray

    return ray.get_runtime_context().get_node_id()
