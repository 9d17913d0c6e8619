"""Tests of the service do not wait for the disk; most have a service with one study, `shop`."""

import pytest

from tests.databases import hurried
from tests.service.serving import create, serving

__all__ = ["hurried"]


@pytest.fixture
def url(tmp_path):
    return create(tmp_path)


@pytest.fixture
def client(url):
    with serving(url) as found:
        yield found
