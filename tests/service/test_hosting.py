"""Which studies a service has, with which policies."""

import sys
from importlib import import_module

import pytest

import policysieve as ps
from policysieve.service import Hosted
from tests.service.serving import create
from tests.study.cases import linear


def test_without_the_extra_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "policysieve.service")
    with pytest.raises(ps.MissingExtraError, match=r"policysieve\[serve\]"):
        import_module("policysieve.service")


@pytest.mark.parametrize(
    "policies", [linear(), {"shop": linear()}, lambda record: {"shop": linear()}[record.name]]
)
def test_policies_of_all_of_each_or_by_a_function(tmp_path, policies):
    hosted = Hosted(create(tmp_path), policies)
    assert hosted.names() == ["shop"]
    assert hosted.opened("shop") is None
    assert hosted.study("shop") is hosted.study("shop") is hosted.opened("shop")
    assert hosted.trouble("shop") is None
    hosted.close()


def test_studies_of_one_service_share_their_database(tmp_path):
    create(tmp_path, "other")
    hosted = Hosted(create(tmp_path), linear())
    for name in ("shop", "other"):
        assert hosted.study(name)._storage is hosted.storage
    hosted.close()


def test_classes_with_versions(tmp_path):
    create(tmp_path, "other", version="b")
    url = create(tmp_path, version="a")
    hosted = Hosted(url, linear(), version="a")
    assert hosted.trouble("shop") is None
    assert "version" in hosted.trouble("other")
    each = Hosted(url, linear(), version={"shop": "a", "other": "b"})
    assert [each.trouble(name) for name in ("shop", "other")] == [None, None]


def test_what_is_not_there_names_what_is(tmp_path):
    hosted = Hosted(create(tmp_path), linear())
    for name in ("missing", "a\0b", ""):
        with pytest.raises(ps.NotFoundError, match="no study"):
            hosted.study(name)
    create(tmp_path, "a/b")
    assert "slash" in hosted.trouble("a/b")


def test_a_database_that_does_not_answer_is_tried_again(tmp_path, monkeypatch):
    hosted = Hosted(create(tmp_path), linear())

    def down():
        raise ps.StorageError("down")

    with monkeypatch.context() as patch:
        patch.setattr(hosted.storage, "reading", down)
        for call in (hosted.check, lambda: hosted.study("shop")):
            with pytest.raises(ps.StorageError):
                call()
    hosted.check()
    assert hosted.study("shop").name == "shop"
