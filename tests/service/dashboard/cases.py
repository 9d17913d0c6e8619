"""Studies whose names and candidates try to be more than text, and many of them."""

import numpy as np

import policysieve as ps
from tests.study.cases import PROBLEM, D, K, contexts, linear, play, rewards_of

__all__ = ["EVIL", "HOSTILE", "LONG", "many", "play", "rewards_of", "some", "with_studies"]

HOSTILE = '<img src=x onerror=alert(1)> & "shop"'
EVIL = ["<script>alert(2)</script>", "'\"`${x}", "&lt;b&gt;", "</svg><b>", "plain"]
LONG = "encoder large with a long description of everything that was tried, learning rate"


def some(names=None, n=5, seed=7):
    return ps.LinearPolicies(np.random.default_rng(seed).normal(size=(n, K, D)), names=names)


def many():
    return some([f"{LONG} number {k}" for k in range(1000)], 1000)


def with_studies(tmp_path):
    """A database with studies that run, are proved, empty, hostile and large."""
    url = f"sqlite:///{tmp_path / 'service.db'}"
    classes = {
        "running": linear(),
        "proved": linear(),
        "empty": linear(),
        HOSTILE: some(EVIL),
        "large": many(),
    }
    for name, policies in classes.items():
        with ps.Study.create(url, name, policies, PROBLEM, seed=0, deadline="2h") as study:
            if name in ("running", HOSTILE):
                play(study, 6, 10)
                study.ask(contexts(3, seed=99))
            elif name == "proved":
                play(study, 20, 50)
            elif name == "large":
                play(study, 4, 25)
    return url, classes
