"""Data sets for tests that need them; where one cannot be had, the test is skipped by its name."""

from functools import cache

import pytest

import policysieve as ps


@cache
def _attempt(name):
    try:
        return ps.worlds.load_dataset(name)
    except (ps.DatasetUnavailableError, ps.MissingExtraError) as error:
        return error


def needs_dataset(name):
    """The data set, or skip the test that asks for it; tried once in each process."""
    found = _attempt(name)
    if isinstance(found, Exception):
        pytest.skip(f"needs the data set {name}: {found}")
    return found
