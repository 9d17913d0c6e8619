"""What the documentation shows of the client runs as it is."""

from tests.service.serving import serving
from tests.service.test_docs import blocks, created


def test_the_page_about_services_shows_the_client(tmp_path, monkeypatch, capsys):
    namespace = {"__name__": "docs"}
    (shown,) = blocks("py")
    with serving(*created(tmp_path, monkeypatch)) as client:
        address = str(client.base_url).rstrip("/")
        assert "http://127.0.0.1:8000" in shown
        exec(shown.replace("http://127.0.0.1:8000", address), namespace)
    assert namespace["told"].counted == 2
    assert "Within" in capsys.readouterr().out
