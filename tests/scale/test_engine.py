"""The engine: maps in order, errors with names, workers and nodes that die."""

import os
import threading
import time

import pytest

import policysieve as ps
from policysieve.scale import RayEngine


def _double(item, *shared):
    return 2 * item + sum(shared)


def _fail(item):
    if item == 3:
        raise ps.InvalidArgumentError("it is odd")
    if item == 5:
        raise ZeroDivisionError("nothing to divide by")
    return item


def _die_once(item, folder):
    mark = os.path.join(folder, str(item))
    if item == 4 and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), 9)
    return item, os.getpid()


def _die(_item):
    os.kill(os.getpid(), 9)


def _slow(item):
    time.sleep(0.2)
    return item


def test_results_come_in_the_order_of_the_items(engine):
    shared = engine.share(100, "a number")
    assert list(engine.map(_double, range(20), shared)) == [100 + 2 * i for i in range(20)]


def test_both_nodes_count_as_workers(engine):
    assert engine.workers == 2


def test_an_error_has_its_class_and_the_name_of_the_part(engine):
    with pytest.raises(ps.InvalidArgumentError, match=r"^part 3: it is odd$"):
        list(engine.map(_fail, range(5), name=lambda item: f"part {item}"))


def test_what_is_no_error_of_ours_becomes_one_with_the_name(engine):
    with pytest.raises(ps.ClusterError, match="part 5 failed: ZeroDivisionError: nothing to"):
        list(engine.map(_fail, [4, 5], name=lambda item: f"part {item}"))


def test_a_worker_that_dies_is_replaced_and_its_part_counts_once(engine, tmp_path):
    folder = engine.share(str(tmp_path), "a folder")
    found = list(engine.map(_die_once, range(8), folder))
    assert [item for item, _ in found] == list(range(8))
    assert (tmp_path / "4").exists()
    assert all(worker != os.getpid() for _, worker in found)


def test_a_part_that_always_kills_its_worker_is_named(engine):
    with pytest.raises(ps.ClusterError, match="part 0 could not be worked on in 4 attempts"):
        list(engine.map(_die, [0], name=lambda item: f"part {item}"))


def test_a_node_that_is_removed_takes_no_part_with_it(nodes, engine):
    found = []
    for item in engine.map(_slow, range(12)):
        found.append(item)
        if len(found) == 3:
            nodes.remove()
    assert found == list(range(12))


def test_what_cannot_travel_is_named(engine):
    with pytest.raises(ps.UnpicklableError, match=r"policies cannot be sent .*lock"):
        engine.share({"lock": threading.Lock()}, "policies")


@pytest.mark.parametrize("address", ["", 3])
def test_a_bad_address_is_refused(address):
    with pytest.raises(ps.InvalidArgumentError, match="address must be"):
        RayEngine(address)


def test_workers_are_for_clusters_that_are_started(engine):
    with pytest.raises(ps.InvalidArgumentError, match="workers must be None for the cluster"):
        RayEngine("auto", workers=2)


def test_a_process_has_one_cluster(engine):
    with pytest.raises(ps.InvalidArgumentError, match="this process is connected to"):
        RayEngine("127.0.0.1:1")
