"""What the documentation shows of the client runs as it is."""

from tests.service.serving import serving
from tests.service.test_docs import blocks


def test_the_page_about_services_shows_the_client(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "docs"}
    exec(blocks("python")[0], namespace)
    (shown,) = blocks("py")
    with serving("sqlite:///shop.db", namespace["policies"]) as client:
        address = str(client.base_url).rstrip("/")
        assert "http://127.0.0.1:8000" in shown
        exec(shown.replace("http://127.0.0.1:8000", address), namespace)
    assert namespace["told"].counted == 2
    assert "Within" in capsys.readouterr().out
