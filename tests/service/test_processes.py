"""Services as processes: killed, ended, several on one database, and behind TLS."""

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

import policysieve as ps
from tests.service.serving import NO_TLS, ask, bearer, create, rows, serving, tell
from tests.study.cases import PROBLEM, linear

SHOP = "/v1/studies/shop"
ROOT = Path(__file__).parents[2]
START = """
import policysieve.study.storage as storage
storage._SYNCHRONOUS = "OFF"
from policysieve.cli import main
main()
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are those of Unix")


@contextlib.contextmanager
def process(url, *options, policies="tests.study.cases:linear"):
    """A service as a process, and a client of it."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", START, "serve", "--json"]
    command += ["--storage", url, "--policies", policies, "--port", "0"]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as running:
        try:
            line = running.stdout.readline()
            assert line, running.stderr.read()
            address = json.loads(line)["url"]
            options = {"timeout": 30, "trust_env": False, "verify": NO_TLS}
            with httpx.Client(base_url=address, **options) as client:
                yield running, client
        finally:
            running.kill()
            running.stdout.read()


class Load:
    """Asks and tells, one after the other, until the service is gone; remembers what it heard."""

    def __init__(self, client, number):
        self._client, self._number = client, number
        self.decided, self.told, self.stopped = {}, {}, False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        for count in range(100_000):
            ids = [f"{self._number}/{count}"]
            try:
                found = ask(self._client, 1, seed=count, ids=ids)
                if found.status_code != 200:
                    return
                self.decided[ids[0]] = found.json()["decisions"][0]
                if tell(self._client, ids, [count % 2]).status_code != 200:
                    return
                self.told[ids[0]] = float(count % 2)
            except httpx.HTTPError:
                return
            if self.stopped:
                return

    def join(self):
        self._thread.join(60)
        assert not self._thread.is_alive()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_service_that_ends_under_load_loses_nothing_that_it_acknowledged(tmp_path, how):
    url = create(tmp_path, settings={"goal": "best"})
    decided, told = {}, {}
    for restart in range(2):
        with process(url, "--quiet") as (running, client):
            loads = [Load(client, f"{restart}/{number}") for number in range(4)]
            while sum(len(load.told) for load in loads) < 40:
                time.sleep(0.01)
                assert running.poll() is None
            running.send_signal(how)
            for load in loads:
                load.join()
            code = running.wait(60)
            assert code == (0 if how == signal.SIGTERM else -how)
            if how == signal.SIGTERM:
                assert running.stderr.read() == ""
                assert running.stdout.read() == "", "all that it says is on the first line"
                assert ps.Study.open(url, "shop", linear()).status().holder is None
        for load in loads:
            decided |= load.decided
            told |= load.told
    with serving(url) as client:
        for start in range(0, len(decided), 50):
            ids = list(decided)[start : start + 50]
            found = client.get(f"{SHOP}/decisions", params={"id": ids}).json()["decisions"]
            assert found == [decided[one] for one in ids]
        found = tell(client, list(told), list(told.values())).json()
        assert found == {"counted": 0, "again": len(told), "late": []}
        status = client.get(f"{SHOP}/status").json()
        assert len(decided) <= status["rounds"] <= len(decided) + 8
        assert len(told) <= status["told"] <= len(told) + 8
    assert ps.Study.open(url, "shop", linear()).verify().holds


def test_requests_that_have_begun_are_answered_before_the_end(tmp_path):
    url = create(tmp_path)
    with process(url, "--quiet") as (running, client):
        ask(client)
        body = json.dumps({"contexts": rows(1), "ids": ["a"]}).encode()
        begun, found = threading.Event(), []

        def slowly():
            yield body[:10]
            begun.set()
            time.sleep(0.5)
            yield body[10:]

        def post():
            headers = {"content-type": "application/json"}
            found.append(client.post(f"{SHOP}/ask", content=slowly(), headers=headers))

        thread = threading.Thread(target=post)
        thread.start()
        begun.wait(30)
        running.send_signal(signal.SIGINT)
        thread.join(60)
        assert found[0].json()["decisions"][0]["id"] == "a"
        assert running.wait(60) == 0


