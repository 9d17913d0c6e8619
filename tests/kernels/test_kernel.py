from pathlib import Path

import pytest

from policysieve import kernels

MODULES = [path for path in Path(kernels.__file__).parent.glob("*.py") if path.stem != "__init__"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_kernel_is_compiled_and_kept_by_one_function(path):
    """Where nothing can be written, one that numba keeps by itself would fail when imported."""
    text = path.read_text(encoding="utf-8")
    assert "njit" not in text
    assert "@kernel" in text or path.stem == "threads"  # which calls those of others
