"""The benchmark of the service measures what it says, in small."""

import asyncio
import json
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from policysieve.bench.pages import bench_page, bench_tables
from policysieve.bench.service import measuring
from policysieve.bench.service.load import closed_loop, open_loop
from policysieve.bench.service.measuring import ServiceSettings, measure_service
from policysieve.bench.service.paint import NotShownError, first_paint, why_not
from policysieve.bench.service.servers import bare_server


def test_a_small_run_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "why_not", lambda: "no browser is installed")
    settings = ServiceSettings(
        blocks=1, block_seconds=0.3, batch_seconds=0.3, soak_seconds=2.0, busier_seconds=0.5
    )
    said = []
    result = json.loads(json.dumps(measure_service(settings, said.append, tmp_path)))
    assert said == ["pairs", "batches", "soak", "busier", "restart"]
    assert result["skipped"] == {"paint": "no browser is installed"}
    assert list(tmp_path.iterdir()) == []
    assert result["soak"]["errors"] == {"count": 0, "first": []}
    assert result["soak"]["rounds"] > 10
    assert result["pairs"]["per_second"]["ours"]["several"] > 0
    assert result["restart"]["ready_seconds"] > 0
    texts = [row for table in bench_tables("service", result) for row in table.rows]
    assert any("rounds a second in batches of 50" in str(row[0]) for row in texts)
    assert bench_page("service", result).title == "A study behind HTTP"


def test_the_bare_app_keeps_what_it_is_told(tmp_path):
    with bare_server(tmp_path) as server:
        load = closed_loop(server.port, clients=3, seconds=0.3, size=4)
    assert load.errors == []
    assert load.rounds == 4 * len(load.told)
    kept = sqlite3.connect(tmp_path / "bare.db")
    assert kept.execute("SELECT count(reward) FROM rounds").fetchone() == (load.rounds,)
    kept.close()


@pytest.fixture
def broken():
    """The port of a server that answers everything with the same error, and cuts it in pieces."""
    loop, found = asyncio.new_event_loop(), {}
    started = threading.Event()

    async def answer(reader, writer):
        while await reader.read(65536):
            for piece in (b"HTTP/1.1 503 No\r\nContent-", b"Length: 4\r\n\r\nb", b"usy"):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.001)
        writer.close()

    async def serve():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        found["port"], found["end"] = server.sockets[0].getsockname()[1], asyncio.Event()
        started.set()
        await found["end"].wait()
        server.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    started.wait()
    yield found["port"]
    loop.call_soon_threadsafe(found["end"].set)
    thread.join()
    loop.close()


def test_errors_are_counted(broken):
    for load in (
        closed_loop(broken, clients=2, seconds=0.2),
        open_loop(broken, rate=50, seconds=0.2),
    ):
        assert load.rounds == 0
        assert load.errors
        assert set(load.errors) == {"ConnectionError: ask: 503 busy"}


def test_an_open_loop_does_not_wait_for_who_is_slow(tmp_path):
    looks = []
    with bare_server(tmp_path) as server:
        load = open_loop(server.port, rate=40, seconds=1.5, each_second=lambda: looks.append(1))
    assert load.errors == []
    assert load.rounds == 60
    assert len(looks) >= 1


def test_a_browser_sees_the_first_words_of_a_page():
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            found = self.path == "/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<p>Hello")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        painted = first_paint(address)
        assert min(painted["every"]) <= painted["seconds"] <= max(painted["every"])
        assert painted["seconds"] > 0
        with pytest.raises(NotShownError, match="was not shown"):
            first_paint(f"{address}other")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