def test_two_services_on_one_postgresql(database):
    ps.Study.create(database, "shop", linear(), PROBLEM, seed=0, settings={"goal": "best"}).close()
    with process(database, "--quiet") as (_, one), process(database, "--quiet") as (_, two):
        loads = [Load(client, str(number)) for number, client in enumerate((one, two, one, two))]
        while min(len(load.told) for load in loads) < 15:
            time.sleep(0.01)
        here = one.get(f"{SHOP}/decisions", params={"id": "1/0"}).json()["decisions"]
        assert here == [loads[1].decided["1/0"]], "what one decides the other knows"
        assert tell(one, ["1/0"], [0]).json()["again"] == 1
        same = [client.get(f"{SHOP}/exploration").status_code for client in (one, two)]
        assert same == [200, 200]
        for load in loads:
            load.stopped = True
            load.join()
    study = ps.Study.open(database, "shop", linear())
    study.learn()
    status = study.status()
    assert sum(len(load.told) for load in loads) <= status.told
    assert study.verify().holds


def test_tokens_are_revoked_for_all_services(database):
    from policysieve.service.tokens import list_tokens, revoke_token
    from policysieve.study.storage import Storage

    ps.Study.create(database, "shop", linear(), PROBLEM, seed=0).close()
    headers = bearer(database, "read")
    with serving(database, learn=False) as one, serving(database, learn=False) as two:
        for client in (one, two):
            assert client.get(f"{SHOP}/status", headers=headers).status_code == 200
        (token,) = list_tokens(Storage(database))
        revoke_token(Storage(database), token.key)
        until = time.monotonic() + 30
        for client in (one, two):
            while client.get(f"{SHOP}/status", headers=headers).status_code == 200:
                assert time.monotonic() < until
                time.sleep(0.1)


@pytest.fixture
def certificate(tmp_path):
    """Files of a certificate that nobody has signed but itself."""
    files = {name: tmp_path / f"{name}.pem" for name in ("certificate", "key")}
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command += ["-keyout", str(files["key"]), "-out", str(files["certificate"])]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl")
    return files


def test_tls_with_a_certificate(tmp_path, certificate):
    url = create(tmp_path)
    text = bearer(url, "read")["Authorization"].partition(" ")[2]
    with serving(url, **certificate) as client:
        address = str(client.base_url)
        assert address.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(certificate["certificate"]))
        with httpx.Client(base_url=address, verify=trusting, trust_env=False) as safe:
            found = safe.post("/sign-in", data={"token": text})
            assert "Secure" in found.headers["set-cookie"]
            assert found.headers["strict-transport-security"]
            assert safe.get(f"{SHOP}/status").status_code == 200


def test_files_that_are_no_certificate_are_refused(tmp_path, certificate):
    url = create(tmp_path)
    other = tmp_path / "other.pem"
    other.write_text("nothing")
    with (
        pytest.raises(ps.InvalidArgumentError, match="PEM"),
        serving(url, certificate=other, key=certificate["key"]),
    ):
        pass


def test_a_port_that_is_taken_is_said_so(url):
    from policysieve.service import Hosted, Settings
    from policysieve.service.serving import Server

    with serving(url) as client:
        taken = Settings(port=client.base_url.port)
        with pytest.raises(OSError, match="cannot listen"):
            Server(Hosted(url, linear()), taken)


def test_a_candidate_that_hangs_does_not_hold_up_the_end(tmp_path):
    from tests.service.hanging import policies

    url = create(tmp_path, policies=policies())
    options = ("--quiet", "--max-seconds", "1")
    with process(url, *options, policies="tests.service.hanging:policies") as (running, client):
        assert ask(client, 1).status_code == 504
        running.send_signal(signal.SIGTERM)
        start = time.monotonic()
        assert running.wait(60) == 0
        assert time.monotonic() - start < 20  # it was asked to wait for an hour
        assert "hangs" in running.stderr.read()
