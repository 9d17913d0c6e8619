"""Tests of studies do not wait for the disk."""

from tests.databases import hurried

__all__ = ["hurried"]
