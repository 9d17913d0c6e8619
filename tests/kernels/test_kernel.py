from pathlib import Path

import numpy as np
import pytest

from policysieve import kernels
from policysieve.kernels import before_compiling, slates

MODULES = [path for path in Path(kernels.__file__).parent.glob("*.py") if path.stem != "__init__"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_kernel_is_compiled_and_kept_by_one_function(path):
    """Where nothing can be written, one that numba keeps by itself would fail when imported."""
    text = path.read_text(encoding="utf-8")
    assert "njit" not in text
    assert "@kernel" in text or path.stem == "threads"  # which calls those of others


def test_who_waits_for_compilation_is_told_once():
    told = []
    with before_compiling(lambda: told.append("compiling")):
        for dtype in (np.int8, np.int16):  # for which it is not kept
            kernel = kernels.kernel(_first_of)
            kernel._cache.flush()
            assert kernel(np.ones(2, dtype)) == 1
    assert told == ["compiling"]


def test_nobody_is_told_of_what_is_compiled_already():
    shown, told = np.empty((1, 2), np.int64), []
    slates.uniform_subsets(np.zeros((1, 2)), 3, shown)
    with before_compiling(lambda: told.append("compiling")):
        slates.uniform_subsets(np.zeros((1, 2)), 3, shown)
    assert told == []


def _first_of(values):
    return values[0]
