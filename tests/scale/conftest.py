"""A Ray cluster of two nodes on this machine, started once and stopped when all is done.

One process of the tests runs all that use it (see `tests/conftest.py`).
"""

import os
import signal
import time
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

if find_spec("ray") is None:
    pytest.skip("the extra ray is not installed", allow_module_level=True)

# Before anything imports Ray: else it takes the machine's address in place of 127.0.0.1, and hangs.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - else they wait for all that is busy
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"

from policysieve.scale import RayEngine

_LONGEST = 150  # seconds for a test, or for a cluster to start: what hangs must not hang all tests


@contextmanager
def in_time():
    def late(_signal, _frame):
        raise TimeoutError(f"no end after {_LONGEST} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def _in_time(request):
    with in_time():
        yield


class TwoNodes:
    """A cluster with a head and a node that can be removed and added again."""

    def __init__(self):
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._second = None
        self.add()

    @property
    def address(self):
        return self._cluster.address

    def add(self):
        """The second node, unless it is there."""
        if self._second is None:
            self._second = self._cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")

    def remove(self):
        """Take the second node away at once, with all that runs there."""
        self._cluster.remove_node(self._second, allow_graceful=False)
        self._second = None

    def stop(self):
        self._cluster.shutdown()


@pytest.fixture(scope="session")
def nodes():
    with in_time():
        found = TwoNodes()
    yield found
    with in_time():
        found.stop()


@pytest.fixture(scope="session")
def connected(nodes):
    with in_time():
        engine = RayEngine(nodes.address)
    yield engine
    engine.close()


@pytest.fixture
def engine(nodes, connected):
    """An engine on two nodes, whatever became of them before."""
    nodes.add()
    while connected.workers != 2:  # nodes that were removed are known for a while; see _in_time
        time.sleep(0.05)
    return connected


@pytest.fixture(scope="session")
def few_actors(connected):
    """Classes share their actors, which take seconds to start."""
    from policysieve.scale import dealer
    from policysieve.scale.shards import Shards

    started = {}

    def shared(engine, n_shards):
        if n_shards not in started:
            started[n_shards] = Shards(engine, n_shards)
        return started[n_shards]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealer, "Shards", shared)
        yield
    started.clear()
