"""The same examples on every run, no deadline, and a cache folder that is no user's.

Machines may be slow and busy. Data sets are read from the user's cache, and downloaded there, so
that each is fetched once; all else that tests keep is gone when they are done.
"""

import gc
import os
import shutil
from collections import Counter
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import settings

from policysieve.worlds.cache import cache_folder
from tests.databases import database, postgres

__all__ = ["database", "postgres"]

settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")

_FEW = 20  # tests of a file that are not kept together


def pytest_configure(config):
    if hasattr(config, "workerinput"):
        return  # a worker shares the folder of the process that started it
    datasets = cache_folder() / "datasets"
    datasets.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix="policysieve-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(folder))
    (folder / "datasets").symlink_to(datasets.resolve(), target_is_directory=True)
    os.environ["POLICYSIEVE_CACHE"] = str(folder)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and tests stay, so no garbage is looked for among them, now and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_make_scheduler(config, log):
    """Let one process run all tests of a file: what it compiles and makes for them it makes once.

    Long files begin first, and files of few tests are dealt out test by test, so that all processes
    end at about the same time. All tests of a cluster are together, so that one cluster is started.

    Marks of a group do nothing with pytest 9: it does not take the ids that pytest-xdist gives.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            if nodeid.startswith("tests/scale/"):
                return "ray"
            path = nodeid.partition("::")[0]
            return path if self._sizes[path] > _FEW else nodeid

        @cached_property
        def _sizes(self):
            return Counter(nodeid.partition("::")[0] for nodeid in self.collection)

    return Scheduler(config, log)
