"""Data for tests that need it; where a data set cannot be had, the test is skipped by its name."""

from functools import cache

import pytest

import policysieve as ps


@cache
def _attempt(load, name):
    try:
        return load(name)
    except (ps.DatasetUnavailableError, ps.MissingExtraError) as error:
        return error


def needs_dataset(name):
    """The data set, or skip the test that asks for it; tried once in each process."""
    return _needed(ps.worlds.load_dataset, name)


def needs_log(name):
    """The file of a log, or skip the test that asks for it."""
    return _needed(ps.worlds.fetch_log, name)


def _needed(load, name):
    found = _attempt(load, name)
    if isinstance(found, Exception):
        pytest.skip(f"needs the data set {name}: {found}")
    return found
