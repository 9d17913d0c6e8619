"""Tests of studies do not wait for the disk, and may have a server of their own."""

from tests.databases import hurried, server

__all__ = ["hurried", "server"]
