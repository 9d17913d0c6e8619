"""A service for tests: a real server in a thread, at a port of its own."""

import asyncio
import ssl
import threading
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest

import policysieve as ps
from policysieve.service import Hosted, Settings
from policysieve.service.serving import Server
from policysieve.service.tokens import create_token
from tests.study.cases import PROBLEM, contexts, linear, play

__all__ = ["NO_TLS", "ask", "bearer", "create", "rows", "serving", "tell"]

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without certificates, which take long to read


class Hurried:
    """asyncio for uvicorn, which looks ten times a second whether it shall end, or has ended."""

    def __getattr__(self, name):
        return getattr(asyncio, name)

    async def sleep(self, seconds):
        await asyncio.sleep(seconds / 20)


def create(tmp_path, name="shop", *, policies=None, problem=PROBLEM, rounds=0, **options):
    """The address of a database with a study."""
    url = f"sqlite:///{tmp_path / 'service.db'}"
    policies = linear() if policies is None else policies
    with ps.Study.create(url, name, policies, problem, seed=0, **options) as study:
        play(study, rounds, 5)
    return url


@contextmanager
def serving(url, policies=None, settings=None, *, learn=True, **files):
    """A client of a service that runs meanwhile; `client.app` is its application."""
    hosted = Hosted(url, linear() if policies is None else policies, learn=learn)
    settings = replace(Settings() if settings is None else settings, port=0)
    server = Server(hosted, settings, **files)
    thread = threading.Thread(target=server.run)
    options = {"timeout": 30, "trust_env": False, "verify": NO_TLS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", Hurried())
        thread.start()
        try:
            with httpx.Client(base_url=server.url, **options) as client:
                client.app = server.app
                yield client
        finally:
            server.end()
            thread.join(60)
            assert not thread.is_alive()


def bearer(url, *scopes, **options):
    """Headers with a new token."""
    from policysieve.study.storage import Storage

    _, text = create_token(Storage(url), "test", scopes, **options)
    return {"Authorization": f"Bearer {text}"}


def rows(n, seed=0):
    return contexts(n, seed).tolist()


def ask(client, n=1, *, study="shop", seed=0, headers=None, **fields):
    body = {"contexts": rows(n, seed), **fields}
    return client.post(f"/v1/studies/{study}/ask", json=body, headers=headers)


def tell(client, ids, rewards, *, study="shop", headers=None):
    body = {"ids": ids, "rewards": rewards}
    return client.post(f"/v1/studies/{study}/tell", json=body, headers=headers)
