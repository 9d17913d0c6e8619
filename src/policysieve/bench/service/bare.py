"""What one would write in an hour: FastAPI and sqlite3, the same two doors, as durable, no thought.

It draws one of ten actions at random, writes the round down, and later its reward. Each call is one
transaction that is synced to disk, as those of a study are.
"""

import json
import os
import random
import sqlite3
import threading
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

__all__ = ["make_bare"]


class _Ask(BaseModel):
    contexts: list[list[float]]


class _Tell(BaseModel):
    ids: list[str]
    rewards: list[float]


def make_bare() -> FastAPI:
    """The app, on the file that BARE_DATABASE names."""
    connection = sqlite3.connect(os.environ["BARE_DATABASE"], check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS rounds (id INTEGER PRIMARY KEY, context TEXT, action INTEGER, "
        "propensity REAL, reward REAL)"
    )
    connection.commit()
    lock, app = threading.Lock(), FastAPI()

    @app.get("/readyz")
    def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.post("/v1/studies/study/ask")
    def ask(body: _Ask) -> dict[str, Any]:
        actions = [random.randrange(10) for _ in body.contexts]
        with lock, connection:
            ids = [
                connection.execute(
                    "INSERT INTO rounds (context, action, propensity) VALUES (?, ?, 0.1)",
                    (json.dumps(context), action),
                ).lastrowid
                for context, action in zip(body.contexts, actions, strict=True)
            ]
        return {
            "decisions": [
                {"id": str(one), "actions": [action], "propensities": [0.1]}
                for one, action in zip(ids, actions, strict=True)
            ]
        }

    @app.post("/v1/studies/study/tell")
    def tell(body: _Tell) -> dict[str, int]:
        told = [(reward, int(one)) for one, reward in zip(body.ids, body.rewards, strict=True)]
        with lock, connection:
            connection.executemany(
                "UPDATE rounds SET reward = ? WHERE id = ? AND reward IS NULL", told
            )
        return {"counted": len(told)}

    return app
