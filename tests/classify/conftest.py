"""One thread: on a busy machine threads wait for each other far longer than small fits take."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="package")
def _one_thread():
    with threadpool_limits(limits=1):
        yield
