"""Candidates that never answer."""

import time

import numpy as np

import policysieve as ps
from tests.study.cases import PROBLEM


def _hangs(contexts):
    time.sleep(3600)
    return np.zeros(len(contexts), int)


def policies():
    return ps.FunctionPolicies([_hangs, _hangs], n_actions=PROBLEM.n_actions)
