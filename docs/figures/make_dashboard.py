"""Take the pictures of the dashboard, dashboard-*.png, by Chromium, of studies that are played.

Run it with `python docs/figures/make_dashboard.py`; a folder as its argument takes the files. With
`--serve` as its argument the pages stay at an address until Ctrl-C.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch
from urllib.parse import quote

import numpy as np

import policysieve as ps
from policysieve.service import Hosted, Settings
from policysieve.service.serving import Server
from policysieve.study.storage import Storage

CHROMIUM = "/usr/bin/chromium"
HOURS = 44  # of traffic that the studies have seen
KINDS = ("two-tower", "gradient boosting", "popularity", "nearest neighbours", "rules", "logistic")

Policies = dict[str, ps.LinearPolicies]


def named(count: int) -> list[str]:
    """Names as people give them."""
    return [f"{KINDS[k % len(KINDS)]} v{k // len(KINDS) + 1}" for k in range(count)]


def rivals(count: int, n_actions: int, spread: float, seed: int) -> np.ndarray:
    """Weights of policies that have something in common: the smaller the spread, the more."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_actions, 6)) + spread * rng.normal(size=(count, n_actions, 6))


def play(study: ps.Study, weights: np.ndarray, rounds: int, clock: list[float], seed: int) -> None:
    """Two days of traffic with quiet nights, of which the last answers are still to come."""
    rng = np.random.default_rng(seed)
    end = time.time()
    shape = 1.2 + np.sin(np.arange(HOURS) / 24 * 2 * np.pi) + 0.3 * rng.random(HOURS)
    sizes = np.round(rounds * shape / shape.sum()).astype(int)
    for hour, size in enumerate(sizes):
        for part in range(4):
            clock[0] = end - 3600 * (HOURS - hour - 1) - 900 * (3 - part) - 30
            x = rng.normal(size=(max(size // 4, 1), weights.shape[2]))
            decisions = study.ask(x)
            best = (x @ weights[1].T).argmax(axis=1)
            liked = (decisions.actions[:, 0] == best) & (rng.random(len(x)) < 0.5)
            clicks = liked | (rng.random(len(x)) < 0.05)
            last = hour == HOURS - 1 and part == 3
            told = slice(len(x) // 2) if last else slice(None)
            study.tell(decisions.ids[told], clicks[told].astype(float))


def played(url: str) -> Policies:
    """Studies of every kind: one that runs, one that is done, one that is new, one with many."""
    cases = {
        "homepage": (24, 8, 0.08, 0.01, 900, 0.5),
        "checkout upsell": (12, 5, 1.0, 0.1, 2600, 1.0),
        "newsletter": (30, 6, 0.9, 0.05, 0, 1.0),
        "search ranking": (1000, 12, 1.0, 0.04, 3000, 1.0),
    }
    found = {}
    clock = [time.time()]
    hurry = patch("policysieve.study.history._TIME", float("inf"))  # two days pass in seconds
    with patch.object(Storage, "now", lambda *_: clock[0]), hurry:
        for number, (name, case) in enumerate(cases.items()):
            count, n_actions, spread, epsilon, rounds, traffic = case
            weights = rivals(count, n_actions, spread, seed=number + 1)
            labels = named(count)
            if count == 1000:
                labels = [f"{KINDS[k % 6]} {'large' if k % 2 else 'base'}, lr 1e-{k % 4 + 2}, "
                          f"depth {k % 13 + 3}, seed {k}" for k in range(count)]  # fmt: skip
            found[name] = ps.LinearPolicies(weights, names=labels)
            problem = ps.Problem(
                n_actions=n_actions,
                epsilon=epsilon,
                delta=0.05,
                against=labels[0] if traffic < 1 else None,
                traffic=traffic,
            )
            clock[0] = time.time() - 3600 * HOURS
            with ps.Study.create(url, name, found[name], problem, seed=0, deadline="6h") as study:
                if rounds:
                    play(study, weights, rounds, clock, seed=number)
    return found


@contextmanager
def serving(url: str, policies: Policies, port: int = 0) -> Iterator[str]:
    """The service, in a thread; its address."""
    server = Server(Hosted(url, policies), Settings(port=port))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server.url
    finally:
        server.end()
        thread.join(30)


PICTURES = {
    "dashboard-study": ("homepage", "light", 900, 1080),
    "dashboard-studies": ("", "light", 1280, 560),
    "dashboard-phone": ("homepage", "dark", 390, 844),
}


def take(address: str, folder: Path) -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        browser = tool.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        for file, (name, scheme, width, height) in PICTURES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                device_scale_factor=1.5,
            )
            page = context.new_page()
            page.goto(f"{address}/studies/{quote(name)}" if name else address)
            page.wait_for_timeout(2500)
            page.screenshot(path=folder / f"{file}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    stays = sys.argv[1:2] == ["--serve"]
    target = Path(__file__).parent if stays or len(sys.argv) < 2 else Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        database = f"sqlite:///{scratch}/studies.db"
        classes = played(database)
        with serving(database, classes, int(sys.argv[2]) if len(sys.argv) > 2 else 0) as where:
            if stays:
                print(where, flush=True)
                threading.Event().wait(3600)
            else:
                take(where, target)
