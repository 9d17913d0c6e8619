"""Files that writers leave when they are killed, write at once or find the disk full."""

import os

import pytest

from policysieve.bench.faults.apart import apart
from policysieve.bench.faults.files import full_disks, killed_writers, writers_at_once

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")

FEW = ["Log.save", "policysieve convert --to csv"]


def test_a_killed_writer_leaves_the_old_file_or_the_new_one():
    rows = apart(killed_writers, kills=2, writers=[*FEW, "policysieve decide"])
    assert [row["kills"] for row in rows] == [2] * 3
    for row in rows:
        assert [row[name] for name in ("broken", "lost", "failed", "left_over")] == [0] * 4, row


def test_readers_find_one_of_the_files_that_two_processes_write():
    rows = apart(writers_at_once, seconds=0.2, writers=FEW)
    assert len(rows) == 2
    for row in rows:
        assert row["reads"] > 0
        assert (row["broken"], row["failed"], row["left_over"]) == (0, 0, 0), row


def test_a_full_disk_leaves_the_old_file_and_nothing_else():
    rows = apart(full_disks, writers=[*FEW, "policysieve decide"])
    assert [row["tried"] for row in rows] == [4] * 3
    for row in rows:
        faults = [row[name] for name in ("foreign", "silent", "broken", "left_over")]
        assert faults == [0, 0, 0, 0], row
