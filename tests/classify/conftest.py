"""Both kinds of classifiers, and one thread."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(params=[1, 2], ids=["one", "lists"])
def size(request):
    """Labels shown at once."""
    return request.param


@pytest.fixture(autouse=True, scope="package")
def _one_thread():
    """On a busy machine threads wait for each other far longer than small fits take."""
    with threadpool_limits(limits=1):
        yield
